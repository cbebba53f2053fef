/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lent priority: loans, and who makes a priority what they say. Of lend.c,
 * __unfair_rwsem_lenders_changed() and the releases in unfair_rwsem.c; names as there. That
 * a loan is noted only for who has not released yet is in bias.pml.
 *
 * One task holds locks 0 and 1, and with TWO another one lock 2; there is one struct borrower
 * for both, so it is used again as soon as it is free. Lenders lend SCHED_FIFO (RT) or a nice
 * value (NICE), LOOKS times at most, and may give up; a watcher ends SCHED_FIFO. With SECTION
 * the first task expedites lock 0 while it takes and releases it: a loan of two levels, one for
 * the section and one for the lock.
 * What lend_lock protects is one step. A task may be preempted between all steps but those of
 * settle(), from 6.12 on: see the assertion in lender().
 *
 * Checked: what was lent is given back, by whomever, and at the end nothing is left; nobody
 * takes a lent priority for a task's own; one task at a time sets a priority; and what a
 * lender has lent does not wait for another one that may be preempted.
 */
#ifndef LOOKS
#define LOOKS		2	/* of a lender */
#endif
#ifndef PASSES
#define PASSES		1	/* of a holder */
#endif

#define NOTHING		0
#define NICE		1
#define RT		2

#define NR_LOCKS	3
#define NOBODY		0	/* holders are 1 and 2 */
#define HOLDER_OF(s)	((s) == 2 -> 2 : 1)

bool held[NR_LOCKS];
bool lent[NR_LOCKS];		/* LENT in its word */
bool expedited[NR_LOCKS];	/* by its holder, which lends RT */
byte by_rt[NR_LOCKS];		/* waiters that have lent: w->lent, in the queue */
byte by_nice[NR_LOCKS];
byte prio[3];		/* of holders */

/* struct borrower */
byte task;
byte loan[NR_LOCKS];		/* as long as it holds the lock */
byte section[NR_LOCKS];		/* as long as it expedites it */
bool busy;
bool fifo_spent;
byte now;

/* For the assertions alone. */
byte settling;			/* tasks within settle(), which are not preempted */

#define level_of(l)	(fifo_spent && (l) == RT -> NICE : (l))

inline level_of_loans()
{
	level = loan[0];
	level = (loan[1] > level -> loan[1] : level);
	level = (loan[2] > level -> loan[2] : level);
	level = (section[0] > level -> section[0] : level);
	level = level_of(level)
}

#define one_at_a_time		(settling == 1)
#define own_is_not_lent		(now || !prio[task])
#define loan_counts		(settling || !noted || task != HOLDER_OF(s) || !loan[s] ||	\
				 prio[HOLDER_OF(s)] >= level_of(mine))
#define committer_has_it	(settling || !noted || prio[1] >= level_of(RT))
#define nothing_is_lent		(!task && !busy && !loan[0] && !loan[1] && !loan[2] && !section[0])
#define all_is_given_back	(!prio[1] && !prio[2])

#define settle_later()		todo = true

/* settle_loans(): without a break, whoever it is. */
inline settle()
{
	do
	:: atomic { !todo -> break }
	/* gone since, or somebody is at it and looks once more */
	:: atomic { todo && !at_it && (!task || busy) -> todo = false; break }
	:: atomic { todo && !at_it && task && !busy ->
			busy = true;
			settling++;
			at_it = true;
			level = now
		}
	:: atomic { at_it ->
			now = level;
			level_of_loans();
			if
			:: level == now ->
				busy = false;
				settling--;
				task = (level == NOTHING -> NOBODY : task);
				level = NOTHING;
				at_it = false;
				todo = false;
				break
			:: else
			fi
		}
		/* apply_level(): what it has is its own, if nothing was lent */
		atomic {
			assert(one_at_a_time);
			assert(own_is_not_lent);
			prio[task] = level
		}
	od
}

/* --- loans --------------------------------------------------------------- */

/* All of these under wait_lock and lend_lock. */

inline note_loan(s, what, of_section)
{
	noted = true;
	if
	:: !task -> task = HOLDER_OF(s); now = NOTHING; fifo_spent = false
	:: else
	fi;
	if
	:: task == HOLDER_OF(s) ->
		if
		:: of_section -> section[s] = what
		:: else -> loan[s] = (what > loan[s] -> what : loan[s])
		fi;
		level_of_loans();
		if
		:: level != now -> settle_later()
		:: else
		fi;
		level = NOTHING
	/* no room */
	:: else -> noted = false
	fi
}

inline give_back(s, of_section)
{
	if
	:: task == HOLDER_OF(s) && (loan[s] || section[s]) ->
		if
		:: of_section -> section[s] = NOTHING
		:: else -> loan[s] = NOTHING
		fi;
		settle_later()
	:: else
	fi
}

/* To what those lend that are left. */
inline relevel_loans(s)
{
	level = (by_rt[s] || expedited[s] -> RT : (by_nice[s] -> NICE : NOTHING));
	if
	:: task == HOLDER_OF(s) && loan[s] && loan[s] != level ->
		loan[s] = level;
		settle_later()
	:: else
	fi;
	lent[s] = (level == NOTHING -> false : lent[s]);
	level = NOTHING
}

/* --- holders ------------------------------------------------------------- */

inline take(s)
{
	held[s] = true
}

/* With LENT in the word, under wait_lock; then settles. */
inline release(s)
{
	atomic {
		if
		:: lent[s] -> give_back(s, false)
		:: else
		fi;
		held[s] = false;
		lent[s] = expedited[s]
	}
	settle()
}

/* Who expedites a lock has what it lends, too; it may take and release that lock meanwhile. */
inline expedite(s)
{
	atomic {
		expedited[s] = true;
		lent[s] = true;
		note_loan(s, RT, true)
	}
	settle()
}

inline unexpedite(s)
{
	/* end_expedite() */
	atomic {
		assert(committer_has_it);
		give_back(s, true)
	}
	settle();
	atomic { expedited[s] = false; relevel_loans(s) }
	settle()
}

proctype holder(byte me)
{
	byte level, pass;
	bool todo, at_it, noted;

	do
	:: pass < PASSES && me == 1 ->
		pass++;
#ifdef SECTION
		expedite(0);
		take(0);
		release(0);
		unexpedite(0)
#else
		take(0);
		take(1);
		release(1);
		release(0)
#endif
	:: pass < PASSES && me == 2 ->
		pass++;
		take(2);
		release(2)
	:: else -> break
	od
}

/* --- lenders ------------------------------------------------------------- */

inline leave_queue(s)
{
	by_rt[s] = by_rt[s] - (mine == RT -> 1 : 0);
	by_nice[s] = by_nice[s] - (mine == NICE -> 1 : 0);
	has_lent = false
}

proctype lender(byte s; byte mine)
{
	byte level, looks;
	bool todo, at_it, has_lent, noted;

	do
	:: looks < LOOKS ->
		looks++;
		atomic {
			if
			:: held[s] ->
				lent[s] = true;
				by_rt[s] = by_rt[s] + (!has_lent && mine == RT -> 1 : 0);
				by_nice[s] = by_nice[s] + (!has_lent && mine == NICE -> 1 : 0);
				has_lent = true;
				note_loan(s, mine, false)
			:: else -> noted = false
			fi
		}
		/* here a lender may be preempted for long */
		settle();
		/* not so another one: its loan counts, or somebody sees to that without a break */
		assert(loan_counts)
	:: looks -> break
	od;
	if
	/* has the lock itself */
	:: atomic { has_lent && !held[s] -> leave_queue(s) }
	/* gives up: __unfair_rwsem_lenders_changed() */
	:: atomic { has_lent -> leave_queue(s); relevel_loans(s) };
		settle()
	:: atomic { !has_lent -> skip }
	fi
}

/* end_fifo() */
proctype watcher()
{
	byte level;
	bool todo, at_it;

	atomic {
		if
		:: task && now == RT && !fifo_spent -> fifo_spent = true; settle_later()
		:: true
		fi
	}
	settle()
}

init
{
	atomic {
		run holder(1);
		run lender(0, RT);
		run lender(0, NICE);
#ifdef TWO
		/* borrowers */
		run holder(2);
		run lender(2, RT)
#else
#ifdef SECTION
		run lender(0, RT);
#else
		run lender(1, NICE);
#endif
		run watcher()
#endif
	}
	_nr_pr == 1;
	assert(nothing_is_lent);
	assert(all_is_given_back)
}
