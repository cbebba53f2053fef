/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Visible readers: counted and biased slots, BIAS and its revocation, LENT, the readers that a
 * lender finds, and expedited sections. Models visible_readers.c, lend.c and the fast paths in
 * unfair_rwsem.h, with their names. The queues, the window and sleeping are in lock.pml: here a
 * task that must wait retries when the word has changed.
 *
 * Each step is one operation on the word or on a slot, in the order of the source. The litmus
 * tests of A to H check that this order holds on all CPUs. All counted readers share one slot,
 * so they overwrite each other; there are BS biased slots. A stranger claims biased slots for
 * another lock. The number of readers that overlap until BIAS is set is a choice.
 *
 * Checked: a writer excludes all other tasks (G1); under wait_lock no more readers are visible
 * than are counted; no task releases a lock that it does not hold; a loan is noted only for a
 * reader that will end it; BIAS is not set in an expedited section.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NW
#define NW		1
#endif
#ifndef NX
#define NX		1	/* committers, which expedite the lock */
#endif
#ifndef NS
#define NS		0	/* strangers: readers of another lock */
#endif
#ifndef BS
#define BS		NR	/* biased slots */
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

/* The semaphore in a biased slot. */
#define EMPTY		0
#define SEM		1	/* converted: counted in the word */
#define BIASED		2
#define OTHER		3

byte word;
byte wait_lock;
byte reader_slot;		/* a counted reader + 1, or 0 */
byte slot_sem[BS];
byte slot_pid[BS];		/* a task + 1, or 0 */
byte queued;			/* number of queued writers */
bool loan[NR];
byte expedited;			/* number of sections */

/* For assertions only. */
byte reads, writes;
byte in_section;		/* number of sections that have revoked the bias */

#define no_writer_inside	(!writes)
#define no_task_inside		(!reads && !writes)
#define no_more_than_counted	(word & WRITER || n <= counted(word))
#define expedited_is_counted	(!in_section)
#define no_bias_in_section	(!(word & BIAS))
#define was_held		(!(word & WRITER) && counted(word))
#define is_a_reader		(p <= NR)
#define finds_its_slot		(i < BS)
#define loan_has_ended	(!loan[me])
#define no_loan_is_left		(!loan[i])
/* lend_any() */
#if NR == 1
# define no_loan		(!loan[0])
#elif NR == 2
# define no_loan		(!loan[0] && !loan[1])
#else
# define no_loan		(!loan[0] && !loan[1] && !loan[2])
#endif
#define no_slot_is_left		(slot_sem[i] == EMPTY && !slot_pid[i])
#define lock_is_free		(!reads && !writes && !wait_lock && !(word & ~BIAS) && !reader_slot)

#define lock()		wait_lock == 0 -> wait_lock = 1
#define unlock()	wait_lock = 0

inline see_readers()
{
	x = 0;
	n = (reader_slot -> 1 : 0);
	do
	:: x < BS -> n = n + (slot_sem[x] == SEM && slot_pid[x] -> 1 : 0); x++
	:: else -> break
	od;
	assert(no_more_than_counted);
	x = 0;
	n = 0
}

/* --- readers ------------------------------------------------------------- */

inline enter_section()
{
	assert(no_writer_inside);
	reads++
}

/* Whether bias_wait is 0 is a choice. */
inline consider_bias()
{
	if
	:: atomic { !(word & (FLAGS | BIAS)) && counted(word) ->
		word = word | BIAS;
		assert(expedited_is_counted) }
	:: skip
	fi
}

/* Two readers may both find the slot empty. */
inline publish()
{
	if
	:: atomic { !reader_slot -> skip };
		reader_slot = me + 1
	:: atomic { reader_slot -> skip }
	fi
}

/* Sets @i to the slot, or to BS if none is free. */
inline claim_slot(what)
{
	atomic {
		i = 0;
		do
		:: i < BS && slot_sem[i] == EMPTY -> slot_sem[i] = what; break
		:: i < BS && slot_sem[i] != EMPTY -> i++
		:: i == BS -> break
		od
	}
}

inline down_read()
{
	if
	/* the slot may be filled after this read */
	:: atomic { !reader_slot -> skip };
		if
		:: atomic { !word -> word = READER; enter_section() };
			reader_slot = me + 1;
			goto read
		:: atomic { word -> skip }
		fi
	:: atomic { reader_slot || word -> skip }
	fi;
biased:
	if
	:: atomic { word & BIAS -> skip };
		/* confirm_slot() */
		claim_slot(BIASED);				/* B */
		if
		:: i == BS -> i = 0; goto count
		:: else
		fi;
		if
		:: atomic { word & BIAS -> enter_section() }
		:: atomic { !(word & BIAS) -> skip };
			if
			:: atomic { slot_sem[i] == BIASED ->
				slot_sem[i] = EMPTY; i = 0;
				/* another slot, if the lock is biased again */
				if
				:: goto biased
				:: goto count
				fi }
			:: atomic { slot_sem[i] != BIASED -> enter_section() }
			fi
		fi;
		atomic { slot_pid[i] = me + 1; i = 0; goto read }
	:: atomic { !(word & BIAS) -> skip }
	fi;
count:
	/* a reader in the slow path acquires here, too */
	atomic { !(word & (WRITER | WWAIT)) ->
		n = counted(word) && !(word & BIAS);
		word = word + READER;
		enter_section()
	}
	publish();
	if
	:: n -> n = 0; consider_bias()
	:: else
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
			loan[me] = (word & LENT -> false : loan[me]);
			assert(was_held);
			word = word - READER;
			if
			:: !is_held(word) && !expedited -> skip
			/* no waiter, section or loan is left */
			:: is_held(word) && !expedited && !queued && no_loan -> skip
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
	:: atomic { reader_slot == me + 1 -> skip };
		reader_slot = 0
	:: atomic { reader_slot != me + 1 -> skip };
		/* own_biased_slot() */
		atomic {
			i = 0;
			do
			:: i < BS && slot_pid[i] == me + 1 -> break
			:: i < BS && slot_pid[i] != me + 1 -> i++
			:: i == BS -> i = 0; goto counted_only
			od
		}
		slot_pid[i] = 0;
		if
		:: atomic { slot_sem[i] == BIASED -> slot_sem[i] = EMPTY; i = 0; goto released }
		:: atomic { slot_sem[i] != BIASED -> skip };		/* H */
			atomic { slot_sem[i] = EMPTY; i = 0 }
		fi
	fi;
counted_only:
	up_read_counted();
released: skip
}

proctype reader(byte me)
{
	byte i, n, pass;

	do
	:: pass < PASSES ->
		pass++;
		down_read();
		up_read();
		assert(loan_has_ended)
	:: else -> break
	od
}

/* A reader of another lock, which is biased. */
proctype stranger(byte me)
{
	byte i;

	claim_slot(OTHER);
	if
	:: i < BS ->
		slot_pid[i] = me + 1;
		atomic {
			i = 0;
			do
			:: i < BS && (slot_pid[i] != me + 1 || slot_sem[i] != OTHER) -> i++
			:: else -> break
			od;
			assert(finds_its_slot)
		}
		slot_pid[i] = 0;
		slot_sem[i] = EMPTY
	:: else
	fi
}

/* --- under wait_lock ----------------------------------------------------- */

inline revoke_bias()
{
	if
	:: atomic { word & BIAS -> word = (word & ~BIAS) + READER };	/* C */
		x = 0;
		do
		:: x < BS ->
			if
			:: atomic { slot_sem[x] == BIASED -> skip };
				word = word + READER;			/* H */
				if
				:: atomic { slot_sem[x] == BIASED -> slot_sem[x] = SEM }
				:: atomic { slot_sem[x] != BIASED -> skip };
					word = word - READER
				fi
			:: atomic { slot_sem[x] != BIASED -> skip }
			fi;
			x++
		:: else -> break
		od;
		x = 0;
		word = word - READER				/* D */
	:: atomic { !(word & BIAS) -> skip }
	fi
}

/* Whether a reader is off its CPU, so that it is lent to, is a choice. */
inline lend_to_readers()
{
	word = word | LENT;					/* E */
	if
	:: atomic { reader_slot -> loan[reader_slot - 1] = true }
	:: skip
	fi;
	x = 0;
	do
	:: x < BS ->
		if
		/* converted_pid() */
		:: atomic { slot_sem[x] == SEM -> skip };
			p = slot_pid[x];			/* A */
			atomic {
				if
				:: p && slot_sem[x] == SEM ->
					assert(is_a_reader);
					loan[p - 1] = true
				:: else
				fi;
				p = 0
			}
		:: skip
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* The watcher ends the leases after the last lender has left. */
inline end_leases()
{
	atomic {
		x = 0;
		do
		:: x < NR -> loan[x] = false; x++
		:: else -> break
		od;
		x = 0
	}
}

/* --- writers ------------------------------------------------------------- */

inline down_write()
{
	if
	:: atomic { !word -> word = WRITER; assert(no_task_inside); writes++; goto wrote }
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
			assert(no_task_inside);
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
		/* the lock is free */
		:: atomic { !is_held(word) -> goto try }
		/* or the writer gives up */
		:: atomic { lock(); queued--; waits = 0; word = (queued -> word : word & ~WWAIT) };
			if
			:: !expedited -> end_leases();
				atomic { word = (word == LENT -> 0 : word) }
			:: else
			fi;
			atomic { unlock(); goto gave_up }
		fi
	fi;
wrote:
	/* release */
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
	byte x, n, p, pass;
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
	byte x, n, p, pass;

	do
	:: pass < PASSES ->
		pass++;
		/* expedite_activate(), by the watcher */
		atomic { lock(); expedited++ }
		word = word | LENT;
		revoke_bias();
		atomic { see_readers(); in_section++; assert(no_bias_in_section); unlock() }
		/* look_at_holders(), by the watcher */
		atomic { lock() }
		if
		:: atomic { !(word & WRITER) -> skip };
			lend_to_readers()
		:: atomic { word & WRITER -> skip }
		fi;
		atomic { unlock() }
		/* expedite_deactivate() */
		in_section--;
		atomic { lock(); expedited-- }
		if
		:: !expedited -> end_leases();
			atomic { word = (word == LENT -> 0 : word) }
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
		/* earlier readers may have set BIAS */
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
		i = 0;
		do
		:: i < NS -> run stranger(NR + i); i++
		:: else -> break
		od;
		i = 0
	}
	_nr_pr == 1;
	i = 0;
	do
	:: i < NR -> assert(no_loan_is_left); i++
	:: else -> break
	od;
	i = 0;
	do
	:: i < BS -> assert(no_slot_is_left); i++
	:: else -> break
	od;
	/* BIAS may stay set, for the next readers */
	assert(lock_is_free)
}
