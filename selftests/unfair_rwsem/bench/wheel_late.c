// SPDX-License-Identifier: GPL-2.0
/*
 * How late does a real-time task wake from a timer of the timer wheel, beside a lent task? On
 * PREEMPT_RT, these timers run in ktimers/N, with SCHED_FIFO 1: the lowest level that is lent.
 *
 *	wheel_late SECONDS LEND_NICE...
 *
 * On CPU 1, a SCHED_FIFO 50 task waits for a message that never comes, for 5 ms each time. A nice
 * 19 task holds a lock for reading there, for 20 ms of CPU time, beside a busy task of nice 19.
 * On CPU 0, a nice 0 writer waits for it. For each value of lend_nice, SECONDS of that. Needs root,
 * /dev/fscommit_test and two CPUs. Prints the number of waits, how late they ended, and how much
 * CPU time the reader had.
 */
/* the harness has a function that programs without tests do not use */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "common.h"
#include "stats.h"

#include <sys/socket.h>
#include <sys/time.h>

#define MAX_WAITS	100000

struct result {
	struct samples late;
	uint32_t at[MAX_WAITS];
};

static pid_t start_waiter(struct result *r, double end)
{
	struct timeval timeout = { .tv_usec = 5000 };
	int s[2];
	pid_t pid;

	samples_init(&r->late, r->at, MAX_WAITS);
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prepare(&(struct job){ .cpu = 2, .policy = SCHED_FIFO, .prio = 50 });
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) ||
	    setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		_exit(1);
	while (seconds() < end) {
		double due = seconds() + 0.005;
		char c;

		if (recv(s[0], &c, 1, 0) != -1 || errno != EAGAIN)
			_exit(1);
		samples_add(&r->late, seconds() > due ? (seconds() - due) * 1e9 : 0);
	}
	_exit(0);
}

static int measure(const char *lend_nice, double duration)
{
	struct result *r = share(sizeof(*r));
	int fd = lock_open(LOCK_TEST_UNFAIR);
	struct task *reader, *writer;
	pid_t busy, waiter;
	__u64 used;

	if (!r || fd < 0 || !set_param("lend_nice", lend_nice))
		return 1;
	reader = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold_us = 20000, .nice = 19,
					 .cpu = 2, .repeat = 1 << 30 });
	busy = start_busy(1);
	setpriority(PRIO_PROCESS, busy, 19);
	writer = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 1, .repeat = 1 << 30 });
	waiter = start_waiter(r, seconds() + duration);
	used = cpu_time(reader->pid);
	waitpid(waiter, NULL, 0);
	used = cpu_time(reader->pid) - used;
	kill_pid(busy);
	kill_task(writer);
	kill_task(reader);
	samples_sort(&r->late);
	printf("lend_nice %s: %llu waits, late p50 %.1f p99 %.1f max %.1f ms, the reader used %.1f%% of the CPU, %d writes\n",
	       lend_nice, (unsigned long long)r->late.count,
	       samples_percentile(&r->late, 50) / 1e6, samples_percentile(&r->late, 99) / 1e6,
	       r->late.max / 1e6, used / duration / 1e7, atomic_load(&writer->done));
	munmap(r, sizeof(*r));
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	char before[16];
	int i, ret = 0;

	if (argc < 3) {
		printf("Usage: wheel_late SECONDS LEND_NICE...\n");
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 1;
	}
	get_param("lend_nice", before, sizeof(before));
	for (i = 2; i < argc && !ret; i++)
		ret = measure(argv[i], atof(argv[1]));
	set_param("lend_nice", before);
	return ret;
}
