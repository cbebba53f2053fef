/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's log from some moment on. It is never cleared: the harness looks at all of it
 * in the end.
 */
#ifndef SELFTESTS_KERNEL_LOG_H
#define SELFTESTS_KERNEL_LOG_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* From now on; to be given to log_since(). */
static inline int log_now(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* What was logged since then, line by line, as far as there is room. Closes @fd. */
static inline const char *log_since(int fd, char *log, int size)
{
	int len = 0, n;

	/* one record each time; -EPIPE: some were overwritten */
	while (len < size - 1 && ((n = read(fd, log + len, size - 1 - len)) > 0 || errno == EPIPE))
		if (n > 0)
			len += n;
	log[len] = 0;
	close(fd);
	return log;
}

#endif
