/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module exports this symbol, and each file that includes a public header refers to it. So the
 * kernel refuses a driver that was built with other headers than the module. The name ends in a
 * checksum of the code of all public headers, see packaging/versions.sh. If the module changes what
 * that code relies on, but no header, change a name in a header, too.
 */
#ifndef _LINUX_FSCOMMIT_ABI_H
#define _LINUX_FSCOMMIT_ABI_H

#define FSCOMMIT_ABI	fscommit_abi_3080d5710a72

extern const char FSCOMMIT_ABI;
static const char *const __fscommit_abi __used = &FSCOMMIT_ABI;

#endif /* _LINUX_FSCOMMIT_ABI_H */
