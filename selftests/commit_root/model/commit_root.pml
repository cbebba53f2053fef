/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: pin, switch, release, reuse, destroy. Models commit_root.c and
 * commit_root.h, with their names.
 *
 * The generation of roots, 1 to NG, identifies them. SRCU is modelled by its guarantee: a
 * callback runs after all sections that began before call_srcu() have ended; callbacks run in
 * any order. There are two CPUs with their own counts of pins, and a pin may be dropped on the
 * other CPU. What a lock protects is one step. The litmus tests check barriers A to F.
 *
 * A pin keeps a root usable: until the pin is dropped, the root is not released, and no block
 * that it reaches is reused. Blocks freed by generation G are reached by the roots of earlier
 * generations. An allocator reuses them when commit_root_reusable() is G.
 *
 * Checked: a pin keeps its root usable; roots are released once and in order; a destroy that
 * finds no pin finds all roots released, and is the last to touch the set; destroy succeeds
 * when no pin is left.
 */
#ifndef NR
#define NR		2
#endif
#ifndef NG
#define NG		2
#endif

#define BIT(id)		(1 << (id))
#define SHUTDOWN	(NG + 1)

byte roots;			/* set->roots; 0: NULL */
byte all_first = 1, all_last;	/* the list: these generations; empty if last < first */
byte reusable;
byte sections;			/* a set: readers in an SRCU section */
byte waits_for[NG + 1];		/* a set: readers that call_srcu() waits for */
bool callback[NG + 1];		/* pending */
byte users[NG + 1];
bool unpinned[NG + 1];
bool work;			/* queued or running */
byte pins[2], unpins[2];	/* per CPU */

/* For assertions only. */
byte released;			/* generations up to this one are released */
bool reused[NG + 2];		/* blocks freed by the generation */
bool no_new_pins;		/* the caller of destroy prevents them */
bool freed;			/* the set is freed */
byte finished;			/* number of readers that are done */

#define set_exists		(!freed)
#define root_exists		(released < whose)
#define blocks_not_reused	(!reused[g])
#define released_in_order	(released == all_first - 1)
#define destroy_succeeds	(tries == 1)
#define all_is_released		(all_first > all_last && released == next - 1)

inline use_set()
{
	assert(set_exists)
}

/* Under the lock, or by an atomic operation. */
inline put_roots(g)
{
	use_set();
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

/* all_unpinned() */
active proctype srcu()
{
	byte g;

end:	do
	:: atomic { callback[1] && !waits_for[1] ->
			g = 1; callback[g] = false; put_roots(g); g = 0 }
	:: atomic { NG > 1 && callback[2 % (NG + 1)] && !waits_for[2 % (NG + 1)] ->
			g = 2; callback[g] = false; put_roots(g); g = 0 }
	:: atomic { NG > 2 && callback[3 % (NG + 1)] && !waits_for[3 % (NG + 1)] ->
			g = 3; callback[g] = false; put_roots(g); g = 0 }
	od
}

inline srcu_read_unlock()
{
	use_set();
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
	:: atomic { work && all_first <= all_last && unpinned[all_first] -> use_set() };
		/* release_replaced(), without the lock */
		atomic {
			assert(released_in_order);
			released = all_first
		}
		/* move_reusable() */
		atomic {
			use_set();
			all_first++;
			reusable = (all_first <= all_last -> all_first : reusable)
		}
	:: atomic { work && !(all_first <= all_last && unpinned[all_first]) -> work = false }
	od
}

/* The filesystem reuses every block that it may. */
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

/* The roots of generation @whose and their blocks must be unchanged. */
inline search(whose)
{
	atomic {
		assert(root_exists);
		g = whose + 1;
		do
		:: g <= NG -> assert(blocks_not_reused); g++
		:: else -> break
		od;
		g = 0
	}
}

/* The last access to the set. */
inline gone()
{
	atomic {
		use_set();
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
		:: no_new_pins -> goto done
		:: else
		fi;
		use_set();
		if
		:: pins[0]++
		:: pins[1]++
		fi
	}
	atomic { use_set(); sections = sections | BIT(me) }		/* B */
	atomic { use_set(); mine = roots }				/* A */
	if
	:: mine ->
		search(mine);
		if
		:: true
		/* commit_root_pin_again(), then the first pin is dropped */
		:: atomic { use_set(); pins[0]++ };
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
	no_new_pins = true;
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
			/* retry when all readers have unpinned */
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
