// SPDX-License-Identifier: GPL-2.0
/*
 * stress_fsx - random operations on a file, against a model in memory
 *
 * Like fsx, for which Debian has no package. Each task has its own file and a copy of its
 * contents in memory. It compares every read with the copy, sometimes the whole file, and at the
 * end once more after dropping it from the page cache. An operation that the filesystem does not
 * support is tried once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <linux/falloc.h>
#include <signal.h>
#include <unistd.h>

#define PROGRAM "stress_fsx"
#include "options.h"

#define MAX_SIZE	(1 << 20)
#define PAGE		4096

static struct {
	const char *dir;
	double duration;
	int tasks;
	uint32_t seed;
} opt = { .duration = 10, .tasks = 4, .seed = 1 };

static char *model, *buffer;
static int fd, direct_fd, task, last;
static off_t size;
static unsigned long done;
static bool flushes_late;

enum op {
	WRITE, READ, MAP_WRITE, MAP_READ, DIRECT_WRITE, DIRECT_READ, TRUNCATE, ALLOCATE, PUNCH,
	ZERO, COLLAPSE, INSERT, COPY, CLONE, SYNC, DATASYNC, DROP, REOPEN, COMPARE, NR_OPS
};

static const char * const names[NR_OPS] = {
	"write", "read", "mmap write", "mmap read", "direct write", "direct read", "truncate",
	"fallocate", "punch hole", "zero range", "collapse range", "insert range",
	"copy_file_range", "clone range", "fsync", "fdatasync", "drop from cache", "reopen",
	"compare",
};

static bool unsupported[NR_OPS];
static struct { int op; off_t at, len; } history[64];

static uint32_t random_below(uint32_t n)
{
	return n ? (uint32_t)random() % n : 0;
}

__attribute__((noreturn))
static void wrong(off_t at, char is, char should)
{
	unsigned long i;

	printf("# task %d, seed %u, operation %lu, %s: byte %lld of %lld is %#x, not %#x\n",
	       task, opt.seed, done, names[last], (long long)at, (long long)size,
	       is & 0xff, should & 0xff);
	for (i = done < 24 ? 0 : done - 24; i <= done; i++)
		printf("#   %lu: %s %lld %lld\n", i, names[history[i % 64].op],
		       (long long)history[i % 64].at, (long long)history[i % 64].len);
	fflush(stdout);
	_exit(1);
}

__attribute__((noreturn))
static void failed(const char *what)
{
	fatal("task %d, seed %u, operation %lu, %s: %s: %s", task, opt.seed, done, names[last],
	      what, strerror(errno));
}

static void compare(const char *is, off_t at, off_t len)
{
	off_t i;

	if (!memcmp(is, model + at, len))
		return;
	for (i = 0; is[i] == model[at + i]; i++)
		;
	wrong(at + i, is[i], model[at + i]);
}

static void open_file(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/fsx%d", opt.dir, task);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		failed(path);
	direct_fd = open(path, O_RDWR | O_DIRECT);
}

static void new_bytes(off_t len)
{
	off_t i;

	for (i = 0; i < len; i++)
		buffer[i] = random();
}

/* Bytes between the old and the new end are zero. */
static void grow(off_t to)
{
	if (to > size)
		size = to;
}

static void read_range(off_t at, off_t len, int file)
{
	ssize_t n = pread(file, buffer, len, at);
	off_t want = at >= size ? 0 : at + len > size ? size - at : len;

	if (n < 0)
		failed("read");
	if (n != want)
		fatal("task %d: read %zd bytes at %lld of %lld, not %lld", task, n,
		      (long long)at, (long long)size, (long long)want);
	compare(buffer, at, n);
}

/*
 * Returns true if the operation succeeded, @rc being nonzero on failure. A full disk and an
 * invalid range are no errors of the filesystem; any other error ends the test.
 */
static bool supported(int op, int rc)
{
	if (!rc)
		return true;
	if (errno == EOPNOTSUPP || errno == ENOTTY || errno == ENOSYS || errno == EXDEV)
		unsupported[op] = true;
	else if (errno != ENOSPC && errno != EINVAL)
		failed("");
	return false;
}

static void change_range(int op, off_t at, off_t len)
{
	int mode = op == ALLOCATE ? 0 : op == PUNCH ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE :
		   op == ZERO ? FALLOC_FL_ZERO_RANGE : op == COLLAPSE ? FALLOC_FL_COLLAPSE_RANGE :
		   FALLOC_FL_INSERT_RANGE;

	if (op == COLLAPSE || op == INSERT) {
		at &= ~(off_t)(PAGE - 1);
		len = (len + PAGE - 1) & ~(off_t)(PAGE - 1);
		if (op == COLLAPSE ? at + len >= size : at >= size || size + len > MAX_SIZE)
			return;
	}
	if (!supported(op, fallocate(fd, mode, at, len)))
		return;
	switch (op) {
	case ALLOCATE:
		grow(at + len);
		break;
	case PUNCH:
		memset(model + at, 0, len);
		break;
	case ZERO:
		memset(model + at, 0, len);
		grow(at + len);
		break;
	case COLLAPSE:
		memmove(model + at, model + at + len, size - at - len);
		size -= len;
		memset(model + size, 0, MAX_SIZE - size);
		break;
	case INSERT:
		memmove(model + at + len, model + at, size - at);
		memset(model + at, 0, len);
		size += len;
		break;
	}
}

static void copy_range(int op, off_t at, off_t len)
{
	off_t to = random_below(MAX_SIZE - len), from = at;
	ssize_t n;

	if (op == CLONE) {
		struct file_clone_range r;

		at &= ~(off_t)(PAGE - 1);
		to &= ~(off_t)(PAGE - 1);
		len &= ~(off_t)(PAGE - 1);
		r = (struct file_clone_range){ fd, at, len, to };
		if (!len || at + len > size || llabs(to - at) < len)
			return;
		if (!supported(op, ioctl(fd, FICLONERANGE, &r)))
			return;
		memmove(model + to, model + at, len);
		grow(to + len);
		return;
	}
	if (at + len > size || llabs(to - at) < len)
		return;
	from = at;
	n = copy_file_range(fd, &from, fd, &(off_t){ to }, len, 0);
	if (!supported(op, n < 0) || n <= 0)
		return;
	memmove(model + to, model + at, n);
	grow(to + n);
}

/*
 * User-Mode Linux does not flush the TLB of a task that runs on another CPU. Until the task enters
 * the kernel, it reads and writes pages that have been reclaimed, and what it writes to a page that
 * has been written back does not make that page dirty (7.3, arch/um/kernel/tlb.c).
 */
static bool is_user_mode_linux(void)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];
	bool is = false;

	while (f && !is && fgets(line, sizeof(line), f))
		is = strstr(line, "User Mode Linux");
	if (f)
		fclose(f);
	return is;
}

/* @p is locked in memory. Enters the kernel, and so gets a fault for each page that is clean. */
static void make_dirty(volatile char *p, off_t len)
{
	off_t i;

	sched_yield();
	for (i = 0; i < len; i += PAGE)
		p[i] = p[i];
}

static void map_range(int op, off_t at, off_t len)
{
	off_t page = at & ~(off_t)(PAGE - 1);
	char *p;

	if (at >= size)
		return;
	if (at + len > size)
		len = size - at;
	p = mmap(NULL, at - page + len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page);
	if (p == MAP_FAILED)
		failed("mmap");
	if (flushes_late && mlock(p, at - page + len))
		failed("mlock");
	if (op == MAP_WRITE) {
		new_bytes(len);
		memcpy(p + (at - page), buffer, len);
		if (flushes_late)
			make_dirty(p, at - page + len);
		memcpy(model + at, buffer, len);
		if (!random_below(4) && msync(p, at - page + len, MS_SYNC))
			failed("msync");
	} else {
		compare(p + (at - page), at, len);
	}
	munmap(p, at - page + len);
}

static void write_range(off_t at, off_t len, int file)
{
	ssize_t n;

	new_bytes(len);
	n = pwrite(file, buffer, len, at);
	if (n < 0 && errno == ENOSPC)
		n = 0;
	if (n < 0)
		failed("write");
	memcpy(model + at, buffer, n);
	if (n)
		grow(at + n);
}

static void drop(void)
{
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		failed("drop");
}

static void compare_all(void)
{
	if (lseek(fd, 0, SEEK_END) != size)
		fatal("task %d, seed %u, operation %lu: the size is %lld, not %lld", task, opt.seed,
		      done, (long long)lseek(fd, 0, SEEK_END), (long long)size);
	read_range(0, MAX_SIZE, fd);
}

static void truncate_file(off_t to)
{
	if (ftruncate(fd, to))
		failed("truncate");
	if (to < size)
		memset(model + to, 0, size - to);
	size = to;
}

static void reopen(void)
{
	close(fd);
	if (direct_fd >= 0)
		close(direct_fd);
	open_file();
}

static void do_op(off_t at, off_t len)
{
	switch (last) {
	case WRITE:
	case DIRECT_WRITE:
		write_range(at, len, last == WRITE ? fd : direct_fd);
		break;
	case READ:
	case DIRECT_READ:
		read_range(at, len, last == READ ? fd : direct_fd);
		break;
	case MAP_WRITE:
	case MAP_READ:
		map_range(last, at, len);
		break;
	case TRUNCATE:
		truncate_file(at);
		break;
	case ALLOCATE:
	case PUNCH:
	case ZERO:
	case COLLAPSE:
	case INSERT:
		change_range(last, at, len);
		break;
	case COPY:
	case CLONE:
		copy_range(last, at, len);
		break;
	case SYNC:
		if (fsync(fd))
			failed("fsync");
		break;
	case DATASYNC:
		if (fdatasync(fd))
			failed("fdatasync");
		break;
	case DROP:
		drop();
		break;
	case REOPEN:
		reopen();
		break;
	case COMPARE:
		compare_all();
		break;
	}
}

static void random_op(void)
{
	off_t at = random_below(MAX_SIZE - 1), len = random_below(1 << (4 + random_below(14))) + 1;

	/* Three in four inside the file. */
	if (random_below(4))
		at = random_below(size < MAX_SIZE ? size + 1 : MAX_SIZE - 1);
	if (at + len > MAX_SIZE)
		len = MAX_SIZE - at;
	last = random_below(NR_OPS);
	if (unsupported[last])
		return;
	history[done % 64].op = last;
	if (last == DIRECT_READ || last == DIRECT_WRITE) {
		at &= ~(off_t)(PAGE - 1);
		len = (len + PAGE - 1) & ~(off_t)(PAGE - 1);
		if (direct_fd < 0)
			return;
	}
	if (last == TRUNCATE)
		at = random_below(8) ? random_below(MAX_SIZE) : 0;
	history[done % 64].at = at;
	history[done % 64].len = len;
	do_op(at, len);
	done++;
}

static void work(void)
{
	double end = now() + opt.duration;
	char path[512];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Four priorities: nice -10, nice 19, nice 0, SCHED_IDLE. */
	if (setpriority(PRIO_PROCESS, 0, task % 4 == 0 ? -10 : task % 4 == 1 ? 19 : 0))
		failed("priority");
	if (task % 4 == 3 && sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }))
		failed("priority");
	srandom(opt.seed * 100 + task);
	model = calloc(1, MAX_SIZE);
	buffer = aligned_alloc(PAGE, MAX_SIZE);
	if (!model || !buffer)
		fatal("no memory");
	open_file();
	if (ftruncate(fd, 0))
		failed("truncate");
	while (now() < end)
		random_op();
	last = COMPARE;
	compare_all();
	drop();
	compare_all();
	printf("# task %d: %lu operations; not supported:", task, done);
	for (last = 0; last < NR_OPS; last++)
		if (unsupported[last])
			printf(" %s,", names[last]);
	printf("\n");
	fflush(stdout);
	snprintf(path, sizeof(path), "%s/fsx%d", opt.dir, task);
	unlink(path);
	if (done >= 100)
		_exit(0);
	printf("# task %d: fewer than 100 operations in %.0f s\n", task, opt.duration);
	fflush(stdout);
	_exit(1);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dir", 1, NULL, 'd' }, { "duration", 1, NULL, 'D' }, { "tasks", 1, NULL, 't' },
		{ "seed", 1, NULL, 's' }, { NULL },
	};
	int c, status, bad = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'd':
			opt.dir = optarg;
			break;
		case 'D':
			opt.duration = duration(optarg, 36000);
			break;
		case 't':
			opt.tasks = number("--tasks", optarg, 1, 64);
			break;
		case 's':
			opt.seed = number("--seed", optarg, 1, 1 << 20);
			break;
		default: return 1;
		}
	flushes_late = is_user_mode_linux();
	if (!opt.dir)
		fatal("usage: --dir=DIR [--duration=TIME] [--tasks=NUM] [--seed=NUM]");
	for (task = 0; task < opt.tasks; task++)
		if (!fork())
			work();
	while (wait(&status) > 0)
		bad |= status;
	return bad ? 1 : 0;
}
