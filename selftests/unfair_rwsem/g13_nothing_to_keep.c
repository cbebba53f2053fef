// SPDX-License-Identifier: GPL-2.0
/*
 * G13: lending changes no setting of a task that its user can read back, keep, inherit or lose.
 * After the loan, the task's priority is what its own settings say.
 *
 * Seen failing: the mutants g13-*.
 */
#include "common.h"
#include "lent.h"

NEEDS_MODULES("fscommit_test");

LENDING_LOCK_FIXTURE(g13_nothing_to_keep, "1")

#define NOBODY		65534
/* class best effort, 6 */
#define IOPRIO_6	(2 << 13 | 6)
/* the default of sched_util_clamp_min_rt_default */
#define UCLAMP_OF_RT	1024

struct settings {
	/* struct sched_attr: not every C library declares it */
	struct deadline_attr attr;
	__u32 util_min, util_max;
	int policy, nice, ioprio;
	long slack;
	cpu_set_t cpus;
};

static struct settings settings_of(pid_t pid)
{
	char path[64], line[32];
	struct settings s;

	memset(&s, 0, sizeof(s));
	syscall(SYS_sched_getattr, pid, &s.attr, sizeof(s.attr) + 8, 0);
	s.policy = sched_getscheduler(pid);
	s.nice = getpriority(PRIO_PROCESS, pid);
	s.ioprio = syscall(SYS_ioprio_get, 1, pid);
	snprintf(path, sizeof(path), "/proc/%d/timerslack_ns", pid);
	get_line(path, line, sizeof(line));
	s.slack = atol(line);
	sched_getaffinity(pid, sizeof(s.cpus), &s.cpus);
	return s;
}

static bool has_settings(pid_t pid, const struct settings *own)
{
	struct settings now = settings_of(pid);

	if (!memcmp(&now, own, sizeof(now)))
		return true;
	fprintf(stderr, "# %d: policy %#x, nice %d, rt %u, ioprio %#x, slack %ld\n", pid,
		now.policy, now.nice, now.attr.priority, now.ioprio, now.slack);
	return false;
}

/* --- settings through many loans ------------------------------------------ */

struct subject {
	struct job job;
	int flags;		/* SCHED_RESET_ON_FORK, or 0 */
	bool owner;		/* of a mutex that a holder waits for */
	pid_t pid;
	struct settings own;
	long samples, lent, changed;
	/* of the subject itself */
	atomic_int ready, sections, seen_changed, inherited;
};

/* Forks, maybe during a loan: the owner of a mutex keeps its loan for a while after the release. */
static bool child_inherits(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(!is_lent(getpid(), 0));
	return waitpid(pid, &status, 0) != pid || status;
}

/*
 * Holds the lock again and again, each eighth time for longer, so that a slow machine also looks
 * at it during a loan. In between, it reads its own settings and forks.
 */
static void be_subject(struct subject *s, int fd)
{
	struct sched_param p = { .sched_priority = s->job.prio };
	struct lock_test_op op = { .hold = LOCK_TEST_SLEEP };

	op.mode = s->owner ? LOCK_TEST_WRITE : LOCK_TEST_READ;
	sched_setscheduler(0, s->job.policy | s->flags, &p);
	prctl(PR_SET_TIMERSLACK, 1234567);
	syscall(SYS_ioprio_set, 1, 0, IOPRIO_6);
	s->own = settings_of(getpid());
	atomic_store(&s->ready, 1);
	for (;;) {
		op.hold_us = atomic_load(&s->sections) % 8 ? 500 : 20000;
		ioctl(fd, LOCK_TEST_LOCK, &op);
		atomic_fetch_add(&s->seen_changed, !has_settings(getpid(), &s->own));
		if (atomic_fetch_add(&s->sections, 1) % 8 == 0)
			atomic_fetch_add(&s->inherited, child_inherits());
	}
}

static void sample(struct subject *s)
{
	s->samples++;
	s->lent += effective_prio(s->pid) < prio_of_settings(s->pid);
	s->changed += !has_settings(s->pid, &s->own);
}

/* Has each subject been seen while it was lent to? */
static bool all_seen(const struct subject *s, int nr)
{
	while (nr--)
		if (!s[nr].lent)
			return false;
	return true;
}

TEST_F_TIMEOUT(g13_nothing_to_keep, settings_never_change, 150)
{
	static const struct subject subjects[] = {
		{ .job = { .nice = 19 } },
		{ .job = { .nice = 5, .policy = SCHED_IDLE, .cpu = 1 } },
		{ .job = { .nice = -3, .policy = SCHED_BATCH }, .flags = SCHED_RESET_ON_FORK },
		{ .job = { .policy = SCHED_RR, .prio = 7 } },
		{ .job = { .nice = 10 }, .owner = true },
	};
	const struct job blocked = { .mode = LOCK_TEST_READ, .how = LOCK_TEST_KILLABLE,
				     .nice = 19, .flags = LOCK_TEST_OUTER_READ,
				     .outer = self->fd, .repeat = 1 << 30 };
	int i, nr = sizeof(subjects) / sizeof(subjects[0]), mutex = lock_open(LOCK_TEST_MUTEX);
	struct subject *s = share(sizeof(subjects));
	struct job writer = fifo(40);
	double end = seconds() + 100;
	struct task *w, *b;
	long before;
	pid_t pid;

	memcpy(s, subjects, sizeof(subjects));
	nr -= !has_mutex_links();
	for (i = 0; i < nr; i++) {
		pid = fork_task(&s[i].job);
		if (!pid)
			be_subject(&s[i], s[i].owner ? mutex : self->fd);
		s[i].pid = pid;
		ASSERT_REACHED(atomic_load(&s[i].ready));
	}
	b = start(mutex, blocked);
	writer.repeat = 1 << 30;
	writer.hold = LOCK_TEST_SLEEP;
	writer.hold_us = 300;
	w = start(self->fd, writer);
	ASSERT_REACHED(counter("loans") > 0);
	before = counter("loans");
	/* ahead of the tasks that it looks at: on a slow machine they leave it no CPU */
	set_policy(SCHED_FIFO, 50);
	while ((counter("loans") < before + repeats(1000) || !all_seen(s, nr)) &&
	       seconds() < end) {
		for (i = 0; i < nr; i++)
			sample(&s[i]);
		sleep_ms(1);
	}
	set_policy(SCHED_OTHER, 0);
	EXPECT_EQ(-SIGKILL, kill_task(w));
	EXPECT_EQ(-SIGKILL, kill_task(b));
	for (i = 0; i < nr; i++) {
		TH_LOG("subject %d: %ld samples, %ld while it was lent to, %d sections", i,
		       s[i].samples, s[i].lent, atomic_load(&s[i].sections));
		EXPECT_EQ(0, s[i].changed);
		EXPECT_EQ(0, atomic_load(&s[i].seen_changed));
		EXPECT_EQ(0, atomic_load(&s[i].inherited));
		EXPECT_LT(0, s[i].lent);
		EXPECT_TRUE(reached(is_lent(s[i].pid, 0)));
		kill_pid(s[i].pid);
	}
	TH_LOG("%ld loans", counter("loans") - before);
	EXPECT_LE(before + repeats(1000), counter("loans"));
	close(mutex);
}

/* --- changes during a loan ------------------------------------------------ */

struct change {
	uid_t by;		/* the holder's user */
	int policy, rt, nice;
};

static int apply(pid_t pid, const struct change *c)
{
	struct sched_param param = { .sched_priority = c->rt };
	pid_t child = fork_task(&(struct job){ .uid = c->by });
	int status;

	if (!child)
		_exit(sched_setscheduler(pid, c->policy, &param) ||
		      setpriority(PRIO_PROCESS, pid, c->nice));
	waitpid(child, &status, 0);
	return status;
}

/* A change takes effect, does not end the loan, and stays. Returns 0 if so. */
static int changed_during_a_loan(int fd, const struct change *c)
{
	struct settings changed;
	struct loan l;

	CHECK(!begin_loan(&l, fd, LOCK_TEST_READ, (struct job){ .nice = 5, .uid = c->by }, fifo(30),
		     30));
	CHECK(!apply(l.holder->pid, c));
	changed = settings_of(l.holder->pid);
	CHECK(changed.policy == c->policy && changed.nice == c->nice &&
	      changed.attr.priority == c->rt);
	/* with CONFIG_UCLAMP_TASK the kernel takes a lent task for a real-time task: limits.rst */
	CHECK(!changed.util_min || changed.util_min == UCLAMP_OF_RT);
	many_looks();
	CHECK(is_lent(l.holder->pid, 30));
	kill(l.w->pid, SIGKILL);
	CHECK(reached(is_lent(l.holder->pid, 0)));
	CHECK(has_settings(l.holder->pid, &changed));
	return end_loan(&l) == -SIGKILL ? 0 : -__LINE__;
}

TEST_F_TIMEOUT(g13_nothing_to_keep, changes_during_a_loan_stay, 60)
{
	static const struct change changes[] = {
		{ 0, SCHED_OTHER, 0, -7 }, { 0, SCHED_RR, 5, 5 }, { 0, SCHED_FIFO, 2, 7 },
		{ 0, SCHED_BATCH | SCHED_RESET_ON_FORK, 0, 5 },
		{ NOBODY, SCHED_OTHER, 0, 7 }, { NOBODY, SCHED_BATCH, 0, 5 },
		{ NOBODY, SCHED_IDLE, 0, 5 }, { NOBODY, SCHED_IDLE | SCHED_RESET_ON_FORK, 0, 19 },
	};
	int i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		EXPECT_EQ(0, changed_during_a_loan(self->fd, &changes[i])) TH_LOG("row %d", i);
}

TEST_HARNESS_MAIN
