// SPDX-License-Identifier: GPL-2.0
/*
 * misuse NAME: makes a test module misuse fscommit; see module/misuse.c. Each misuse runs in a
 * guest of its own, whose kernel must report it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commit_root_test.h"
#include "cow_diff_test.h"
#include "fscommit_test.h"

/* The misuses of the other test devices, by number. */
static const char * const of_commit_roots[] = {
	[ROOT_TEST_UNPIN_TWICE] = "unpin_twice",
	[ROOT_TEST_COMMIT_BACK] = "commit_back",
	[ROOT_TEST_PREPARE_TWICE] = "prepare_twice",
	[ROOT_TEST_FOREIGN_TREE] = "foreign_tree",
	[ROOT_TEST_COMMIT_FOREIGN_TREE] = "commit_foreign_tree",
	[ROOT_TEST_DESTROY_PREPARED] = "destroy_prepared",
};

static const char * const of_cow_diff[] = {
	[DIFF_TEST_NEXT_AFTER_END] = "diff_after_end",
	[DIFF_TEST_NO_CHILDREN] = "diff_no_children",
};

static int misuse_cow_diff(__u32 which)
{
	struct diff_test_setup setup = { .keys = 100, .seed = 1 };
	struct diff_test_mark mark = { };
	int fd = open("/dev/cow_diff_test", O_RDWR);

	if (fd < 0 || ioctl(fd, DIFF_TEST_SETUP, &setup) || ioctl(fd, DIFF_TEST_MARK, &mark)) {
		perror("/dev/cow_diff_test");
		return 1;
	}
	if (!ioctl(fd, DIFF_TEST_MISUSE, &which) || errno != EINVAL) {
		fprintf(stderr, "misuse %s: not refused\n", of_cow_diff[which]);
		return 1;
	}
	return 0;
}

static int misuse_commit_roots(__u32 which)
{
	struct root_test_setup setup = {
		.search = ROOT_TEST_COMMIT_ROOT, .lock_type = LOCK_TEST_UNFAIR, .extents = 100,
	};
	int fd = open("/dev/commit_root_test", O_RDWR);

	if (fd < 0 || ioctl(fd, ROOT_TEST_SETUP, &setup)) {
		perror("/dev/commit_root_test");
		return 1;
	}
	/* the module refuses all of them but the second unpin, which returns no error */
	if (!ioctl(fd, ROOT_TEST_MISUSE, &which) == (which != ROOT_TEST_UNPIN_TWICE)) {
		fprintf(stderr, "misuse %s: not refused\n", of_commit_roots[which]);
		return 1;
	}
	return 0;
}

static const struct device {
	const char *const *name;
	unsigned int nr;
	int (*misuse)(__u32 which);
} devices[] = {
	{ of_commit_roots, sizeof(of_commit_roots) / sizeof(char *), misuse_commit_roots },
	{ of_cow_diff, sizeof(of_cow_diff) / sizeof(char *), misuse_cow_diff },
};

int main(int argc, char **argv)
{
	struct lock_test_misuse m = { };
	int fd = open("/dev/fscommit_test", O_RDWR);
	unsigned int d;
	__u32 i;

	if (argc != 2 || strlen(argv[1]) >= sizeof(m.name)) {
		fprintf(stderr, "usage: misuse NAME\n");
		return 2;
	}
	for (d = 0; d < sizeof(devices) / sizeof(devices[0]); d++)
		for (i = 0; i < devices[d].nr; i++)
			if (!strcmp(devices[d].name[i], argv[1]))
				return devices[d].misuse(i);
	if (fd < 0) {
		perror("/dev/fscommit_test");
		return 1;
	}
	strcpy(m.name, argv[1]);
	if (ioctl(fd, LOCK_TEST_MISUSE, &m)) {
		fprintf(stderr, "misuse %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return 0;
}
