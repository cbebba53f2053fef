# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC3043,SC2154,SC2329 # the test sets $mnt and $seconds
# Common parts of the smoke tests, sourced in the guest: TAP output, loads, freezing.

n=0
log=/tmp/out/smoke.log
mkdir -p "$mnt" /tmp/out
: >$log

# t NAME COMMAND...
t()
{
	local name=$1 rc=0
	shift
	n=$((n + 1))
	echo "== $name" >>$log
	"$@" >>$log 2>&1 || rc=$?
	if [ $rc -eq 0 ]; then
		echo "ok $n $name"
	else
		echo "not ok $n $name"
		echo "# $(tail -n 3 $log | tr '\n' ' ')"
	fi
}

plan() { echo "1..$n"; }
refused() { ! "$@"; }
freeze() { fsfreeze --freeze "$mnt"; }

# A write blocks while the filesystem is frozen, and completes after the thaw.
frozen()
{
	local pid
	freeze || return 1
	(echo x >"$mnt/frozen"; sync) &
	pid=$!
	sleep 1
	kill -0 $pid || { echo "something was written to a frozen filesystem"; return 1; }
	fsfreeze --unfreeze "$mnt" && wait $pid && [ -e "$mnt/frozen" ]
}

load_while()
{
	local pid rc=0
	fsops run "$mnt" "$seconds" 8 &
	pid=$!
	"$@" || rc=1
	wait $pid && return $rc
}
