/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A text into a file of sysfs, debugfs or a cgroup: true if all of it was taken.
 */
#ifndef FSCOMMIT_PUT_H
#define FSCOMMIT_PUT_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static inline bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

#endif /* FSCOMMIT_PUT_H */
