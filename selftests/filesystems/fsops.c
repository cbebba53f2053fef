// SPDX-License-Identifier: GPL-2.0
/*
 * fsops - file operations of several tasks at all priorities, with checks of what they read
 *
 *	fsops run DIR SECONDS TASKS	work below DIR
 *	fsops verify DIR		check each file that a run has left there
 *	fsops clone FROM TO TIMES	write FROM, share a part TIMES with TO, fsync TO, then FROM
 *	fsops fsync PATH...		fsync files and folders
 *
 * For the smoke tests of ported drivers. Each block names its file and index, so that a
 * misplaced block is found. A file whose name begins with "kept" was synced and not changed
 * since: it must survive in full, whatever happens to the filesystem. Each task records the
 * number of its kept files in DIR/kept, which `run` syncs at the end for `verify`.
 */
#define _GNU_SOURCE
#define PROGRAM "fsops"
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

#define BLOCK		4096
#define MAX_BLOCKS	24
#define SLOTS		16	/* files of a task */
#define MAX_TASKS	64

struct block {
	uint64_t id;		/* of the file */
	uint32_t index;
	uint32_t check;
	char rest[BLOCK - 16];
};

static uint32_t check_of(uint64_t id, uint32_t index)
{
	return (uint32_t)(id * 2654435761u) ^ (index * 40503u) ^ 0x46534343;
}

/* Returns 0 for a full filesystem or quota. Any other error ends the test. */
static int allowed(int ret, const char *what, const char *path)
{
	if (ret >= 0)
		return 1;
	if (errno == ENOSPC || errno == EDQUOT)
		return 0;
	fatal("%s %s: %s", what, path, strerror(errno));
}

static int write_blocks(int fd, const char *path, uint64_t id, uint32_t from, uint32_t n)
{
	struct block b;
	uint32_t i;

	for (i = from; i < from + n; i++) {
		memset(&b, (int)(id + i), sizeof(b));
		b.id = id;
		b.index = i;
		b.check = check_of(id, i);
		if (!allowed(pwrite(fd, &b, sizeof(b), (off_t)i * BLOCK), "write", path))
			return 0;
	}
	return 1;
}

/* Returns the number of full blocks. Only a kept file must not have holes. */
static long verify_file(const char *path, int kept)
{
	struct block b;
	uint64_t id = 0;
	long i, n;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		fatal("open %s: %s", path, strerror(errno));
	for (i = 0; (n = pread(fd, &b, sizeof(b), (off_t)i * BLOCK)) == sizeof(b); i++) {
		if (!b.id && !b.check && !kept)
			continue;
		if (!id)
			id = b.id;
		if (b.id != id || b.index != i || b.check != check_of(id, i) ||
		    b.rest[0] != (char)(id + i) || b.rest[BLOCK - 17] != (char)(id + i))
			fatal("%s: block %ld is of file %llx, block %u", path, i,
			      (unsigned long long)b.id, b.index);
	}
	if (n < 0)
		fatal("read %s: %s", path, strerror(errno));
	close(fd);
	return i;
}

static void sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	if (fd < 0 || !allowed(fsync(fd), "fsync", path))
		fatal("%s: %s", path, strerror(errno));
	close(fd);
}

/* Neither a loan nor f2fs with adjust_lock_priority may leave another priority. */
static const struct { int policy, nice; } priorities[] = {
	{ SCHED_OTHER, 0 }, { SCHED_OTHER, 19 }, { SCHED_IDLE, 0 },
};

static void set_priority(unsigned int task)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, priorities[task % 3].policy, &none);
	setpriority(PRIO_PROCESS, 0, priorities[task % 3].nice);
}

static void check_priority(unsigned int task)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);

	if (policy != priorities[task % 3].policy || nice != priorities[task % 3].nice)
		fatal("task %u ends with policy %d, nice %d, not %d, %d", task, policy, nice,
		      priorities[task % 3].policy, priorities[task % 3].nice);
}

static uint64_t next_id(unsigned int task)
{
	static uint64_t n;

	return ((uint64_t)(task + 1) << 40) + ++n;
}

/* Write and sync one file, which no task changes afterwards. */
static int keep(const char *dir, unsigned int task, unsigned int n)
{
	char path[512];
	int fd, ok;

	snprintf(path, sizeof(path), "%s/kept.%u.%u", dir, task, n);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (!allowed(fd, "create", path))
		return 0;
	ok = write_blocks(fd, path, next_id(task), 0, 1 + n % MAX_BLOCKS) &&
	     allowed(fsync(fd), "fsync", path);
	close(fd);
	if (ok)
		sync_folder(dir);
	else
		unlink(path);
	return ok;
}

static void rewrite(const char *path, unsigned int task, unsigned int op, unsigned int *seed)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);

	if (!allowed(fd, "create", path))
		return;
	if (write_blocks(fd, path, next_id(task), 0, 1 + rand_r(seed) % MAX_BLOCKS) && op < 2)
		allowed(op ? fsync(fd) : fdatasync(fd), "fsync", path);
	close(fd);
}

/* An operation on the files @a and @b. */
static void operate(unsigned int op, const char *a, const char *b)
{
	struct stat st;

	switch (op) {
	case 6:
		if (rename(a, b) && errno != ENOENT)
			fatal("rename %s: %s", a, strerror(errno));
		break;
	case 7 ... 8:
		if (unlink(a) && errno != ENOENT)
			fatal("unlink %s: %s", a, strerror(errno));
		break;
	case 9:
		if (!stat(a, &st) && truncate(a, st.st_size / 2 / BLOCK * BLOCK))
			allowed(-1, "truncate", a);
		break;
	case 10:
		unlink(b);
		if (strcmp(a, b) && link(a, b) && errno != ENOENT)
			allowed(-1, "link", a);
		break;
	default:
		if (!access(a, F_OK))
			verify_file(a, 0);
	}
}

static void work(const char *dir, unsigned int task, double end)
{
	char a[512], b[512], own[256];
	struct statfs fs;
	unsigned int kept, seed = task + 1, n;
	int fd;

	set_priority(task);
	snprintf(own, sizeof(own), "%s/task.%u", dir, task);
	if (mkdir(own, 0700) && errno != EEXIST)
		fatal("mkdir %s: %s", own, strerror(errno));
	kept = keep(dir, task, 0);	/* at least one, even on a slow machine */
	for (n = 0; now() < end; n++) {
		unsigned int slot = rand_r(&seed) % SLOTS, op = rand_r(&seed) % 16;

		snprintf(a, sizeof(a), "%s/file.%u", own, slot);
		snprintf(b, sizeof(b), "%s/file.%u", own, rand_r(&seed) % SLOTS);
		switch (op) {
		case 0 ... 5:
			rewrite(a, task, op, &seed);
			break;
		case 11:
			if (statfs(dir, &fs))
				fatal("statfs %s: %s", dir, strerror(errno));
			break;
		case 12:
			if (!(n % 8))
				sync();
			break;
		case 13:
			kept += keep(dir, task, kept);
			break;
		default:
			operate(op, a, b);
		}
	}
	check_priority(task);
	printf("# task %u: %u operations, %u files kept\n", task, n, kept);
	snprintf(a, sizeof(a), "%s/kept/%u", dir, task);
	fd = open(a, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (fd < 0 || dprintf(fd, "%u\n", kept) < 0 || fsync(fd))
		fatal("%s: %s", a, strerror(errno));
	close(fd);
}

static void run(const char *dir, double seconds, unsigned int tasks)
{
	double end = now() + seconds;
	unsigned int i;
	int status, failed = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/kept", dir);
	if (mkdir(path, 0700) && errno != EEXIST)
		fatal("mkdir %s: %s", path, strerror(errno));
	fflush(stdout);
	for (i = 0; i < tasks; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fatal("fork: %s", strerror(errno));
		if (!pid) {
			work(dir, i, end);
			exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	if (failed)
		fatal("a task failed");
	sync_folder(path);
}

static void verify_folder(const char *dir, unsigned long *files, unsigned long *blocks)
{
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(dir);
	char path[512];

	if (!d)
		fatal("%s: %s", dir, strerror(errno));
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "kept") ||
		    !strcmp(e->d_name, "lost+found"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (lstat(path, &st))
			fatal("stat %s: %s", path, strerror(errno));
		if (S_ISDIR(st.st_mode)) {
			verify_folder(path, files, blocks);
		} else {
			++*files;
			*blocks += verify_file(path, !strncmp(e->d_name, "kept", 4));
		}
	}
	closedir(d);
}

static void verify(const char *dir)
{
	unsigned long files = 0, blocks = 0, kept = 0;
	unsigned int task, n, i;
	char path[512];

	for (task = 0; task < MAX_TASKS; task++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/kept/%u", dir, task);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%u", &n) != 1)
			fatal("%s is empty", path);
		fclose(f);
		for (i = 0; i < n; i++, kept++) {
			snprintf(path, sizeof(path), "%s/kept.%u.%u", dir, task, i);
			if (verify_file(path, 1) != 1 + i % MAX_BLOCKS)
				fatal("%s: not the size that was synced", path);
		}
	}
	if (!kept)
		fatal("%s: no file was kept", dir);
	verify_folder(dir, &files, &blocks);
	printf("# %lu files with %lu blocks, %lu of them kept\n", files, blocks, kept);
}

static void clone_part(const char *from, const char *to, int times)
{
	struct file_clone_range range = { .src_offset = BLOCK, .src_length = 4 * BLOCK };
	int a = open(from, O_RDWR | O_CREAT, 0644), b = open(to, O_RDWR | O_CREAT, 0644);

	if (a < 0 || b < 0)
		fatal("open %s and %s: %s", from, to, strerror(errno));
	write_blocks(a, from, 1, 0, MAX_BLOCKS);
	range.src_fd = a;
	for (; times; times--) {
		if (ioctl(b, FICLONERANGE, &range))
			fatal("clone %s to %s: %s", from, to, strerror(errno));
		range.dest_offset += range.src_length;
	}
	if (fsync(b) || fsync(a))
		fatal("fsync %s and %s: %s", to, from, strerror(errno));
	close(a);
	close(b);
}

static void fsync_path(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fsync(fd) || close(fd))
		fatal("fsync %s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 5 && !strcmp(argv[1], "run"))
		run(argv[2], duration(argv[3], 3600), number("TASKS", argv[4], 1, MAX_TASKS));
	else if (argc == 3 && !strcmp(argv[1], "verify"))
		verify(argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "clone"))
		clone_part(argv[2], argv[3], number("TIMES", argv[4], 1, 10000));
	else if (argc >= 3 && !strcmp(argv[1], "fsync"))
		for (i = 2; i < argc; i++)
			fsync_path(argv[i]);
	else
		fatal("usage: fsops run DIR SECONDS TASKS | fsops verify DIR | fsops clone FROM TO TIMES | fsops fsync PATH...");
	return 0;
}
