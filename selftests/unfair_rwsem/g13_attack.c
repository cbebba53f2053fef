// SPDX-License-Identifier: GPL-2.0
/*
 * G13: no user keeps a loan, whatever it does to its own tasks meanwhile. G13_SECONDS in the
 * environment sets the duration of the attack.
 *
 * Seen failing: the mutants g13-changes-the-policy and g13-changes-the-nice-value.
 */
#include <sys/sendfile.h>

#include "common.h"
#include "loan.h"

LENDING_LOCK_FIXTURE(g13_attack, "1")

#define NOBODY		65534
#define VICTIMS		4
#define ATTACKERS	2

struct attack {
	atomic_int stop;
	atomic_long calls, sections, kept, forks, execs;
	atomic_int victim[VICTIMS];
	int program;		/* a file that any user may execute */
};

/* Has an unprivileged task more than it began with, SCHED_OTHER and nice 0? */
static bool has_gained(pid_t pid)
{
	int policy = sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR ||
	       getpriority(PRIO_PROCESS, pid) < 0 || effective_prio(pid ?: getpid()) < 20;
}

static void be_attacker(struct attack *a)
{
	static const int policies[] = { SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO,
					SCHED_RR };
	struct sched_param p = { };

	prepare(&(struct job){ .uid = NOBODY });
	for (;;) {
		pid_t pid = atomic_load(&a->victim[random() % VICTIMS]);
		int policy = policies[random() % 5];

		p.sched_priority = policy == SCHED_FIFO || policy == SCHED_RR;
		sched_setscheduler(pid, policy | (random() % 2 ? SCHED_RESET_ON_FORK : 0), &p);
		sched_setparam(pid, &p);
		/* nice values that are worse stay for ever: few of them */
		setpriority(PRIO_PROCESS, pid, random() % 64 ? -(random() % 21) : random() % 20);
		atomic_fetch_add(&a->calls, 1);
		/* the victims need the CPU, too */
		usleep(random() % 200);
	}
}

/* Acquires the lock, forks, and executes this program again: see victim_again(). */
static void be_victim(struct attack *a, int fd, int memory)
{
	struct lock_test_op op = { .mode = LOCK_TEST_READ };
	char env[64], *argv[] = { "g13", NULL }, *envp[] = { env, NULL };

	srandom(getpid() + atomic_load(&a->sections));
	snprintf(env, sizeof(env), "G13_VICTIM=%d %d", fd, memory);
	while (!atomic_load(&a->stop)) {
		op.hold = random() % 2 ? LOCK_TEST_SLEEP : LOCK_TEST_BUSY;
		op.hold_us = random() % 1000;
		ioctl(fd, LOCK_TEST_LOCK, &op);
		atomic_fetch_add(&a->sections, 1);
		/* the loan has ended with the section */
		atomic_fetch_add(&a->kept, has_gained(0));
		prctl(PR_SET_TIMERSLACK, random() % 100000);
		if (!(random() % 16) && !fork()) {
			atomic_fetch_add(&a->kept, has_gained(0));
			atomic_fetch_add(&a->forks, 1);
			_exit(0);
		}
		while (waitpid(-1, NULL, 0) > 0)
			;
		if (!(random() % 16))
			syscall(SYS_execveat, a->program, "", argv, envp, AT_EMPTY_PATH);
	}
	for (;;)
		pause();
}

static struct attack *map_attack(int memory)
{
	return mmap(NULL, sizeof(struct attack), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
}

/* A copy of this program that any user may execute; not open for writing any more. */
static int copy_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY), to = syscall(SYS_memfd_create, "copy", 0);
	char path[64];

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	close(from);
	from = open(path, O_RDONLY);
	close(to);
	return from;
}

/* Runs before main(). */
__attribute__((constructor))
static void victim_again(void)
{
	const char *s = getenv("G13_VICTIM");
	struct attack *a;
	int fd, memory;

	if (!s || sscanf(s, "%d %d", &fd, &memory) != 2)
		return;
	a = map_attack(memory);
	atomic_fetch_add(&a->execs, 1);
	be_victim(a, fd, memory);
}

TEST_F_TIMEOUT(g13_attack, no_user_keeps_a_loan, 250)
{
	int i, memory = syscall(SYS_memfd_create, "g13", 0);
	const char *duration = getenv("G13_SECONDS");
	pid_t pid, attacker[ATTACKERS];
	struct job writer = fifo(40);
	struct attack *a;
	struct task *w;
	long before;

	ASSERT_EQ(0, ftruncate(memory, sizeof(*a)));
	a = map_attack(memory);
	ASSERT_NE(MAP_FAILED, a);
	a->program = copy_program();
	before = counter("loans");
	for (i = 0; i < VICTIMS + ATTACKERS; i++) {
		fflush(NULL);
		pid = fork();
		if (!pid && i >= VICTIMS)
			be_attacker(a);
		if (!pid) {
			prepare(&(struct job){ .uid = NOBODY });
			be_victim(a, self->fd, memory);
		}
		if (i < VICTIMS)
			atomic_store(&a->victim[i], pid);
		else
			attacker[i - VICTIMS] = pid;
	}
	writer.repeat = 1 << 30;
	writer.hold = LOCK_TEST_SLEEP;
	writer.hold_us = 500;
	w = start(self->fd, writer);
	sleep_ms(duration ? atoi(duration) * 1000 : 2000 + scaled(4000));
	atomic_store(&a->stop, 1);
	for (i = 0; i < ATTACKERS; i++)
		kill_pid(attacker[i]);
	EXPECT_EQ(-SIGKILL, kill_task(w));
	ASSERT_REACHED(!state(self->fd).is_locked);
	for (i = 0; i < VICTIMS; i++) {
		EXPECT_TRUE(reached(is_lent_nothing(a->victim[i]) && !has_gained(a->victim[i])));
		kill_pid(a->victim[i]);
	}
	TH_LOG("%ld attempts, %ld sections, %ld loans, %ld forks, %ld execs",
	       atomic_load(&a->calls), atomic_load(&a->sections), counter("loans") - before,
	       atomic_load(&a->forks), atomic_load(&a->execs));
	EXPECT_EQ(0, atomic_load(&a->kept));
	EXPECT_LT(before, counter("loans"));
	EXPECT_LT(0, atomic_load(&a->execs));
}

TEST_HARNESS_MAIN
