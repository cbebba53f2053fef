/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Annotations of fscommit's locks for clang's context analysis.
 *
 * Linux 7.0 and later have the macros, and clang 23 or later does the analysis, on a kernel
 * with WARN_CONTEXT_ANALYSIS, for files with CONTEXT_ANALYSIS := y in their Makefile. It warns
 * about accesses to __guarded_by() data without the lock, and about paths that leave a lock
 * held. Elsewhere the annotations are empty: older kernels define __acquires() for sparse,
 * where it must match what the body of the function does.
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
