/* SPDX-License-Identifier: GPL-2.0 */
/* The JSON envelope of all benchmarks, like cyclictest's. */
#ifndef FSCOMMIT_JSON_H
#define FSCOMMIT_JSON_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

/* Prints the inside of a JSON string. */
static inline void print_escaped(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", *s);
		else
			fputc(*s, f);
	}
}

/*
 * Opens @path ("-": stdout) and prints the members up to sysinfo; the object stays open. The
 * report identifies the file by @part or, if that is NULL, by its members.
 */
__attribute__((format(printf, 6, 7)))
static inline FILE *json_begin(const char *path, const char *part, int argc, char **argv,
			       time_t start, const char *title, ...)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	struct utsname u;
	char text[256];
	va_list ap;
	int i;

	if (!f)
		fatal("%s: %s", path, strerror(errno));
	uname(&u);
	fprintf(f, "{\n  \"file_version\": 1,\n");
	if (part)
		fprintf(f, "  \"part\": \"%s\",\n", part);
	fprintf(f, "  \"cmdline\": \"");
	for (i = 0; i < argc; i++) {
		fputs(i ? " " : "", f);
		print_escaped(f, argv[i]);
	}
	fprintf(f, "\",\n  \"title\": \"");
	va_start(ap, title);
	vsnprintf(text, sizeof(text), title, ap);
	va_end(ap);
	print_escaped(f, text);
	fprintf(f, "\",\n  \"start_time\": %lld,\n  \"end_time\": %lld,\n",
		(long long)start, (long long)time(NULL));
	fprintf(f, "  \"sysinfo\": { \"release\": \"%s\", \"version\": \"%s\", \"machine\": \"%s\", \"cpus\": %ld },\n",
		u.release, u.version, u.machine, sysconf(_SC_NPROCESSORS_ONLN));
	return f;
}

/* Closes the object and the file. Call it after the last member. */
static inline void json_end(FILE *f, const char *path)
{
	fprintf(f, "\n}\n");
	if (ferror(f) | (f != stdout ? fclose(f) : fflush(f)))
		fatal("%s: write failed", path);
}

#endif /* FSCOMMIT_JSON_H */
