# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC3043,SC2034,SC2154,SC2329 # the test sets $fs
# Common parts of the smoke tests of $fs, sourced in the guest: TAP output, loads, freezing.

# shellcheck source=selftests/filesystems/guest_lib.sh
. /fscommit/guest_lib.sh
seconds=$1 variant=$2
n=0
log=/tmp/out/smoke.log
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

counters=/sys/kernel/debug/fscommit/stats
locks_are_counted() { [ -e $counters ]; }

# lock_counted NAME EVENTS: one of the events, with | between, of a lock whose class has NAME
lock_counted()
{
	awk -v name="$1" -v events="^($2)$" '
		/^[^ ]/ { lock = $0 }
		index(lock, name) && $1 ~ events { print; found = 1 }
		END { exit !found }' $counters
}

# A lock that is acquired at once is not counted. But readers that overlap set BIAS.
lock_read() { lock_counted "$1" 'reads_slow|bias_set'; }

plan() { echo "1..$n"; }
refused() { ! "$@"; }

# in_use: $mnt is mounted, and no module of it can be removed
in_use()
{
	if ! grep -q " $mnt $fs " /proc/mounts; then
		echo "Bail out! not mounted"
		exit 1
	fi
	! grep -q "^fscommit .*$fs" /proc/modules ||
		t "rmmod_fscommit_below_${fs}_is_refused" refused rmmod fscommit
	t rmmod_while_mounted_is_refused refused rmmod "$fs"
}

# read_only FOLDER TRIES: the kernel refuses while a deleted file has an inode, which may stay in the
# cache: in f2fs, that of a file that was being written back when it was deleted (f2fs_drop_inode)
read_only()
{
	local try
	for try in $(seq "$2"); do
		mount -o remount,ro "$1" && echo "read-only at try $try" && return
		sync
		echo 2 >/proc/sys/vm/drop_caches
		sleep 1
	done
	return 1
}

# read_only_and_back TRIES
read_only_and_back()
{
	t read_only_remount read_only $mnt "$1"
	t read_only_is_so refused touch $mnt/x
	t writable_again mount -o remount,rw $mnt
}

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
