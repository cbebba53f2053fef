/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What module/cow_diff.c needs of the kernel, for the fuzzer: as little as it takes.
 */
#ifndef FSCOMMIT_COW_DIFF_USERSPACE_H
#define FSCOMMIT_COW_DIFF_USERSPACE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef int pid_t;

#define __must_check		__attribute__((warn_unused_result))
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define EXPORT_SYMBOL_NS_GPL(symbol, namespace)	extern int unused_export

struct task_struct;

/* Not checked as printf() is: u64 is another type there. */
static inline int scnprintf(char *text, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, size, fmt, ap);
	va_end(ap);
	return size && n >= (int)size ? (int)size - 1 : n;
}

/* A warning is a failure of the fuzzer. */
static inline void warned(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	abort();
}

#define WARN_ONCE(condition, ...)	((condition) ? warned(__VA_ARGS__) : (void)0)

/* Events that nobody sees. */
#define TP_PROTO(...)		__VA_ARGS__
#define TRACE_EVENT(name, proto, ...)					\
	static inline __attribute__((unused)) void trace_##name(proto) { }
#define DECLARE_EVENT_CLASS(...)
#define DEFINE_EVENT(class, name, proto, ...)	TRACE_EVENT(name, proto)
#define DEFINE_EVENT_FN(class, name, proto, ...)	TRACE_EVENT(name, proto)

#endif /* FSCOMMIT_COW_DIFF_USERSPACE_H */
