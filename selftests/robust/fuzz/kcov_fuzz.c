// SPDX-License-Identifier: GPL-2.0
/*
 * Random sequences of ioctls of the test devices, run by two threads. A sequence that reaches new
 * code of the module (KCOV) is kept, and changed at random later.
 *
 *	kcov_fuzz SECONDS [CORPUS]
 *
 * CORPUS is a folder of initial sequences; new ones go to /tmp/out as seq-*. The kernel reports
 * errors (KASAN, WARN); the fuzzer itself checks only the exclusion of the lock.
 * FUZZ_SEED repeats a run as far as scheduling allows.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define COVER_SIZE	(32 << 10)
/* bits of a program counter; more than the size of the module's code */
#define PLACES		(1 << 19)
#define MAX_CORPUS	4096
#define LIMIT_MS	400
/* tasks mostly wait */
#define TASKS		8

/* Shared with the task that runs a sequence. */
struct run {
	struct sequence seq;
	unsigned int violations;
	unsigned char place[PLACES];
};

static unsigned char seen[PLACES];
static struct sequence *corpus[MAX_CORPUS];
static unsigned int nr_corpus, nr_seen, nr_found;

static unsigned long long dice;

static __u32 roll(void)
{
	dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return dice >> 32;
}

static __u32 below(__u32 n)
{
	return roll() % n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* --- running a sequence, in the task ------------------------------------- */

static struct run *run;
static int fds[NR_DEVICES];
static pthread_barrier_t begin;
static unsigned int finished;

static unsigned long *kcov_begin(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	unsigned long *area;

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, COVER_SIZE))
		return NULL;
	area = mmap(NULL, COVER_SIZE * sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED || ioctl(fd, KCOV_ENABLE, 0))
		return NULL;
	return area;
}

/* Run this thread's calls of each sequence. */
static void *run_thread(void *number)
{
	unsigned long *area = kcov_begin(), i, nr;
	unsigned int n;

	if (!area)
		_exit(2);
	for (;;) {
		pthread_barrier_wait(&begin);
		for (n = 0; n < run->seq.nr; n++) {
			const struct call *c = &run->seq.call[n];

			if ((c->thread & 1) != !!number)
				continue;
			__atomic_store_n(area, 0, __ATOMIC_RELAXED);
			do_call(fds, c);
			nr = __atomic_load_n(area, __ATOMIC_RELAXED);
			for (i = 0; i < nr; i++)
				run->place[area[i + 1] % PLACES] = 1;
		}
		__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	}
}

/* Release the holders that wait for LOCK_TEST_GO. */
static void go_all(void)
{
	__u32 id;

	for (id = 0; id < LOCK_TEST_MAX_IDS; id++)
		ioctl(fds[0], LOCK_TEST_GO, &id);
}

/* Each sequence begins and ends with a byte in the pipes. */
static void run_task(int from, int to)
{
	struct lock_test_state s;
	pthread_t thread;
	unsigned int i;
	__u32 type;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&begin, NULL, 3);
	for (i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, run_thread, (void *)(unsigned long)i))
			_exit(2);
	while (read(from, &c, 1) == 1) {
		type = run->seq.call[0].unused % 8 ? LOCK_TEST_UNFAIR :
						     run->seq.call[0].unused / 8 %
						     LOCK_TEST_NR_TYPES;
		for (i = 0; i < NR_DEVICES; i++)
			fds[i] = open(devices[i].path, O_RDWR);
		ioctl(fds[0], LOCK_TEST_CREATE, &type);
		finished = 0;
		pthread_barrier_wait(&begin);
		while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < 2) {
			usleep(200);
			go_all();
		}
		memset(&s, 0, sizeof(s));
		if (type == LOCK_TEST_UNFAIR && !ioctl(fds[0], LOCK_TEST_STATE, &s))
			run->violations += s.violations;
		for (i = 0; i < NR_DEVICES; i++)
			close(fds[i]);
		if (write(to, &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* --- the tasks ----------------------------------------------------------- */

/* A task runs sequences until one takes too long; then it is killed and replaced. */
static struct task {
	pid_t pid;
	int to, from;
	struct run *run;
	double end;	/* deadline of its sequence; 0: it has none */
} tasks[TASKS];

static int start_task(struct task *t)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -1;
	t->pid = fork();
	if (!t->pid) {
		close(to[1]);
		close(from[0]);
		run = t->run;
		run_task(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	t->to = to[1];
	t->from = from[0];
	return t->pid < 0 ? -1 : 0;
}

/* Return the exit status. */
static int end_task(struct task *t)
{
	int status = 0;

	kill(t->pid, SIGKILL);
	waitpid(t->pid, &status, 0);
	close(t->to);
	close(t->from);
	t->pid = 0;
	return status;
}

static int begin_sequence(struct task *t, const struct sequence *s)
{
	char c = 0;

	if (!t->pid && start_task(t))
		return -1;
	t->run->seq = *s;
	memset(t->run->place, 0, sizeof(t->run->place));
	t->end = now() + LIMIT_MS / 1e3;
	/* end_sequence() notices a task that has died */
	return write(t->to, &c, 1) == 1 || errno == EPIPE ? 0 : -1;
}

/* A task that has finished its sequence or exceeded its time. */
static struct task *next_done(void)
{
	struct pollfd answer[TASKS];
	unsigned int i;

	for (;;) {
		for (i = 0; i < TASKS; i++) {
			answer[i].fd = tasks[i].end ? tasks[i].from : -1;
			answer[i].events = POLLIN;
		}
		poll(answer, TASKS, 20);
		for (i = 0; i < TASKS; i++)
			if (tasks[i].end && (answer[i].revents || now() > tasks[i].end))
				return &tasks[i];
	}
}

/* Return the number of new places; < 0: the task could not run the sequence. */
static int end_sequence(struct task *t)
{
	struct pollfd answer = { .fd = t->from, .events = POLLIN };
	unsigned int i, found = 0;
	int status = 0;
	char c;

	t->end = 0;
	if (poll(&answer, 1, 0) != 1 || read(t->from, &c, 1) != 1)
		status = end_task(t);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return -1;
	for (i = 0; i < PLACES; i++)
		if (t->run->place[i] && !seen[i]) {
			seen[i] = 1;
			found++;
		}
	nr_seen += found;
	return found;
}

/* --- making sequences ---------------------------------------------------- */

static __u32 random_word(void)
{
	static const __u32 edges[] = { 0, 1, 2, 7, 8, 63, 64, 255, 256, 65535, 0x7fffffff,
				       0x80000000, ~0U - 1, ~0U };

	switch (below(4)) {
	case 0:
		return roll();
	case 1:
		return edges[below(sizeof(edges) / sizeof(edges[0]))];
	default:
		return below(10);
	}
}

static void random_call(struct call *c)
{
	unsigned int i;

	c->device = roll();
	c->cmd = roll();
	c->thread = roll();
	c->unused = roll();
	for (i = 0; i < WORDS; i++)
		c->word[i] = random_word();
}

/* Mostly calls of one device, which is set up first. */
static void random_sequence(struct sequence *s)
{
	unsigned int i, device = roll();

	s->nr = 2 + below(MAX_CALLS - 2);
	for (i = 0; i < s->nr; i++) {
		random_call(&s->call[i]);
		if (below(8))
			s->call[i].device = device;
	}
	s->call[0].cmd = 0;
}

static void change(struct sequence *s)
{
	const struct sequence *other = corpus[below(nr_corpus)];
	unsigned int at = below(s->nr), nr;

	switch (below(6)) {
	case 0:
		if (s->nr < MAX_CALLS) {
			memmove(&s->call[at + 1], &s->call[at],
				(s->nr++ - at) * sizeof(s->call[0]));
			random_call(&s->call[at]);
			s->call[at].device = s->call[0].device;
		}
		break;
	case 1:
		if (s->nr > 1)
			memmove(&s->call[at], &s->call[at + 1],
				(--s->nr - at) * sizeof(s->call[0]));
		break;
	case 2:
		/* the end of another sequence */
		nr = below(other->nr);
		if (nr > MAX_CALLS - at)
			nr = MAX_CALLS - at;
		memcpy(&s->call[at], &other->call[other->nr - nr], nr * sizeof(s->call[0]));
		s->nr = at + nr > s->nr ? at + nr : s->nr;
		break;
	case 3:
		s->call[at].thread ^= 1;
		break;
	default:
		s->call[at].word[below(WORDS)] = random_word();
	}
}

/* --- the corpus ---------------------------------------------------------- */

static void keep(const struct sequence *s)
{
	if (nr_corpus == MAX_CORPUS)
		return;
	corpus[nr_corpus] = malloc(sizeof(*s));
	if (corpus[nr_corpus])
		*corpus[nr_corpus++] = *s;
}

static void save(const struct sequence *s)
{
	unsigned long long hash = 14695981039346656037ULL;
	const unsigned char *p = (const void *)s;
	size_t size = offsetof(struct sequence, call[s->nr]), i;
	char path[64];
	FILE *f;

	for (i = 0; i < size; i++)
		hash = (hash ^ p[i]) * 1099511628211ULL;
	snprintf(path, sizeof(path), "/tmp/out/seq-%016llx", hash);
	f = fopen(path, "w");
	if (f) {
		fwrite(s, size, 1, f);
		fclose(f);
	}
}

static void run_folder(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		struct sequence s = { };
		char path[512];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		if (fread(&s, 1, sizeof(s), f) > sizeof(s.nr) && s.nr && s.nr <= MAX_CALLS &&
		    !begin_sequence(&tasks[0], &s) && end_sequence(next_done()) > 0)
			keep(&s);
		fclose(f);
	}
	if (d)
		closedir(d);
}

static void make_sequence(struct sequence *s)
{
	unsigned int i;

	if (!nr_corpus || !below(8)) {
		memset(s, 0, sizeof(*s));
		random_sequence(s);
		return;
	}
	*s = *corpus[below(nr_corpus)];
	for (i = 1 + below(4); i; i--)
		change(s);
}

/* Run random sequences until @end or a violation. Return < 0 if one could not be run. */
static int fuzz(double end, unsigned int *nr, unsigned int *violations)
{
	double reported = now();
	struct sequence s;
	struct task *t;
	int i, found = 0;

	for (i = 0; i < TASKS && !found; i++) {
		make_sequence(&s);
		found = begin_sequence(&tasks[i], &s);
	}
	for (*nr = 0; found >= 0 && now() < end && !*violations; ++*nr) {
		t = next_done();
		s = t->run->seq;
		found = end_sequence(t);
		if (t->run->violations) {
			*violations = t->run->violations;
			save(&s);
		}
		if (found > 0) {
			keep(&s);
			save(&s);
			nr_found++;
		}
		if (found >= 0) {
			make_sequence(&s);
			found = begin_sequence(t, &s);
		}
		if (now() > reported + 10) {
			reported = now();
			printf("# %u sequences, %u places\n", *nr, nr_seen);
			fflush(stdout);
		}
	}
	return found;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);
	unsigned int n, i, first, violations = 0;
	const char *seed = getenv("FUZZ_SEED");
	struct run *r;
	int found;

	dice = seed ? strtoull(seed, NULL, 0) : (unsigned long long)time(NULL) << 20 ^ getpid();
	printf("TAP version 13\n1..1\n# FUZZ_SEED=%llu\n", dice);
	/* a task that died has closed its end of the pipe */
	signal(SIGPIPE, SIG_IGN);
	r = mmap(NULL, TASKS * sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	if (access("/sys/kernel/debug/kcov", W_OK) || r == MAP_FAILED) {
		printf("ok 1 # SKIP no kcov in this kernel, or not root\n");
		return 4;
	}
	for (i = 0; i < TASKS; i++)
		tasks[i].run = &r[i];
	mkdir("/tmp/out", 0700);
	if (argc > 2)
		run_folder(argv[2]);
	first = nr_corpus;
	printf("# %u sequences of the corpus reach %u places\n", nr_corpus, nr_seen);
	found = fuzz(end, &n, &violations);
	for (i = 0; i < TASKS; i++)
		if (tasks[i].pid)
			end_task(&tasks[i]);
	if (found < 0) {
		printf("not ok 1 kcov_fuzz: cannot run a sequence\n");
		return 1;
	}
	printf("# %u sequences, %u places, %u found something new; corpus of %u + %u\n", n, nr_seen,
	       nr_found, first, nr_corpus - first);
	printf("%sok 1 kcov_fuzz: %u violations, %u places\n", violations || !nr_seen ? "not " : "",
	       violations, nr_seen);
	return violations || !nr_seen;
}
