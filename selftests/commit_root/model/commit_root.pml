/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: pin, switch, release, reuse, destroy. Of commit_root.c,
 * commit_root_read.c and commit_root.h; names as there.
 *
 * Roots are known by their generation, 1 to NG. SRCU is what it promises: a callback comes
 * when all sections have ended that had begun before call_srcu(), in any order. The counts of
 * pins are per CPU, there are two, and a pin may be given up on the other one. What a lock
 * protects is one step. Memory barriers A to E are in the litmus tests.
 *
 * A root is of use to who pins it: until it is released, and as long as no block that it
 * reaches is used again. Blocks are freed by a generation G; the roots of those before reach
 * them. An allocator takes them when commit_root_reusable() is G.
 *
 * Checked: that; that roots are released once and in order; that a destroy which has seen no
 * pin finds all released and is the last to touch the set; and that it succeeds when no pin
 * is left.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NG
#define NG		2
#endif

#define BIT(id)		(1 << (id))
#define SHUTDOWN	(NG + 1)

byte roots;			/* the pointer; 0: NULL */
byte all_first = 1, all_last;	/* the list: of these generations, if not last < first */
byte reusable;
byte sections;			/* SRCU: a set of readers */
byte waits_for[NG + 1];		/* call_srcu(): a set of readers */
bool callback[NG + 1];		/* to come */
byte users[NG + 1];
bool unpinned[NG + 1];
bool work;			/* queued, or at it */
byte pins[2], unpins[2];	/* on each CPU */

/* For the assertions alone. */
byte released;			/* up to this generation */
bool reused[NG + 2];		/* blocks freed by it */
bool no_more;			/* pins that begin: the caller sees to that */
bool freed;			/* the set */
byte finished;			/* readers */

#define set_is_there		(!freed)
#define root_is_there		(released < whose)
#define blocks_are_there	(!reused[g])
#define released_in_order	(released == all_first - 1)
#define destroy_succeeds	(tries == 1)
#define all_is_released		(all_first > all_last && released == next - 1)

inline look_at_set()
{
	assert(set_is_there)
}

/* All of these under the lock, or by an atomic operation. */
inline put_roots(g)
{
	look_at_set();
	users[g]--;
	if
	:: !users[g] -> unpinned[g] = true; work = true
	:: else
	fi
}

inline retire(g)
{
	if
	:: g ->
		waits_for[g] = sections;
		callback[g] = true
	:: else
	fi
}

/* all_have_left() */
active proctype srcu()
{
	byte g;

end:	do
	:: atomic { callback[1] && !waits_for[1] -> g = 1; callback[g] = false; put_roots(g); g = 0 }
	:: atomic { NG > 1 && callback[2 % (NG + 1)] && !waits_for[2 % (NG + 1)] ->
			g = 2; callback[g] = false; put_roots(g); g = 0 }
	:: atomic { NG > 2 && callback[3 % (NG + 1)] && !waits_for[3 % (NG + 1)] ->
			g = 3; callback[g] = false; put_roots(g); g = 0 }
	od
}

inline srcu_read_unlock()
{
	look_at_set();
	sections = sections & ~BIT(me);
	g = 1;
	do
	:: g <= NG -> waits_for[g] = waits_for[g] & ~BIT(me); g++
	:: else -> break
	od;
	g = 0
}

/* release_work() */
active proctype worker()
{
end:	do
	:: atomic { work && all_first <= all_last && unpinned[all_first] -> look_at_set() };
		/* without the lock: release_those_replaced() */
		atomic {
			assert(released_in_order);
			released = all_first
		}
		/* move_reusable() */
		atomic {
			look_at_set();
			all_first++;
			reusable = (all_first <= all_last -> all_first : reusable)
		}
	:: atomic { work && !(all_first <= all_last && unpinned[all_first]) -> work = false }
	od
}

/* Of the filesystem: takes what may be taken. */
active proctype allocator()
{
	byte g;

end:	do
	:: atomic { reusable && !reused[reusable] ->
			g = 1;
			do
			:: g <= reusable -> reused[g] = true; g++
			:: else -> break
			od;
			g = 0
		}
	od
}

/* What roots of generation @whose lead to is as it was. */
inline search(whose)
{
	atomic {
		assert(root_is_there);
		g = whose + 1;
		do
		:: g <= NG -> assert(blocks_are_there); g++
		:: else -> break
		od;
		g = 0
	}
}

/* The last look at the set. */
inline gone()
{
	atomic {
		look_at_set();
		if
		:: unpins[0]++
		:: unpins[1]++
		fi
	}
}

proctype reader(byte me)
{
	byte mine, g;

	atomic {
		if
		:: no_more -> goto done
		:: else
		fi;
		look_at_set();
		if
		:: pins[0]++
		:: pins[1]++
		fi
	}
	atomic { look_at_set(); sections = sections | BIT(me) }		/* B */
	atomic { look_at_set(); mine = roots }				/* A */
	if
	:: mine ->
		search(mine);
		if
		:: true
		/* commit_root_pin_again(), and the first one is given up */
		:: atomic { look_at_set(); pins[0]++ };
			atomic { users[mine]++ };
			atomic { srcu_read_unlock() };
			gone();
			search(mine);
			atomic { put_roots(mine) };
			gone();
			goto done
		fi
	:: else
	fi;
	atomic { srcu_read_unlock() };
	gone();
done:	finished++
}

proctype committer()
{
	byte old, next = 1, sum, tries;

	do
	:: next <= NG ->
		/* commit_root_switch(), under the lock */
		atomic {
			old = roots;
			users[next] = 1;
			all_last = next;
			reusable = (old -> reusable : next);
			roots = next
		}
		atomic { retire(old); next++ }
	:: true -> break
	od;

	/* commit_root_set_destroy() */
	no_more = true;
	atomic { old = roots; roots = 0 }
	atomic { retire(old) }						/* C */
	do
	:: sum = 0;
		sum = sum + unpins[0];
		sum = sum + unpins[1];
		sum = sum - pins[0];					/* D */
		sum = sum - pins[1];
		if
		:: sum ->
			/* once more, when all have unpinned */
			tries++;
			assert(destroy_succeeds);
			finished == NR
		:: else -> break
		fi
	od;
	/* srcu_barrier(), flush_work() */
	!callback[1] && !callback[NG] && !callback[(NG + 1) / 2];
	!work;
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
