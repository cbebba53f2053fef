/* SPDX-License-Identifier: GPL-2.0 */
/* Load and unload modules in this task, from files in the current folder. */
#ifndef FSCOMMIT_LOAD_H
#define FSCOMMIT_LOAD_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns 0 or an errno. */
static inline int load_with(const char *file, const char *params)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return errno;
	ret = syscall(SYS_finit_module, fd, params, 0) ? errno : 0;
	close(fd);
	return ret;
}

static inline int load(const char *file)
{
	return load_with(file, "");
}

/* Fails at once if the module is in use. */
static inline int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

#endif /* FSCOMMIT_LOAD_H */
