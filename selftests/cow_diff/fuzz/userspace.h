/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What module/cow_diff.c needs from the kernel, for the fuzzer. The build creates each
 * <linux/...> header that cow_diff.c includes; it only includes this file.
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

#define __init
#define READ_ONCE(x)			(*(volatile __typeof__(x) *)&(x))

/* The oldest version whose shrinkers are allocated; no newer API is used. */
#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE		KERNEL_VERSION(6, 7, 0)

/* One CPU, no debugfs. */
#define DEFINE_PER_CPU(type, name)	__typeof__(type) name
#define this_cpu_add(x, n)		((x) += (n))
#define per_cpu(x, cpu)			(*(&(x) + (cpu)))
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define DEFINE_SHOW_ATTRIBUTE(name)	\
	static int (*name##_fops)(struct seq_file *m, void *v) = name##_show

struct task_struct;
struct dentry;
struct seq_file;
struct kernel_param_ops;

static inline __attribute__((unused)) void seq_printf(struct seq_file *m, const char *fmt, ...) { }
static inline void debugfs_create_file(const char *name, int mode, struct dentry *parent,
				       void *data, const void *fops) { }

/* No shrinker. */
struct shrink_control;

struct shrinker {
	unsigned long (*count_objects)(struct shrinker *s, struct shrink_control *sc);
	unsigned long (*scan_objects)(struct shrinker *s, struct shrink_control *sc);
	void *private_data;
};

#define typeof_member(type, member)	__typeof__(((type *)0)->member)

static inline struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...)
{
	return 0;
}

static inline void shrinker_register(struct shrinker *s) { }
static inline void shrinker_free(struct shrinker *s) { }

/* No printf() format check: u64 is another type in userspace. */
static inline int scnprintf(char *text, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, size, fmt, ap);
	va_end(ap);
	return size && n >= (int)size ? (int)size - 1 : n;
}

/* A warning ends the fuzzer. */
static inline void warned(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	abort();
}

#define WARN_ONCE(condition, ...)	((condition) ? warned(__VA_ARGS__) : (void)0)

/* Trace events are no-ops. */
#define TP_PROTO(...)		__VA_ARGS__
#define TRACE_EVENT(name, proto, ...)					\
	static inline __attribute__((unused)) void trace_##name(proto) { }
#define DECLARE_EVENT_CLASS(...)
#define DEFINE_EVENT(class, name, proto, ...)	TRACE_EVENT(name, proto)
#define DEFINE_EVENT_FN(class, name, proto, ...)	TRACE_EVENT(name, proto)

#endif /* FSCOMMIT_COW_DIFF_USERSPACE_H */
