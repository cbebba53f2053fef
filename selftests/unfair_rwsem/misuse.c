// SPDX-License-Identifier: GPL-2.0
/*
 * misuse NAME: has the test module do what no driver may do. For a guest of its
 * own, that the harness expects to complain; see test_modules/misuse.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../test_modules/fscommit_test.h"

int main(int argc, char **argv)
{
	struct fct_misuse m = { };
	int fd = open("/dev/fscommit_test", O_RDWR);

	if (argc != 2 || strlen(argv[1]) >= sizeof(m.name)) {
		fprintf(stderr, "usage: misuse NAME\n");
		return 2;
	}
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
