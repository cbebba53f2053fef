# SPDX-License-Identifier: GPL-2.0
# Converts the product's source to code of a kernel tree. For sed -E, after unifdef has removed the
# code for older kernels. upstream.sh reports what this script misses.

# compat names become those of the newest kernel
s/\bEXPORT_SYMBOL_FSCOMMIT\((\w+)\)/EXPORT_SYMBOL_NS_GPL(\1, "FSCOMMIT")/
s/\bcompat_trace_contended_release\b/trace_contended_release/
s/^MODULE_INFO\(import_ns, (.*)\)/MODULE_IMPORT_NS(\1)/
s/\bcompat_custom_slice\(task\)/task->se.custom_slice ? task->se.slice : 0/
/\bcompat_hrtimer_setup\b/ {
	s//hrtimer_setup/
	n
	s/^\t\t\t     /\t\t      /
}
s/\bcompat_class_upsets_psi\b/class_upsets_psi/

# the kernel's own attributes for the context analysis
/#include <linux\/fscommit_(abi|context)\.h>/d
s/\bfscommit_lock_struct\(/context_lock_struct(/
s/\b__fsc_assumes\(/__assumes_ctx_lock(/
s/\b__fsc_assumes_shared\(/__assumes_shared_ctx_lock(/
s/\b__fsc_unchecked\b/__no_context_analysis/
s/\b__fsc_(\w+)/__\1/g

# the kernel has one copy of the headers
/^const char FSCOMMIT_ABI;$/,/^$/d

# guards: the kernel's macro takes the same arguments
/^# define __UNFAIR_GUARD_COND/,/[^\\]$/d
s/\b__UNFAIR_GUARD_COND\(/DEFINE_LOCK_GUARD_1_COND(/

# includes and comments about older kernels
/#include <linux\/version\.h>/d
/^\/\* 6\.[0-9]+: .*\*\/$/d
s/ [A-Z][^.]*\b6\.[0-9]+ lacks\.?//
