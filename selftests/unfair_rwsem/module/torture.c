// SPDX-License-Identifier: GPL-2.0
/*
 * unfair_torture: kernel threads that contend for one lock and check its guarantees.
 * Tests only. Runs from insmod to rmmod, which prints the verdict.
 *
 * Distribution kernels have no torture.ko, so the module has threads of its own. Its parameters
 * have the names and meanings of locktorture's. It finds:
 *
 *  exclusion	a writer beside another holder (G1)
 *  data	torn reads and lost updates of plain words under the lock
 *  return	a wait that ended with an error without a reason (G7)
 *  stuck	a thread without progress: a lost wakeup or a livelock
 *  unclean	flags or waiters in a lock at rest (G7)
 *  idle	no reader, or no writer, ever acquired the lock
 *  hidden	readers that could hide from the task that expedites the lock (G9)
 *  priority	a thread at rest that does not have the priority that it was given
 *
 * mixed=1 is for races of a few instructions: each thread reads and writes, mostly with sections
 * and pauses of length zero, so that a CPU runs one operation after the other without a context
 * switch.
 *
 * chains=1 and more is for loans that pass through other locks, of this and of other kinds. A
 * thread holds these within the lock, or alone. Meanwhile threads are reniced; torture_watch moves
 * them between cgroups.
 *
 * With many releases, one makes up for the lost wakeup of another. So all threads come to rest
 * now and then, the last of them without a further release, signal or other wakeup. The watcher
 * also repairs lost wakeups: load fscommit with lend_period_us=60000000 to find them.
 *
 * Seen failing, each within seconds: torture_type=busted (exclusion, data); a lock
 * whose unlock_and_wake() wakes one task only, or whose last reader does not call
 * choose_next() (stuck, with lend_period_us=60000000); whose wait_over() lets any signal end a
 * killable wait (return); which is free for a moment in unfair_downgrade_write()
 * (data).
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

#define MAX_THREADS	128	/* readers, and as many writers */
#define EXPEDITE_DEPTH	2	/* nested sections */
#define RESTORE_S	10	/* seconds within which the watcher must restore a priority */
#define MAX_STARVED_S	600	/* seconds without a CPU, on a busy host */
#define TICK		(HZ / 10)

/* --- parameters ---------------------------------------------------------- */

struct ranged_int {
	int value, min, max;
};

static int set_range(const char *val, const struct kernel_param *kp)
{
	struct ranged_int *r = kp->arg;
	int v;

	if (kstrtoint(val, 0, &v) || v < r->min || v > r->max) {
		pr_err("%s=%s: must be a number from %d to %d\n", kp->name, val, r->min, r->max);
		return -EINVAL;
	}
	r->value = v;
	return 0;
}

static int get_range(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", ((struct ranged_int *)kp->arg)->value);
}

static const struct kernel_param_ops range_ops = { .set = set_range, .get = get_range };

#define RANGED(name, def, min, max, what)				\
	static struct ranged_int name = { def, min, max };		\
	module_param_cb(name, &range_ops, &name, 0444);			\
	MODULE_PARM_DESC(name, what "; " #min " to " #max ", default " #def)

RANGED(nwriters_stress, -1, -1, 128, "number of writer threads, -1: as many as CPUs");
RANGED(nreaders_stress, -1, -1, 128, "number of reader threads, -1: twice as many as CPUs");
RANGED(stutter, 5, 0, 3600, "seconds to run, then to rest, in turn, 0: no rest");
RANGED(shuffle_interval, 3, 0, 3600, "seconds between moves of threads among CPUs, 0: none");
RANGED(onoff_interval, 0, 0, 3600, "seconds between unplugging and plugging a CPU, 0: never");
RANGED(long_hold, 100, 0, 5000, "length of a long hold now and then, milliseconds, 0: none");
RANGED(stat_interval, 60, 0, 3600, "seconds between printed statistics, 0: at the end only");
RANGED(mixed, 0, 0, 1, "1: each thread reads and writes, in short sections");
RANGED(expedite, 0, 0, 100, "percentage of rounds in an expedited section");
RANGED(chains, 0, 0, 100, "percentage of sections and pauses with other locks");
RANGED(stuck, 10, 1, 60, "seconds without progress that count as a failure");
RANGED(fatal, 0, 0, 1, "1: a failure is a kernel warning");
RANGED(verbose, 1, 0, 1, "1: print each CPU that is unplugged");

static const char * const type_names[LOCK_TEST_NR_TYPES] = {
	[LOCK_TEST_RWSEM] = "rwsem",
	[LOCK_TEST_F2FS] = "f2fs",
	[LOCK_TEST_PERCPU] = "percpu",
	[LOCK_TEST_UNFAIR] = "unfair_rwsem",
	[LOCK_TEST_BUSTED] = "busted",
	[LOCK_TEST_MUTEX] = "mutex",
};

static unsigned int type = LOCK_TEST_UNFAIR;

static int set_type(const char *val, const struct kernel_param *kp)
{
	int i = sysfs_match_string(type_names, val);

	if (i < 0) {
		pr_err("torture_type=%s: must be rwsem, f2fs, percpu, unfair_rwsem, busted or mutex\n",
		       val);
		return i;
	}
	type = i;
	return 0;
}

static int get_type(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", type_names[type]);
}

static const struct kernel_param_ops type_ops = { .set = set_type, .get = get_type };
module_param_cb(torture_type, &type_ops, NULL, 0444);
MODULE_PARM_DESC(torture_type,
		 "lock to torture; rwsem, f2fs, percpu, unfair_rwsem or busted, default unfair_rwsem");

/* --- threads and state --------------------------------------------------- */

enum activity { PARKED, PAUSES, WAITS, HOLDS };

static const char * const activity_names[] = { "is parked", "pauses", "waits", "holds the lock" };

struct torturer {
	struct task_struct	*task;
	struct rnd_state	rnd;
	bool			write;		/* with mixed=1: in this round */
	unsigned int		setting;	/* index into settings[] */
	/* with mixed=1: the average number of rounds */
	unsigned int		writes_one_in, sleeps_one_in, pauses_one_in;
	unsigned int		how;		/* enum lock_test_how of the last round */
	enum activity		activity;
	/* written by the thread only */
	unsigned long		rounds, taken, written, downgraded;
	unsigned long		eintr, etime, eagain;
	u64			max_wait_ns;
	/* of the watchdog */
	unsigned long		seen;		/* rounds at its last check */
	unsigned int		stuck_s, starved_s;
};

enum failure { EXCLUSION, DATA, RETURN, STUCK, UNCLEAN, IDLE, HIDDEN, PRIORITY, NR_FAILURES };

static const char * const failure_names[NR_FAILURES] = {
	"exclusion", "data", "return", "stuck", "unclean", "idle", "hidden",
	"priority",
};

/* Static, because the parameter files that read it exist until after the exit function. */
static struct torturer torturers[2 * MAX_THREADS];
static unsigned int nr_torturers;

/* In the order of their start and stop: the threads that wake others stop before the last rest. */
enum helper { ONOFF, SIGNALS, CONTROL, NR_HELPERS };
static struct task_struct *helpers[NR_HELPERS];

static union test_lock lock;
static atomic_t writers, readers;	/* current holders */
static struct {
	unsigned long a, b;
} pair;					/* equal, except while a writer holds the lock */

static atomic64_t failures[NR_FAILURES];
/* With chains: locks for sections and pauses. A thread acquires them in this order. */
#define NR_INNER	4
static struct unfair_rwsem inner_unfair;
static DEFINE_MUTEX(inner_mutex);
static DECLARE_RWSEM(inner_rwsem);
static DEFINE_MUTEX(innermost_mutex);

static atomic_t long_holds;		/* in progress */
static atomic_long_t next_long_hold;	/* jiffies */
static bool paused = true;
static DECLARE_WAIT_QUEUE_HEAD(resumed);
static unsigned int active = 2 * MAX_THREADS;	/* the number of threads that run */
static unsigned int rests, left_lent, windows_left, cpus_unplugged, cpus_failed;

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
	/* the first ones are enough, and more would overflow the log */
	if (atomic64_inc_return(&failures[f]) <= 3)
		pr_err("%s: %s: %s (%ld), lock word %#lx\n", failure_names[f], current->comm, what,
		       value, type == LOCK_TEST_UNFAIR ? atomic_long_read(&lock.unfair.word) : 0L);
	WARN_ONCE(fatal.value, "%s: %s\n", failure_names[f], what);
}

/* --- the sections -------------------------------------------------------- */

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

static bool lock_inner(unsigned int i, bool write)
{
	switch (i) {
	case 0:
		return !(write ? unfair_down_write_killable(&inner_unfair) :
				 unfair_down_read_killable(&inner_unfair));
	case 1:
		return !mutex_lock_killable(&inner_mutex);
	case 2:
		/* a killable wait is not recorded */
		write ? down_write(&inner_rwsem) : down_read(&inner_rwsem);
		return true;
	}
	mutex_lock(&innermost_mutex);
	return true;
}

static void unlock_inner(unsigned int i, bool write)
{
	switch (i) {
	case 0:
		write ? unfair_up_write(&inner_unfair) : unfair_up_read(&inner_unfair);
		break;
	case 1:
		mutex_unlock(&inner_mutex);
		break;
	case 2:
		write ? up_write(&inner_rwsem) : up_read(&inner_rwsem);
		break;
	default:
		mutex_unlock(&innermost_mutex);
	}
}

/* Holds some of the inner locks for a while, or none. */
static void hold_inner(struct torturer *t)
{
	bool held[NR_INNER] = { }, write[NR_INNER];
	unsigned int i;

	if (rnd(&t->rnd, 100) >= chains.value)
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
			unlock_inner(i, write[i]);
}

static void hold(struct torturer *t)
{
	unsigned long next = atomic_long_read(&next_long_hold);
	u32 r = rnd(&t->rnd, 64);

	WRITE_ONCE(t->activity, HOLDS);
	hold_inner(t);
	/* long holds take a twentieth of the time, with any number of threads */
	if (long_hold.value && time_after(jiffies, next) &&
	    atomic_long_cmpxchg(&next_long_hold, next,
				jiffies + msecs_to_jiffies(20 * long_hold.value)) == next) {
		atomic_inc(&long_holds);
		if (r & 1)
			busy((u64)long_hold.value * NSEC_PER_MSEC);
		else
			msleep(long_hold.value);
		atomic_dec(&long_holds);
	} else if (mixed.value && !rnd(&t->rnd, t->sleeps_one_in)) {
		leave_cpu(t);
	} else if (mixed.value && r < 60) {
		busy(r < 50 ? 0 : rnd(&t->rnd, 2 * NSEC_PER_USEC));
	} else if (r < 60) {
		busy(rnd(&t->rnd, 20 * NSEC_PER_USEC));
	} else {
		usleep_range(1, 50);
	}
}

static void check_exclusion(bool write)
{
	int others = atomic_read(&writers) - write + (write ? atomic_read(&readers) : 0);

	if (others)
		fail(EXCLUSION, write ? "writer beside other holders" : "reader beside a writer",
		     others);
}

/*
 * A section. It accesses the plain words before and after the atomic counters, whose barriers
 * would hide missing barriers of the lock. Returns the number of write sections so far.
 */
static unsigned long section(struct torturer *t, bool write)
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
	if (ret == -EINTR && t->how == LOCK_TEST_INTERRUPTIBLE && signal_pending(current))
		t->eintr++;
	else if (ret == -EINTR && t->how == LOCK_TEST_KILLABLE && fatal_signal_pending(current))
		t->eintr++;
	else if (ret == -ETIME && t->how == LOCK_TEST_TIMEOUT && waited >= timeout)
		t->etime++;
	else if (ret == -EAGAIN && t->how == LOCK_TEST_TRYLOCK)
		t->eagain++;
	else
		fail(RETURN, "error without a reason", ret);
}

static void one_round(struct torturer *t)
{
	const struct test_lock_ops *ops = &test_locks[type];
	unsigned int timeout = rnd(&t->rnd, 4), subclass = rnd(&t->rnd, 2);
	unsigned long begun = jiffies, value;
	u64 start = ktime_get_ns();
	bool write = t->write;
	u32 tries = 0;
	int ret;

	if (mixed.value) {
		write = !rnd(&t->rnd, t->writes_one_in);
		t->write = write;
		/* repeated trylocks catch a moment in which the lock seems free */
		tries = write && !rnd(&t->rnd, 4) ? rnd(&t->rnd, 256) : 0;
	}
	/* half of the waits cannot give up: these find most of the failures */
	t->how = rnd(&t->rnd, 2) ? LOCK_TEST_PLAIN : rnd(&t->rnd, LOCK_TEST_GUARD);
	WRITE_ONCE(t->activity, WAITS);
	do {
		ret = ops->lock(&lock, write, t->how, timeout, subclass);
	} while (ret == -EAGAIN && tries--);
	if (ret == -EOPNOTSUPP) {
		t->how = LOCK_TEST_PLAIN;
		ret = ops->lock(&lock, write, t->how, timeout, subclass);
	}
	t->max_wait_ns = max(t->max_wait_ns, ktime_get_ns() - start);
	if (ret) {
		check_error(t, ret, jiffies - begun, timeout);
	} else {
		t->taken++;
		t->written += write;
		value = section(t, write);
		if (write && ops->downgrade && !rnd(&t->rnd, 8)) {
			write = false;
			t->downgraded++;
			ops->downgrade(&lock);
			if (section(t, false) != value)
				fail(DATA, "write during a downgrade", pair.a - value);
		}
		ops->unlock(&lock, write);
	}
	WRITE_ONCE(t->activity, PAUSES);
	WRITE_ONCE(t->rounds, t->rounds + 1);
}

/* While a section of the lock is active, the lock is not biased, whatever other tasks do. */
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
	/* a section becomes active after a lend period */
	if (!rnd(&t->rnd, 4))
		usleep_range(100, 1000);
	check_expedited();
	one_round(t);
	check_expedited();
	while (depth--)
		unfair_rwsem_unexpedite(&sections[depth]);
}

static void pause(struct torturer *t)
{
	u32 r = rnd(&t->rnd, 256);

	hold_inner(t);
	if (mixed.value) {
		if (!rnd(&t->rnd, t->pauses_one_in))
			leave_cpu(t);
		r = 255;
	}

	/* without pauses of the writers, the readers of this type starve */
	if (type == LOCK_TEST_F2FS && t->write)
		usleep_range(50, 200);
	else if (!r)
		schedule_timeout_idle(1);
	else if (r < 16)
		usleep_range(1, 100);
	else if (r < 128)
		busy(rnd(&t->rnd, 20 * NSEC_PER_USEC));
	cond_resched();
}

static int torture(void *arg)
{
	struct torturer *t = arg;

	allow_signal(SIGKILL);
	allow_signal(SIGTERM);
	while (!kthread_should_stop()) {
		if (READ_ONCE(paused) || t - torturers >= READ_ONCE(active)) {
			/* publishes the thread's counters: pairs with all_parked() */
			smp_store_release(&t->activity, PARKED);
			wait_event_idle(resumed, (!READ_ONCE(paused) &&
						  t - torturers < READ_ONCE(active)) ||
					kthread_should_stop());
			/* pairs with park_all(): all_parked() sees it, or the thread parks again */
			smp_store_mb(t->activity, PAUSES);
			continue;
		}
		if (type == LOCK_TEST_UNFAIR && rnd(&t->rnd, 100) < expedite.value)
			one_expedited_round(t);
		else
			one_round(t);
		flush_signals(current);
		pause(t);
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
		/* not at rest: a signal would hide a lost wakeup */
		if (!READ_ONCE(paused))
			send_sig(rnd(&state, 2) ? SIGKILL : SIGTERM, t->task, 1);
	}
	return 0;
}

static int onoff(void *unused)
{
	int cpu = nr_cpu_ids, ret = -EOPNOTSUPP;

	while (!kthread_should_stop()) {
		schedule_timeout_idle(onoff_interval.value * HZ);
#ifdef CONFIG_HOTPLUG_CPU
		if (cpu < nr_cpu_ids) {
			if (add_cpu(cpu))
				pr_err("cannot plug in CPU %d\n", cpu);
			cpu = nr_cpu_ids;
			continue;
		}
		cpu = cpumask_any_but(cpu_online_mask, 0);
		ret = cpu < nr_cpu_ids ? remove_cpu(cpu) : -ENODEV;
#endif
		if (!ret) {
			cpus_unplugged++;
			if (verbose.value)
				pr_info("unplugged CPU %d\n", cpu);
			continue;
		}
		if (!cpus_failed++)
			pr_warn("onoff_interval: this kernel cannot unplug a CPU: %d\n", ret);
		cpu = nr_cpu_ids;
	}
#ifdef CONFIG_HOTPLUG_CPU
	if (cpu < nr_cpu_ids)
		add_cpu(cpu);
#endif
	return 0;
}

/* --- control ------------------------------------------------------------- */

/* True once every @ms milliseconds; never if @ms is 0. */
static bool is_due(unsigned long *next, unsigned int ms)
{
	if (!ms || time_before(jiffies, *next))
		return false;
	*next = jiffies + msecs_to_jiffies(ms);
	return true;
}

/* On a busy host it may be long without a CPU. */
static bool waits_for_cpu(struct task_struct *task)
{
	return READ_ONCE(task->__state) == TASK_RUNNING && !READ_ONCE(task->on_cpu);
}

/*
 * The watchdog, once per second. Returns true if a thread is stuck: asleep, or running. It counts
 * calls, because time jumps when the host does not run the guest.
 */
static bool watch(void)
{
	bool any = false;
	struct torturer *t;

	if (atomic_read(&long_holds))
		return false;
	for (t = torturers; t < torturers + nr_torturers; t++) {
		unsigned long rounds = READ_ONCE(t->rounds);

		if (rounds != t->seen ||
		    ((paused || t - torturers >= active) && READ_ONCE(t->activity) == PARKED)) {
			t->seen = rounds;
			t->stuck_s = 0;
			t->starved_s = 0;
			continue;
		}
		if (waits_for_cpu(t->task) && ++t->starved_s < MAX_STARVED_S)
			continue;
		any |= ++t->stuck_s >= stuck.value;
		if (t->stuck_s != stuck.value)
			continue;
		fail(STUCK, "seconds without progress, lost wakeup?", stuck.value);
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

static void check_at_rest(void)
{
	const struct test_lock_ops *ops = &test_locks[type];
	unsigned long written = 0;
	unsigned int i;
	int ret;

	for (i = 0; i < nr_torturers; i++)
		written += torturers[i].written;
	if (pair.a != written || pair.b != written)
		fail(DATA, "lost writes", written - pair.a);
	if (type == LOCK_TEST_UNFAIR) {
		long word = atomic_long_read(&lock.unfair.word);

		if (word & ~(UNFAIR_RWSEM_WINDOW | UNFAIR_RWSEM_BIAS) ||
		    unfair_rwsem_is_locked(&lock.unfair) || lock.unfair.writers.rb_root.rb_node ||
		    lock.unfair.readers.rb_node)
			fail(UNCLEAN, "waiters or their flags in a lock at rest", word);
		windows_left += !!(word & UNFAIR_RWSEM_WINDOW);
	}
	ret = ops->lock(&lock, true, LOCK_TEST_TRYLOCK, 0, 0);
	if (ret == -EAGAIN)
		fail(UNCLEAN, "trylock of a lock at rest failed", ret);
	else if (!ret)
		ops->unlock(&lock, true);
}

/* Each loan sets reset-on-fork, and its end clears that. */
static bool has_its_priority(const struct torturer *t)
{
	const struct sched_attr *attr = &settings[t->setting];

	return t->task->policy == attr->sched_policy && !t->task->sched_reset_on_fork &&
	       t->task->rt_priority == attr->sched_priority &&
	       (attr->sched_policy != SCHED_NORMAL || chains.value ||
		task_nice(t->task) == attr->sched_nice);
}

/* A thread that holds no lock must have no loan. The watcher may end a loan late. */
static void check_priorities(void)
{
	unsigned long end = jiffies + RESTORE_S * HZ;
	struct torturer *t;

	for (t = torturers; t < torturers + nr_torturers; t++) {
		while (!has_its_priority(t) && time_before(jiffies, end))
			schedule_timeout_idle(1);
		if (has_its_priority(t))
			continue;
		pr_err("%s: policy %u, real-time priority %u, nice %d; given: %u, %u, %d\n",
		       t->task->comm, t->task->policy, t->task->rt_priority, task_nice(t->task),
		       settings[t->setting].sched_policy, settings[t->setting].sched_priority,
		       settings[t->setting].sched_nice);
		fail(PRIORITY, "a thread keeps a loan", t->task->prio);
		left_lent++;
		return;
	}
}

static void park_all(void)
{
	unsigned long watch_at = jiffies + HZ;

	/* orders the flag before all_parked(): pairs with torture() */
	smp_store_mb(paused, true);
	while (!all_parked()) {
		schedule_timeout_idle(1);
		if (is_due(&watch_at, 1000) && watch())
			return;
	}
	check_at_rest();
	check_priorities();
	rests++;
}

static void resume(void)
{
	WRITE_ONCE(paused, false);
	wake_up_all(&resumed);
}

static void set_thread(struct torturer *t, unsigned int setting)
{
	if (!sched_setattr_nocheck(t->task, &settings[setting]))
		t->setting = setting;
}

/* Changes the mix of operations of each thread, and the number of threads, from 2. */
static void change_mix(struct rnd_state *state)
{
	/* a bias lasts only if all threads write rarely */
	u32 few = rnd(state, 8);
	struct torturer *t;

	for (t = torturers; t < torturers + nr_torturers; t++) {
		t->writes_one_in = 1 << (few + rnd(state, 3));
		t->sleeps_one_in = 1 << rnd(state, 9);
		t->pauses_one_in = 1 << rnd(state, 9);
	}
	WRITE_ONCE(active, 2 + rnd(state, max(nr_torturers, 3U) - 1));
}

/*
 * Changes the reader bound, and the priorities of two threads. Returns for how many milliseconds.
 * That is far less than "stuck": in that time, a thread of low priority may not run, and a reader
 * may not acquire the lock without a bound.
 */
static unsigned int change_settings(struct rnd_state *state)
{
	static const unsigned int bounds[] = { 0, 1, 100, 10000, UNFAIR_RWSEM_BOUND_DEFAULT };
	static struct torturer *victims[2];
	unsigned int i, bound = bounds[rnd(state, ARRAY_SIZE(bounds))];

	for (i = 0; i < ARRAY_SIZE(victims); i++) {
		if (victims[i])
			set_thread(victims[i], 0);
		victims[i] = &torturers[rnd(state, nr_torturers)];
	}
	for (i = 0; i < ARRAY_SIZE(victims); i++)
		set_thread(victims[i], rnd(state, ARRAY_SIZE(settings)));
	if (type == LOCK_TEST_UNFAIR)
		unfair_rwsem_set_reader_bound(&lock.unfair, bound);
	for (i = 0; chains.value && i < nr_torturers; i++)
		set_thread(&torturers[i], torturers[i].setting);
	if (mixed.value) {
		change_mix(state);
		bound = 0;
	}
	return 50 + rnd(state, bound ? 1000 : 150);
}

/* While it runs, and maybe has a loan. change_settings() sets its own nice value again. */
static void renice(struct rnd_state *state)
{
	set_user_nice(torturers[rnd(state, nr_torturers)].task,
		      MIN_NICE + (int)rnd(state, NICE_WIDTH));
}

/*
 * Pins half of the threads to one random CPU each; the others may run on any CPU. While a CPU goes
 * down it is online, and the kernel would move a queued thread to it after it has been vacated.
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

static unsigned long print_class(bool write)
{
	unsigned long most = 0, least = ULONG_MAX;
	struct torturer sum = { };
	unsigned int i;

	for (i = 0; i < nr_torturers; i++) {
		/* its task goes on counting */
		struct torturer t = data_race(torturers[i]);
		unsigned long taken = write ? t.written : t.taken - t.written;

		if (!mixed.value && t.write != write)
			continue;
		sum.taken += taken;
		sum.downgraded += t.downgraded;
		sum.eintr += t.eintr;
		sum.etime += t.etime;
		sum.eagain += t.eagain;
		sum.max_wait_ns = max(sum.max_wait_ns, t.max_wait_ns);
		most = max(most, taken);
		least = min(least, taken);
	}
	if (least == ULONG_MAX)
		return ULONG_MAX;
	pr_info("%s:  Total: %lu  Max/Min: %lu/%lu  Downgraded: %lu  Fail: EINTR %lu ETIME %lu EAGAIN %lu  Longest wait: %llu us\n",
		write ? "Writes" : "Reads", sum.taken, most, least, sum.downgraded, sum.eintr,
		sum.etime, sum.eagain, div_u64(sum.max_wait_ns, NSEC_PER_USEC));
	return sum.taken;
}

static int control(void *unused)
{
	unsigned long now = jiffies, change_at = now, watch_at = now, shuffle_at = now;
	unsigned long stutter_at = now + stutter.value * HZ;
	unsigned long stat_at = now + stat_interval.value * HZ;
	unsigned int change_ms = 1;
	struct rnd_state state;

	prandom_seed_state(&state, get_random_u64());
	/* above the threads whose priority it must restore */
	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		if (is_due(&change_at, change_ms)) {
			park_all();
			change_ms = change_settings(&state);
			resume();
		}
		if (is_due(&shuffle_at, shuffle_interval.value * 1000))
			shuffle(&state);
		if (is_due(&watch_at, 1000))
			watch();
		if (is_due(&stat_at, stat_interval.value * 1000)) {
			print_class(true);
			print_class(false);
		}
		if (is_due(&stutter_at, stutter.value * 1000)) {
			park_all();
			stutter_at = jiffies + stutter.value * HZ;
			while (time_before(jiffies, stutter_at) && !kthread_should_stop())
				schedule_timeout_idle(TICK);
			stutter_at = jiffies + stutter.value * HZ;
			resume();
		}
		if (chains.value)
			renice(&state);
		schedule_timeout_idle(chains.value ? 1 : TICK);
	}
	park_all();
	return 0;
}

/* --- verdict and set-up -------------------------------------------------- */

static u64 all_failures(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < NR_FAILURES; i++)
		sum += atomic64_read(&failures[i]);
	return sum;
}

static u64 all_taken(void)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < nr_torturers; i++)
		sum += READ_ONCE(torturers[i].taken);
	return sum;
}

static int get_state(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%llu\n", kp->arg == failures ? all_failures() : all_taken());
}

/* insmod calls .set without checking for NULL */
static int set_state(const char *val, const struct kernel_param *kp)
{
	pr_err("%s=%s: read-only\n", kp->name, val);
	return -EINVAL;
}

static const struct kernel_param_ops state_ops = { .set = set_state, .get = get_state };
module_param_cb(violations, &state_ops, failures, 0444);
MODULE_PARM_DESC(violations, "read only: number of failures so far");
module_param_cb(progress, &state_ops, torturers, 0444);
MODULE_PARM_DESC(progress, "read only: number of acquisitions of the lock so far");

static void print_banner(const char *what)
{
	pr_info("--- %s: torture_type=%s nwriters_stress=%d nreaders_stress=%d stutter=%d shuffle_interval=%d onoff_interval=%d long_hold=%d stat_interval=%d mixed=%d expedite=%d chains=%d stuck=%d fatal=%d verbose=%d\n",
		what, type_names[type], nwriters_stress.value, nreaders_stress.value,
		stutter.value, shuffle_interval.value, onoff_interval.value, long_hold.value,
		stat_interval.value, mixed.value, expedite.value, chains.value, stuck.value,
		fatal.value, verbose.value);
}

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

static int start_torturers(bool write, int nr)
{
	int i, ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		struct torturer *t = &torturers[nr_torturers];

		t->write = write;
		t->writes_one_in = 8;
		t->sleeps_one_in = 8;
		t->pauses_one_in = 8;
		prandom_seed_state(&t->rnd, get_random_u64());
		ret = start(&t->task, torture, t, write ? "torture_w" : "torture_r", i);
		nr_torturers += !ret;
	}
	return ret;
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
	int ret, cpus = num_online_cpus();

	if (nwriters_stress.value < 0)
		nwriters_stress.value = min(cpus, MAX_THREADS);
	if (nreaders_stress.value < 0)
		nreaders_stress.value = min(2 * cpus, MAX_THREADS);
	if (!nwriters_stress.value && !nreaders_stress.value) {
		pr_err("nwriters_stress=0 nreaders_stress=0: one of them must be 1 to %d\n",
		       MAX_THREADS);
		return -EINVAL;
	}
	ret = test_lock_init(&lock, type);
	if (ret)
		return ret;
	init_unfair_rwsem(&inner_unfair);
	print_banner("Start of test");
	atomic_long_set(&next_long_hold, jiffies);
	ret = start_torturers(true, nwriters_stress.value);
	if (!ret)
		ret = start_torturers(false, nreaders_stress.value);
	if (!ret && onoff_interval.value)
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
	unsigned int i;

	stop_all();
	if (!print_class(true))
		fail(IDLE, "no writer acquired the lock", 0);
	if (!print_class(false))
		fail(IDLE, "no reader acquired the lock", 0);
	pr_info("Rests: %u, with a window left %u, with a lent priority left %u  CPUs unplugged: %u, failed %u\n",
		rests, windows_left, left_lent, cpus_unplugged, cpus_failed);
	if (!all_failures()) {
		print_banner("End of test: SUCCESS");
		return;
	}
	for (i = 0; i < NR_FAILURES; i++) {
		if (atomic64_read(&failures[i]))
			pr_err("%s: %lld times\n", failure_names[i],
			       (s64)atomic64_read(&failures[i]));
	}
	print_banner("End of test: FAILURE");
}

module_init(unfair_torture_init);
module_exit(unfair_torture_exit);

MODULE_DESCRIPTION("Torture of one lock by kernel threads; tests of fscommit");
MODULE_LICENSE("GPL");
