// SPDX-License-Identifier: GPL-2.0
/*
 * fsyncbench - measure fsync latency beside low-priority writers
 *
 * Low-priority tasks create, write and unlink small files, and busy tasks spin. Real-time tasks
 * may take a share of each CPU. One timed task per requested priority syncs a folder and a file in
 * turn, and finally the filesystem. The benchmark waits for operations that are unfinished at the
 * end and counts their full time. A manifest lists each file whose fsync returned: `fsyncbench
 * verify` checks after a new mount that none of them is lost.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stats.h"
#include "workload.h"

#define PROGRAM "fsyncbench"
#include "options.h"
#include "json.h"

#define MAX_LOW		256
#define MAX_BUSY	64
#define MAX_TIMED	4
#define MAX_SAMPLES	(1 << 17)
#define MAX_FILE	(64 << 10)
/* Seconds that tasks may take to end after the run. Longer is a hang. */
#define GRACE		120
/* Files that a task keeps; it unlinks older ones. */
#define LOW_FILES	16
#define KEPT_FILES	64
/*
 * The last part of a run, in which the timed tasks sync the whole filesystem. That writes the
 * data of all tasks: during the whole run it would leave time for little else.
 */
#define LATE		0.2
#define CGROUP		"/sys/fs/cgroup/fsyncbench"
/* The real-time tasks: in each period they spin for --rt percent of it. */
#define RT_PRIORITY	50
#define RT_PERIOD_US	20000

enum { OP_DIR, OP_FILE, OP_WRITE, OP_SYNC, NR_OPS };
static const char * const op_names[NR_OPS] = { "dir", "file", "write", "sync" };

struct class {
	char name[32];
	int policy, nice, rt_priority, cpu_weight, cpu_max;
};

static struct {
	struct class low, timed[MAX_TIMED];
	bool ops[NR_OPS], low_fsync;
	int nr_timed, min_size, max_size;
	long nr_low, nr_busy, rt_percent, pause, period;
	double duration;
	const char *json, *title, *manifest;
} opt = {
	.low = { "nice:19", SCHED_OTHER, 19, 0, 0, 0 },
	.timed = {
		{ "nice:-20", SCHED_OTHER, -20, 0, 0, 0 },
		{ "fifo:1", SCHED_FIFO, 0, 1, 0, 0 },
	},
	.ops = { true, true, true, true },
	.nr_low = 8, .nr_busy = 4, .nr_timed = 2, .pause = 1000,
	.min_size = 4, .max_size = 64, .duration = 5, .title = "fsync beside low-priority writers",
};

/* Only the timed task writes @took, @since and @op. */
struct timed {
	struct samples took[NR_OPS];

	_Atomic uint64_t since;		/* start of the running operation in ns, or 0 */
	_Atomic int op;
	uint64_t unfinished[NR_OPS];	/* operations running at the end */
};

static struct shared {
	_Atomic bool go, late, stop;
	_Atomic uint64_t ready, errors, low_done[MAX_LOW], low_bytes[MAX_LOW];
	struct timed timed[MAX_TIMED];
} *shared;

static int marker = -1;

/* --- contents ------------------------------------------------------------ */

/* The contents depend only on @seed. */
static void fill(void *to, size_t size, uint64_t seed)
{
	uint64_t *word = to;
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++)
		word[i] = scramble(&seed);
}

static uint64_t checksum(const void *data, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325ULL;
	const unsigned char *at = data;
	size_t i;

	for (i = 0; i < size; i++)
		sum = (sum ^ at[i]) * 0x100000001b3ULL;
	return sum;
}

static size_t random_size(uint64_t *seed)
{
	return (opt.min_size + scramble(seed) % (opt.max_size - opt.min_size + 1)) * 1024;
}

static bool write_all(int fd, const char *from, size_t size)
{
	while (size) {
		ssize_t n = write(fd, from, size);

		if (n <= 0)
			return false;
		from += n;
		size -= n;
	}
	return true;
}

/* --- priorities ---------------------------------------------------------- */

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fatal("%s: cannot write '%s': %s", path, text, strerror(errno));
	close(fd);
}

static bool wants_cgroup(const struct class *c)
{
	return c->cpu_weight || c->cpu_max;
}

static void setup_cgroup(const struct class *c)
{
	char text[64];

	if (!wants_cgroup(c))
		return;
	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (mkdir(CGROUP, 0700) && errno != EEXIST)
		fatal("%s: %s (no cgroup v2 with the cpu controller?)", CGROUP, strerror(errno));
	snprintf(text, sizeof(text), "%d", c->cpu_weight ?: 100);
	put(CGROUP "/cpu.weight", text);
	if (c->cpu_max) {
		snprintf(text, sizeof(text), "%d 100000", c->cpu_max * 1000);
		put(CGROUP "/cpu.max", text);
	}
}

static void set_class(const struct class *c)
{
	struct sched_param param = { .sched_priority = c->rt_priority };

	if (wants_cgroup(c))
		put(CGROUP "/cgroup.procs", "0");
	if (c->policy != SCHED_OTHER && sched_setscheduler(0, c->policy, &param))
		fatal("%s: sched_setscheduler: %s", c->name, strerror(errno));
	if (c->nice && setpriority(PRIO_PROCESS, 0, c->nice))
		fatal("%s: setpriority: %s", c->name, strerror(errno));
}

/* --- tasks --------------------------------------------------------------- */

static void wait_for_go(void)
{
	atomic_fetch_add(&shared->ready, 1);
	while (!shared->go)
		usleep(1000);
}

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "%s: %s: %s: %s\n", PROGRAM, path, what, strerror(errno));
	atomic_fetch_add(&shared->errors, 1);
	exit(1);
}

static void low_task(int n)
{
	static char data[MAX_FILE];
	uint64_t seed = n + 1, i;
	char path[64];

	snprintf(path, sizeof(path), "low-%d", n);
	if (mkdir(path, 0700))
		fail("mkdir", path);
	fill(data, sizeof(data), seed);
	wait_for_go();
	for (i = 0; !shared->stop; i++) {
		size_t size = random_size(&seed);
		int fd;

		snprintf(path, sizeof(path), "low-%d/%llu", n, (unsigned long long)i);
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
		if (fd < 0)
			fail("create", path);
		if (!write_all(fd, data, size))
			fail("write", path);
		if (opt.low_fsync && fsync(fd))
			fail("fsync", path);
		close(fd);
		atomic_fetch_add(&shared->low_bytes[n], size);
		if (i >= LOW_FILES) {
			snprintf(path, sizeof(path), "low-%d/%llu", n,
				 (unsigned long long)i - LOW_FILES);
			if (unlink(path))
				fail("unlink", path);
		}
		atomic_fetch_add(&shared->low_done[n], 1);
	}
}

/* Mark operations in the kernel's trace, if it is on. */
static void mark(const char *what, int op)
{
	char text[32];

	if (marker >= 0 && write(marker, text, snprintf(text, sizeof(text), "%s %s", what,
							op_names[op])) < 0)
		marker = -1;
}

static void begin_op(struct timed *t, int op)
{
	mark("begin", op);
	t->op = op;
	t->since = now_ns();
}

static void end_op(struct timed *t)
{
	samples_add(&t->took[t->op], now_ns() - t->since);
	t->since = 0;
	mark("end", t->op);
}

/* Create a file first, so that the folder's fsync has something to write. */
static void sync_folder(struct timed *t, const char *folder, int fd, uint64_t i)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "%s/new-%llu", folder, (unsigned long long)i % KEPT_FILES);
	begin_op(t, OP_WRITE);
	unlink(path);
	file = open(path, O_CREAT | O_WRONLY, 0600);
	if (file < 0)
		fail("create", path);
	close(file);
	end_op(t);
	begin_op(t, OP_DIR);
	if (fsync(fd))
		fail("fsync", folder);
	end_op(t);
}

static void sync_file(struct timed *t, const char *folder, uint64_t i, uint64_t *seed,
		      FILE *manifest)
{
	static char data[MAX_FILE];
	size_t size = random_size(seed);
	uint64_t content = scramble(seed);
	char path[64];
	int fd;

	fill(data, size, content);
	begin_op(t, OP_WRITE);
	if (i >= KEPT_FILES) {
		snprintf(path, sizeof(path), "%s/kept-%llu", folder,
			 (unsigned long long)i - KEPT_FILES);
		/* Before the unlink: a stop between the two must not look like a loss. */
		if (manifest)
			fprintf(manifest, "- %s\n", strrchr(path, '/') + 1);
		if (unlink(path))
			fail("unlink", path);
	}
	snprintf(path, sizeof(path), "%s/kept-%llu", folder, (unsigned long long)i);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (fd < 0 || !write_all(fd, data, size))
		fail("write", path);
	end_op(t);
	begin_op(t, OP_FILE);
	if (fsync(fd))
		fail("fsync", path);
	end_op(t);
	close(fd);
	if (manifest)
		fprintf(manifest, "+ %s %zu %016llx\n", strrchr(path, '/') + 1, size,
			(unsigned long long)checksum(data, size));
}

static FILE *open_manifest(int n, const char *mode)
{
	char path[4096];
	FILE *f;

	if (!opt.manifest)
		return NULL;
	snprintf(path, sizeof(path), "%s.%d", opt.manifest, n);
	f = fopen(path, mode);
	if (!f && *mode == 'w')
		fail("open", path);
	return f;
}

/* Wait for the next turn. With a period, skip missed turns. */
static void wait_for_turn(uint64_t *begin)
{
	uint64_t period = opt.period * 1000ull, now;

	if (!period) {
		usleep(opt.pause);
		return;
	}
	now = now_ns();
	*begin += ((now - *begin) / period + 1) * period;
	usleep((*begin - now) / 1000);
}

static void timed_task(int n)
{
	struct timed *t = &shared->timed[n];
	FILE *manifest = open_manifest(n, "w");
	uint64_t seed = 1000 + n, i, begin;
	char folder[32];
	int fd;

	snprintf(folder, sizeof(folder), "timed-%d", n);
	if (mkdir(folder, 0700))
		fail("mkdir", folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		fail("open", folder);
	wait_for_go();
	begin = now_ns();
	for (i = 0; !shared->stop; i++) {
		if (opt.ops[OP_SYNC] && shared->late) {
			begin_op(t, OP_SYNC);
			if (syncfs(fd))
				fail("syncfs", folder);
			end_op(t);
		} else {
			if (opt.ops[OP_DIR])
				sync_folder(t, folder, fd, i);
			if (opt.ops[OP_FILE] && !shared->stop)
				sync_file(t, folder, i, &seed, manifest);
		}
		wait_for_turn(&begin);
	}
	if (manifest && fclose(manifest))
		fail("write", "manifest");
}

static void spin(__attribute__((unused)) int n)
{
	wait_for_go();
	while (!shared->stop)
		;
}

static void real_time_task(int cpu)
{
	const uint64_t runs_ns = opt.rt_percent * RT_PERIOD_US * 10ull;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("sched_setaffinity", "--rt");
	wait_for_go();
	while (!shared->stop) {
		uint64_t end = now_ns() + runs_ns;

		while (now_ns() < end)
			;
		usleep(RT_PERIOD_US - runs_ns / 1000);
	}
}

static pid_t start(const char *name, const struct class *c, void (*run)(int), int n)
{
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	if (c)
		set_class(c);
	run(n);
	exit(0);
}

/* --- the run ------------------------------------------------------------- */

static void count_unfinished(void)
{
	int n;

	for (n = 0; n < opt.nr_timed; n++)
		if (shared->timed[n].since)
			shared->timed[n].unfinished[shared->timed[n].op]++;
}

static void alloc_samples(void)
{
	char *memory;
	int n, i;

	memory = mmap(NULL, opt.nr_timed * NR_OPS * samples_size(MAX_SAMPLES),
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fatal("mmap: %s", strerror(errno));
	for (n = 0; n < opt.nr_timed; n++)
		for (i = 0; i < NR_OPS; i++)
			samples_init(&shared->timed[n].took[i], memory +
				     (n * NR_OPS + i) * samples_size(MAX_SAMPLES), MAX_SAMPLES);
}

/* Returns the number of tasks, one for each CPU. */
static int start_real_time_tasks(void)
{
	static const struct class rt = { "rt", SCHED_FIFO, 0, RT_PRIORITY, 0, 0 };
	int cpu, nr = 0;
	cpu_set_t cpus;

	if (!opt.rt_percent || sched_getaffinity(0, sizeof(cpus), &cpus))
		return 0;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		start("rt", &rt, real_time_task, cpu);
		nr++;
	}
	return nr;
}

/* Returns the number of tasks, once all have their priorities. */
static int start_tasks(void)
{
	static const struct class nice_0 = { "nice:0", SCHED_OTHER, 0, 0, 0, 0 };
	int all = opt.nr_low + opt.nr_busy + opt.nr_timed, n;

	for (n = 0; n < opt.nr_timed; n++) {
		char name[16];

		snprintf(name, sizeof(name), "timed-%.9s", opt.timed[n].name);
		start(name, &opt.timed[n], timed_task, n);
	}
	for (n = 0; n < opt.nr_low; n++)
		start("low", &opt.low, low_task, n);
	for (n = 0; n < opt.nr_busy; n++)
		start("busy", &nice_0, spin, n);
	all += start_real_time_tasks();
	while ((int)shared->ready < all && !shared->errors)
		usleep(1000);
	return all;
}

static void wait_for_tasks(int left)
{
	uint64_t end = now_ns() + GRACE * 1000000000ULL;

	while (left) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			if (!WIFEXITED(status) || WEXITSTATUS(status))
				fatal("a task failed (%d errors)", (int)shared->errors);
		} else if (now_ns() > end) {
			fatal("a task has not ended %d s after the run: it hangs", GRACE);
		} else {
			usleep(2000);
		}
	}
}

static void measure(void)
{
	static const struct sched_param top = { .sched_priority = 90 };
	uint64_t low_done[MAX_LOW], low_bytes[MAX_LOW];
	int all, n;

	alloc_samples();
	all = start_tasks();
	/* This task must end the run in time. */
	if (sched_setscheduler(0, SCHED_FIFO, &top))
		fatal("sched_setscheduler: %s (root?)", strerror(errno));
	shared->go = true;
	usleep(opt.duration * (1 - LATE) * 1e6);
	shared->late = true;
	usleep(opt.duration * LATE * 1e6);
	for (n = 0; n < opt.nr_low; n++) {
		low_done[n] = shared->low_done[n];
		low_bytes[n] = shared->low_bytes[n];
	}
	count_unfinished();
	shared->stop = true;
	wait_for_tasks(all);
	/* Do not count work done after the end of the run. */
	for (n = 0; n < opt.nr_low; n++) {
		shared->low_done[n] = low_done[n];
		shared->low_bytes[n] = low_bytes[n];
	}
}

static uint64_t sum(const _Atomic uint64_t *of)
{
	uint64_t all = 0;
	int n;

	for (n = 0; n < opt.nr_low; n++)
		all += of[n];
	return all;
}

static void print_table(void)
{
	int n, op;

	printf("%-24s %8s %10s %10s %10s %10s\n", "ms", "count", "p50", "p99", "max", "unfinished");
	for (n = 0; n < opt.nr_timed; n++) {
		for (op = 0; op < NR_OPS; op++) {
			struct samples *s = &shared->timed[n].took[op];

			if (!opt.ops[op])
				continue;
			samples_sort(s);
			printf("%-12s %-11s %8llu %10.3f %10.3f %10.3f %10llu\n",
			       opt.timed[n].name, op_names[op], (unsigned long long)s->count,
			       samples_percentile(s, 50) / 1e6, samples_percentile(s, 99) / 1e6,
			       s->max / 1e6, (unsigned long long)shared->timed[n].unfinished[op]);
		}
	}
	printf("%ld low-priority tasks (%s): %llu files, %.1f MiB in %g s; %ld busy tasks\n",
	       opt.nr_low, opt.low.name, (unsigned long long)sum(shared->low_done),
	       sum(shared->low_bytes) / 1048576.0, opt.duration, opt.nr_busy);
}

static void print_json(int argc, char **argv, time_t begun)
{
	FILE *f = json_begin(opt.json, "fsync", argc, argv, begun, "%s", opt.title);
	const char *comma = "";
	int n, op;

	fprintf(f, "  \"parameters\": { \"low_tasks\": %ld, \"low\": \"%s\", \"busy\": %ld, \"rt\": %ld, ",
		opt.nr_low, opt.low.name, opt.nr_busy, opt.rt_percent);
	fprintf(f, "\"duration_s\": %g, \"pause_us\": %ld, \"period_us\": %ld },\n",
		opt.duration, opt.pause, opt.period);
	fprintf(f, "  \"low\": { \"files\": %llu, \"bytes\": %llu },\n  \"timed\": {",
		(unsigned long long)sum(shared->low_done),
		(unsigned long long)sum(shared->low_bytes));
	for (n = 0; n < opt.nr_timed; n++) {
		fprintf(f, "%s\n    \"%s\": {", n ? "," : "", opt.timed[n].name);
		for (op = 0, comma = ""; op < NR_OPS; op++) {
			struct samples *s = &shared->timed[n].took[op];

			if (!opt.ops[op])
				continue;
			samples_sort(s);
			fprintf(f, "%s\n      \"%s\": { \"count\": %llu, \"unfinished\": %llu, ",
				comma, op_names[op], (unsigned long long)s->count,
				(unsigned long long)shared->timed[n].unfinished[op]);
			fprintf(f, "\"p50\": %llu, \"p99\": %llu, \"max\": %llu, \"histogram\": ",
				(unsigned long long)samples_percentile(s, 50),
				(unsigned long long)samples_percentile(s, 99),
				(unsigned long long)s->max);
			samples_print_json(f, s);
			fprintf(f, " }");
			comma = ",";
		}
		fprintf(f, "\n    }");
	}
	fprintf(f, "\n  }");
	json_end(f, opt.json);
}

/* --- verify -------------------------------------------------------------- */

struct kept {
	char name[64];
	size_t size;
	unsigned long long sum;
};

static bool verify_file(int n, const struct kept *k)
{
	static char data[MAX_FILE + 1];
	char path[128];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "timed-%d/%.63s", n, k->name);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		got = read(fd, data, sizeof(data));
		close(fd);
	}
	if (got != (ssize_t)k->size)
		printf("lost: %s: %s\n", path, fd < 0 ? strerror(errno) : "wrong length");
	else if (checksum(data, got) != k->sum)
		printf("lost: %s: wrong contents\n", path);
	else
		return true;
	return false;
}

/* Returns the exit status: 1 if a file is lost. */
static int verify(void)
{
	int n, seen = 0, lost = 0, manifests = 0;

	for (n = 0; n < MAX_TIMED; n++) {
		struct kept kept[KEPT_FILES + 1] = { };
		FILE *f = open_manifest(n, "r");
		char line[256];
		int next = 0, i;

		if (!f)
			continue;
		manifests++;
		while (fgets(line, sizeof(line), f)) {
			struct kept k = { };

			if (sscanf(line, "- %63s", k.name) == 1) {
				for (i = 0; i <= KEPT_FILES; i++)
					if (!strcmp(kept[i].name, k.name))
						kept[i].name[0] = 0;
			} else if (sscanf(line, "+ %63s %zu %llx", k.name, &k.size, &k.sum) == 3) {
				kept[next++ % (KEPT_FILES + 1)] = k;
			}
		}
		fclose(f);
		for (i = 0; i <= KEPT_FILES; i++) {
			if (!kept[i].name[0])
				continue;
			seen++;
			lost += !verify_file(n, &kept[i]);
		}
	}
	if (!manifests)
		fatal("%s.0: no manifest", opt.manifest);
	printf("%d files whose fsync had returned: %d lost\n", seen, lost);
	return lost ? 1 : 0;
}

/* --- options ------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: fsyncbench [OPTIONS] DIR        DIR: empty, on the filesystem to measure\n"
"       fsyncbench --manifest=FILE verify DIR\n"
"  -n NUM   --low-tasks=NUM  tasks that create, write and unlink files, 0 to 256  [8]\n"
"           --low=CLASS      their class: nice:N, idle, weight:N (a cgroup with this\n"
"                            cpu.weight), quota:PERCENT (of a CPU, in total)  [nice:19]\n"
"           --low-fsync      they call fsync for each file\n"
"  -b NUM   --busy=NUM       tasks at nice 0 that spin, 0 to 64             [4]\n"
"           --rt=PERCENT     SCHED_FIFO tasks, one for each CPU, that spin for this part of\n"
"                            each 20 ms, 0 to 90                             [0]\n"
"           --timed=LIST     timed tasks: nice:N or fifo:PRIO               [nice:-20,fifo:1]\n"
"           --ops=LIST       timed operations: dir (fsync of a folder with a new file, for\n"
"                            which f2fs writes a checkpoint) and file in turn, and sync in\n"
"                            the last fifth of the run; the writes before them are timed\n"
"                            separately, as write                           [dir,file,sync]\n"
"           --pause=US       pause between turns, 0 to 1000000              [1000]\n"
"           --period=US      time between the starts of two turns, in place of a pause,\n"
"                            1000 to 10000000\n"
"           --size=MIN-MAX   file size in KiB, 1 to 64                      [4-64]\n"
"  -D TIME  --duration=TIME  0.1s to 600s; suffix s, m or h                 [5s]\n"
"           --manifest=FILE  list of the synced files, FILE.N for timed task N; absolute path\n"
"           --title=TEXT     title of the JSON report\n"
"           --json=FILE      results with histograms; absolute path, or - for stdout\n"
"           --help\n");
}

static void parse_class(struct class *c, const char *option, const char *text)
{
	const char *value = strchr(text, ':');
	char kind[16];

	*c = (struct class){ .policy = SCHED_OTHER };
	snprintf(c->name, sizeof(c->name), "%s", text);
	snprintf(kind, sizeof(kind), "%.*s", value ? (int)(value - text) : 15, text);
	if (!strcmp(kind, "idle") && !value)
		c->policy = SCHED_IDLE;
	else if (!strcmp(kind, "nice") && value)
		c->nice = number(option, value + 1, -20, 19);
	else if (!strcmp(kind, "fifo") && value)
		c->policy = SCHED_FIFO, c->rt_priority = number(option, value + 1, 1, 89);
	else if (!strcmp(kind, "weight") && value)
		c->cpu_weight = number(option, value + 1, 1, 10000);
	else if (!strcmp(kind, "quota") && value)
		c->cpu_max = number(option, value + 1, 1, 10000);
	else
		fatal("%s=%s: must be nice:N, idle, fifo:N, weight:N or quota:N", option, text);
}

static void parse_timed(const char *arg)
{
	char *list = strdup(arg), *s;

	opt.nr_timed = 0;
	for (s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		if (opt.nr_timed == MAX_TIMED)
			fatal("--timed: at most %d tasks", MAX_TIMED);
		parse_class(&opt.timed[opt.nr_timed], "--timed", s);
		if (wants_cgroup(&opt.timed[opt.nr_timed]))
			fatal("--timed=%s: must be nice:N, idle or fifo:N", s);
		opt.nr_timed++;
	}
}

static void parse_ops(const char *arg)
{
	char *list = strdup(arg), *s;
	int op;

	memset(opt.ops, 0, sizeof(opt.ops));
	opt.ops[OP_WRITE] = true;
	for (s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		for (op = 0; op < NR_OPS && strcmp(s, op_names[op]); op++)
			;
		if (op == NR_OPS)
			fatal("--ops=%s: must be dir, file or sync", s);
		opt.ops[op] = true;
	}
}

static void parse_size(const char *arg)
{
	char *list = strdup(arg), *dash = strchr(list, '-');

	if (!dash)
		fatal("--size=%s: must be MIN-MAX", arg);
	*dash = 0;
	opt.min_size = number("--size", list, 1, 64);
	opt.max_size = number("--size", dash + 1, opt.min_size, 64);
}

/* parse() changes to DIR before these paths are used. */
static const char *absolute(const char *option, const char *path)
{
	if (*path != '/')
		fatal("%s=%s: must begin with /", option, path);
	return path;
}

enum {
	OPT_LOW = 256, OPT_LOW_FSYNC, OPT_RT, OPT_TIMED, OPT_OPS, OPT_PAUSE, OPT_PERIOD, OPT_SIZE,
	OPT_MANIFEST, OPT_TITLE, OPT_JSON, OPT_HELP
};

static const struct number_option numbers[] = {
	{ 'n', "--low-tasks", &opt.nr_low, 0, MAX_LOW },
	{ 'b', "--busy", &opt.nr_busy, 0, MAX_BUSY },
	{ OPT_RT, "--rt", &opt.rt_percent, 0, 90 },
	{ OPT_PAUSE, "--pause", &opt.pause, 0, 1000000 },
	{ OPT_PERIOD, "--period", &opt.period, 1000, 10000000 }, { }
};

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "low-tasks", 1, NULL, 'n' }, { "low", 1, NULL, OPT_LOW },
		{ "low-fsync", 0, NULL, OPT_LOW_FSYNC },
		{ "busy", 1, NULL, 'b' }, { "rt", 1, NULL, OPT_RT },
		{ "timed", 1, NULL, OPT_TIMED },
		{ "ops", 1, NULL, OPT_OPS }, { "pause", 1, NULL, OPT_PAUSE },
		{ "period", 1, NULL, OPT_PERIOD },
		{ "size", 1, NULL, OPT_SIZE }, { "duration", 1, NULL, 'D' },
		{ "manifest", 1, NULL, OPT_MANIFEST }, { "title", 1, NULL, OPT_TITLE },
		{ "json", 1, NULL, OPT_JSON }, { "help", 0, NULL, OPT_HELP }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "n:b:D:", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		switch (c) {
		case 'D':
			opt.duration = duration(optarg, 600);
			break;
		case OPT_LOW:
			parse_class(&opt.low, "--low", optarg);
			break;
		case OPT_LOW_FSYNC:
			opt.low_fsync = true;
			break;
		case OPT_TIMED:
			parse_timed(optarg);
			break;
		case OPT_OPS:
			parse_ops(optarg);
			break;
		case OPT_SIZE:
			parse_size(optarg);
			break;
		case OPT_MANIFEST:
			opt.manifest = absolute("--manifest", optarg);
			break;
		case OPT_TITLE:
			opt.title = optarg;
			break;
		case OPT_JSON:
			opt.json = strcmp(optarg, "-") ? absolute("--json", optarg) : optarg;
			break;
		case OPT_HELP:
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
}

/* Changes to DIR. Returns true for `verify`. */
static bool parse(int argc, char **argv)
{
	bool verifies;

	parse_options(argc, argv);
	verifies = optind + 2 == argc && !strcmp(argv[optind], "verify") && opt.manifest;
	if (optind + 1 != argc && !verifies) {
		usage(stderr);
		exit(1);
	}
	if (chdir(argv[argc - 1]))
		fatal("%s: %s", argv[argc - 1], strerror(errno));
	return verifies;
}

int main(int argc, char **argv)
{
	time_t begun = time(NULL);

	if (parse(argc, argv))
		return verify();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		fatal("mmap: %s", strerror(errno));
	setup_cgroup(&opt.low);
	marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
	measure();
	if (opt.json)
		print_json(argc, argv, begun);
	print_table();
	if (wants_cgroup(&opt.low))
		rmdir(CGROUP);
	return 0;
}
