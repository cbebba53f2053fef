#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Has each call of an allocator in the product been seen failing?
#
#   sites.sh DMESG
#
# The list is made from the source. DMESG is the log of a guest whose module was built with
# sites.sed, so that each such call says when it had nothing. Prints `FILE:LINE TIMES
# failed|never`; the exit status is 1 if there is a `never`.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"

# What is not compiled for the newest kernels is left out: compat.h, the shims before 6.7.
list()
{
	(cd "$TOP/module" && grep -nE \
		'[^a-z_](k[mzc]alloc|kcalloc|kv[mzc]alloc|kvcalloc|kmemdup|kstrdup|kasprintf|ida_alloc|__alloc_percpu|alloc_percpu|init_srcu_struct|alloc_workqueue|kthread_run|shrinker_alloc|debugfs_create_(dir|file))\(' \
		./*.c compat.h) | sed -e 's|^\./||' -e '/^compat.h:.*kzalloc/d' -e '/:[ 	]*\*/d' |
		cut -d: -f1,2
}

awk 'NR == FNR { if (match($0, /fscommit: none at [^ ]+/)) times[substr($0, RSTART + 18, RLENGTH - 18)]++; next }
	{ n = times[$1] + 0; printf "%-28s %6d %s\n", $1, n, n ? "failed" : "never"; bad += !n }
	END { exit bad > 0 || FNR == 0 }' "${1:?log of a guest}" <(list)
