/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RCU reuse queue: cookies, which object waits for which grace period, who requests grace
 * periods, and when the worker runs. Models rcu_reuse.c, with its names. Quota, age and the
 * shrinker are left out: they only release ready objects.
 *
 * Each CPU has a list; what its lock protects is one step. Readers are RCU sections. A grace
 * period begins when it was requested, or by itself. It ends when all sections that it found
 * have ended. A cookie is the number of grace periods that must have ended; it depends on
 * whether a grace period is in progress. Up to MISSES grace periods end without a change that a
 * cookie shows, because a normal and an expedited one overlapped.
 *
 * Checked: no object becomes ready during a section that may have found it; two segments are
 * enough; the worker is due while objects are left; and a grace period was requested for all
 * waiting objects, so that they become ready on an idle machine. After a miss the worker
 * requests it again: with LIVE, no run goes on for ever. Without that request one would.
 */
#ifndef NC
#define NC		2	/* CPUs */
#endif
#ifndef NR
#define NR		2	/* readers */
#endif
#ifndef OBJECTS
#define OBJECTS		2	/* per CPU */
#endif
#ifndef BATCH
#define BATCH		1
#endif

#ifndef MISSES
#define MISSES		1
#endif

#define BIT(id)		(1 << (id))
#define RATE_STOPPED	0
#define RATE_SLOW	1

/* RCU. */
byte ended;			/* number of grace periods */
bool in_progress;
byte found;			/* a set: readers that the current grace period waits for */
byte requested;			/* number of grace periods that were requested */
byte misses = MISSES;
byte sections;			/* a set: readers in a section */

#define cookie_now	(ended + (in_progress -> 2 : 1))
#define passed(c)	(ended >= (c))

/* struct rcu_reuse_list: objects in each segment, and readers that may have found one */
byte open_nr[NC], open_seen[NC];
byte nr_waiting[NC];
byte waiting_nr0[NC], waiting_seen0[NC], waiting_cookie0[NC];
byte waiting_nr1[NC], waiting_seen1[NC], waiting_cookie1[NC];
byte ready[NC];

byte rate;
bool tick;			/* the delayed work is queued */
bool working;			/* the worker runs */
byte enqueuing;			/* number of CPUs that still enqueue */

#define nr_of(l)	(open_nr[l] + waiting_nr0[l] + waiting_nr1[l] + ready[l])
#define last_cookie(l)	(nr_waiting[l] == 2 -> waiting_cookie1[l] : waiting_cookie0[l])

#define no_reader_sees_it		(!waiting_seen0[l])
#define worker_is_due	(enqueuing || tick || working || !nr_of(l))
#define is_requested		(enqueuing || misses < MISSES || !nr_waiting[l] || \
				 last_cookie(l) <= requested)

proctype reader(byte me)
{
	byte i;

	atomic { sections = sections | BIT(me) }
	atomic {
		sections = sections & ~BIT(me);
		found = found & ~BIT(me);
		i = 0;
		do
		:: i < NC ->
			open_seen[i] = open_seen[i] & ~BIT(me);
			waiting_seen0[i] = waiting_seen0[i] & ~BIT(me);
			waiting_seen1[i] = waiting_seen1[i] & ~BIT(me);
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* Other users of RCU request grace periods, too. */
proctype grace_periods()
{
	byte more = 1;

end:	do
	:: atomic { !in_progress && (requested > ended || more) ->
			more = (requested > ended -> more : more - 1);
			in_progress = true;
			found = sections
		}
	:: atomic { in_progress && !found -> in_progress = false; ended++ }
	:: atomic { in_progress && !found && misses ->
			in_progress = false;
			misses--;
			requested = (requested > ended -> requested - 1 : requested)
		}
	od
}

/* Under the lock. */
inline reuse_poll()
{
	do
	:: nr_waiting[l] && passed(waiting_cookie0[l]) ->
		assert(no_reader_sees_it);
		ready[l] = ready[l] + waiting_nr0[l];
		nr_waiting[l]--;
		waiting_nr0[l] = waiting_nr1[l];
		waiting_seen0[l] = waiting_seen1[l];
		waiting_cookie0[l] = waiting_cookie1[l];
		waiting_nr1[l] = 0;
		waiting_seen1[l] = 0;
		waiting_cookie1[l] = 0
	:: else -> break
	od
}

/* Sets @ask to whether to request a grace period after the lock is dropped. */
inline reuse_close()
{
	ask = false;
	if
	:: open_nr[l] ->
		ask = !nr_waiting[l] || last_cookie(l) != cookie_now;
		nr_waiting[l] = nr_waiting[l] + (ask && nr_waiting[l] < 2 -> 1 : 0);
		if
		:: nr_waiting[l] == 2 ->
			waiting_cookie1[l] = cookie_now;
			waiting_nr1[l] = waiting_nr1[l] + open_nr[l];
			waiting_seen1[l] = waiting_seen1[l] | open_seen[l]
		:: else ->
			waiting_cookie0[l] = cookie_now;
			waiting_nr0[l] = waiting_nr0[l] + open_nr[l];
			waiting_seen0[l] = waiting_seen0[l] | open_seen[l]
		fi;
		open_nr[l] = 0;
		open_seen[l] = 0
	:: else
	fi
}

/* A request covers all cookies taken before it. */
inline reuse_ask()
{
	if
	:: atomic { ask ->
			requested = (cookie_now > requested -> cookie_now : requested);
			ask = false
		}
	:: atomic { !ask -> skip }
	fi
}

inline reuse_set_rate(to)
{
	if
	:: atomic { rate < to -> rate = to };
		tick = true
	:: atomic { rate >= to -> skip }
	fi
}

/* Under the locks of both. */
inline hand_over()
{
	l = NC - 1 - l;
	reuse_poll();
	objects_moved = ready[l];
	ready[l] = 0;
	if
	:: !objects_moved && !nr_waiting[l] -> reuse_close()
	:: else
	fi;
	l = NC - 1 - l;
	ready[l] = objects_moved
}

proctype cpu(byte l)
{
	byte objects, wanted, objects_moved;
	bool ask;

	do
	:: objects < OBJECTS ->
		objects++;
		/* rcu_reuse_enqueue(): any reader in a section may have found the object */
		atomic {
			open_nr[l]++;
			open_seen[l] = open_seen[l] | sections;
			if
			:: open_nr[l] >= BATCH -> reuse_close()
			:: else
			fi;
			wanted = (RATE_SLOW > rate -> RATE_SLOW : RATE_STOPPED)	/* C */
		}
		reuse_set_rate(wanted);
		reuse_ask()
	/* rcu_reuse_dequeue() */
	:: objects ->
		atomic {
			if
			:: !ready[l] ->
				reuse_poll();
				if
				:: !ready[l] && !nr_waiting[l] -> reuse_close()
				:: else
				fi
			:: else
			fi;
			objects_moved = 0;
			if
			:: NC == 2 && !ready[l] && !ask -> hand_over()
			:: else
			fi;
			if
			:: ready[l] -> ready[l]--
			:: else
			fi;
			wanted = (objects_moved && nr_of(l) && RATE_SLOW > rate -> RATE_SLOW :
				  RATE_STOPPED)
		}
		reuse_set_rate(wanted);
		reuse_ask();
		if
		:: objects == OBJECTS -> break
		:: objects < OBJECTS
		fi
	od;
	enqueuing--
}

/* tick_work(); it releases all ready objects at once. */
proctype worker()
{
	byte l, wanted;
	bool ask;

end:	do
	:: atomic { tick -> tick = false; working = true };
		rate = RATE_STOPPED;
		wanted = RATE_STOPPED;
		l = 0;
		do
		:: l < NC ->
			/* request again for objects that wait long */
			atomic { reuse_poll(); reuse_close(); ask = ask || nr_waiting[l] }
			reuse_ask();
			/* C */
			atomic {
				reuse_poll();
				ready[l] = 0;
				wanted = (nr_of(l) -> RATE_SLOW : wanted);
				l++
			}
		:: else -> break
		od;
		reuse_set_rate(wanted);
		atomic {
			l = 0;
			do
			:: l < NC ->
				working = false;
				assert(worker_is_due);
				assert(is_requested);
				l++
			:: else -> break
			od;
			l = 0
		}
	od
}

init
{
	byte l;

	atomic {
		enqueuing = NC;
		run worker();
		run grace_periods();
		do
		:: l < NR -> run reader(l); l++
		:: else -> break
		od;
		l = 0;
		do
		:: l < NC -> run cpu(l); l++
		:: else -> break
		od;
		l = 0
	}
	/* the worker is due for the last object, whichever CPU enqueued it */
	!enqueuing;
	atomic {
		do
		:: l < NC -> assert(worker_is_due); l++
		:: else -> break
		od
	}
}
