/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chains: leases, and how the watcher ends them. Models note_loan() of LOAN_CHAIN,
 * lend_note_chain(), lend_chain_level(), lend_account() and lend_end_pass() in lend.c, and
 * look_at_all(), account() and has_work() in watcher.c, with their names. lend.pml checks how the
 * priority of a task follows its loans.
 *
 * Tasks wait for lock A. Its holder waits for a lock of the kernel, whose owner gets a lease
 * (LINK), and for lock B, for which a level is noted. A look at B lends that to the holder of B,
 * as a second lease (HOLDER). The chain comes and goes CHANGES times. Waiters of A and of B look
 * LOOKS times at most, at any time. The watcher looks at A and B in either order; with MISSES it
 * may skip a lock in a pass, because its wait_lock is held.
 *
 * Passes are counted modulo 8; no lease and no level is ever that old.
 *
 * Checked:
 *  - a pass never ends a lease that was renewed in it
 *  - a lease ends when two passes have ended since the chain did; that through lock B, three
 *  - the watcher does not sleep while there is a lease; at the end none is left
 */
#ifndef CHANGES
#define CHANGES		2
#endif
#ifndef LOOKS
#define LOOKS		2
#endif
#ifndef MISSES
#define MISSES		0
#endif

#define LEASE_PASSES	2
#define LINK		0
#define HOLDER		1

#define age(p)		((pass + 8 - (p)) % 8)
#define is_renewed(p)	(age(p) < LEASE_PASSES)

bool chain;			/* the holder of A is blocked */
byte pass;
bool lease[2];
byte renewed[2];		/* in which pass */
bool level;			/* noted for lock B ... */
byte level_pass;		/* ... in this pass */
bool must_account;
byte changes, misses;

/* For assertions only. */
byte gone;			/* passes that ended since the chain did; 4 and more are 4 */
bool noted[2];			/* renewed since the last pass ended */
bool noted_before[2];		/* renewed in the pass before that */

#define nr_leases		(lease[LINK] + lease[HOLDER])
#define renewed_lease_stays(l)	(!noted[l] && !noted_before[l])
#define link_ends_in_time	(!lease[LINK] || chain || gone < LEASE_PASSES)
#define holder_ends_in_time	(!lease[HOLDER] || chain || gone < LEASE_PASSES + 1)
#define nothing_is_left		(!lease[LINK] && !lease[HOLDER])

/* --- looks: each is one step, under wait_lock and lend_lock -------------- */

inline note_loan(l)
{
	lease[l] = true;
	renewed[l] = pass;
	noted[l] = true;
	must_account = true
}

inline look_at_a()
{
	if
	:: chain ->
		note_loan(LINK);
		level = true;
		level_pass = pass
	:: else
	fi
}

inline look_at_b()
{
	if
	:: level && is_renewed(level_pass) -> note_loan(HOLDER)
	/* so that the age of the level stays small */
	:: level && !is_renewed(level_pass) -> level = false; level_pass = 0
	:: else
	fi
}

proctype waiter()
{
	byte looks;

	do
	:: looks < LOOKS -> atomic { look_at_a() }; looks++
	:: looks < LOOKS -> atomic { look_at_b() }; looks++
	:: break
	od
}

/* --- the watcher --------------------------------------------------------- */

/* the end of a lease in lease_lowered(), for one lent task */
inline end_lease(l)
{
	if
	:: lease[l] && !is_renewed(renewed[l]) ->
		assert(renewed_lease_stays(l));
		lease[l] = false;
		renewed[l] = 0
	:: else
	fi;
	noted_before[l] = false
}

proctype watcher()
{
	bool leases, a_first;

end:	do
	/* has_work(): while the chain is there, lock A is watched */
	:: atomic { (chain || must_account) ->
			if
			:: a_first = true
			:: a_first = false
			fi
		};
		if
		:: atomic { a_first -> look_at_a() }; atomic { look_at_b() }
		:: atomic { !a_first -> look_at_b() }; atomic { look_at_a() }
		:: atomic { misses < MISSES -> misses++ }; atomic { look_at_b() }
		:: atomic { misses < MISSES -> misses++ }; atomic { look_at_a() }
		fi;
		/* account() */
		must_account = false;
		atomic { must_account = must_account || nr_leases };
		/* lend_end_pass() */
		atomic {
			pass = (pass + 1) % 8;
			leases = nr_leases > 0;
			gone = (gone < 4 && !chain -> gone + 1 : gone);
			noted_before[LINK] = noted[LINK];
			noted_before[HOLDER] = noted[HOLDER];
			noted[LINK] = false;
			noted[HOLDER] = false
		};
		if
		:: leases -> atomic { end_lease(LINK) }; atomic { end_lease(HOLDER) }
		:: else
		fi;
		atomic {
			assert(link_ends_in_time);
			assert(holder_ends_in_time);
			leases = false
		}
	od
}

init
{
	atomic {
		run watcher();
		run waiter()
	}
	do
	:: changes < CHANGES ->
		atomic { changes++; chain = true };
		atomic { chain = false; gone = 0 }
	:: else -> break
	od;
	/* only init and the watcher are left, and the watcher sleeps */
	_nr_pr == 2 && !must_account && !nr_leases;
	assert(nothing_is_left)
}
