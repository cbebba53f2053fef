/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Visible readers: slots, BIAS and its revocation, LENT and who is looked for after it was
 * set, expedite. Of visible_readers.c, the fast paths in unfair_rwsem.h, and lend.c; names
 * as there. The order of writers, the window and sleeping are in lock.pml: here a task that
 * must wait tries again when the word has changed.
 *
 * Each step is one operation on the word or on a slot, in the order in which they are in the
 * source, which is what memory barriers A to E are for: they are in litmus/. Each reader has
 * a slot of its own, or none, as it happens; that slots of others are passed over and found
 * again is not here. How many readers must come until BIAS is set is a choice.
 *
 * Checked: a writer excludes all (G1); at any time under wait_lock no more readers are
 * visible than are counted; no release of what is not held; a loan is noted only for who
 * gives it back; BIAS is not set in an expedited section.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NW
#define NW		1
#endif
#ifndef NX
#define NX		1	/* tasks that expedite */
#endif
#ifndef PASSES
#define PASSES		1
#endif

/* The word. */
#define WRITER		1
#define WWAIT		2
#define LENT		4
#define BIAS		8
#define READER		16
#define FLAGS		(WRITER | WWAIT | LENT)
#define is_held(v)	((v) & ~(WWAIT | LENT))
#define counted(v)	((v) / READER)

/* A slot. */
#define EMPTY		0
#define SEM		1	/* counted in the word */
#define BIASED		2

byte word;
byte wait_lock;
byte slot[NR];
byte queued;			/* writers */
bool loan[NR];
byte expedited;			/* sections */

/* For the assertions alone. */
byte reads, writes;
byte in_section;		/* expedited sections that have begun */

#define no_writer_within	(!writes)
#define nobody_within		(!reads && !writes)
#define no_more_than_counted	(word & WRITER || n <= counted(word))
#define expedited_is_counted	(!in_section)
#define no_bias_in_section	(!(word & BIAS))
#define was_held		(!(word & WRITER) && counted(word))
#define loan_is_given_back	(!loan[me])
#define nothing_is_left		(slot[i] == EMPTY && !loan[i])
#define lock_is_free		(!reads && !writes && !wait_lock && !(word & ~BIAS))

#define lock()		wait_lock == 0 -> wait_lock = 1
#define unlock()	wait_lock = 0

inline see_readers()
{
	x = 0;
	n = 0;
	do
	:: x < NR -> n = n + (slot[x] == SEM -> 1 : 0); x++
	:: else -> break
	od;
	assert(no_more_than_counted);
	x = 0;
	n = 0
}

/* --- readers ------------------------------------------------------------- */

inline enter_section()
{
	assert(no_writer_within);
	reads++
}

inline consider_bias()
{
	if
	/* bias_wait says so; what else goes on until then is open */
	:: skip;
		if
		:: atomic { !(word & (FLAGS | BIAS)) && counted(word) ->
			word = word | BIAS;
			assert(expedited_is_counted) }
		:: skip
		fi
	:: skip
	fi
}

/* Counted already. It has a slot, or none is free. */
inline publish_reader()
{
	if
	:: slot[me] = SEM
	:: skip
	fi
}

inline down_read()
{
	if
	:: atomic { !word -> word = READER; enter_section() }
		publish_reader();
		goto read
	:: atomic { word -> skip }
	fi;
contended:
	if
	:: atomic { word & BIAS -> skip };
		if
		/* read_biased() */
		:: slot[me] = BIASED;			/* B */
			if
			:: atomic { word & BIAS -> enter_section(); goto read }
			:: atomic { !(word & BIAS) -> skip };
				if
				:: atomic { slot[me] == BIASED -> slot[me] = EMPTY }
				:: atomic { slot[me] != BIASED -> enter_section(); goto read }
				fi
			fi
		/* no slot is free */
		:: skip
		fi
	:: atomic { !(word & BIAS) -> skip }
	fi;
	/* the slow path has no other way in */
	if
	:: atomic { !(word & (WRITER | WWAIT)) ->
			n = counted(word) && !(word & BIAS);
			word = word + READER;
			enter_section()
		}
		publish_reader();
		if
		:: n -> n = 0; consider_bias()
		:: else
		fi
	fi;
read:	skip
}

inline up_read_counted()
{
	if
	:: atomic { !(word & LENT) && !(word & FLAGS && counted(word) == 1) ->
			assert(was_held);
			word = word - READER
		}
	:: atomic { word & LENT || (word & FLAGS && counted(word) == 1) -> skip };
		/* up_read_locked() */
		atomic {
			lock();
			if
			:: word & LENT -> loan[me] = false
			:: else
			fi;
			assert(was_held);
			word = word - READER;
			if
			:: !is_held(word) && !expedited -> skip
			:: else -> unlock(); goto given_up
			fi
		}
		atomic { word = word & ~LENT; unlock() }
given_up:	skip
	fi
}

inline up_read()
{
	reads--;
	if
	:: atomic { slot[me] == BIASED -> slot[me] = EMPTY }
	:: atomic { slot[me] != BIASED -> skip };
		slot[me] = EMPTY;
		up_read_counted()
	fi
}

proctype reader(byte me)
{
	byte n, pass;

	do
	:: pass < PASSES ->
		pass++;
		down_read();
		up_read();
		assert(loan_is_given_back)
	:: else -> break
	od
}

/* --- under wait_lock ----------------------------------------------------- */

inline revoke_bias()
{
	if
	:: atomic { word & BIAS -> word = (word & ~BIAS) + READER };	/* C */
		x = 0;
		do
		:: x < NR ->
			if
			:: atomic { slot[x] == BIASED -> skip };
				word = word + READER;
				if
				:: atomic { slot[x] == BIASED -> slot[x] = SEM }
				:: atomic { slot[x] != BIASED -> skip };
					word = word - READER
				fi
			:: atomic { slot[x] != BIASED -> skip }
			fi;
			x++
		:: else -> break
		od;
		x = 0;
		word = word - READER				/* D */
	:: atomic { !(word & BIAS) -> skip }
	fi
}

/* Who is on a CPU is not lent to: a choice. */
inline lend_to_readers()
{
	word = word | LENT;					/* E */
	x = 0;
	do
	:: x < NR ->
		if
		:: atomic { slot[x] == SEM -> loan[x] = true }
		:: skip
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* relevel_loans() for nobody, and the end of LENT. */
inline lenders_changed()
{
	atomic {
		x = 0;
		do
		:: x < NR -> loan[x] = false; x++
		:: else -> break
		od;
		x = 0;
		word = word & ~LENT
	}
}

/* --- writers ------------------------------------------------------------- */

inline down_write()
{
	if
	:: atomic { !word -> word = WRITER; assert(nobody_within); writes++; goto wrote }
	:: atomic { word -> skip }
	fi;
try:
	atomic { lock() }
	revoke_bias();
	if
	:: atomic { !is_held(word) ->
			queued = queued - waits;
			waits = 0;
			word = WRITER | (word & LENT) | (queued -> WWAIT : 0);
			assert(nobody_within);
			writes++;
			unlock();
			goto wrote
		}
	:: atomic { is_held(word) -> skip }
	fi;
	if
	:: atomic { !waits -> waits = 1; queued++; word = word | WWAIT; unlock(); goto try }
	:: atomic { waits -> see_readers() };
		if
		:: atomic { !(word & WRITER) -> skip };
			lend_to_readers()
		:: skip
		fi;
		atomic { unlock() }
		if
		/* until there is something to be had */
		:: atomic { !is_held(word) -> goto try }
		/* or it gives up */
		:: atomic { lock(); queued--; waits = 0; word = (queued -> word : word & ~WWAIT) };
			if
			:: !expedited -> lenders_changed()
			:: else
			fi;
			atomic { unlock(); goto gave_up }
		fi
	fi;
wrote:
	/* and releases */
	if
	:: atomic { word == WRITER -> writes--; word = 0 }
	:: atomic { word != WRITER -> skip };
		atomic {
			lock();
			writes--;
			word = (queued -> WWAIT : 0) | (expedited -> LENT : 0);
			unlock()
		}
	fi;
gave_up: skip
}

proctype writer()
{
	byte x, n, pass;
	bit waits;

	do
	:: pass < PASSES ->
		pass++;
		down_write()
	:: else -> break
	od
}

proctype committer()
{
	byte x, n, pass;

	do
	:: pass < PASSES ->
		pass++;
		/* unfair_rwsem_expedite() */
		atomic { lock(); expedited++ }
		word = word | LENT;
		revoke_bias();
		atomic { see_readers(); in_section++; assert(no_bias_in_section); unlock() }
		/* expedite_readers(), by itself or by the watcher */
		atomic { lock() }
		if
		:: atomic { !(word & WRITER) -> skip };
			lend_to_readers()
		:: atomic { word & WRITER -> skip }
		fi;
		atomic { unlock() }
		/* unfair_rwsem_unexpedite() */
		in_section--;
		atomic { lock(); expedited-- }
		if
		:: !expedited -> lenders_changed()
		:: else
		fi;
		atomic { unlock() }
	:: else -> break
	od
}

init
{
	byte i;

	atomic {
		/* as earlier readers have left it */
		if
		:: skip
		:: word = BIAS
		fi;
		do
		:: i < NR -> run reader(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NW -> run writer(); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NX -> run committer(); i++
		:: else -> break
		od;
		i = 0
	}
	_nr_pr == 1;
	i = 0;
	do
	:: i < NR -> assert(nothing_is_left); i++
	:: else -> break
	od;
	/* a bias stays, for the next readers */
	assert(lock_is_free)
}
