/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loans and their donors. Models lend.c, the releases in unfair_rwsem.c and watch() in watcher.c,
 * with their names. bias.pml checks that a look finds no task that has released the lock (E).
 *
 * Task 1 acquires and releases lock 0, and with TWO_LOCKS lock 1 in between, PASSES times; then it
 * exits. SECOND is task 2: lent_task does the same. With WRITER, task 1 queues first, and may give
 * up. With OWNER, task 1 blocks on a lock of the kernel that task 2 releases without calling us,
 * and exits. With CHAIN, task 1 waits for lock 1, which task 2 holds. Waiters come and leave.
 *
 * There is one level: while a donor waits that is not suspended, the owner of its rt_mutex is
 * boosted. What a lock protects is one step. Tasks leave their CPU PREEMPTS times, between any two
 * steps. CHANCES times, a budget is spent, a look does not get wait_lock, or donor 0 gets another
 * signal. With STARVED, waiters stay, and a holder gets a CPU only while it is boosted. With OFF,
 * lend becomes 0, and then donors, and tasks without a boost, get no CPU.
 *
 * Checked:
 *  - a release ends the loan, and a writer that stops waiting ends its loan to itself (G5, G11)
 *  - only the owner unlocks an rt_mutex, and its donor serves no other loan before that
 *  - either the lent task or a cancellation ends a loan; its task is referenced until then
 *  - each run ends with all donors idle and no task boosted; with STARVED, all holders release
 *  - with OFF, no task is boosted in the end, although no donor becomes idle
 *  - a lease ends in the third pass after its last waiter has left, or the fifth through another
 */
#ifndef PASSES
#define PASSES		1
#endif
#ifndef PREEMPTS
#define PREEMPTS	1
#endif
#ifndef CHANCES
#define CHANCES		0
#endif

#define LEASE_PASSES	2
#define NOBODY		0	/* tasks are 1 and 2 */
#define NONE		2	/* donors are 0 and 1; 2 is unused */
#define BIT(t)		(1 << (t))
#define runs		!no_cpu
#define IDLE		0	/* states of a donor */
#define OUT		1
#define UNLOCKED	2
#define CANCELLED	3

byte held[2];			/* a bit for each task */
bool lent[2];			/* LENT in the word */
byte waiting[2];		/* waiters that lend */
byte queued;			/* the writer in the queue of lock 0 */
bool blocks;			/* task 2 owns what task 1 is blocked on */
bool on_cpu[3], exited[3]; byte refs[3];	/* held by donors */
bool lend = true, no_cpu; byte preempts, chances;
byte gone;			/* passes without a waiter of lock 0; 6: or more */

/* struct donor, its thread and its rt_mutex */
byte state[3], task[2], sem[2];
byte age[3];			/* passes since a look renewed it, or it was cancelled */
bool is_writer[3];		/* LOAN_WRITER: no lease */
bool suspended[2], must_signal[2], in_work[2];
bool rt[2], woken[2], signal[2], waits[2];
byte owner[3];

#define boosts(d, t)	(waits[d] && rt[d] && owner[d] == (t))
#define is_boosted(t)	(boosts(0, t) || boosts(1, t))
#define is_loan(d, t, s) (state[d] == OUT && task[d] == (t) && sem[d] == (s))
#define find_loan(t, s)	(is_loan(0, t, s) -> 0 : (is_loan(1, t, s) -> 1 : NONE))
#define has_loan(t, s)	(is_loan(0, t, s) || is_loan(1, t, s))
#define donor_level(d)	(state[d] == UNLOCKED || !suspended[d])
#define has_waiter(s)	(waiting[s] || ((s) == 0 && queued))
/* a waiter of lock 1 lends what it was lent for lock 0 */
#define has_level(s)	(lend && (has_waiter(s) || ((s) == 1 && chained && has_loan(1, 0))))
#define chained		(held[0] & BIT(1) && held[1] & BIT(2))
#define lends_to(t, s)	(has_level(s) && (held[s] & BIT(t) ||					\
			 ((t) == 2 && (s) == 0 && blocks && held[0] & BIT(1))))
#ifdef STARVED
#define gives_up	false
#define cpu_is_free(t)	(!lends_to(t, 0) && !lends_to(t, 1) && !((t) == 2 && (blocks || chained)))
#else
#define gives_up	true
#define cpu_is_free(t)	!no_cpu
#endif
#define idle_donor	(state[0] == IDLE -> 0 : (state[1] == IDLE -> 1 : NONE))

#define task_exists(t)		(!exited[t] || refs[t])
#define unlocks_its_own		(loan == NONE || (state[loan] == UNLOCKED && owner[loan] == me))
#define was_unlocked(d)		(state[d] == UNLOCKED)
#define was_cancelled(d)	(state[d] == CANCELLED && owner[d] == task[d])
#define is_unused(d)		(!owner[d] && !waits[d] && !in_work[d])
#define lease_ends(d)		(state[d] != OUT || is_writer[d] || has_waiter(0) ||		\
				 has_waiter(1) || gone < (sem[d] -> 5 : 3))
#define loan_has_ended(s)	(!has_loan(me, s))
#define nothing_is_boosted	(!is_boosted(1) && !is_boosted(2))
#define nothing_is_left		(nothing_is_boosted && !refs[1] && !refs[2])

/* --- donors ---------------------------------------------------------------- */

proctype donor(byte d)
{
sleep:	atomic { runs -> woken[d] = false }
	if
	:: state[d] != IDLE
	:: state[d] == IDLE;
end:		atomic { runs && woken[d] -> goto sleep }
	fi;
	/* must_wait() and rt_mutex_lock_interruptible() */
again:	atomic { runs ->
		assert(task_exists(task[d]));
		state[d] = (state[d] == OUT && on_cpu[task[d]] -> CANCELLED : state[d]);
		waits[d] = (state[d] != CANCELLED)
	}
	if
	:: atomic { runs && waits[d] && !owner[d] -> assert(was_unlocked(d)); waits[d] = false }
	:: atomic { runs && waits[d] && owner[d] && signal[d] -> waits[d] = false };
		atomic { runs -> signal[d] = false; goto again }
	:: atomic { runs && !waits[d] -> assert(was_cancelled(d)); owner[d] = NOBODY }
	fi;
	atomic { runs -> refs[task[d]]--; task[d] = NOBODY; age[d] = 0; state[d] = IDLE };
	goto sleep
}

/* --- lent tasks ------------------------------------------------------------ */

#define lend_end(s)	loan = find_loan(me, s); state[loan] = UNLOCKED

inline lend_unlock()
{
	atomic { on_cpu[me] -> assert(unlocks_its_own); owner[loan] = NOBODY; loan = NONE }
}

inline acquire(s)
{
	atomic { on_cpu[me] -> held[s] = held[s] | BIT(me);
		lent[s] = lent[s] || (queued && has_loan(me, s)); queued = NOBODY }
}

/* under wait_lock, or by the fast path if LENT is clear */
inline release(s)
{
	atomic { on_cpu[me] ->
		if
		:: lent[s] -> lend_end(s)
		:: else
		fi;
		assert(loan_has_ended(s));
		held[s] = held[s] & ~BIT(me); lent[s] = lent[s] && held[s]
	};
	lend_unlock()
}

proctype lent_task(byte me)
{
	byte loan = NONE, pass;

	do
	:: pass < PASSES ->
		pass++;
#ifdef WRITER
		atomic { on_cpu[me] -> queued = me };
		if
		:: atomic { on_cpu[me] -> queued = NOBODY; lend_end(0); assert(loan_has_ended(0)) };
			lend_unlock();
			goto next
		:: skip
		fi;
#endif
		acquire(0);
#ifdef TWO_LOCKS
		acquire(1); release(1);
#endif
#ifdef CHAIN
		atomic { on_cpu[me] -> on_cpu[me] = false };
		!held[1] || gives_up;
#endif
#ifdef OWNER
		atomic { on_cpu[me] -> blocks = true; on_cpu[me] = false };
		!blocks;
#endif
		release(0);
next:		skip
	:: else -> break
	od;
	atomic { on_cpu[me] -> exited[me] = true }
}

/* SECOND of CHAIN or OWNER */
proctype other_task(byte me)
{
	byte loan = NONE;
#ifdef CHAIN
	acquire(1); release(1);
#else
	atomic { on_cpu[me] && blocks -> blocks = false };
#endif
	atomic { on_cpu[me] -> exited[me] = true }
}

proctype cpu(byte t)
{
end:	do
	:: atomic { on_cpu[t] && preempts < PREEMPTS -> preempts++; on_cpu[t] = false }
	:: atomic { !on_cpu[t] && (is_boosted(t) || cpu_is_free(t)) -> on_cpu[t] = true }
	od
}

proctype waiter(byte s)
{
	waiting[s]++;
	atomic { !held[s] || gives_up -> waiting[s]--; gone = 0 }
}

/* --- the watcher ----------------------------------------------------------- */

inline apply(d)
{
	atomic {
		rt[d] = (in_work[d] -> donor_level(d) : rt[d]);
		signal[d] = signal[d] || must_signal[d];
		woken[d] = woken[d] || (in_work[d] && !must_signal[d]);
		must_signal[d] = false; in_work[d] = false
	}
}

#define lacks_loan(t, s) (has_level(s) && !on_cpu[t] && !has_loan(t, s) && idle_donor != NONE)

/* If @may; @of_writer: LOAN_WRITER. */
inline note_loan(may, t, s, of_writer)
{
	if
	:: may && lacks_loan(t, s) ->
		x = idle_donor;
		assert(is_unused(x));
		refs[t]++;
		task[x] = t; sem[x] = s; is_writer[x] = false; suspended[x] = false;
		owner[x] = t; state[x] = OUT; in_work[x] = true
	:: else
	fi;
	x = (may -> find_loan(t, s) : NONE);
	age[x] = 0; is_writer[x] = is_writer[x] || of_writer;
	x = 0; is_writer[NONE] = false
}

inline look(s)
{
	lent[s] = lent[s] || (has_level(s) && held[s]);		/* lend_announce() */
	note_loan((s) == 0 && queued, 1, 0, true);
	note_loan(lends_to(1, s), 1, s, false);
	note_loan(lends_to(2, s), 2, s, false)
}

#define cancel(d)	state[d] = CANCELLED; age[d] = 0; must_signal[d] = true; in_work[d] = true

inline end_lease(d)
{
	if
	:: state[d] == OUT && !is_writer[d] && age[d] >= LEASE_PASSES -> cancel(d)
	:: else -> age[d] = (state[d] != IDLE && age[d] < LEASE_PASSES -> age[d] + 1 : age[d])
	fi;
	assert(lease_ends(d))
}

inline account(d)
{
	if
	:: state[d] == OUT && !lend -> cancel(d)
	/* the bucket is full, or has drained: at any time */
	:: state[d] == OUT && lend -> suspended[d] = !suspended[d]; chances = chances + suspended[d]
	:: state[d] == CANCELLED -> suspended[d] = true
	:: state[d] == UNLOCKED
	fi;
	in_work[d] = true
}

/* What changes nothing is not done. So a run that does not end has something left at its end. */
#define look_changes(s)	((lacks_loan(1, s) && (lends_to(1, s) || ((s) == 0 && queued))) ||	\
			 (lacks_loan(2, s) && lends_to(2, s)))
#define pass_changes(d)	((state[d] == OUT && !is_writer[d] &&					\
			  (age[d] != 1 || !lends_to(task[d], sem[d]))) ||			\
			 (state[d] == CANCELLED && !age[d]))
#define account_changes(d) ((state[d] == OUT && (!lend || suspended[d] || chances < CHANCES)) || \
			 (state[d] == CANCELLED && age[d] && !suspended[d]) ||			\
			 (state[d] == UNLOCKED && rt[d] != donor_level(d)))

proctype watcher()
{
	byte x;

end:	do
	:: atomic { look_changes(0) -> look(0) };
		apply(0); apply(1)
	:: look_changes(1) || pass_changes(0) || pass_changes(1) ->
		if
		:: atomic { look(0) }; apply(0); apply(1)
		:: atomic { chances < CHANCES -> chances++ }
		fi;
		atomic { look(1) }; apply(0); apply(1);
		/* lend_end_pass() */
		atomic {
			gone = (gone < 6 && !has_waiter(0) && !has_waiter(1) -> gone + 1 : gone);
			end_lease(0); end_lease(1)
		};
		apply(0); apply(1)
	:: atomic { account_changes(0) -> account(0) }; apply(0); apply(1)
	:: atomic { account_changes(1) -> account(1) }; apply(0); apply(1)
	:: atomic { chances < CHANCES -> chances++; signal[0] = true; woken[0] = true }
	od
}

init
{
	atomic {
		on_cpu[1] = true;
		run donor(0); run donor(1); run watcher(); run cpu(1); run cpu(2);
		run lent_task(1);
#ifdef SECOND
		run SECOND(2);
#endif
#ifdef TWO_LOCKS
		run waiter(1);
#endif
		run waiter(0)
	}
#ifdef OFF
	atomic { lend = false; no_cpu = true };
	timeout;
	assert(nothing_is_boosted);
	no_cpu = false;
#endif
	/* only init, the watcher, donors and CPUs are left */
	_nr_pr == 6 && state[0] == IDLE && state[1] == IDLE;
	assert(nothing_is_left)
}
