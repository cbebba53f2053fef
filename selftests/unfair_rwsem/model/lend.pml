/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lent priority: loans, looks, and how the priority of a task follows its loans. Models lend.c,
 * look_at_holders(), __unfair_rwsem_lenders_changed() and the releases in unfair_rwsem.c,
 * and watch() in watcher.c, with their names. bias.pml checks that a loan is noted only for a
 * task that has not released the lock yet.
 *
 * One task holds locks 0 and 1; with BOTH, tasks wait for both. With TWO, another task holds
 * lock 2. Both tasks share one struct lent_task, so it is reused as soon as it is free. Waiters
 * lend SCHED_FIFO (RT) or a nice value (NICE). A waiter that gets a CPU looks LOOKS times at
 * most; it may give up. The watcher looks when there is something new to lend. lend_adjust()
 * visits its tasks in two stretches. With SECTION, the first task expedites lock 0 while it
 * holds it; the watcher activates the section at any time, or never. With WAITER, it holds lock 0
 * and waits for another lock as a writer: it lends itself its own level, here NICE, in two sleeps.
 * A budget that is spent keeps it from that. With CHANGES, the second waiter of lock 0 lends nothing
 * at first, and its level changes that often, between nothing and NICE.
 *
 * LENT stays set while a task is in lenders_changed() (leaving), and while tasks are queued. A
 * release applies for a lent task even if it has no loan: see the mutants lend-lent-cleared-early,
 * lend-lent-needs-a-lender and lend-end-needs-a-loan.
 *
 * What lend_lock protects is one step. A task may be preempted between any two steps, except
 * in apply(): see the assertion in waiter(). A priority that cannot be restored (FAILS) and a
 * spent budget (SPENDS) are choices. With STARVED, a holder without RT gets no CPU while a
 * waiter that lends RT waits; waiters do not give up then.
 *
 * Checked:
 *  - each look lends the highest level of all waiters
 *  - a release ends the loan
 *  - a task that holds nothing has its own priority, unless that could not be restored
 *  - lent priorities are restored, by any task; at the end nothing is left
 *  - a lent priority is never taken for a task's own
 *  - only one task at a time sets a priority
 *  - a loan does not wait for another lender that may be preempted
 *  - a writer lends itself only its own level; after its wait, that loan has ended (G11)
 *  - with STARVED: all holders release (G5, B1)
 */
#ifndef LOOKS
#define LOOKS		1	/* looks of a waiter, at most */
#endif
#ifndef PASSES
#define PASSES		1	/* how often a holder acquires */
#endif
#ifndef CHANGES
#define CHANGES		0
#endif
#ifndef FAILS
#define FAILS		0
#endif
#ifndef SPENDS
#define SPENDS		0
#endif
#ifdef STARVED
#define GIVES_UP	false
#define may_run(s)	(prio[me] == RT || !by_rt[s])
#else
#define GIVES_UP	true
#define may_run(s)	true
#endif

#define NOTHING		0
#define NICE		1
#define RT		2

#define NR_LOCKS	3
#define NO_TASK		0	/* the holders are 1 and 2 */
#define HOLDER_OF(s)	((s) == 2 -> 2 : 1)

bool held[NR_LOCKS];
bool lent[NR_LOCKS];		/* LENT in the lock's word */
bool expedited[NR_LOCKS];	/* by its holder, which lends RT: an active section */
bool is_new;			/* lock 0 has a new section */
byte queued[NR_LOCKS];		/* number of queued waiters */
byte by_rt[NR_LOCKS];		/* ... that lend RT */
byte by_nice[NR_LOCKS];		/* ... and NICE */
byte leaving[NR_LOCKS];		/* number of tasks in lenders_changed() */
byte prio[3];			/* of holders */

/* struct lent_task */
byte task;
byte loan[NR_LOCKS];		/* while the task holds the lock */
byte section[NR_LOCKS];		/* while the task expedites the lock */
byte waits;			/* while the task waits for another lock */
bool busy;
bool failed;
bool has_fifo;
bool fifo_spent;
byte now;

/* For assertions only. */
byte applying;			/* number of tasks in apply(), which are not preempted */
byte spends, fails;
bool section_lends;		/* the watcher has applied a loan of the section */

#define level_of(l)	(fifo_spent && (l) == RT -> NICE : (l))
#define highest_level(s)	(by_rt[s] || expedited[s] -> RT : (by_nice[s] -> NICE : NOTHING))

inline level_of_loans()
{
	level = loan[0];
	level = (loan[1] > level -> loan[1] : level);
	level = (loan[2] > level -> loan[2] : level);
	level = (section[0] > level -> section[0] : level);
	level = (waits > level -> waits : level);
	level = level_of(level)
}

#define one_at_a_time		(applying == 1)
#define own_is_not_lent		(now || !prio[task])
#define loan_is_highest(s)	(!noted || loan[s] >= highest_level(s))
#define loan_has_ended(s)	(task != HOLDER_OF(s) || !loan[s])
#define loan_counts		(applying || failed || !noted || task != HOLDER_OF(s) ||	\
				 !loan[s] || prio[HOLDER_OF(s)] >= (spends -> NICE : mine))
#define committer_has_level	(applying || !section_lends || spends || prio[1] >= RT)
#define has_own_priority	(applying || failed || !prio[me] || loan[0] || loan[1])
#define nothing_is_lent		(!task && !loan[0] && !loan[1] && !loan[2] && !section[0] && !waits)
#define lends_its_own		(waits <= NICE)
#define wait_has_ended		(task != me || !waits)
#define all_is_restored	(!prio[1] && !prio[2])

#define apply_later()		todo = true

/* In any task, without preemption. */
inline apply()
{
	do
	:: atomic { !todo -> break }
	/* the lent task is free now, or another task in the loop re-reads the loans */
	:: atomic { todo && !in_loop && (!task || busy) -> todo = false; break }
	:: atomic { todo && !in_loop && task && !busy ->
			busy = true;
			failed = false;
			applying++;
			in_loop = true;
			level = now
		}
	:: atomic { in_loop ->
			now = level;
			has_fifo = (level == RT);
			level_of_loans();
			if
			:: level == now ->
				task = (level == NOTHING -> NO_TASK : task);
				busy = false;
				applying--;
				level = NOTHING;
				in_loop = false;
				todo = false;
				break
			:: else -> has_fifo = has_fifo || level == RT
			fi
		}
		/* lent_priority_set(): without a loan, the task has its own priority */
		atomic {
			assert(one_at_a_time);
			assert(own_is_not_lent);
			if
			:: prio[task] = level
			:: level == NOTHING && fails < FAILS ->
				fails++;
				failed = true;
				busy = false;
				applying--;
				in_loop = false;
				todo = false;
				break
			fi
		}
	od
}

/* --- loans --------------------------------------------------------------- */

/* Under wait_lock and lend_lock. */

inline note_loan(s, what, of_section)
{
	noted = true;
	if
	:: !task -> task = HOLDER_OF(s); now = NOTHING; has_fifo = false; fifo_spent = false
	:: else
	fi;
	if
	:: task == HOLDER_OF(s) ->
		if
		:: of_section -> section[s] = what
		:: else -> loan[s] = (what > loan[s] -> what : loan[s])
		fi;
		/* a choice: a bucket is full, or has drained */
		if
		:: !has_fifo -> fifo_spent = false
		:: !has_fifo && spends < SPENDS -> fifo_spent = true; spends++
		:: has_fifo
		fi;
		level_of_loans();
		if
		:: level != now -> apply_later()
		:: else
		fi;
		level = NOTHING
	/* the lent task is in use */
	:: else -> noted = false
	fi
}

/* look_at_holders() */
inline look(s)
{
	lent[s] = true;
	note_loan(s, highest_level(s), false);
	assert(loan_is_highest(s))
}

inline lend_end(s, of_section)
{
	if
	:: task == HOLDER_OF(s) ->
		if
		:: of_section -> section[s] = NOTHING
		:: else -> loan[s] = NOTHING
		fi;
		apply_later()
	:: else
	fi
}

inline lend_adjust(s)
{
	if
	:: task == HOLDER_OF(s) && loan[s] > highest_level(s) ->
		loan[s] = highest_level(s);
		apply_later()
	:: else
	fi
}

/*
 * The lender has left the queue. The first stretch of lend_adjust() visits the lent task, the last
 * one clears LENT.
 */
inline lenders_changed(s)
{
	atomic { lend_adjust(s) }
	apply();
	atomic {
		leaving[s]--;
		lent[s] = (queued[s] || expedited[s] || leaving[s] -> lent[s] : false)
	}
}

/* --- holders ------------------------------------------------------------- */

inline take(s)
{
	held[s] = true
}

/* Releases under wait_lock, then applies if LENT is set. */
inline release(s)
{
	atomic {
		may_run(s) ->
		if
		:: lent[s] -> lend_end(s, false)
		:: else
		fi;
		assert(loan_has_ended(s));
		held[s] = false;
		lent[s] = expedited[s]
	}
	apply()
}

/* Of a task whose own level is NICE; prio.own is valid as long as the lent task is in use. */
#define knows_own()		(task == me)
#define lend_own_level()	(knows_own() || prio[me] < NICE -> NICE : prio[me])

/* lend_to_itself(): notes a loan of the task itself, unless its budget is spent */
inline lend_to_waiter()
{
	own = lend_own_level();
	if
	:: !task && spends < SPENDS -> spends++
	:: !task -> task = me; now = NOTHING; has_fifo = false; fifo_spent = false
	:: else
	fi;
	if
	:: task == me ->
		waits = own;
		assert(lends_its_own);
		level_of_loans();
		if
		:: level != now -> apply_later()
		:: else
		fi;
		level = NOTHING
	:: else
	fi
}

/* The sleeps may end at any time, by a release of the other lock, a signal or a timeout. */
inline wait_for_lock()
{
	atomic { lend_to_waiter() };
	apply();
	atomic { lend_to_waiter() };
	apply();
	atomic {
		if
		:: task == me -> waits = NOTHING; apply_later()
		:: else
		fi
	};
	apply();
	assert(wait_has_ended)
}

/* The committer may acquire and release the lock. */
inline expedite()
{
	is_new = true
}

/* expedite_activate() */
inline activate(s)
{
	is_new = false;
	expedited[s] = true;
	lent[s] = true
}

/* An active section has given the committer the level that it lends. */
inline unexpedite(s)
{
	atomic {
		if
		:: is_new -> is_new = false
		:: else
		fi
	}
	if
	:: atomic { expedited[s] ->
			assert(committer_has_level);
			section_lends = false;
			expedited[s] = false;
			leaving[s]++;
			lend_end(s, true)
		}
		apply();
		lenders_changed(s)
	:: else
	fi
}

proctype holder(byte me)
{
	byte level, pass, own;
	bool todo, in_loop, noted;

	do
	:: pass < PASSES && me == 1 ->
		pass++;
#ifdef WAITER
		take(0);
		wait_for_lock();
		release(0);
		assert(has_own_priority)
#else
#ifdef SECTION
		expedite();
		take(0);
		release(0);
		unexpedite(0)
#else
		take(0);
		take(1);
		release(1);
		release(0);
		assert(has_own_priority)
#endif
#endif
	:: pass < PASSES && me == 2 ->
		pass++;
		take(2);
		release(2);
		assert(has_own_priority)
	:: else -> break
	od
}

/* --- waiters and the watcher --------------------------------------------- */

inline add_level(s)
{
	by_rt[s] = by_rt[s] + (mine == RT -> 1 : 0);
	by_nice[s] = by_nice[s] + (mine == NICE -> 1 : 0)
}

inline remove_level(s)
{
	by_rt[s] = by_rt[s] - (mine == RT -> 1 : 0);
	by_nice[s] = by_nice[s] - (mine == NICE -> 1 : 0)
}

inline leave_queue(s)
{
	queued[s]--;
	remove_level(s)
}

proctype waiter(byte s; byte mine)
{
	byte level, looks, changes;
	bool todo, in_loop, noted;

	atomic {
		if
		:: held[s] ->
			queued[s]++;
			add_level(s)
		:: else -> goto done
		fi
	}
	do
	:: looks < LOOKS && held[s] ->
		looks++;
		atomic {
			if
			:: held[s] && highest_level(s) -> look(s)
			:: else -> noted = false
			fi
		}
		/* the lender may be preempted here for long */
		apply();
		/* the loan counts now, or a task in apply() will set it without preemption */
		assert(loan_counts)
	/* renice, or a priority that it inherits */
	:: atomic { changes < CHANGES && mine != RT ->
			changes++;
			remove_level(s);
			mine = (mine -> NOTHING : NICE);
			add_level(s)
		}
	:: break
	od;
	if
	/* acquires the lock */
	:: atomic { !held[s] -> leave_queue(s) }
	:: atomic { GIVES_UP -> leave_queue(s); leaving[s]++ };
		lenders_changed(s)
	fi;
done:	skip
}

#define has_waiters(s)		(by_rt[s] || by_nice[s])
#define may_lend_more(s)	(held[s] && has_waiters(s) && (loan[s] < highest_level(s) ||	\
				 (fifo_spent && !has_fifo && highest_level(s) == RT)))

proctype watcher()
{
	byte level;
	bool todo, in_loop, noted;

end:	do
	:: atomic { (!task || task == 1) && may_lend_more(0) -> look(0) };
		apply()
	:: atomic { (!task || task == 1) && may_lend_more(1) -> look(1) };
		apply()
	:: atomic { (!task || task == 2) && may_lend_more(2) -> look(2) };
		apply()
#ifdef SECTION
	:: atomic { is_new -> activate(0) }
	/* expedite_look() */
	:: atomic { (!task || task == 1) && expedited[0] && section[0] < RT ->
			note_loan(0, RT, true)
		};
		apply();
		atomic { section_lends = expedited[0] && noted }
#endif
	/* lend_account() */
	:: atomic { has_fifo && !fifo_spent && spends < SPENDS ->
			fifo_spent = true;
			spends++;
			apply_later()
		};
		apply()
	:: atomic { failed -> apply_later() };
		apply()
	od
}

init
{
	atomic {
		run watcher();
		run holder(1);
		run waiter(0, RT);
#ifdef TWO
		run holder(2);
		run waiter(2, RT)
#else
		run waiter(0, (CHANGES -> NOTHING : NICE));
#ifdef SECTION
		run waiter(0, RT);
#endif
#ifdef BOTH
		run waiter(1, NICE)
#endif
#endif
	}
	/* only init and the watcher are left */
	_nr_pr == 2 && !busy && !failed;
	assert(nothing_is_lent);
	assert(all_is_restored)
}
