/* SPDX-License-Identifier: GPL-2.0 */
/* For spatch: a macro that it does not know, of 7.3. */
#define __releases_shared(lock)
