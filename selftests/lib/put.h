/* SPDX-License-Identifier: GPL-2.0 */
/* Write a text to a file of sysfs, debugfs or a cgroup. */
#ifndef FSCOMMIT_PUT_H
#define FSCOMMIT_PUT_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Returns true if the file took all of @text. */
static inline bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

#endif /* FSCOMMIT_PUT_H */
