/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The environment of the copy-on-write tree: kernel or userspace.
 */
#ifndef FSCOMMIT_COW_PORT_H
#define FSCOMMIT_COW_PORT_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

union test_lock;

/* cow_locks.c */
size_t cow_lock_size(void);
int cow_lock_init(union test_lock *lock, unsigned int type, bool of_block);
void cow_lock_destroy(union test_lock *lock, unsigned int type);
void cow_lock(union test_lock *lock, unsigned int type, bool write);
void cow_unlock(union test_lock *lock, unsigned int type, bool write);

static inline void *cow_alloc(size_t size)
{
	return kvzalloc(size, GFP_NOFS);
}

static inline void cow_free(void *p)
{
	kvfree(p);
}

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef struct { int unused; } spinlock_t;
union test_lock { char unused[8]; };

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define spin_lock_init(l)	((void)(l))
#define spin_lock(l)		((void)(l))
#define spin_unlock(l)		((void)(l))
#define BITS_PER_LONG		(8 * sizeof(long))

static inline void __set_bit(unsigned int n, unsigned long *bits)
{
	bits[n / BITS_PER_LONG] |= 1UL << n % BITS_PER_LONG;
}

static inline bool test_bit(unsigned int n, const unsigned long *bits)
{
	return bits[n / BITS_PER_LONG] >> n % BITS_PER_LONG & 1;
}

static inline size_t cow_lock_size(void) { return sizeof(union test_lock); }
static inline int cow_lock_init(union test_lock *l, unsigned int type, bool of_block)
{
	return 0;
}

static inline void cow_lock_destroy(union test_lock *l, unsigned int type) { }
static inline void cow_lock(union test_lock *l, unsigned int type, bool write) { }
static inline void cow_unlock(union test_lock *l, unsigned int type, bool write) { }

/* The fuzzer makes some of these fail. */
void *cow_alloc(size_t size);
void cow_free(void *p);

#endif

#endif /* FSCOMMIT_COW_PORT_H */
