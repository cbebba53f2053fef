/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RCU reuse queue: cookies, what waits for which, who asks for a grace period, and when the
 * worker comes. Of rcu_reuse.c and rcu_reuse_release.c; names as there. Room, age and the
 * shrinker are left out: they release objects that are ready, or that nobody waits for.
 *
 * Each CPU has a list, under its lock: one step. Readers are sections of RCU. A grace period
 * begins when somebody has asked for it, or by itself, and ends when all sections have ended
 * that it found. A cookie is the number of grace periods that must have ended; which one
 * depends on whether one is on its way. Some end without a cookie that shows it, MISSES at
 * most: a normal and an expedited one had begun while the other one was on its way.
 *
 * Checked: no object becomes ready while a section goes on that could have found it; the
 * segments are enough; where objects are left, the worker is to come; and what waits has been
 * asked for, so that it becomes ready on an idle machine. After a miss that is for the worker,
 * which asks again: with LIVE, no run goes on for ever. The worker of one would.
 */
#ifndef NC
#define NC		2	/* CPUs that enqueue */
#endif
#ifndef NR
#define NR		2	/* readers */
#endif
#ifndef OBJECTS
#define OBJECTS		2	/* of each CPU */
#endif
#ifndef BATCH
#define BATCH		1
#endif

#ifndef MISSES
#define MISSES		1
#endif

#define BIT(id)		(1 << (id))
#define PACE_STOPPED	0
#define PACE_SLOW	1

/* RCU. */
byte ended;			/* grace periods */
bool on_its_way;
byte found;			/* by the one on its way: a set of readers */
byte asked;			/* for so many */
byte misses = MISSES;
byte sections;			/* a set of readers */

#define cookie_now	(ended + (on_its_way -> 2 : 1))
#define passed(c)	(ended >= (c))

/* struct rcu_reuse_list; of a segment, how many, and who may have found one of them */
byte open_nr[NC], open_seen[NC];
byte nr_waiting[NC];
byte waiting_nr0[NC], waiting_seen0[NC], waiting_cookie0[NC];
byte waiting_nr1[NC], waiting_seen1[NC], waiting_cookie1[NC];
byte ready[NC];

byte pace;
bool tick;			/* the delayed work is queued */
bool at_work;			/* the worker */
byte left;			/* who enqueues still */

#define nr_of(l)	(open_nr[l] + waiting_nr0[l] + waiting_nr1[l] + ready[l])
#define last_cookie(l)	(nr_waiting[l] == 2 -> waiting_cookie1[l] : waiting_cookie0[l])

#define nobody_sees_it		(!waiting_seen0[l])
#define worker_is_to_come	(left || tick || at_work || !nr_of(l))
#define is_asked_for		(left || misses < MISSES || !nr_waiting[l] || \
				 last_cookie(l) <= asked)

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

/* Others ask, too. */
proctype grace_periods()
{
	byte more = 1;

end:	do
	:: atomic { !on_its_way && (asked > ended || more) ->
			more = (asked > ended -> more : more - 1);
			on_its_way = true;
			found = sections
		}
	:: atomic { on_its_way && !found -> on_its_way = false; ended++ }
	:: atomic { on_its_way && !found && misses ->
			on_its_way = false;
			misses--;
			asked = (asked > ended -> asked - 1 : asked)
		}
	od
}

/* Under the lock. */
inline reuse_poll()
{
	do
	:: nr_waiting[l] && passed(waiting_cookie0[l]) ->
		assert(nobody_sees_it);
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

/* Leaves in @ask whether to ask, when the lock is released. */
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

/* reuse_ask(): what is asked for covers what is now. */
inline reuse_ask()
{
	if
	:: atomic { ask -> asked = (cookie_now > asked -> cookie_now : asked); ask = false }
	:: atomic { !ask -> skip }
	fi
}

inline reuse_set_pace(to)
{
	if
	:: atomic { pace < to -> pace = to };
		tick = true
	:: atomic { pace >= to -> skip }
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
		/* rcu_reuse_enqueue(): who is in a section may have found it */
		atomic {
			open_nr[l]++;
			open_seen[l] = open_seen[l] | sections;
			if
			:: open_nr[l] >= BATCH -> reuse_close()
			:: else
			fi;
			wanted = (PACE_SLOW > pace -> PACE_SLOW : PACE_STOPPED)	/* C */
		}
		reuse_set_pace(wanted);
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
			wanted = (objects_moved && nr_of(l) && PACE_SLOW > pace -> PACE_SLOW :
				  PACE_STOPPED)
		}
		reuse_set_pace(wanted);
		reuse_ask();
		if
		:: objects == OBJECTS -> break
		:: objects < OBJECTS
		fi
	od;
	left--
}

/* tick_work(); what is ready is released at once. */
proctype worker()
{
	byte l, wanted;
	bool ask;

end:	do
	:: atomic { tick -> tick = false; at_work = true };
		pace = PACE_STOPPED;
		wanted = PACE_STOPPED;
		l = 0;
		do
		:: l < NC ->
			/* those that wait for long, once more */
			atomic { reuse_poll(); reuse_close(); ask = ask || nr_waiting[l] }
			reuse_ask();
			/* C */
			atomic {
				reuse_poll();
				ready[l] = 0;
				wanted = (nr_of(l) -> PACE_SLOW : wanted);
				l++
			}
		:: else -> break
		od;
		reuse_set_pace(wanted);
		atomic {
			l = 0;
			do
			:: l < NC ->
				at_work = false;
				assert(worker_is_to_come);
				assert(is_asked_for);
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
		left = NC;
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
	/* whoever has enqueued the last one: the worker comes for it */
	!left;
	atomic {
		do
		:: l < NC -> assert(worker_is_to_come); l++
		:: else -> break
		od
	}
}
