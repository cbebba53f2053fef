/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the benchmark programs: error messages with the program's name, numbers with a range,
 * durations as in cyclictest, shared memory, figures. Define PROGRAM before including this file.
 */
#ifndef FSCOMMIT_OPTIONS_H
#define FSCOMMIT_OPTIONS_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

__attribute__((format(printf, 1, 2), noreturn))
static inline void fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, PROGRAM ": ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Returns memory that this task shares with its children. */
static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fatal("%zu bytes of shared memory: %s", size, strerror(errno));
	return p;
}

static inline long number(const char *option, const char *s, long min, long max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < min || v > max)
		fatal("%s=%s: must be a number from %ld to %ld", option, s, min, max);
	return v;
}

/* An option whose argument is a number. @c: what getopt_long() returns; 0 ends a table */
struct number_option {
	int c;
	const char *name;
	long *value;
	long min, max;
};

/* Returns false if no option in the table has code @c. */
static inline bool set_number_option(const struct number_option *o, int c, const char *arg)
{
	while (o->c && o->c != c)
		o++;
	if (o->c)
		*o->value = number(o->name, arg, o->min, o->max);
	return o->c;
}

/* Returns seconds, from 0.1 to @max. */
static inline double duration(const char *s, unsigned int max)
{
	char *end;
	double v = strtod(s, &end);

	if (*end == 'm')
		v *= 60, end++;
	else if (*end == 'h')
		v *= 3600, end++;
	else if (*end == 's')
		end++;
	if (end == s || *end || !(v >= 0.1 && v <= max))
		fatal("--duration=%s: must be from 0.1s to %us", s, max);
	return v;
}

/* Ends the program: --help was @asked for, or an option is wrong. */
__attribute__((noreturn))
static inline void show_usage(void (*usage)(FILE *f), bool asked)
{
	usage(asked ? stdout : stderr);
	exit(!asked);
}

/* Prints what a driver or lock reached in a round, for selftests/bench/figures.py. No spaces. */
static inline void print_figure(const char *name, double value, const char *unit, const char *run,
				const char *driver)
{
	printf("FIGURE %s %.6g %s %s %s\n", name, value, unit, run, driver);
	fflush(stdout);
}

#endif /* FSCOMMIT_OPTIONS_H */
