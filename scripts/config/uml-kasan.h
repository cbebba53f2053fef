/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the stack traces of uml-debug: included before everything else in stacktrace.c.
 *
 * User-Mode Linux asks of each word of the stack whether it is an address of code, and where
 * the word is no address of the kernel itself, that means an RCU section: lockdep twice, and
 * interrupts off and on eight times, which with CONFIG_SMP is a system call of the host each.
 * KASAN takes a trace whenever something is allocated or freed. That was 96 % of the time of a
 * btrfs that is mounted and written to.
 *
 * A word counts that lies where modules are, at the beginning of the range of vmalloc(). In a
 * trace that is kept for a report there are none but the return addresses of the chain of
 * frames; what an oops prints has some lines with a question mark more.
 */
#ifdef __KERNEL__
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/pgtable.h>
#include <linux/sizes.h>

static inline int fscommit_text_address(unsigned long addr)
{
	return addr - MODULES_VADDR < SZ_1G || core_kernel_text(addr) || is_kernel_inittext(addr);
}

#define __kernel_text_address(addr) fscommit_text_address(addr)
#endif
