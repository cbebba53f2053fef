#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Has each call of an allocator in the product been seen failing?
#
#   sites.sh TREE DMESG
#
# The list is made from the source. The failures are the stacks that fault injection has
# left in the log of a guest with the module of TREE, which has debug information. Prints
# `FILE:LINE TIMES failed|never`; the exit status is 1 if there is a `never`.

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

# Functions of the module on the stack of a failure, as FILE:LINE, with what is inlined there.
failures()
{
	local ko=$1/module/fscommit.ko symbol offset section value
	awk '/FAULT_INJECTION: forcing a failure/ { on = 1 }
	     on && match($0, /[A-Za-z_0-9.]+\+0x[0-9a-f]+\/0x[0-9a-f]+ \[fscommit\]/) {
		if ($0 !~ /\? /) print substr($0, RSTART, RLENGTH) }' "$2" |
		sed -E 's|/.*||' | sort | uniq -c |
	while read -r times symbol; do
		offset=${symbol#*+} symbol=${symbol%+*}
		read -r value section < <(objdump -t "$ko" | awk -v s="$symbol" \
			'$NF == s { for (i = 2; i < NF; i++) if ($i ~ /^\./) { print $1, $i; exit } }') || continue
		# a return address: the call is before it
		addr2line -i -e "$ko" -j "$section" "$(printf '0x%x' $((0x$value + offset - 1)))" |
			sed -E "s|.*/module/||; s| .*||; s|^|$times |"
	done
}

failures "${1:?folder with the module}" "${2:?log of a guest}" | awk '
	NR == FNR { times[$2] += $1; next }
	{ n = times[$1] + 0; printf "%-28s %6d %s\n", $1, n, n ? "failed" : "never"; bad += !n }
	END { exit bad > 0 }' - <(list)
