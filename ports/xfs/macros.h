/* SPDX-License-Identifier: GPL-2.0 */
/* For spatch: macros of XFS that it does not know. */
#define __releases_shared(lock)
#define __releases(lock)
#define STATIC static
