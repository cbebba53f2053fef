/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lock word, wait_lock, the queues, the window, sleeping and waking, the watcher, and
 * waiters that give up. Models unfair_rwsem.h, unfair_rwsem.c and watcher.c, with their names.
 * Slots and BIAS are in bias.pml; LENT and loans are in lend.pml.
 *
 * One step is one atomic operation on the word, together with what wait_lock protects before or
 * after it: that commutes with everything that other tasks do without wait_lock. So acquiring
 * wait_lock is part of the first operation under it, and dropping it part of the last. A loop
 * around try_cmpxchg that decides by the word alone is one step: it takes effect at the last
 * read or at the successful exchange. A wakeup happens when wait_lock is dropped; a later
 * wakeup is the same as a task that is scheduled later.
 *
 * Time and scheduling are nondeterministic choices: whether a task runs, whether it spins or
 * sleeps, how long it has waited, when a window ends, whether enough writers have passed.
 * Readers leave their queue in any order, which covers the order by priority and by age. The
 * number of signals is chosen before the start, so some runs have none that could save a
 * forgotten task.
 *
 *	NR, NW		number of readers, of writers; each acquires the lock PASSES times
 *	MAX_WAKES	max_wakes(): the number of CPUs
 *	SIGNALS		maximum number of signals and timeouts that end a wait
 *	DOWNGRADE	writers may downgrade
 *	REAL_TIME	number of readers that outrank all writers
 *	ABSENT		number of writers that may never run again once they wait: after they were
 *			woken, or preempted before they sleep
 *	ONE_WINDOW	the bound does not pass again after a window
 *	BOUNDED, LIVE	see below
 *
 * Checked: the assertions (see check() and acquired_write()), and that no run ends with a
 * waiting task. The file mutants breaks the model by sed scripts.
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

/* The word: flags, then the count of readers, or the owner + 1. */
#define WRITER		1
#define WWAIT		2
#define RWAIT		4
#define WINDOW		8
#define READER		16
#define FLAGS		15
#define OWNED_BY(id)	(((id) + 1) * READER | WRITER)
#define is_held(v)	((v) & WRITER || (v) & ~FLAGS)

#define BIT(id)		(1 << (id))
#define NO_TASK		255

short word;
byte wait_lock;			/* its owner + 1, or 0 */
byte prio[N];			/* of writers; the lowest number comes first */

/* All of these are protected by wait_lock. */
byte writers[NW];		/* the queue */
byte nr_writers;
byte readers;			/* the queue, as a set */
byte invited;			/* a set: readers that may use the last window */
byte due;			/* window_due */
bool window_used;
byte grace_end;			/* a set: writers whose grace_end is set */
byte late;			/* a set: queued writers with w->late */
byte asleep;			/* a set: waiters with w->asleep */
byte watch = NO_TASK;		/* the waiter that owns the watch; the lock is watched */

byte woken;			/* a set: sleepers with a pending wake_up_process() */
byte timed;			/* a set: sleepers with a timer */
byte signals;			/* that may still come */

/* For assertions only. */
byte reads, writes;		/* number of tasks that hold the lock */
byte waiting;			/* a set: readers in the slow path */
byte started;			/* number of readers that have begun */
byte spinning;			/* a set: spinning waiters, with preemption disabled */
byte queued_writers;		/* a set */
bool woke_none;			/* the watcher changed nothing, nor did any task since */

#define is_window_open()	((word & WINDOW) != 0)

/*
 * With BOUNDED, time is counted, and tasks run when they are expected to. A reader is overdue
 * when BOUND writers have released the lock since it queued. A window is not over before the
 * readers that it is for have acquired the lock. The model then checks how often tasks are passed.
 */
#ifdef BOUNDED
#ifndef BOUND
#define BOUND		1
#endif
byte releases[NR];		/* releases by writers since the reader queued */
byte overdue;			/* a set of readers */
byte passed[NR];		/* writers that acquired since it queued */
byte reader_bypasses;		/* reads past waiting writers since a writer released */

#define MORE_WINDOWS		false
#define TIME_IS_OPEN		false
#define grace_may_pass		false
/* writers within the bound, plus the hold of a writer in which it passes */
#define reader_is_bounded	(passed[i] <= BOUND)
/* one window per hold of a writer */
#define writer_is_bounded	(reader_bypasses <= MAX_WAKES)

inline count_release()
{
	reader_bypasses = 0;
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
	reader_bypasses = reader_bypasses + (word & WWAIT -> 1 : 0);
	assert(writer_is_bounded);
	forget(me)
}

inline count_bypass_by_writer()
{
	i = 0;
	do
	:: i < NR ->
		passed[i] = passed[i] + (waiting & BIT(i) && (readers | invited) & BIT(i) -> 1 : 0);
		assert(reader_is_bounded);
		i++
	:: else -> break
	od;
	i = 0
}
#else
#define overdue			255
/*
 * Any number of windows; with LIVE one per hold of a writer, as the bound and the looks limit their
 * rate; with ONE_WINDOW also one at each look while all writers are late.
 */
#if defined(LIVE)
#define MORE_WINDOWS		false
#elif defined(ONE_WINDOW)
#define MORE_WINDOWS		all_are_late
#else
#define MORE_WINDOWS		true
#endif
#define TIME_IS_OPEN		true
#define grace_may_pass		true
#define forget(id)		skip
#define count_release()		skip
#define count_bypass_by_reader()	skip
#define count_bypass_by_writer()	skip
#endif

/*
 * With LIVE, no run may go on for ever. wait_lock is fair in the kernel, but not here. So a
 * spinning waiter acquires it only when the word has changed in its favour, and a timer
 * expires when the lock is free without a window, or when it has lasted long enough.
 */
#ifdef LIVE
#define reader_looks	(!(readers & BIT(me)) || !(word & (WRITER | WWAIT)))
#define writer_looks	(!is_held(word) && !is_window_open() && writers[0] == me)
#define timer_expires	(!is_held(word) && !is_window_open())
#define LONG_ENOUGH	true
#else
#define reader_looks	true
#define writer_looks	true
#define timer_expires	true
#define LONG_ENOUGH	false
#endif

/* With LIVE or ABSENT the watcher looks after all grace times have passed. */
#if ABSENT || defined(LIVE)
#define GRACE_IS_OVER	true
#else
#define GRACE_IS_OVER	false
#endif

/* Use all of these within atomic. */

#define lock()		wait_lock == 0 -> wait_lock = me + 1

/*
 * A task is about to acquire a free lock: the first writer is awake or has a timer. The same
 * holds for a reader if no writer is queued. Each queued waiter spins, or the lock is watched
 * by a watch whose waiter is still queued.
 */
#define writers_are_woken	(wait_lock || is_held(word) || word & WINDOW ||		\
				 !nr_writers || !(asleep & BIT(writers[0])) ||		\
				 timed & BIT(writers[0]))
#define readers_are_woken	(wait_lock || word & (WRITER | WWAIT) || !readers ||		\
				 waiting & ~asleep)

#define queued_waiters		(readers | queued_writers)
#define spins_or_is_watched	(watch != NO_TASK || !(queued_waiters & ~spinning))
#define all_are_late		(nr_writers && late & BIT(writers[0]))
#define late_are_awake		(!(late & asleep) && !(late & ~queued_writers))
#define late_are_last		(!all_are_late || late == queued_writers)
#define watch_is_queued		(watch == NO_TASK || queued_waiters & BIT(watch))
#define flags_are_right		(!(word & WWAIT) == !nr_writers && !(word & RWAIT) == !readers)
#define no_window_with_writer	(!(word & WRITER) || !(word & WINDOW))
#define no_writer_inside	(!writes)
#define no_task_inside		(!reads && !writes)
#define no_grant_to_a_sleeper	(!(asleep & BIT(me)))
#define no_task_is_lost		(!wait_lock && !(word & ~WINDOW) && !reads && !writes &&	\
				 !nr_writers && !readers && watch == NO_TASK)

inline check()
{
	assert(writers_are_woken);
	assert(readers_are_woken)
}

inline unlock_and_wake()
{
	/* the flags must match the queues */
	assert(flags_are_right);
	assert(no_window_with_writer);
	assert(spins_or_is_watched);
	assert(watch_is_queued);
	assert(late_are_awake);
	assert(late_are_last);
	wait_lock = 0;
	woke_none = (looking && !wakes && !changed);
	woken = woken | wakes;
	wakes = 0;
	changed = false;
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
#define rank(id)	(prio[id] + (late & BIT(id) -> 8 : 0))

/* Waiter @id leaves: if it owns the watch, another waiter gets it. */
#define hand_over_watch(id)					\
	watch = (watch != (id) -> watch : (nr_writers -> writers[0] :	\
		(readers -> (readers & 1 -> 0 : (readers & 2 -> 1 : 2)) : NO_TASK)))

/* Late writers behind the others, both by priority, then by arrival. */
inline queue_writer()
{
	x = nr_writers;
	do
	:: x > 0 && rank(writers[x - 1]) > rank(me) -> writers[x] = writers[x - 1]; x--
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

/*
 * Writer @id has become late, or is not late any more. The model does not know its age, so it moves
 * to any place among its equals.
 */
inline move_writer(id)
{
	x = 0;
	do
	:: writers[x] != id -> x++
	:: else -> break
	od;
	do
	:: x + 1 < nr_writers -> writers[x] = writers[x + 1]; x++
	:: else -> break
	od;
	do
	:: x > 0 && rank(writers[x - 1]) >= rank(id) -> writers[x] = writers[x - 1]; x--
	:: x == 0 || rank(writers[x - 1]) <= rank(id) -> break
	od;
	writers[x] = id;
	x = 0
}

#define queue_reader()		readers = readers | BIT(me); invited = invited & ~BIT(me)
#define unqueue_reader(id)	readers = readers & ~BIT(id); hand_over_watch(id)

/* --- waking -------------------------------------------------------------- */

inline wake_later(id)
{
	grace_end = (id >= NR -> grace_end | BIT(id) : grace_end);
	if
	:: asleep & BIT(id) ->
		asleep = asleep & ~BIT(id);
		wakes = wakes | BIT(id)
	:: else
	fi
}

#define has_its_grace(id)	(grace_end & ~asleep & ~late & BIT(id))

/* Choices: whether the grace time has passed, and whether a writer that is awake is on a CPU. */
inline wake_first_writer()
{
	if
	:: grace_may_pass && nr_writers && has_its_grace(writers[0]) ->
		if
		:: true ->
			n = writers[0];
			late = late | BIT(n);
			move_writer(n);
			n = 0;
			changed = true
		:: !looking
		fi
	:: else
	fi;
	if
	:: nr_writers && (asleep & BIT(writers[0]) || !(grace_end & BIT(writers[0]))) ->
		if
		:: true -> wake_later(writers[0]); changed = true
		:: !(asleep & BIT(writers[0])) && !looking
		fi
	:: else
	fi
}

/* Sets @x to the first member of @set. */
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
 * The part of window_left() that closes the window. In the kernel the next task that acquires
 * wait_lock does that; here it is a process of its own.
 */
proctype clock()
{
	byte f, wakes;
	bool looking, changed;

end:	do
	:: atomic { wait_lock == 0 && is_window_open() && (TIME_IS_OPEN || !due) ->
		due = 0;
		sync_flags(false);
		unlock_and_wake() }
	od
}

/*
 * For reader @first, unless it is NO_TASK, and for others. Choices: which readers are overdue, which
 * of them run, and whether the bound has passed since the last window.
 */
inline open_window(first)
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
				if
				:: !n && first != NO_TASK -> x = first
				:: else -> choose(readers & overdue)
				fi;
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
		:: TIME_IS_OPEN && !looking
		fi
	:: else
	fi
}

/* A reader that may be allowed to use the window has acquired the lock, or gives up. */
inline leave_window()
{
	win = is_window_open();
	if
	:: win && invited & BIT(me) && due -> due--; win = due
	:: else
	fi;
	invited = invited & ~BIT(me)
}

/* Sets @win to whether a window is open now. */
inline choose_next()
{
	left = is_window_open();
	wake_first_writer();
	if
	:: left -> win = true; m = MAX_WAKES
	:: else ->
		open_window(NO_TASK);
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

/* A signal may arrive, or a timed wait may end. */
inline wait_over()
{
	if
	:: signals && !over -> over = true; signals--
	:: true
	fi
}

/* Spins, or drops wait_lock to look at the holders; acquires wait_lock again at any time. */
#define watch_start()		watch = (watch == NO_TASK -> me : watch)
#define spin_or_look(timer)						\
	if								\
	:: !(timer) -> spinning = spinning | BIT(me)			\
	:: watch_start()						\
	fi;								\
	unlock_and_wake()

/* Sleeps; wake_up() acquires wait_lock again. */
#define go_to_sleep(timer)					\
	watch_start();						\
	asleep = asleep | BIT(me);				\
	timed = (timer -> timed | BIT(me) : timed);	\
	unlock_and_wake()

#define wake_up()						\
	atomic { wait_lock == 0 && (woken & BIT(me) ||		\
			(timed & BIT(me) && timer_expires) ||	\
			(signals && !over)) ->			\
		wait_lock = me + 1;				\
		if						\
		:: woken & BIT(me) || (timed & BIT(me) && timer_expires)	\
		:: signals && !over -> over = true; signals--	\
		fi;						\
		woken = woken & ~BIT(me);			\
		timed = timed & ~BIT(me);			\
		asleep = asleep & ~BIT(me)			\
	}

/* --- readers ------------------------------------------------------------- */

inline acquired_read()
{
	assert(no_writer_inside);
	assert(no_grant_to_a_sleeper);
	reads++;
	count_bypass_by_reader()
}

#define outranks_writers()	(me < REAL_TIME && nr_writers)
#define may_pass_writers()	((is_window_open() && invited & BIT(me)) || outranks_writers())
#define reader_must_wait(w)	((w) & (WRITER | WWAIT))

/* All readers are alike, so they may begin in order. */
#define may_begin		(started >= me || REAL_TIME)
#define begin()			started = (started > me -> started : me + 1)

/* try_read(), and what wait_for_lock() does if that fails. */
inline down_read()
{
	if
	:: atomic { may_begin && !reader_must_wait(word) ->
			begin();
			word = word + READER;
			acquired_read();
			got = true
		}
	:: atomic { may_begin && reader_must_wait(word) -> begin(); waiting = waiting | BIT(me) };
		atomic { lock() }
look:
		/* the first read of the word */
		atomic {
			spinning = spinning & ~BIT(me);
			if
			:: word & WRITER -> goto not_yet
			:: !(word & WRITER) && word & WWAIT && !may_pass_writers() ->
				if
				:: is_held(word) || !(readers & overdue & BIT(me)) -> goto not_yet
				:: else -> open_window(me);
					if
					:: !win -> goto not_yet
					:: else
					fi
				fi
			:: !(word & WRITER) && (!(word & WWAIT) || may_pass_writers()) ->
				goto acquire
			fi
		}
		atomic { sync_flags(true); win = false }
acquire:
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
	bool over, got, left, win, looking, changed;

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

/* Writers do not acquire the lock in a window. */
#define window_is_kept(old)	(!((old) & WINDOW) && !is_held(old))

/* The caller has changed the word, which was @old. */
inline acquired_write(old)
{
	assert(no_task_inside);
	assert(no_grant_to_a_sleeper);
	assert(window_is_kept(old));
	writes++;
	got = true;
	count_bypass_by_writer()
}

/*
 * Sets @may to whether this writer may acquire the free lock before @first, and @timer to
 * whether it must ask again. Choices: how often @first was passed, how long ago it was woken.
 */
inline may_pass_first(first)
{
	if
	:: prio[me] <= prio[first]
	:: may = false;
		if
		:: !(grace_end & BIT(first)) ->
			timer = true;
			if
			:: grace_end = grace_end | BIT(first)
			/* @first runs */
			:: !(asleep & BIT(first)) && !LONG_ENOUGH -> skip
			fi
		:: else ->
			/* the grace time of @first has passed, or not */
			if
			:: may = true
			:: !LONG_ENOUGH && !(late & BIT(first)) -> timer = true
			fi
		fi
	fi
}

/* try_write(), and what wait_for_lock() does if that fails. */
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
			grace_end = grace_end & ~BIT(me);
			if
			:: late & BIT(me) -> late = late & ~BIT(me); move_writer(me)
			:: else
			fi;
			timer = false;
			if
			:: is_held(word) -> goto keep_waiting
			:: else -> w = word; timer = is_window_open(); may = !timer
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
				spin_or_look(timer);
				goto try_again
			:: !over && queued ->
				go_to_sleep(timer);
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
		:: atomic { me < NR + ABSENT && woken & BIT(me) -> goto end_absent }
		:: wake_up()
		fi;
		goto try;
try_again:
		if
		:: atomic { me < NR + ABSENT && !(spinning & BIT(me)) -> goto end_absent }
		:: atomic { writer_looks && lock() }
		fi;
		goto try;
end_absent:	false;
done_write:
		atomic { over = false; timer = false; grace_end = grace_end & ~BIT(me) }
	fi
}

#define word_is_owners		(word == (OWNED_BY(me) | (word & (WWAIT | RWAIT))))

/* Gives up write ownership for @instead: 0, or READER. */
inline release_write(instead)
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
		release_write(0)
	fi
}

proctype writer(byte me)
{
	short w;
	byte i, x, n, m, f, wakes, pass;
	bool over, got, left, win, timer, passes, may, looking, changed;

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
				release_write(READER);
				up_read()
			fi
		:: else
		fi
	:: else -> break
	od
}

/* --- the watcher --------------------------------------------------------- */

/* look_at_lock() of a free lock. */
proctype watcher()
{
	byte i, x, n, m, f, wakes;
	bool left, win, looking, changed;

	looking = GRACE_IS_OVER;
end:	do
	:: atomic { !wait_lock && watch != NO_TASK && !is_held(word) && !is_window_open() &&
		    asleep & queued_waiters && !woke_none ->
			wait_lock = NO_TASK;
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
		/* writers differ only in their priority */
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
	assert(no_task_is_lost)
}
