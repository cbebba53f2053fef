// SPDX-License-Identifier: GPL-2.0
/*
 * misuse NAME: has the test module do what no driver may do. For a guest of its
 * own, that the harness expects to complain; see module/misuse.c.
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
#include "rcu_reuse_test.h"
#include "share_gate_test.h"

/* Of the other test devices: by number there, 0 if what was wrong was refused. */
static const char * const of_commit_roots[] = {
	[CRT_UNPIN_TWICE] = "unpin_twice",
	[CRT_SWITCH_BACK] = "switch_back",
	[CRT_PREPARE_TWICE] = "prepare_twice",
	[CRT_FOREIGN_TREE] = "foreign_tree",
	[CRT_COMMIT_FOREIGN_TREE] = "commit_foreign_tree",
	[CRT_SEARCH_FOREIGN_TREE] = "search_foreign_tree",
	[CRT_DESTROY_PREPARED] = "destroy_prepared",
};

static const char * const of_share_gates[] = {
	[SGT_EXIT_TWICE] = "exit_twice",
	[SGT_EMPTY_RANGE] = "empty_range",
	[SGT_NO_GENERATION] = "no_generation",
	[SGT_SHARED_MEANWHILE] = "shared_meanwhile",
	[SGT_UNLOCK_TWICE] = "unlock_twice",
	[SGT_LOCK_EMPTY_RANGE] = "lock_empty_range",
};

static const char * const of_cow_diff[] = {
	[CDT_NO_OPERATION] = "diff_no_operation",
	[CDT_NEXT_AFTER_END] = "diff_after_end",
	[CDT_LOWEST_TOO_HIGH] = "diff_lowest_too_high",
	[CDT_UNKNOWN_FLAGS] = "diff_unknown_flags",
	[CDT_NO_CHILDREN] = "diff_no_children",
	[CDT_POSITION_TOO_HIGH] = "diff_position_too_high",
};

static int misuse_cow_diff(__u32 which)
{
	struct cdt_setup setup = { .keys = 100, .seed = 1 };
	struct cdt_mark mark = { };
	int fd = open("/dev/cow_diff_test", O_RDWR);

	if (fd < 0 || ioctl(fd, CDT_SETUP, &setup) || ioctl(fd, CDT_MARK, &mark)) {
		perror("/dev/cow_diff_test");
		return 1;
	}
	if (!ioctl(fd, CDT_MISUSE, &which) || errno != EINVAL) {
		fprintf(stderr, "misuse %s: not refused\n", of_cow_diff[which]);
		return 1;
	}
	return 0;
}

static int misuse_commit_roots(__u32 which)
{
	struct crt_setup setup = {
		.search = CRT_COMMIT_ROOT, .lock_type = FCT_UNFAIR, .extents = 100,
	};
	int fd = open("/dev/commit_root_test", O_RDWR);

	if (fd < 0 || ioctl(fd, CRT_SETUP, &setup)) {
		perror("/dev/commit_root_test");
		return 1;
	}
	/* the call is refused, but for the second unpin, which has no error to return */
	if (!ioctl(fd, CRT_MISUSE, &which) == (which != CRT_UNPIN_TWICE)) {
		fprintf(stderr, "misuse %s: not refused\n", of_commit_roots[which]);
		return 1;
	}
	return 0;
}

static int misuse_share_gates(__u32 which)
{
	int fd = open("/dev/share_gate_test", O_RDWR);

	if (fd < 0 || ioctl(fd, SGT_MISUSE, &which)) {
		perror("/dev/share_gate_test");
		return 1;
	}
	return 0;
}

static const char * const of_reuse_queues[] = {
	[RRT_ENQUEUE_TWICE] = "enqueue_twice",
	[RRT_ENQUEUE_AFTER_END] = "enqueue_after_end",
};

static int misuse_reuse_queue(__u32 which)
{
	struct rrt_setup setup = {
		.flavour = RRT_RCU, .objects = 100, .batch = 8, .keep = 100, .max_age_ms = 1000,
	};
	int fd = open("/dev/rcu_reuse_test", O_RDWR);

	if (fd < 0 || ioctl(fd, RRT_SETUP, &setup) || ioctl(fd, RRT_MISUSE, &which)) {
		perror("/dev/rcu_reuse_test");
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
	{ of_share_gates, sizeof(of_share_gates) / sizeof(char *), misuse_share_gates },
	{ of_reuse_queues, sizeof(of_reuse_queues) / sizeof(char *), misuse_reuse_queue },
	{ of_cow_diff, sizeof(of_cow_diff) / sizeof(char *), misuse_cow_diff },
};

int main(int argc, char **argv)
{
	struct fct_misuse m = { };
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
	if (ioctl(fd, FCT_MISUSE, &m)) {
		fprintf(stderr, "misuse %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return 0;
}
