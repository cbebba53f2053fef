/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: pin, switch, release, reuse, destroy. Models commit_root.c and
 * commit_root.h, with their names.
 *
 * The generation of roots, 1 to NG, identifies them. There are two CPUs with their own counts,
 * and a pin may be dropped on the other CPU. A section of RCU (preemption is disabled) is a member
 * of a set. A grace period waits for all sections that exist when it is requested. What a lock or
 * an atomic operation protects is one step. The litmus tests check the barriers.
 *
 * A pin keeps a root usable: until the pin is dropped, the root is not released, nor is the newest
 * one of the tree, where the search for it begins, and no block that it reaches is reused. Blocks
 * freed by generation G are reached by the roots of earlier generations. They may be reused when
 * commit_root_reusable() is G.
 *
 * Checked: a pin keeps its root usable; roots are released once; when nothing else can run, only
 * roots with a pin are kept, besides the newest; no task touches the memory of roots after it was
 * freed; destroy ends when no pin is left, and is the last to touch the set.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NG
#define NG		2
#endif

#define BIT(id)		(1 << (id))
#define PINS(g, cpu)	pins[(g) * 2 + (cpu)]

byte roots;			/* set->roots; 0: NULL */
bool kept[NG + 1];		/* in the list */
byte nr_kept;
byte reusable;
byte sections;			/* a set: readers with preemption disabled */
bool replaced[NG + 1];
short pins[2 * NG + 2];		/* per CPU */
bool unlisted[NG + 1];		/* call_rcu() */
byte free_waits_for[NG + 1];	/* a set: sections that the grace period waits for */
byte destroy_waits_for;		/* the same, for synchronize_rcu() */
byte last;			/* the newest roots, once destroy has replaced them */
bool work;			/* queued */
bool working;

/* For assertions only. */
bool released[NG + 1];
byte holders[NG + 1];		/* pins */
bool no_new_pins;		/* the caller of destroy prevents them */
bool freed;			/* the set is freed */

#define set_exists		(!freed)
#define memory_exists		(!unlisted[mine] || free_waits_for[mine])
#define root_exists		(!released[whose])
#define blocks_not_reused	(reusable <= whose)
#define released_once		(!released[g])
#define OLDER_IS_KEPT(g)	((g > 1 && kept[1]) || (g > 2 && kept[2]))
/* the commit that was the newest one when destroy began goes last */
#define GOES_LAST(g)		(g == last && OLDER_IS_KEPT(g))
#define kept_is_pinned		(!kept[g] || !replaced[g] || holders[g] || GOES_LAST(g))
/* commit_root_of() begins at the newest root */
#define newest_exists		(!last || !released[last])

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
	destroy_waits_for = destroy_waits_for & ~BIT(me);
	g = 1;
	do
	:: g <= NG -> free_waits_for[g] = free_waits_for[g] & ~BIT(me); g++
	:: else -> break
	od;
	g = 0
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

/* release_work() */
active proctype worker()
{
	byte g, i;
	short sum;

end:	do
	:: atomic { work -> work = false; working = true; use_set(); g = 1 }
		do
		:: g <= NG ->
			if
			:: atomic { kept[g] && replaced[g] -> sum = PINS(g, 0) }	/* B, C */
				atomic {
					sum = sum + PINS(g, 1);
					if
					:: sum || GOES_LAST(g) -> sum = 0; goto next_roots
					:: else
					fi
				}
				/* remove_roots() */
				atomic {
					assert(released_once);
					released[g] = true
				}
				atomic {
					use_set();
					kept[g] = false;
					nr_kept--;
					move_reusable();
					unlisted[g] = true;				/* D */
					free_waits_for[g] = sections
				}
			:: else
			fi;
next_roots:		g++
		:: else -> break
		od;
		atomic { g = 0; working = false }
	od
}

/* The roots of generation @whose and their blocks must be unchanged. */
inline search(whose)
{
	atomic {
		assert(root_exists);
		assert(newest_exists);
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

/* __commit_root_uncount(), with preemption disabled */
inline uncount()
{
	assert(memory_exists);
	PINS(mine, cpu)--						/* C */
}

inline look_replaced()
{
	assert(memory_exists);
	if
	:: replaced[mine] -> use_set(); work = true			/* C */
	:: else
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
		preempt_disable()					/* D */
	}
	do
	:: atomic { use_set(); mine = roots }				/* A */
		if
		:: mine ->
			atomic { assert(memory_exists); PINS(mine, cpu)++ }	/* B */
			atomic {
				use_set();
				if
				:: roots == mine ->					/* B */
					holders[mine]++;
					cpu = 0;
					preempt_enable();
					goto pinned
				:: else
				fi
			}
			atomic { uncount() }
			atomic { look_replaced() }
		:: else ->
			atomic { use_set(); cpu = 0; preempt_enable(); goto done }
		fi
	od;
pinned:	search(mine);
	if
	:: true
	:: true -> hold()
	fi;
	search(mine);
	atomic { holders[mine]--; on_a_cpu(); preempt_disable(); uncount() }
	atomic { look_replaced(); cpu = 0; preempt_enable() }
done:	skip
}

proctype committer()
{
	byte old, next = 1, i;

	do
	:: next <= NG ->
		/* commit_root_switch(), under the lock */
		atomic {
			old = roots;
			kept[next] = true;
			nr_kept++;
			if
			:: !old -> move_reusable()
			:: else
			fi;
			roots = next;
			replaced[old] = true				/* C */
		}
		atomic { work = work || old; next++ }
	:: true -> break
	od;

	/* commit_root_set_destroy() */
	no_new_pins = true;
	atomic {
		replaced[roots] = true;					/* C */
		work = work || roots;
		last = roots;
		roots = 0						/* B */
	}
	/* wait_for_completion() */
	atomic {
		!nr_kept ->
		destroy_waits_for = sections
	}
	/* synchronize_rcu() */
	!destroy_waits_for;						/* D */
	/* destroy_workqueue() */
	atomic { !work && !working -> freed = true }
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
