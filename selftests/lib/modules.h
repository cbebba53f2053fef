/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads the modules of a test program before its tests, and unloads them after. A module that is
 * loaded already stays. A module is a file beside the program or in ../modules, or else modprobe
 * knows it.
 */
#ifndef FSCOMMIT_MODULES_H
#define FSCOMMIT_MODULES_H

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static const char *loaded_modules[8];
static int nr_loaded;
static pid_t module_loader;

static inline bool is_loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

/* Returns 0, or an errno: ENOENT if there is no such module. */
static inline int load_module(const char *name, const char *params)
{
	char exe[PATH_MAX] = "", file[PATH_MAX + 64], command[512];
	const char *folder;
	int error;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return errno;
	folder = dirname(exe);
	snprintf(file, sizeof(file), "%s/%s.ko", folder, name);
	if (access(file, F_OK))
		snprintf(file, sizeof(file), "%s/../modules/%s.ko", folder, name);
	error = load_with(file, params);
	if (error != ENOENT || !access(file, F_OK))
		return error;
	snprintf(command, sizeof(command), "modprobe -q %s %s 2>/dev/null", name, params);
	return system(command) ? ENOENT : 0;
}

/* A task that a test has killed may still have the module open. */
static inline void unload_modules(void)
{
	int tries = 0, error;

	if (getpid() != module_loader)
		return;
	fflush(NULL);
	while (nr_loaded) {
		error = unload(loaded_modules[nr_loaded - 1]);
		if (!error) {
			nr_loaded--;
		} else if (error != EWOULDBLOCK || tries++ == 2000) {
			printf("# cannot unload %s: %s\n", loaded_modules[nr_loaded - 1],
			       strerror(error));
			fflush(NULL);
			_exit(1);
		} else {
			usleep(10000);
		}
	}
}

static inline void load_modules(const char *const *names, int nr)
{
	const char *why;
	int i, error;

	module_loader = getpid();
	for (i = 0; i < nr; i++) {
		if (is_loaded(names[i]))
			continue;
		error = geteuid() ? EPERM : load_module(names[i], "");
		if (!error) {
			loaded_modules[nr_loaded++] = names[i];
			continue;
		}
		why = error == EPERM ? "needs root, and a kernel that may load modules" :
		      error == EKEYREJECTED || error == ENOKEY ? "needs a key of this kernel" :
		      error == ENOENT ? "there is no such module" : NULL;
		printf("%s%s: %s\n", why ? "1..0 # SKIP " : "not ok 1 cannot load ", names[i],
		       why ?: strerror(error));
		unload_modules();
		fflush(NULL);
		_exit(why ? 4 : 1);
	}
	atexit(unload_modules);
}

/* fscommit, and the test modules of a program, each after those that it needs */
#define NEEDS_MODULES(...)						\
__attribute__((constructor)) static void needs_modules(void)		\
{									\
	static const char *const names[] = { "fscommit", __VA_ARGS__ };	\
									\
	load_modules(names, sizeof(names) / sizeof(names[0]));		\
}

#endif /* FSCOMMIT_MODULES_H */
