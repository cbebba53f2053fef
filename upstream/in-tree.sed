# SPDX-License-Identifier: GPL-2.0
# What the product's source says differently inside of a kernel tree; sed -E, after unifdef
# has taken out what older kernels lack. upstream.sh looks for what is missed.

# names that stand for those of the newest kernel
s/\bEXPORT_SYMBOL_FSCOMMIT\((\w+)\)/EXPORT_SYMBOL_NS_GPL(\1, "FSCOMMIT")/
s/\bcompat_trace_contended_release\b/trace_contended_release/
s/\bcompat_on_cpu\b/owner_on_cpu/
s/\bcompat_lend_apply_begin\b/preempt_disable/
s/\bcompat_lend_apply_end\b/preempt_enable/
s/\bcompat_custom_slice\(task\)/task->se.custom_slice ? task->se.slice : 0/
/\bcompat_hrtimer_setup\b/ {
	s//hrtimer_setup/
	n
	s/^\t\t\t     /\t\t      /
}
s/\bcompat_shrinker_private\(shrinker\)/shrinker->private_data/
s/\bcompat_shrinker_free\b/shrinker_free/
s/\bcompat_(class_upsets_psi|pr_stack|shrinker_new)\b/\1/
s/"compat\.h"/"internal.h"/
s/_FSCOMMIT_COMPAT_H/_FSCOMMIT_INTERNAL_H/

# the kernel's own words for the context analysis
/#include <linux\/fscommit_context\.h>/d
s/\bfscommit_lock_struct\(/context_lock_struct(/
s/\b__fsc_assumes\(/__assumes_ctx_lock(/
s/\b__fsc_assumes_shared\(/__assumes_shared_ctx_lock(/
s/\b__fsc_unchecked\b/__no_context_analysis/
s/\b__fsc_(\w+)/__\1/g

# guards: the kernel's macro has the same arguments
/^# define __UNFAIR_GUARD_COND/,/[^\\]$/d
s/\b__UNFAIR_GUARD_COND\(/DEFINE_LOCK_GUARD_1_COND(/

# what was for older kernels, and comments on them
/#include <linux\/version\.h>/d
/^\/\* 6\.13: the namespace became a string\. \*\/$/d
s/, but on 6\.1 where it gives back\././
s/ On 6\.1 it may sleep\.//
s/ On 6\.1 it may sleep, for the cpuset lock\.//
s/ As srcu_down_read\(\), which 6\.1 lacks//
s/ RCU wants interrupts enabled for this before 6\.13, and SRCU/ SRCU/
