/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for tests that use a test device. */
#ifndef SELFTESTS_DEVICE_TEST_H
#define SELFTESTS_DEVICE_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Poll @cond every millisecond, for 20 s or more. */
#define REACHED(cond)							\
({									\
	int _i;								\
	for (_i = 0; _i < 20000 && !(cond); _i++)			\
		usleep(1000);						\
	_i < 20000;							\
})

/* Returns a file of the device after the ioctl @cmd, or -1. */
static inline int open_device(const char *path, unsigned long cmd, void *setup)
{
	int fd = open(path, O_RDWR);

	if (fd >= 0 && ioctl(fd, cmd, setup)) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline int run_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

/*
 * A promise that the module tests. On failure the log names the check. A switch of many trees takes
 * half a minute in an emulator with KASAN on a busy host.
 */
#define DEVICE_CONTRACT(fixture, name, cmd, which)			\
TEST_F_TIMEOUT(fixture, name, 120)					\
{									\
	__u32 number = which;						\
									\
	EXPECT_EQ(0, run_ioctl(self->fd, cmd, &number));		\
}

static inline void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
