// SPDX-License-Identifier: GPL-2.0
/*
 * unfair_torture: kernel threads that contend for one lock and check what locktorture cannot see.
 * Tests only. Runs from insmod to rmmod, which prints the verdict.
 *
 *  exclusion	a writer beside another holder (G1)
 *  data	torn reads and lost updates of plain words under the lock
 *  return	a wait that ended with an error without a reason (G7)
 *  stuck	a thread without progress: a lost wakeup, a livelock, or a bound that is not kept
 *  unclean	flags or waiters in a lock that no thread uses (G7)
 *  idle	no reader, or no writer, ever acquired the lock
 *  hidden	BIAS while an expedited section is active: its looks see no biased reader (G9)
 *  lent	a parked thread that still has a loan (G5, G10)
 *
 * Each thread reads and writes. Most holds and pauses take a few instructions, so that a CPU runs
 * one operation after the other without a context switch. Several times a second all threads park.
 * Then the number of running threads changes, and their operations, priorities and CPUs, and the
 * reader bound. A later release would hide a lost wakeup: while the threads park, the last one gets
 * no further release, signal or other wakeup.
 *
 * With chains= above 0, threads also acquire other locks, of this and of other kinds, while they
 * hold the lock and between two operations. Loans pass through these. Meanwhile threads are
 * reniced; torture_watch moves them between cgroups.
 *
 * The watcher repairs lost wakeups: load fscommit with lend_period_us=60000000 to find them.
 *
 * Seen failing within seconds: torture_type=busted (exclusion, data).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched/debug.h>
#include <linux/sched/signal.h>
#include <uapi/linux/sched/types.h>

#include "test_locks.h"

#define MAX_THREADS	64
#define EXPEDITE_DEPTH	2	/* nested expedited sections */
#define STUCK_S		10	/* seconds without progress that count as a failure */
#define LATE_END_S	10	/* seconds within which the watcher must end a loan */
#define MAX_STARVED_S	600	/* seconds without a CPU, on a busy host */
#define CONTROL_PERIOD	(HZ / 10)

static char *torture_type = "unfair_rwsem";
module_param(torture_type, charp, 0444);
MODULE_PARM_DESC(torture_type, "lock to torture; unfair_rwsem or busted, default unfair_rwsem");
static unsigned int nthreads;
module_param(nthreads, uint, 0444);
MODULE_PARM_DESC(nthreads, "number of threads; 0 to 64, default 0: three for each CPU");
static unsigned int expedite;
module_param(expedite, uint, 0444);
MODULE_PARM_DESC(expedite, "rounds in an expedited section, percent; 0 to 100, default 0");
static unsigned int chains;
module_param(chains, uint, 0444);
MODULE_PARM_DESC(chains, "holds and pauses with other locks, percent; 0 to 100, default 0");
static unsigned int onoff_interval;
module_param(onoff_interval, uint, 0444);
MODULE_PARM_DESC(onoff_interval, "time from unplugging to plugging a CPU, seconds; default 0: never");

/* --- threads and state --------------------------------------------------- */

enum activity { PARKED, PAUSES, WAITS, HOLDS };

static const char * const activity_names[] = { "is parked", "pauses", "waits", "holds the lock" };

struct torturer {
	struct task_struct	*task;
	struct rnd_state	rnd;
	/* averages: one write, sleep or pause in so many rounds */
	unsigned int		writes_one_in, sleeps_one_in, pauses_one_in;
	unsigned int		how;		/* enum lock_test_how of the last round */
	enum activity		activity;
	/* written by the thread only */
	unsigned long		rounds, read, written, gave_up;
	/* of check_progress() */
	unsigned long		seen;		/* rounds at the last check */
	unsigned int		stuck_s, starved_s;
};

enum failure { EXCLUSION, DATA, RETURN, STUCK, UNCLEAN, IDLE, HIDDEN, LENT, NR_FAILURES };

static const char * const failure_names[NR_FAILURES] = {
	"exclusion", "data", "return", "stuck", "unclean", "idle", "hidden", "lent",
};

static struct torturer torturers[MAX_THREADS];
static unsigned int nr_torturers;

/* In the order of start and stop: threads that wake others stop before the last parking. */
enum helper { ONOFF, SIGNALS, CONTROL, NR_HELPERS };
static struct task_struct *helpers[NR_HELPERS];

static unsigned int type = LOCK_TEST_UNFAIR;
static union test_lock lock;
static atomic_t writers, readers;	/* current holders */
static struct {
	unsigned long a, b;
} pair;					/* equal, except while a writer holds the lock */

/* With chains: other locks. A thread acquires them in this order. */
#define NR_INNER	4
static const unsigned int inner_types[NR_INNER] = {
	LOCK_TEST_UNFAIR, LOCK_TEST_MUTEX, LOCK_TEST_RWSEM, LOCK_TEST_MUTEX,
};

static union test_lock inner[NR_INNER];

static bool paused = true;
static DECLARE_WAIT_QUEUE_HEAD(resumed);
static unsigned int nr_active = MAX_THREADS;	/* threads that run */
static unsigned int parks, cpus_unplugged;
static atomic_t failures[NR_FAILURES];

/* For torture_watch */
static unsigned long violations, progress;
module_param(violations, ulong, 0444);
MODULE_PARM_DESC(violations, "output: number of failures so far");
module_param(progress, ulong, 0444);
MODULE_PARM_DESC(progress, "output: number of acquisitions of the lock so far");

/* Scheduling parameters for threads; the first is the default. */
static const struct sched_attr settings[] = {
	{ .sched_policy = SCHED_NORMAL },
	{ .sched_policy = SCHED_NORMAL, .sched_nice = MAX_NICE },
	{ .sched_policy = SCHED_NORMAL, .sched_nice = MIN_NICE },
	{ .sched_policy = SCHED_IDLE },
	{ .sched_policy = SCHED_FIFO, .sched_priority = 1 },
};

static u32 rnd(struct rnd_state *state, u32 below)
{
	return prandom_u32_state(state) % below;
}

static void fail(enum failure f, const char *what, long value)
{
	WRITE_ONCE(violations, READ_ONCE(violations) + 1);
	/* the first ones are enough, and more would overflow the log */
	if (atomic_inc_return(&failures[f]) <= 3)
		pr_err("%s: %s: %s (%ld), lock word %#lx\n", failure_names[f], current->comm, what,
		       value, type == LOCK_TEST_UNFAIR ? atomic_long_read(&lock.unfair.word) : 0L);
}

/* --- critical sections --------------------------------------------------- */

static void busy(u64 ns)
{
	test_hold_busy(ns, kthread_should_stop);
}

/*
 * Leaves the CPU for a while, mostly without a sleep: on a busy host, an idle CPU of a guest takes
 * long to run again.
 */
static void leave_cpu(struct torturer *t)
{
	u32 r = rnd(&t->rnd, 256);

	if (!r)
		usleep_range(20, 500);
	for (r %= 8; r; r--)
		yield();
}

/* A signal ends the wait for the first mutex. No chain passes through such a wait for a rwsem. */
static bool lock_inner(unsigned int i, bool write)
{
	return !test_locks[inner_types[i]].lock(&inner[i], write, i == 1 ? LOCK_TEST_KILLABLE :
						LOCK_TEST_NESTED, 0, 2 + i);
}

/* Holds some of the inner locks for a while, or none. */
static void hold_inner(struct torturer *t)
{
	bool held[NR_INNER] = { }, write[NR_INNER];
	unsigned int i;

	if (rnd(&t->rnd, 100) >= chains)
		return;
	for (i = 0; i < NR_INNER; i++) {
		write[i] = rnd(&t->rnd, 2);
		held[i] = rnd(&t->rnd, 2) && lock_inner(i, write[i]);
	}
	if (rnd(&t->rnd, 4))
		busy(rnd(&t->rnd, 20 * NSEC_PER_USEC));
	else
		usleep_range(1, 500);
	while (i--)
		if (held[i])
			test_locks[inner_types[i]].unlock(&inner[i], write[i]);
}

static void hold(struct torturer *t)
{
	u32 r = rnd(&t->rnd, 64);

	WRITE_ONCE(t->activity, HOLDS);
	hold_inner(t);
	if (!rnd(&t->rnd, t->sleeps_one_in))
		leave_cpu(t);
	else if (r >= 50)
		busy(rnd(&t->rnd, (r < 60 ? 2 : 20) * NSEC_PER_USEC));
}

static void check_exclusion(bool write)
{
	int others = atomic_read(&writers) - write + (write ? atomic_read(&readers) : 0);

	if (others)
		fail(EXCLUSION, write ? "writer beside other holders" : "reader beside a writer",
		     others);
}

/*
 * Accesses the plain words before and after the atomic counters, whose barriers would hide missing
 * barriers of the lock. Returns the number of writes so far.
 */
static unsigned long critical_section(struct torturer *t, bool write)
{
	unsigned long old = pair.a;

	if (pair.b != old)
		fail(DATA, "torn write", pair.b - old);
	if (write)
		pair.a = old + 1;

	atomic_inc(write ? &writers : &readers);
	/* of two holders that overlap, at least one sees the other's count */
	smp_mb__after_atomic();
	check_exclusion(write);
	hold(t);
	check_exclusion(write);
	atomic_dec(write ? &writers : &readers);

	if (pair.a != old + write || pair.b != old)
		fail(DATA, "write by another task", pair.a - old);
	if (write)
		pair.b = old + 1;
	return old + write;
}

static void check_error(struct torturer *t, int ret, unsigned long waited, unsigned long timeout)
{
	/* send_signals() may set another bit of the word */
	bool killed = data_race(fatal_signal_pending(current));

	t->gave_up++;
	if ((ret == -EINTR && t->how == LOCK_TEST_INTERRUPTIBLE && signal_pending(current)) ||
	    (ret == -EINTR && t->how == LOCK_TEST_KILLABLE && killed) ||
	    (ret == -ETIME && t->how == LOCK_TEST_TIMEOUT && waited >= timeout) ||
	    (ret == -EAGAIN && t->how == LOCK_TEST_TRYLOCK))
		return;
	fail(RETURN, "error without a reason", ret);
}

static void one_round(struct torturer *t)
{
	const struct test_lock_ops *ops = &test_locks[type];
	unsigned int timeout = rnd(&t->rnd, 4), subclass = rnd(&t->rnd, 2);
	bool write = !rnd(&t->rnd, t->writes_one_in);
	unsigned long begun = jiffies, value;
	u32 tries = 0;
	int ret;

	/* repeated trylocks catch a moment in which the lock seems free */
	if (write && !rnd(&t->rnd, 4))
		tries = rnd(&t->rnd, 256);
	/* half of the waits cannot give up: these find most failures */
	t->how = rnd(&t->rnd, 2) ? LOCK_TEST_PLAIN : rnd(&t->rnd, LOCK_TEST_GUARD);
	WRITE_ONCE(t->activity, WAITS);
	do {
		ret = ops->lock(&lock, write, t->how, timeout, subclass);
	} while (ret == -EAGAIN && tries--);
	if (ret) {
		check_error(t, ret, jiffies - begun, timeout);
	} else {
		if (write)
			t->written++;
		else
			t->read++;
		value = critical_section(t, write);
		if (write && ops->downgrade && !rnd(&t->rnd, 8)) {
			write = false;
			ops->downgrade(&lock);
			if (critical_section(t, false) != value)
				fail(DATA, "write during a downgrade", pair.a - value);
		}
		ops->unlock(&lock, write);
	}
	WRITE_ONCE(t->activity, PAUSES);
	WRITE_ONCE(t->rounds, t->rounds + 1);
}

/* While an expedited section is active, no task may set BIAS. */
static void check_expedited(void)
{
	bool expedited;
	long word;

	raw_spin_lock_irq(&lock.unfair.wait_lock);
	expedited = lock.unfair.expedited;
	word = atomic_long_read(&lock.unfair.word);
	raw_spin_unlock_irq(&lock.unfair.wait_lock);
	if (expedited && word & UNFAIR_RWSEM_BIAS && !(word & UNFAIR_RWSEM_WRITER))
		fail(HIDDEN, "biased in an active section", word);
}

static void one_expedited_round(struct torturer *t)
{
	unsigned int i, depth = 1 + rnd(&t->rnd, EXPEDITE_DEPTH);
	struct unfair_section sections[EXPEDITE_DEPTH];

	for (i = 0; i < depth; i++)
		unfair_rwsem_expedite(&lock.unfair, &sections[i]);
	/* let the section become active now and then */
	if (!rnd(&t->rnd, 4))
		usleep_range(100, 1000);
	check_expedited();
	one_round(t);
	check_expedited();
	while (depth--)
		unfair_rwsem_unexpedite(&sections[depth]);
}

static bool may_run(const struct torturer *t)
{
	return !READ_ONCE(paused) && t - torturers < READ_ONCE(nr_active);
}

static int torture(void *arg)
{
	struct torturer *t = arg;

	allow_signal(SIGKILL);
	allow_signal(SIGTERM);
	while (!kthread_should_stop()) {
		if (!may_run(t)) {
			/* publishes the thread's counters: pairs with all_parked() */
			smp_store_release(&t->activity, PARKED);
			wait_event_idle(resumed, may_run(t) || kthread_should_stop());
			/* pairs with park_all(): all_parked() sees it, or the thread parks again */
			smp_store_mb(t->activity, PAUSES);
			continue;
		}
		if (type == LOCK_TEST_UNFAIR && rnd(&t->rnd, 100) < expedite)
			one_expedited_round(t);
		else
			one_round(t);
		flush_signals(current);
		hold_inner(t);
		if (!rnd(&t->rnd, t->pauses_one_in))
			leave_cpu(t);
		cond_resched();
	}
	return 0;
}

static int send_signals(void *unused)
{
	struct rnd_state state;

	prandom_seed_state(&state, get_random_u64());
	while (!kthread_should_stop()) {
		unsigned int tries = nr_torturers;
		struct torturer *t;

		usleep_range(100, 100 + rnd(&state, 1000));
		/* prefer a thread that waits: a signal has little effect on the others */
		do {
			t = &torturers[rnd(&state, nr_torturers)];
		} while (READ_ONCE(t->activity) != WAITS && --tries);
		/* not while the threads park: a signal would hide a lost wakeup */
		if (!READ_ONCE(paused))
			send_sig(rnd(&state, 2) ? SIGKILL : SIGTERM, t->task, 1);
	}
	return 0;
}

static int onoff(void *unused)
{
	while (!kthread_should_stop()) {
		schedule_timeout_idle(onoff_interval * HZ);
#ifdef CONFIG_HOTPLUG_CPU
		unsigned int cpu = cpumask_any_but(cpu_online_mask, 0);

		if (cpu >= nr_cpu_ids || remove_cpu(cpu))
			continue;
		cpus_unplugged++;
		schedule_timeout_idle(onoff_interval * HZ);
		if (add_cpu(cpu))
			pr_err("cannot plug in CPU %u\n", cpu);
#endif
	}
	return 0;
}

/* --- control ------------------------------------------------------------- */

/* On a busy host a thread that could run may get no CPU for minutes. */
static bool waits_for_cpu(struct task_struct *task)
{
	return READ_ONCE(task->__state) == TASK_RUNNING && !READ_ONCE(task->on_cpu);
}

/*
 * Called once per second. Returns true if a thread that sleeps or runs makes no progress. Counts
 * calls, because time jumps when the host does not run the guest.
 */
static bool check_progress(void)
{
	struct torturer *t;
	bool any = false;

	for (t = torturers; t < torturers + nr_torturers; t++) {
		unsigned long rounds = READ_ONCE(t->rounds);

		if (rounds != t->seen || (!may_run(t) && READ_ONCE(t->activity) == PARKED)) {
			t->seen = rounds;
			t->stuck_s = 0;
			t->starved_s = 0;
			continue;
		}
		if (waits_for_cpu(t->task) && ++t->starved_s < MAX_STARVED_S)
			continue;
		any |= ++t->stuck_s >= STUCK_S;
		if (t->stuck_s != STUCK_S)
			continue;
		fail(STUCK, "seconds without progress, lost wakeup?", STUCK_S);
		pr_err("%s %s, enum lock_test_how %u\n", t->task->comm,
		       activity_names[READ_ONCE(t->activity)], READ_ONCE(t->how));
		sched_show_task(t->task);
	}
	return any;
}

static bool all_parked(void)
{
	unsigned int i;

	for (i = 0; i < nr_torturers; i++) {
		/* pairs with torture() */
		if (smp_load_acquire(&torturers[i].activity) != PARKED)
			return false;
	}
	return true;
}

static void check_parked(void)
{
	const struct test_lock_ops *ops = &test_locks[type];
	unsigned long written = 0, taken = 0;
	unsigned int i;

	for (i = 0; i < nr_torturers; i++) {
		written += torturers[i].written;
		taken += torturers[i].written + torturers[i].read;
	}
	WRITE_ONCE(progress, taken);
	if (pair.a != written || pair.b != written)
		fail(DATA, "lost writes", written - pair.a);
	if (type == LOCK_TEST_UNFAIR) {
		long word = atomic_long_read(&lock.unfair.word);

		if (word & ~(UNFAIR_RWSEM_WINDOW | UNFAIR_RWSEM_BIAS) ||
		    unfair_rwsem_is_locked(&lock.unfair) || lock.unfair.writers.rb_root.rb_node ||
		    lock.unfair.readers.rb_node)
			fail(UNCLEAN, "waiters or their flags in an unused lock", word);
	}
	if (ops->lock(&lock, true, LOCK_TEST_TRYLOCK, 0, 0))
		fail(UNCLEAN, "trylock of an unused lock failed", 0);
	else
		ops->unlock(&lock, true);
}

static bool has_loan(const struct task_struct *task)
{
	int prio = READ_ONCE(task->prio);

	return prio < MAX_RT_PRIO && prio != task->normal_prio;
}

/* A parked thread must have no loan. The watcher may end the loan of a chain late. */
static void check_loans(void)
{
	unsigned long end = jiffies + LATE_END_S * HZ;
	struct torturer *t;

	for (t = torturers; t < torturers + nr_torturers; t++) {
		while (has_loan(t->task) && time_before(jiffies, end))
			schedule_timeout_idle(1);
		if (has_loan(t->task))
			fail(LENT, t->task->comm, t->task->prio);
	}
}

static void park_all(void)
{
	unsigned long watch_at = jiffies + HZ;

	/* orders the flag before all_parked(): pairs with torture() */
	smp_store_mb(paused, true);
	while (!all_parked()) {
		schedule_timeout_idle(1);
		if (time_after(jiffies, watch_at)) {
			watch_at = jiffies + HZ;
			if (check_progress())
				return;
		}
	}
	check_parked();
	check_loans();
	parks++;
}

/*
 * Pins half of the threads to one random CPU each; the others may run on any CPU. No CPU may go
 * down meanwhile: it counts as online until late, and a thread moved to it then would stay there.
 */
static void shuffle(struct rnd_state *state)
{
	unsigned int i, cpu;

	cpus_read_lock();
	for (i = 0; i < nr_torturers; i++) {
		cpu = rnd(state, nr_cpu_ids);
		set_cpus_allowed_ptr(torturers[i].task, rnd(state, 2) && cpu_online(cpu) ?
				     cpumask_of(cpu) : cpu_possible_mask);
	}
	cpus_read_unlock();
}

/*
 * Changes the settings while all threads are parked. Returns the time until the next change in ms.
 * It is far less than STUCK_S: until then a thread of low priority may get no CPU, and a reader
 * without a bound may not acquire the lock.
 */
static unsigned int change_settings(struct rnd_state *state)
{
	static const unsigned int bounds[] = { 0, 1, 100, 10000, UNFAIR_RWSEM_BOUND_DEFAULT };
	/* the same for all threads: BIAS lasts only if all of them write rarely */
	u32 write_shift = rnd(state, 8);
	struct torturer *t;

	for (t = torturers; t < torturers + nr_torturers; t++) {
		t->writes_one_in = 1 << (write_shift + rnd(state, 3));
		t->sleeps_one_in = 1 << rnd(state, 9);
		t->pauses_one_in = 1 << rnd(state, 9);
		sched_setattr_nocheck(t->task, &settings[rnd(state, 8) ? 0 :
							 rnd(state, ARRAY_SIZE(settings))]);
	}
	if (type == LOCK_TEST_UNFAIR)
		unfair_rwsem_set_reader_bound(&lock.unfair, bounds[rnd(state, ARRAY_SIZE(bounds))]);
	if (!rnd(state, 16))
		shuffle(state);
	WRITE_ONCE(nr_active, 2 + rnd(state, max(nr_torturers, 3U) - 1));
	return 50 + rnd(state, 150);
}

static int control(void *unused)
{
	unsigned long change_at = jiffies, watch_at = jiffies;
	struct rnd_state state;

	prandom_seed_state(&state, get_random_u64());
	/* a higher priority than the threads that it parks */
	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		if (time_after_eq(jiffies, change_at)) {
			park_all();
			change_at = jiffies + msecs_to_jiffies(change_settings(&state));
			WRITE_ONCE(paused, false);
			wake_up_all(&resumed);
		}
		if (time_after_eq(jiffies, watch_at)) {
			watch_at = jiffies + HZ;
			check_progress();
		}
		/* renice a thread that may have a loan */
		if (chains)
			set_user_nice(torturers[rnd(&state, nr_torturers)].task,
				      MIN_NICE + (int)rnd(&state, NICE_WIDTH));
		schedule_timeout_idle(chains ? 1 : CONTROL_PERIOD);
	}
	park_all();
	return 0;
}

/* --- verdict and set-up -------------------------------------------------- */

static int start(struct task_struct **task, int (*fn)(void *), void *arg, const char *name, int nr)
{
	struct task_struct *new = kthread_run(fn, arg, "%s/%d", name, nr);

	if (IS_ERR(new)) {
		pr_err("cannot create thread %s/%d: %ld\n", name, nr, PTR_ERR(new));
		return PTR_ERR(new);
	}
	*task = new;
	return 0;
}

static void stop_all(void)
{
	unsigned int i;

	for (i = 0; i < NR_HELPERS; i++) {
		if (helpers[i])
			kthread_stop(helpers[i]);
	}
	for (i = 0; i < nr_torturers; i++)
		kthread_stop(torturers[i].task);
	test_lock_destroy(&lock, type);
}

static int __init unfair_torture_init(void)
{
	unsigned int i;
	int ret;

	if (!strcmp(torture_type, "busted"))
		type = LOCK_TEST_BUSTED;
	if (!nthreads)
		nthreads = min(3 * num_online_cpus(), MAX_THREADS);
	if ((type != LOCK_TEST_BUSTED && strcmp(torture_type, "unfair_rwsem")) ||
	    nthreads > MAX_THREADS || expedite > 100 || chains > 100) {
		pr_err("torture_type=%s nthreads=%u expedite=%u chains=%u: must be unfair_rwsem or busted, 0 to %u, 0 to 100, 0 to 100\n",
		       torture_type, nthreads, expedite, chains, MAX_THREADS);
		return -EINVAL;
	}
	ret = test_lock_init(&lock, type);
	for (i = 0; i < NR_INNER; i++)
		test_lock_init(&inner[i], inner_types[i]);
	pr_info("torture_type=%s nthreads=%u expedite=%u chains=%u onoff_interval=%u\n",
		torture_type, nthreads, expedite, chains, onoff_interval);
	while (!ret && nr_torturers < nthreads) {
		struct torturer *t = &torturers[nr_torturers];

		prandom_seed_state(&t->rnd, get_random_u64());
		ret = start(&t->task, torture, t, "torture", nr_torturers);
		nr_torturers += !ret;
	}
	if (!ret && onoff_interval)
		ret = start(&helpers[ONOFF], onoff, NULL, "torture_onoff", 0);
	if (!ret)
		ret = start(&helpers[SIGNALS], send_signals, NULL, "torture_signal", 0);
	if (!ret)
		ret = start(&helpers[CONTROL], control, NULL, "torture_control", 0);
	if (ret)
		stop_all();
	return ret;
}

static void __exit unfair_torture_exit(void)
{
	struct torturer sum = { };
	unsigned int i;

	stop_all();
	for (i = 0; i < nr_torturers; i++) {
		sum.read += torturers[i].read;
		sum.written += torturers[i].written;
		sum.gave_up += torturers[i].gave_up;
	}
	if (!sum.written || !sum.read)
		fail(IDLE, "no writer, or no reader, acquired the lock", 0);
	pr_info("%lu reads, %lu writes, %lu waits that ended early, all threads parked %u times, a CPU unplugged %u times\n",
		sum.read, sum.written, sum.gave_up, parks, cpus_unplugged);
	for (i = 0; i < NR_FAILURES; i++) {
		if (atomic_read(&failures[i]))
			pr_err("%s: %d times\n", failure_names[i], atomic_read(&failures[i]));
	}
	pr_info("End of test: %s\n", violations ? "FAILURE" : "SUCCESS");
}

module_init(unfair_torture_init);
module_exit(unfair_torture_exit);

MODULE_DESCRIPTION("Torture of one lock by kernel threads; tests of fscommit");
MODULE_LICENSE("GPL");
