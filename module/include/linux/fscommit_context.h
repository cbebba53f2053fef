/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What clang's context analysis is told about the locks of fscommit.
 *
 * Linux 7.0 and later have the macros for it, and clang 23 or later can check: a file that
 * says CONTEXT_ANALYSIS := y in its Makefile, on a kernel with WARN_CONTEXT_ANALYSIS, is told
 * at compile time of data that is touched without its lock (__guarded_by()), and of a lock
 * that is not released on some way out. Elsewhere all of this is nothing: older kernels have
 * __acquires() for sparse, which takes it to count what a function's body does.
 */
#ifndef _LINUX_FSCOMMIT_CONTEXT_H
#define _LINUX_FSCOMMIT_CONTEXT_H

#include <linux/compiler.h>

#ifdef context_lock_struct
# define fscommit_lock_struct(name)		context_lock_struct(name)
# define __fsc_acquires(x)			__acquires(x)
# define __fsc_acquires_shared(x)		__acquires_shared(x)
# define __fsc_cond_acquires(ret, x)		__cond_acquires(ret, x)
# define __fsc_cond_acquires_shared(ret, x)	__cond_acquires_shared(ret, x)
# define __fsc_releases(x)			__releases(x)
# define __fsc_releases_shared(x)		__releases_shared(x)
# define __fsc_must_hold(x)			__must_hold(x)
# define __fsc_assumes(x)			__assumes_ctx_lock(x)
# define __fsc_assumes_shared(x)		__assumes_shared_ctx_lock(x)
# define __fsc_unchecked			__no_context_analysis
#else
# define fscommit_lock_struct(name)		struct name
# define __fsc_acquires(x)
# define __fsc_acquires_shared(x)
# define __fsc_cond_acquires(ret, x)
# define __fsc_cond_acquires_shared(ret, x)
# define __fsc_releases(x)
# define __fsc_releases_shared(x)
# define __fsc_must_hold(x)
# define __fsc_assumes(x)
# define __fsc_assumes_shared(x)
# define __fsc_unchecked
#endif

#endif /* _LINUX_FSCOMMIT_CONTEXT_H */
