/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: pin, switch, release, reuse, destroy. Models commit_root.c and
 * commit_root.h, with their names.
 *
 * The generation of roots, 1 to NG, identifies them. There are two CPUs with their own counts,
 * and a pin may be dropped on the other CPU. A section of RCU (preemption is disabled) is a member
 * of a set. A grace period waits for all sections that exist when it begins, which is some time
 * after it was requested; so it also waits for sections that began meanwhile. What a lock or an
 * atomic operation protects is one step. The litmus tests check the barriers.
 *
 * A pin keeps a root usable: until the pin is dropped, the root is not released, and no block
 * that it reaches is reused. Blocks freed by generation G are reached by the roots of earlier
 * generations. They may be reused when commit_root_reusable() is G.
 *
 * Checked: a pin keeps its root usable; roots are released once; when nothing else can run, only
 * roots with a pin are kept, besides the newest; a destroy that succeeds finds all roots released,
 * and is the last to touch the set; destroy succeeds when no pin is left.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NG
#define NG		2
#endif

#define BIT(id)		(1 << (id))
#define NOT_ADDED	50
#define PINS(g, cpu)	pins[(g) * 2 + (cpu)]

byte roots;			/* set->roots; 0: NULL */
bool kept[NG + 1];		/* in the list */
byte reusable;
byte sections;			/* a set: readers with preemption disabled */
bool retired[NG + 1];
bool requested[NG + 1];		/* queue_rcu_work(): no grace period has begun for it */
byte waits_for;			/* a set: sections that the grace period waits for */
bool grace_period;		/* one is running */
byte destroy_waits_for;		/* the same, for synchronize_rcu() */
short pins[2 * NG + 2];		/* per CPU */
short users[NG + 1];
bool work[NG + 1];		/* queued */
bool working;

/* For assertions only. */
bool released[NG + 1];
byte holders[NG + 1];		/* pins */
bool no_new_pins;		/* the caller of destroy prevents them */
bool freed;			/* the set is freed */
byte finished;			/* number of readers that are done */

#define set_exists		(!freed)
#define root_exists		(!released[whose])
#define blocks_not_reused	(reusable <= whose)
#define released_once		(!released[g])
#define destroy_succeeds	(tries == 1)
#define all_is_released		(nr == 0)
#define kept_is_pinned		(!kept[g] || !retired[g] || holders[g])

inline use_set()
{
	assert(set_exists)
}

inline preempt_disable()
{
	sections = sections | BIT(me)
}

inline preempt_enable()
{
	sections = sections & ~BIT(me);
	waits_for = waits_for & ~BIT(me);
	destroy_waits_for = destroy_waits_for & ~BIT(me)
}

inline retire(g)
{
	if
	:: g ->
		retired[g] = true;					/* C */
		requested[g] = true
	:: else
	fi
}

active proctype rcu()
{
	byte g;
	bool batch[NG + 1];

end:	do
	:: atomic { requested[1] || requested[NG] || requested[(NG + 1) / 2] ->
			g = 1;
			do
			:: g <= NG -> batch[g] = requested[g]; requested[g] = false; g++
			:: else -> break
			od;
			g = 0;
			grace_period = true;
			waits_for = sections
		}
		atomic { !waits_for ->
			g = 1;
			do
			:: g <= NG -> work[g] = work[g] || batch[g]; batch[g] = false; g++
			:: else -> break
			od;
			grace_period = false;
			g = 0
		}
	od
}

/* The oldest kept roots; 0: none */
inline move_reusable()
{
	i = 1;
	do
	:: i <= NG && !kept[i] -> i++
	:: else -> break
	od;
	reusable = (i <= NG -> i : reusable);
	i = 0
}

/* release_work(): the ordered workqueue runs one at a time */
active proctype worker()
{
	byte g, i;
	short sum;

end:	do
	:: atomic {
			if
			:: work[1] -> g = 1
			:: work[NG] -> g = NG
			:: work[(NG + 1) / 2] -> g = (NG + 1) / 2
			fi;
			work[g] = false;
			working = true;
			use_set()
		}
		if
		:: users[g] ->
			sum = PINS(g, 0);
			sum = sum + PINS(g, 1);
			atomic {
				users[g] = users[g] + sum - NOT_ADDED;
				sum = 0;
				if
				:: users[g] -> goto done
				:: else
				fi
			}
		:: else
		fi;
		/* remove_roots() */
		atomic {
			assert(released_once);
			released[g] = true
		}
		atomic {
			use_set();
			kept[g] = false;
			move_reusable()
		}
done:		atomic { g = 0; working = false }
	od
}

/* The roots of generation @whose and their blocks must be unchanged. */
inline search(whose)
{
	atomic {
		assert(root_exists);
		assert(blocks_not_reused)
	}
}

/* What is kept, when all that can run has run? */
inline hold()
{
	atomic {
		timeout ->
		g = 1;
		do
		:: g <= NG -> assert(kept_is_pinned); g++
		:: else -> break
		od;
		g = 0
	}
}

/* The two CPUs: the task may have moved */
inline on_a_cpu()
{
	if
	:: cpu = 0
	:: cpu = 1
	fi
}

inline unpin()
{
	atomic { holders[mine]--; on_a_cpu(); preempt_disable() }
	if
	:: !retired[mine] ->						/* C */
		atomic { PINS(mine, cpu)--; cpu = 0; preempt_enable() }
	:: else ->
		atomic {
			use_set();
			users[mine]--;
			work[mine] = work[mine] || !users[mine];
			cpu = 0;
			preempt_enable()
		}
	fi
}

proctype reader(byte me)
{
	byte mine, g, cpu;

	atomic {
		if
		:: no_new_pins -> goto done
		:: else
		fi;
		use_set();
		on_a_cpu();
		preempt_disable()					/* B */
	}
	atomic { use_set(); mine = roots }				/* A */
	if
	:: mine ->
		atomic {
			PINS(mine, cpu)++;
			holders[mine]++;
			cpu = 0;
			preempt_enable()			/* pinned */
		}
		search(mine);
		if
		:: true
		:: true -> hold()
		fi;
		search(mine);
		unpin()
	:: else ->
		/* __commit_root_refused() */
		atomic { use_set(); cpu = 0; preempt_enable() }
	fi;
done:	finished++
}

proctype committer()
{
	byte old, next = 1, nr, tries, i;

	do
	:: next <= NG ->
		/* commit_root_switch(), under the lock */
		atomic {
			old = roots;
			users[next] = NOT_ADDED;
			kept[next] = true;
			if
			:: !old -> move_reusable()
			:: else
			fi;
			roots = next
		}
		atomic { retire(old); next++ }
	:: true -> break
	od;

	/* commit_root_set_destroy() */
	no_new_pins = true;
	atomic { old = roots; roots = 0 }
	atomic { retire(old) }
	do
	:: destroy_waits_for = sections;
		/* synchronize_rcu() */
		!destroy_waits_for;					/* B */
		/* rcu_barrier(), flush_workqueue() */
		atomic {
			!requested[1] && !requested[NG] && !requested[(NG + 1) / 2] && !grace_period &&
			!work[1] && !work[NG] && !work[(NG + 1) / 2] && !working ->
			nr = 0;
			i = 1;
			do
			:: i <= NG -> nr = nr + kept[i]; i++
			:: else -> break
			od;
			i = 0
		}
		if
		:: nr ->
			/* retry when all readers have unpinned */
			tries++;
			assert(destroy_succeeds);
			finished == NR
		:: else -> break
		fi
	od;
	assert(all_is_released);
	freed = true
}

init
{
	byte i;

	atomic {
		do
		:: i < NR -> run reader(i); i++
		:: else -> break
		od;
		run committer()
	}
}
