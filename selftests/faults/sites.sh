#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Check that each call of an allocator in the module has failed at least once.
#
#   sites.sh DMESG
#
# The list of calls comes from the source. DMESG is the log of a guest whose module was built with
# sites.sed, so that each failing call logs its place. Print `FILE:LINE TIMES failed|never`. The
# exit status is 1 if a call never failed.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"

# Print all calls.
list()
{
	local calls='k[mzc]alloc|kcalloc|kv[mzc]alloc|kvcalloc|kmemdup|kstrdup|kasprintf'
	calls+='|__alloc_percpu|alloc_percpu(_gfp)?|alloc(_ordered)?_workqueue|kthread_run'
	calls+='|debugfs_create_(dir|file)|kobject_create_and_add|sysfs_create_file'
	(cd "$TOP/module" && grep -nE "[^a-z_]($calls)\(" ./*.[ch]) |
		sed -e 's|^\./||' -e '/:[ 	]*\/\?\*/d' | cut -d: -f1,2
}

awk 'NR == FNR {
		if (match($0, /fscommit: none at [^ ]+/))
			times[substr($0, RSTART + 18, RLENGTH - 18)]++
		next
	}
	{
		n = times[$1] + 0
		printf "%-28s %6d %s\n", $1, n, n ? "failed" : "never"
		bad += !n
	}
	END { exit bad > 0 || FNR == 0 }' "${1:?log of a guest}" <(list)
