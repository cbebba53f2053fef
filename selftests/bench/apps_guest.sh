#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: run an application once with one variant of a driver, on a new filesystem, beside
# low-priority tasks.
#
#   apps_guest.sh prepare APP
#   apps_guest.sh FS MODULE KNOBS APP,none|APP,N:KIND
#
# The disk $IMAGE has the programs. NICE is the application's nice value, BUSY the number of tasks
# that spin beside a load, DURATION the seconds of a run. A run that takes LIMIT seconds more is
# stopped: the load ends, too, because a task that waits for a commit cannot be killed. Write what
# the application printed to /tmp/out/APP.N-KIND.MODULE.said, and the metrics of stress-ng to .low.
# .rate has the writes in each second.

# shellcheck source=selftests/bench/driver_guest.sh
. /fscommit/driver_guest.sh
root=/apps
mnt=$root/mnt
thp=/sys/kernel/mm/transparent_hugepage/enabled
pg=/usr/lib/postgresql/15/bin

in_root() { chroot $root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"; }

# front COMMAND...: run a program of the application
front() { in_root nice -n "$NICE" timeout -k 5 "$limit" "$@"; }

# PostgreSQL refuses to run as root
postgres() { front setpriv --reuid=1000 --regid=1000 --clear-groups "$@"; }

# now: print the uptime in 1/100 s, without a leading 0, which makes a number octal
now() { awk '{ printf "%d\n", $1 * 100 }' /proc/uptime; }

# pids NAME: print the ids of the processes with this name
pids() { grep -lx "$1" /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3 | sort -n; }

fio()
{
	front fio --name=fio --directory=/mnt --thread --group_reporting --bs=4k --time_based \
		--runtime="$DURATION" --output-format=json "$@"
}

# it writes its rate to the file in each second, also if that is 0
db_bench()
{
	front db_bench --db=/mnt/db --num=10000 --value_size=100 --sync --report_interval_seconds=1 \
		--report_file=/tmp/rate "$@"
}

# A line for each ten files. The first one after DURATION is the last. Programs that write to a pipe
# or a file without stdbuf lose what they have printed when they are stopped.
fs_mark()
{
	{
		front stdbuf -oL fs_mark -d /mnt/files -l /tmp/fs_mark/log -S 1 -s 4096 -n 10 -L 100000 -v
		echo $? >/tmp/rc
	} | awk -v d="$DURATION" 'BEGIN { end = systime() + d }
		{ print }
		/^ +[0-9]/ && systime() >= end { exit }'
	# 141: ended by SIGPIPE
	read -r rc </tmp/rc
	[ "$rc" -eq 141 ] || return "$rc"
}

# untar until DURATION is over; the last time completes
untar_rm()
{
	local end start
	end=$(($(now) + DURATION * 100))
	while start=$(now) && [ "$start" -lt $end ]; do
		front tar -C /mnt -xf /linux.tar && front rm -rf /mnt/linux || return
		echo "untar+rm $(($(now) - start)) cs"
	done
}

# start APP: what it does before the tasks of low priority begin
start()
{
	case $1 in
	fio) fio --create_only=1 --size=8M --numjobs=2 >/dev/null ;;
	fio-64) fio --create_only=1 --size=2M --numjobs=64 >/dev/null ;;
	sqlite) echo 'CREATE TABLE t(i INTEGER PRIMARY KEY, s TEXT);' | front sqlite3 /mnt/t.db ;;
	pgbench)
		cp -a /tmp/pg "$mnt/" &&
		postgres $pg/pg_ctl -D /mnt/pg -o '-c listen_addresses= -k /tmp' -l /tmp/pg.log -w \
			start >/dev/null ;;
	etcd)	ifconfig lo 127.0.0.1 up
		limit=$((limit + 200)) front etcd --data-dir /mnt/etcd >/tmp/etcd.log 2>&1 &
		for _ in $(seq 20); do
			sleep 0.5
			in_root etcdctl endpoint health --command-timeout=2s >/dev/null 2>&1 &&
				return
		done
		cat /tmp/etcd.log
		return 1 ;;
	esac
}

# run APP: what is measured
run()
{
	case $1 in
	fio) fio --rw=randwrite --fsync=1 --size=8M --numjobs=2 ;;
	fio-64) fio --rw=randrw --sync=1 --size=2M --numjobs=64 ;;
	fs_mark) fs_mark ;;
	# a long line: the pipe holds 16 of them when the time is over
	sqlite)	awk -v d="$DURATION" 'BEGIN {
			print ".timer on"
			for (end = systime() + d; systime() < end; i++)
				printf "INSERT INTO t(s) VALUES (%c%0100d%c);%3900s\n", 39, i, 39, ""
		}' | front stdbuf -oL sqlite3 -batch /mnt/t.db ;;
	fillsync)
		db_bench --benchmarks=fillsync --duration="$DURATION" --histogram \
			--ops_between_duration_checks=1 ;;
	pgbench)
		postgres pgbench -h /tmp -U postgres -N -n -c 2 -T "$DURATION" -l \
			--log-prefix=/tmp/pglog -P 1 postgres ;;
	# it fails if the verdict is FAIL, and if there is none
	etcd)	front etcdctl check perf 2>&1 || [ $? -lt 124 ] || return 124 ;;
	dbench)	front dbench -s -c /usr/share/dbench/client.txt -D /mnt -t "$DURATION" 4 ;;
	untar)	untar_rm ;;
	esac
}

# stop APP: end its servers, and collect their logs in OUT
stop()
{
	case $1 in
	# also those of the last line, which may be missing
	fs_mark) echo "files $(find $mnt/files -type f 2>/dev/null | wc -l)" >>"$2.said" ;;
	pgbench)
		postgres $pg/pg_ctl -D /mnt/pg -m fast -w stop >/dev/null
		# its processes may exit a little later
		while [ -n "$(pids postgres)" ]; do
			sleep 0.1
		done
		# without a transaction there is no log
		cat /tmp/pglog.* 2>/dev/null | cut -d' ' -f3 >"$2.log"
		rm -f /tmp/pglog.* ;;
	fillsync) mv /tmp/rate "$2.rate" 2>/dev/null ;;
	etcd)	kill "$(pids etcd)"
		wait ;;
	esac
}

# prepare APP: mount the image; run the application once for 1 s on a tmpfs, so that its programs
# are in memory
prepare()
{
	# khugepaged, at nice 19, would hold an application's mmap_lock while the load keeps it off
	# its CPU: a stall that no filesystem causes
	! [ -e $thp ] || echo never >$thp
	mkdir -p $root
	mount -t ext4 -o ro "$IMAGE" $root || die "cannot mount $IMAGE"
	for d in proc sys dev tmp; do
		mount --rbind /$d $root/$d || die "cannot bind /$d"
	done
	if [ "$1" = pgbench ]; then
		mkdir -p /tmp/pg && chown 1000:1000 /tmp/pg
		postgres $pg/initdb -N -D /tmp/pg -U postgres -A trust >/tmp/initdb.log 2>&1 &&
		postgres $pg/pg_ctl -D /tmp/pg -o '-c listen_addresses= -k /tmp' -l /tmp/pg.log -w \
			start &&
		postgres pgbench -h /tmp -U postgres -i -q postgres 2>&1 &&
		postgres $pg/pg_ctl -D /tmp/pg -m fast -w stop || die "$(tail -n 5 /tmp/initdb.log)"
	fi
	# not /tmp itself, where stress-ng links
	mkdir -p /tmp/fs_mark
	cat $root/linux.tar >/dev/null
	mount -t tmpfs tmp $mnt
	DURATION=1
	case $1 in
	etcd) ;;
	*) { start "$1" && run "$1"; } >/tmp/said 2>&1 || die "$1: $(tail -n 3 /tmp/said)" ;;
	esac
	stop "$1" /tmp/said
	umount $mnt
}

# start_low N:KIND: start stress-ng with N tasks, wait for them, and start tasks that spin. Set low
# and busy to their process ids.
start_low()
{
	local n=${1%%:*} kind=${1#*:} each=$((${1%%:*} / 4))
	mkdir -p $mnt/low
	set -- stress-ng --temp-path /mnt/low --dentry $((n - each - each - 1)) --dentries 256 \
		--rename $each --link 1 --dir $each --dir-dirs 64 \
		--metrics --yaml /tmp/low.yaml
	case $kind in
	nice:*) set -- nice -n "${kind#nice:}" "$@" ;;
	idle) set -- chrt -i 0 "$@" ;;
	*) limit_group "$kind" ;;
	esac
	(
		! [ -d "$group" ] || sh -c 'echo $PPID' >"$group/cgroup.procs"
		in_root "$@" >/tmp/low.said 2>&1
	) &
	waiter=$!
	# a folder for each task, and one more for each task that renames
	for _ in $(seq 600); do
		low=$(pids stress-ng | head -n 1)
		[ "$(find $mnt/low -mindepth 1 -maxdepth 1 | wc -l)" -lt $((n + each)) ] || break
		sleep 0.1
	done
	[ "$(find $mnt/low -mindepth 1 -maxdepth 1 | wc -l)" -ge $((n + each)) ] ||
		die "stress-ng: not all of $n tasks began within a minute: $(cat /tmp/low.said)"
	# shellcheck disable=SC2153 # not $busy
	for _ in $(seq "$BUSY"); do
		sh -c 'while :; do :; done' &
		busy="$busy $!"
	done
	{ sleep "$limit"; touch /tmp/low.ended; end_low; } >/dev/null 2>&1 &
	watcher=$!
}

# end_low: let the load end
end_low()
{
	# shellcheck disable=SC2086 # words
	[ -z "$busy" ] || kill -KILL $busy
	! [ -d "$group" ] || lift_limits
	kill "$low"
}

stop_low()
{
	[ -n "$low" ] || return 0
	kill "$watcher" 2>/dev/null
	end_low 2>/dev/null
	wait "$waiter"
	cp /tmp/low.yaml "$1.low" || die "stress-ng: $(tail -n 5 /tmp/low.said)"
	rm -f /tmp/low.yaml
	! [ -d "$group" ] || rmdir "$group"
}

if [ "$1" = prepare ]; then
	limit=300
	# a stalled task is a result here, not a fault of the kernel
	echo 0 >/proc/sys/kernel/hung_task_timeout_secs 2>/dev/null
	prepare "$2"
	exit
fi
app=${4%,*} load=${4#*,} low='' busy=''
name=$app.$(echo "$load" | tr : -).$2
out=/tmp/out/$name
# shellcheck disable=SC2153 # not $limit
case $app in
# it has a duration of its own
etcd) limit=$((60 + LIMIT)) ;;
*) limit=$((DURATION + LIMIT)) ;;
esac
mount_new "$1" "$2" "$3"
start "$app" >/tmp/said 2>&1 || die "$app does not start: $(tail -n 5 /tmp/said)"
sync
rm -f /tmp/low.ended
[ "$load" = none ] || start_low "$load"
began=$(now)
run "$app" >"$out.said" 2>/tmp/err
rc=$?
echo "elapsed $(($(now) - began)) cs" >>"$out.said"
# what waited for the load then did not have to wait longer
[ ! -e /tmp/low.ended ] || echo "load ended after $limit s" >>"$out.said"
stop_low "$out"
stop "$app" "$out"
# an application that timeout ended, or killed, is a result
case $rc in 124|137)
	tr '\r' '\n' </tmp/err >>"$out.said"
	echo "stopped after $limit s" >>"$out.said"
	rc=0 ;;
esac
# its figures do not count if this exits
mv "$out.said" "$out.unchecked"
[ "$rc" -eq 0 ] || die "$app: $rc: $(tail -n 3 /tmp/err "$out.unchecked")"
unmount_and_check
mv "$out.unchecked" "$out.said"
