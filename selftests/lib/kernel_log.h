/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read the kernel log from some moment on. Tests never clear the log: the harness scans all of it
 * at the end.
 */
#ifndef SELFTESTS_KERNEL_LOG_H
#define SELFTESTS_KERNEL_LOG_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Marks the end of the log. Pass the result to log_since(). */
static inline int log_now(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Reads the records logged since log_now(), up to @size - 1 bytes. Closes @fd. */
static inline const char *log_since(int fd, char *log, int size)
{
	int len = 0, n;

	/* read() returns one record; EPIPE: some were overwritten */
	while (len < size - 1 && ((n = read(fd, log + len, size - 1 - len)) > 0 || errno == EPIPE))
		if (n > 0)
			len += n;
	log[len] = 0;
	close(fd);
	return log;
}

#endif
