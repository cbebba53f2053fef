/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lock word, wait_lock, the queues, the window, sleeping and waking, the watcher, retreat.
 * Of unfair_rwsem.h, unfair_rwsem.c and watcher.c; names as there. What is left out is in
 * bias.pml (slots, BIAS) and lend.pml (LENT, loans).
 *
 * One step is one atomic operation on the word, with what wait_lock protects before or
 * after it: that commutes with all that others do without wait_lock. So acquiring wait_lock
 * belongs to the first operation under it, and dropping it to the last. A loop around
 * try_cmpxchg that decides by the word alone is one step: it takes effect where the last
 * read or the successful exchange is. A wakeup comes with the end of wait_lock: one that
 * comes later is one whose task is scheduled later.
 *
 * Time and luck are choices: whether a task runs, whether it spins or sleeps, how long it
 * has waited, when a window is over, whether so many writers have passed. Readers leave
 * their queue in any order, which covers the one by priority and by age. How many signals
 * come in all is chosen before the start: so there is a run for each in which no forgotten
 * task is saved by one more.
 *
 *	NR, NW		readers, writers; each takes the lock PASSES times
 *	MAX_WAKES	max_wakes(): the CPUs
 *	SIGNALS		that end a wait, or times that do, at most
 *	DOWNGRADE	writers may downgrade
 *	REAL_TIME	so many readers are, and outrank all writers
 *	ABSENT		the first writer may never run again once it was woken
 *	BOUNDED, LIVE	see below
 *
 * Checked: assertions (see check() and acquired_write()), and that no run ends with a task
 * waiting. Mutants are made by sed, see mutants/.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NW
#define NW		2
#endif
#ifndef PASSES
#define PASSES		1
#endif
#ifndef MAX_WAKES
#define MAX_WAKES	1
#endif
#ifndef ABSENT
#define ABSENT		0
#endif
#ifndef SIGNALS
#define SIGNALS		2
#endif
#ifndef REAL_TIME
#define REAL_TIME	0
#endif
#ifndef DOWNGRADE
#define DOWNGRADE	true
#endif

#define N		(NR + NW)

/* The word: flags, then the readers' count, or the owner from 1 on. */
#define WRITER		1
#define WWAIT		2
#define RWAIT		4
#define WINDOW		8
#define READER		16
#define FLAGS		15
#define OWNED_BY(id)	(((id) + 1) * READER | WRITER)
#define is_held(v)	((v) & WRITER || (v) & ~FLAGS)

#define BIT(id)		(1 << (id))
#define NOBODY		255

short word;
byte wait_lock;			/* whose, from 1 on */
byte prio[N];			/* of writers; lower comes first */

/* All under wait_lock. */
byte writers[NW];		/* the queue, first come first */
byte nr_writers;
byte readers;			/* the queue: a set */
byte invited;			/* readers whose window is the last one */
byte due;			/* window_due */
bool window_used;
byte called;			/* a set: writers with woken_at */
byte asleep;			/* a set: waiters, as w->asleep says */
byte watch = NOBODY;		/* the waiter whose watch it is: then the lock is watched */

byte woken;			/* a set: sleepers that wake_up_process() was called for */
byte napping;			/* a set: sleepers with a timer */
byte signals;			/* still to come */

/* For the assertions alone. */
byte reads, writes;		/* tasks within their sections */
byte waiting;			/* a set: readers in the slow path */
byte started;			/* readers that have begun */
byte spinning;			/* a set: waiters, with preemption disabled */
byte queued_writers;		/* a set */
bool fruitless;			/* the watcher has woken nobody, and nothing has changed */

#define is_window_open()	((word & WINDOW) != 0)

/*
 * With BOUNDED, time is counted, and tasks run when they are expected to: a reader is overdue
 * when BOUND writers have released since it queued, nobody has its turn before, and a window
 * is not over before those that are invited are in. Then nobody is passed more often than the
 * documents say.
 */
#ifdef BOUNDED
#ifndef BOUND
#define BOUND		1
#endif
byte releases[NR];		/* by writers, since the reader queued */
byte overdue;			/* a set of readers */
byte passed[NR];		/* writers that came in since it queued */
byte readers_in;		/* past the writers that wait, since the last one released */

#define MORE_WINDOWS		false
#define TIME_IS_OPEN		false
/* within the bound, and the one that comes in as it passes */
#define reader_is_bounded	(passed[i] <= BOUND)
/* one window for each write section */
#define writer_is_bounded	(readers_in <= MAX_WAKES)

inline count_release()
{
	readers_in = 0;
	i = 0;
	do
	:: i < NR ->
		releases[i] = releases[i] + (readers & BIT(i) && releases[i] < BOUND -> 1 : 0);
		overdue = (releases[i] >= BOUND -> overdue | BIT(i) : overdue);
		i++
	:: else -> break
	od;
	i = 0
}

inline forget(id)
{
	releases[id] = 0;
	overdue = overdue & ~BIT(id);
	passed[id] = 0
}

inline count_bypass_by_reader()
{
	readers_in = readers_in + (word & WWAIT -> 1 : 0);
	assert(writer_is_bounded);
	forget(me)
}

inline count_bypass_by_writer()
{
	i = 0;
	do
	:: i < NR ->
		passed[i] = passed[i] + (waiting & BIT(i) && (readers & BIT(i) || invited & BIT(i)) -> 1 : 0);
		assert(reader_is_bounded);
		i++
	:: else -> break
	od;
	i = 0
}
#else
#define overdue			255
/* at any time; with LIVE not without end, as there is a bound between two of them */
#ifdef LIVE
#define MORE_WINDOWS		false
#else
#define MORE_WINDOWS		true
#endif
#define TIME_IS_OPEN		true
#define forget(id)		skip
#define count_release()		skip
#define count_bypass_by_reader()	skip
#define count_bypass_by_writer()	skip
#endif

/*
 * With LIVE, no run may go on for ever. wait_lock is fair in the kernel, and not here, so
 * no task takes it again and again for nothing: a waiter that spins looks when there is
 * something to see, and a nap is over when what it waits for is, or it has lasted long enough.
 */
#ifdef LIVE
#define reader_looks	(!(readers & BIT(me)) || !(word & (WRITER | WWAIT)))
#define writer_looks	(!is_held(word) && !is_window_open() && writers[0] == me)
#define nap_is_over	(!is_held(word) && !is_window_open())
#define LONG_ENOUGH	true
#else
#define reader_looks	true
#define writer_looks	true
#define nap_is_over	true
#define LONG_ENOUGH	false
#endif

/* With LIVE and ABSENT the watcher comes after all grace times, and when it finds something. */
#if ABSENT || defined(LIVE)
#define LATE		true
#else
#define LATE		false
#endif

/* All of these are used within atomic. */

#define lock()		wait_lock == 0 -> wait_lock = me + 1

/*
 * No task waits for one that need not be running. A free lock has a task on its way: the
 * first writer is not asleep, or wakes by itself; so is a reader, where readers wait for no
 * writer. And a queued waiter spins, or the lock is watched, by a watch that is still there.
 */
#define writers_are_called	(wait_lock || is_held(word) || word & WINDOW ||		\
				 !nr_writers || !(asleep & BIT(writers[0])) ||		\
				 napping & BIT(writers[0]))
#define readers_are_called	(wait_lock || word & (WRITER | WWAIT) || !readers ||		\
				 waiting & ~asleep)

#define queued_waiters		(readers | queued_writers)
#define spins_or_is_watched	(watch != NOBODY || !(queued_waiters & ~spinning))
#define watch_is_there		(watch == NOBODY || queued_waiters & BIT(watch))
#define flags_are_right		(!(word & WWAIT) == !nr_writers && !(word & RWAIT) == !readers)
#define no_window_with_writer	(!(word & WRITER) || !(word & WINDOW))
#define no_writer_within	(!writes)
#define nobody_within		(!reads && !writes)
#define no_grant_to_a_sleeper	(!(asleep & BIT(me)))
#define nobody_is_lost		(!wait_lock && !(word & ~WINDOW) && !reads && !writes &&	\
				 !nr_writers && !readers && watch == NOBODY)

inline check()
{
	assert(writers_are_called);
	assert(readers_are_called)
}

inline unlock_and_wake()
{
	/* the flags say what the queues are */
	assert(flags_are_right);
	assert(no_window_with_writer);
	assert(spins_or_is_watched);
	assert(watch_is_there);
	wait_lock = 0;
	fruitless = (late && !wakes);
	woken = woken | wakes;
	wakes = 0;
	check()
}

inline flags_of(win)
{
	f = (nr_writers -> WWAIT : 0) | (readers -> RWAIT : 0) | (win -> WINDOW : 0)
}

inline sync_flags(win)
{
	flags_of(win);
	f = (word & WRITER -> f & ~WINDOW : f);
	word = (word & ~(WWAIT | RWAIT | WINDOW)) | f;
	f = 0
}

/* --- the queues ---------------------------------------------------------- */

#define queued		(queued_writers & BIT(me))

/* The watch of @id goes, with its waiter. */
#define hand_over_watch(id)					\
	watch = (watch != (id) -> watch : (nr_writers -> writers[0] :	\
		(readers -> (readers & 1 -> 0 : (readers & 2 -> 1 : 2)) : NOBODY)))

/* By priority, then by arrival. */
inline queue_writer()
{
	x = nr_writers;
	do
	:: x > 0 && prio[writers[x - 1]] > prio[me] -> writers[x] = writers[x - 1]; x--
	:: else -> break
	od;
	writers[x] = me;
	nr_writers++;
	queued_writers = queued_writers | BIT(me);
	x = 0
}

inline unqueue_writer()
{
	if
	:: queued ->
		x = 0;
		do
		:: writers[x] != me -> x++
		:: else -> break
		od;
		nr_writers--;
		do
		:: x < nr_writers -> writers[x] = writers[x + 1]; x++
		:: else -> break
		od;
		writers[nr_writers] = 0;
		queued_writers = queued_writers & ~BIT(me);
		hand_over_watch(me);
		x = 0
	:: else
	fi
}

#define queue_reader()		readers = readers | BIT(me); invited = invited & ~BIT(me)
#define unqueue_reader(id)	readers = readers & ~BIT(id); hand_over_watch(id)

/* --- waking -------------------------------------------------------------- */

inline wake_later(id)
{
	called = (id >= NR -> called | BIT(id) : called);
	if
	:: asleep & BIT(id) ->
		asleep = asleep & ~BIT(id);
		wakes = wakes | BIT(id)
	:: else
	fi
}

/* Whether one that is not asleep is on a CPU, and how long ago it was woken: choices. */
inline wake_first_writer()
{
	x = 0;
	do
	:: x >= nr_writers -> break
	:: x < nr_writers && (asleep & BIT(writers[x]) || !(called & BIT(writers[x]))) ->
		if
		:: true -> wake_later(writers[x])
		:: !(asleep & BIT(writers[x])) -> skip
		fi;
		break
	:: x < nr_writers && !(asleep & BIT(writers[x])) && called & BIT(writers[x]) && !late -> break
	:: x < nr_writers && !(asleep & BIT(writers[x])) && called & BIT(writers[x]) -> x++
	od;
	x = 0
}

/* One of those in @set. */
inline choose(set)
{
	x = 0;
	do
	:: set & BIT(x) -> break
	:: set & ~(BIT(x + 1) - 1) -> x++
	od
}

inline wake_readers(nr)
{
	n = nr;
	do
	:: n && readers ->
		choose(readers);
		unqueue_reader(x);
		wake_later(x);
		n--
	:: else -> break
	od;
	n = 0;
	x = 0
}

/* --- the window ---------------------------------------------------------- */

/*
 * window_left(), where the window is over. The next task that acquires wait_lock does that;
 * here it is one that does nothing else.
 */
proctype clock()
{
	byte f, wakes;
	bool late;

end:	do
	:: atomic { wait_lock == 0 && is_window_open() && (TIME_IS_OPEN || !due) ->
		due = 0;
		sync_flags(false);
		unlock_and_wake() }
	od
}

/*
 * Which readers are overdue, or run while it is their turn, is a choice; and whether the
 * bound has passed since the last window.
 */
inline open_window()
{
	win = false;
	if
	:: readers & overdue && !is_window_open() && (!window_used || MORE_WINDOWS) ->
		if
		:: true ->
			n = 0;
			do
			:: n < MAX_WAKES && readers & overdue ->
				if
				:: !n -> invited = 0; due = 0
				:: else
				fi;
				choose(readers & overdue);
				unqueue_reader(x);
				invited = invited | BIT(x);
				wake_later(x);
				n++
			:: n && (TIME_IS_OPEN || n == MAX_WAKES || !(readers & overdue)) -> break
			od;
			due = n;
			window_used = true;
			win = true;
			n = 0;
			x = 0
		:: TIME_IS_OPEN && !late
		fi
	:: else
	fi
}

/* A reader for which the window may be open has acquired the lock, or has given up. */
inline leave_window()
{
	win = is_window_open();
	if
	:: win && invited & BIT(me) && due -> due--; win = due
	:: else
	fi;
	invited = invited & ~BIT(me)
}

/* Leaves in @win whether a window is open now. */
inline choose_next()
{
	left = is_window_open();
	wake_first_writer();
	if
	:: left -> win = true; m = MAX_WAKES
	:: else ->
		open_window();
		m = (win -> MAX_WAKES - due : MAX_WAKES)
	fi;
	if
	:: !nr_writers -> wake_readers(m)
	:: else
	fi;
	m = 0;
	left = false
}

/* --- waiting ------------------------------------------------------------- */

/* A signal, or the end of a timed wait, if one may come. */
inline wait_over()
{
	if
	:: signals && !over -> over = true; signals--
	:: true
	fi
}

/* Or drops wait_lock for a look at the holders, and comes back at any time. */
#define watch_start()		watch = (watch == NOBODY -> me : watch)
#define spin_or_look(nap)						\
	if								\
	:: !(nap) -> spinning = spinning | BIT(me)			\
	:: watch_start()						\
	fi;								\
	unlock_and_wake()

/* Sleeps, then has wait_lock again. */
#define go_to_sleep(timer)					\
	watch_start();						\
	asleep = asleep | BIT(me);				\
	napping = (timer -> napping | BIT(me) : napping);	\
	unlock_and_wake()

#define wake_up()						\
	atomic { wait_lock == 0 && (woken & BIT(me) ||		\
			(napping & BIT(me) && nap_is_over) ||	\
			(signals && !over)) ->			\
		wait_lock = me + 1;				\
		if						\
		:: woken & BIT(me) || (napping & BIT(me) && nap_is_over)	\
		:: signals && !over -> over = true; signals--	\
		fi;						\
		woken = woken & ~BIT(me);			\
		napping = napping & ~BIT(me);			\
		asleep = asleep & ~BIT(me)			\
	}

/* --- readers ------------------------------------------------------------- */

inline acquired_read()
{
	assert(no_writer_within);
	assert(no_grant_to_a_sleeper);
	reads++;
	count_bypass_by_reader()
}

#define outranks_writers()	(me < REAL_TIME && nr_writers)
#define may_pass_writers()	((is_window_open() && invited & BIT(me)) || outranks_writers())
#define kept_out_reader(w)	((w) & (WRITER | WWAIT))

/* They are all alike, so they may as well begin in order. */
#define may_begin		(started >= me || REAL_TIME)
#define begin()			started = (started > me -> started : me + 1)

/* try_read(), and what __unfair_down_slow() does if that fails. */
inline down_read()
{
	if
	:: atomic { may_begin && !kept_out_reader(word) ->
			begin();
			word = word + READER;
			acquired_read();
			got = true
		}
	:: atomic { may_begin && kept_out_reader(word) -> begin(); waiting = waiting | BIT(me) };
		atomic { lock() }
look:
		/* what is read of the word first */
		atomic {
			spinning = spinning & ~BIT(me);
			if
			:: word & WRITER -> goto not_yet
			:: !(word & WRITER) && word & WWAIT && !may_pass_writers() ->
				if
				:: is_held(word) || !(readers & overdue & BIT(me)) -> goto not_yet
				:: else -> open_window();
					if
					:: !win -> goto not_yet
					:: else
					fi
				fi
			:: !(word & WRITER) && (!(word & WWAIT) || may_pass_writers()) ->
				goto come_in
			fi
		}
		atomic {
			sync_flags(true);
			win = false;
			if
			:: !may_pass_writers() -> goto not_yet
			:: else
			fi
		}
come_in:
		atomic {
			if
			:: word & WRITER -> goto not_yet
			:: else -> word = word + READER; acquired_read(); got = true
			fi
		}
		atomic {
			waiting = waiting & ~BIT(me);
			unqueue_reader(me);
			leave_window();
			if
			:: !nr_writers -> wake_readers(1)
			:: else
			fi;
			sync_flags(win);
			win = false;
			unlock_and_wake();
			goto done_read
		}
not_yet:
		atomic {
			wait_over();
			if
			:: over -> unqueue_reader(me); forget(me); leave_window(); goto give_up_read
			:: !over && !(readers & BIT(me)) ->
				leave_window();
				queue_reader();
				sync_flags(win);
				win = false;
				goto look
			:: !over && readers & BIT(me) ->
				spin_or_look(false);
				goto look_again
			:: !over && readers & BIT(me) ->
				go_to_sleep(false)
			fi
		}
		wake_up();
		goto look;
look_again:
		atomic { reader_looks && lock() }
		goto look;
give_up_read:
		atomic {
			waiting = waiting & ~BIT(me);
			sync_flags(win);
			win = false;
			unlock_and_wake()
		}
done_read:
		atomic { over = false; invited = invited & ~BIT(me) }
	fi
}

inline up_read()
{
	if
	:: atomic { !(word & FLAGS) || word / READER > 1 -> reads--; word = word - READER }
	:: atomic { word & FLAGS && word / READER == 1 -> skip };
		/* up_read_locked() */
		atomic {
			lock();
			reads--;
			word = word - READER;
			if
			:: !is_held(word) -> choose_next()
			:: else -> unlock_and_wake(); goto done_up
			fi
		}
		atomic {
			sync_flags(win);
			win = false;
			unlock_and_wake()
		}
done_up:	skip
	fi
}

proctype reader(byte me)
{
	byte i, x, n, m, f, wakes, pass;
	bool over, got, left, win, late;

	do
	:: pass < PASSES ->
		pass++;
		down_read();
		if
		:: got -> got = false; up_read()
		:: else
		fi
	:: else -> break
	od
}

/* --- writers ------------------------------------------------------------- */

/* Writers stand back for the window, until it is over. */
#define window_is_kept(old)	(!((old) & WINDOW) && !is_held(old))

/* It has changed the word already. @old is what it was. */
inline acquired_write(old)
{
	assert(nobody_within);
	assert(no_grant_to_a_sleeper);
	assert(window_is_kept(old));
	writes++;
	got = true;
	count_bypass_by_writer()
}

/*
 * May it have the free lock before @first? How often the first one was passed, and how long
 * ago it was woken, are choices. Leaves in @may the answer, in @nap whether to ask again.
 */
inline may_pass_first(first)
{
	if
	:: prio[me] <= prio[first]
	:: may = false;
		if
		:: !(called & BIT(first)) ->
			nap = true;
			if
			:: called = called | BIT(first)
			/* it runs */
			:: !(asleep & BIT(first)) && !LONG_ENOUGH -> skip
			fi
		:: else ->
			/* the time that it has to come has passed, or not */
			if
			:: may = true
			:: !LONG_ENOUGH -> nap = true
			fi
		fi
	fi
}

/* try_write(), and what __unfair_down_slow() does if that fails. */
inline down_write()
{
	if
	:: atomic { !word -> word = OWNED_BY(me); acquired_write(0) }
	:: atomic { word -> skip };
		if
		/* spin_unqueued() */
		:: atomic { !word -> word = OWNED_BY(me); acquired_write(0); goto done_write }
		:: atomic { lock() }
		fi;
try:
		atomic {
			spinning = spinning & ~BIT(me);
			called = called & ~BIT(me);
			nap = false;
			if
			:: is_held(word) -> goto keep_waiting
			:: else -> w = word; nap = is_window_open(); may = !nap
			fi;
			passes = nr_writers && writers[0] != me;
			if
			:: may && passes -> may_pass_first(writers[0])
			:: else
			fi;
			if
			:: !may -> w = 0; passes = false; goto keep_waiting
			:: else -> may = false
			fi
		}
		atomic {
			if
			:: word == w ->
				f = (passes || (queued && nr_writers > 1) -> WWAIT : 0);
				word = OWNED_BY(me) | f | (w & RWAIT);
				f = 0;
				acquired_write(w);
				unqueue_writer();
				w = 0;
				passes = false;
				unlock_and_wake();
				goto done_write
			:: else -> w = 0; passes = false
			fi
		}
keep_waiting:
		atomic {
			wait_over();
			if
			:: over -> skip
			:: !over && !queued ->
				queue_writer();
				sync_flags(is_window_open());
				goto try
			:: !over && queued ->
				spin_or_look(nap);
				goto try_again
			:: !over && queued ->
				go_to_sleep(nap);
				goto sleep
			fi;
			/* leave_write() */
			w = word;
			unqueue_writer();
			if
			:: !nr_writers && !(w & WRITER) -> wake_readers(MAX_WAKES)
			:: nr_writers && !is_held(w) -> wake_first_writer()
			:: else
			fi
		}
		atomic {
			sync_flags(w & WINDOW);
			w = 0;
			unlock_and_wake();
			goto done_write
		}
sleep:
		if
		:: atomic { ABSENT && me == NR && woken & BIT(me) -> goto end_absent }
		:: wake_up()
		fi;
		goto try;
end_absent:	false;
try_again:
		atomic { writer_looks && lock() }
		goto try;
done_write:
		atomic { over = false; nap = false; called = called & ~BIT(me) }
	fi
}

#define word_is_owners		(word == (OWNED_BY(me) | (word & (WWAIT | RWAIT))))

/* Gives up write ownership for @instead: 0, or READER. */
inline give_up_write(instead)
{
	atomic {
		lock();
		window_used = false;
		count_release();
		choose_next();
		writes--;
		reads = reads + (instead / READER);
		flags_of(win);
		assert(word_is_owners);
		word = instead | f;
		f = 0;
		win = false;
		unlock_and_wake()
	}
}

inline up_write()
{
	if
	:: atomic { word == OWNED_BY(me) -> writes--; word = 0 }
	:: atomic { word != OWNED_BY(me) -> skip };
		give_up_write(0)
	fi
}

proctype writer(byte me)
{
	short w;
	byte i, x, n, m, f, wakes, pass;
	bool over, got, left, win, nap, passes, may, late;

	do
	:: pass < PASSES ->
		pass++;
		down_write();
		if
		:: got ->
			got = false;
			if
			:: up_write()
			:: DOWNGRADE ->
				give_up_write(READER);
				up_read()
			fi
		:: else
		fi
	:: else -> break
	od
}

/* --- the watcher --------------------------------------------------------- */

/* __unfair_rwsem_watch(), where the lock is free. */
proctype watcher()
{
	byte i, x, n, m, f, wakes;
	bool left, win, late;

	late = LATE;
end:	do
	:: atomic { !wait_lock && watch != NOBODY && !is_held(word) && !is_window_open() &&
		    asleep & queued_waiters && !fruitless ->
			wait_lock = NOBODY;
			choose_next()
		}
		atomic {
			sync_flags(win);
			win = false;
			unlock_and_wake()
		}
	od
}

init
{
	byte i;

	atomic {
		do
		:: signals < SIGNALS -> signals++
		:: break
		od;
		/* writers are alike but for this */
		prio[NR] = 1;
		i = NR + 1;
		do
		:: i < N ->
			if
			:: prio[i] = 1
			:: prio[i] = 2
			fi;
			i++
		:: else -> break
		od;
		run clock();
		run watcher();
		i = 0;
		do
		:: i < NR -> run reader(i); i++
		:: i < N && i >= NR -> run writer(i); i++
		:: else -> break
		od;
		i = 0
	}
end:	_nr_pr == 3 ->
	assert(nobody_is_lost)
}
