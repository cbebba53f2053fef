# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086 # of bench.sh; lists are words
# The part f2fs of bench.sh: measure fsync on real f2fs beside low-priority writers, with the stock
# driver and the ported ones. A round is one boot. Each run gets a new filesystem, and the order of
# the variants rotates. Sourced, never run.
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, stock kernels in QEMU
#   ROUNDS=5        rounds of all variants and loads; 1 with QUICK=1
#   DURATION=4s     duration of a run; an unfinished fsync counts with its time so far
#   VARIANTS=       names of f2fs_variants below; default: all that the kernel supports
#   LOADS=          number and kind of low-priority tasks, for example "8:nice:19 32:idle"; kinds
#                   are nice:N, idle, weight:N (a cgroup with this cpu.weight) and
#                   quota:PERCENT, see fsyncbench --help. N:fsync:KIND call fsync, too.
#                   N:alone are tasks at nice 0 without BUSY. N:rt are those beside a SCHED_FIFO
#                   task on each CPU that takes 50 % of it
#   BUSY=4          number of tasks at nice 0 that spin
#   MEDIUM=disk     or ram: a brd in the guest, which has no latency, so that only waits for
#                   tasks and CPUs remain
#   CKPT=           nice or fifo: run f2fs's threads at nice -20 or SCHED_FIFO, in all variants
#   TRACE=1         instead, trace one run of each load and variant (default: cp-expedite)
#                   and print where the time goes

# Print lines `NAME PORT_OPTIONS [KNOBS]`; KNOBS are files of the mount in sysfs, or parameters of
# fscommit. The first three are the peers; cp-expedite is the default of `make f2fs`, and cp-nolinks
# the same without G10. The knobs of uplift, from 7.0 on, are stock f2fs's best defence against
# low-priority readers.
f2fs_variants()
{
	cat <<-END
		stock VARIANT=stock
		uplift VARIANT=stock adjust_lock_priority=127,lock_duration_priority=100,critical_task_priority=100
		f2fs-unfair VARIANT=f2fs-unfair
		cp LOCKS=cp_rwsem,EXPEDITE=0
		cp-expedite LOCKS=cp_rwsem,EXPEDITE=1
		cp-nolinks LOCKS=cp_rwsem,EXPEDITE=1 fscommit/lend_links=0
		all LOCKS=all,EXPEDITE=0
		all-expedite LOCKS=all,EXPEDITE=1
		mutexes LOCKS=all+mutexes,EXPEDITE=0
		mutexes-expedite LOCKS=all+mutexes,EXPEDITE=1
	END
}

# variant_field NAME NUMBER: a field of a line of f2fs_variants. A variant cp-A-B that has no line
# is cp_rwsem with EXTRA=A+B: cp-none, cp-evict, cp-evict-threads.
variant_field()
{
	local extra=${1#cp-}
	{
		f2fs_variants
		[ "$extra" = "$1" ] ||
			echo "$1 LOCKS=cp_rwsem,EXPEDITE=1,EXTRA=${extra//-/+}"
	} | awk -v n="$1" -v f="$2" '$1 == n { print $f; exit }'
}

# f2fs_plan ROUND: print the plan: every variant with every load; another variant is the first in
# each round
f2fs_plan()
{
	local round=$1 load n class name knobs low
	echo 'load fscommit'
	for load in $loads; do
		n=${load%%:*} class=${load#*:}
		for name in $(rotate "$round" $variants); do
			knobs=$(variant_field "$name" 3)
			low="-n $n --low=$class -b ${BUSY:-4}"
			# the same rate of fsyncs in all variants, so that the work is comparable
			case $class in
			fsync:*) low="-n $n --low=${class#fsync:} --low-fsync -b ${BUSY:-4}" ;;
			alone) low="-n $n --low=nice:0 -b 0 --timed=nice:0 --period=1000000" ;;
			rt) low="-n $n --low=nice:0 -b 0 --rt=50" ;;
			esac
			echo "test $name.${load//:/-} 200" \
				"CKPT=${CKPT:-} DISK=$disk sh /fscommit/f2fs_guest.sh" \
				"f2fs-$name $name.${load//:/-}${knobs:+:$knobs} $low -D $duration" \
				"--title='f2fs, fsync: $title'"
		done
	done
	echo 'unload fscommit'
}

# f2fs_boot DIR USUALLY: boot a guest with the plan f2fs
f2fs_boot()
{
	local dir=$1 usually=$2 test rc runs
	mkdir -p "$dir"
	: >"$LOGS/bench-f2fs.log"
	runs=$(grep -c '^test' "$CACHE/build/bench-f2fs.plan")
	step "f2fs on $kernel, $(basename "$dir"): $runs runs" "$usually" "$LOGS/bench-f2fs.log" \
		boot_and_follow "$dir" --timeout 3600 --mem 3G "${store[@]}" \
		--with mkfs.f2fs --with fsck.f2fs --with chrt "${kmods[@]}" "$kernel" \
		"$CACHE/build/bench-f2fs.plan" "$tree/module/fscommit.ko" "$modules"/*.ko \
		"$CACHE/build/bench/fsyncbench" "$bench"/f2fs{,_trace}_guest.sh ||
		die "f2fs: $(guest_verdict "$dir"); see $dir"
	while read -r _ test rc _; do
		[ "$rc" -eq 0 ] || die "f2fs: $test failed ($rc):" \
			"$(sed -n "/^TEST $test\$/,/^DONE/s/^TAP //p" "$dir/result.txt" |
				tail -n 1)"
	done < <(grep '^DONE ' "$dir/result.txt")
}

f2fs()
{
	local kernel=${KERNEL:-uml} rounds duration loads variants usually name options tree \
		modules kmods=() dir r ko store disk title
	PATH=$PATH:/usr/sbin:/sbin
	need_packages f2fs-tools util-linux
	case ${QUICK:-0},$kernel in
	0,uml*)	rounds=5 duration=4s usually='7 min'
		loads='8:nice:19 8:idle 32:nice:19 32:idle 8:alone' ;;
	0,*)	rounds=3 duration=10s usually='10 min' loads='8:nice:19 8:idle' ;;
	*)	rounds=1 duration=1s usually='1 min' loads='8:nice:19' ;;
	esac
	rounds=${ROUNDS:-$rounds} duration=${DURATION:-$duration} loads=${LOADS:-$loads}
	variants=${VARIANTS:-$(f2fs_variants | cut -d' ' -f1)}
	[ "${TRACE:-0}" = 0 ] || variants=${VARIANTS:-cp-expedite}
	# the guest expands $DISK
	# shellcheck disable=SC2016
	case ${MEDIUM:-disk} in
	disk) store=(--disk 1G) disk='$DISK' title='a disk' ;;
	ram) store=(--kmod 'brd rd_nr=1 rd_size=1048576') disk=/dev/ram0
		title='a disk in memory' ;;
	*) die "MEDIUM=$MEDIUM: must be disk or ram" ;;
	esac
	# f2fs has the knobs of uplift from 7.0 on
	case $(matrix_field "$kernel" version) in
	6.*) variants=$(printf '%s\n' $variants | grep -vx uplift) ;;
	esac
	dir=$out/f2fs-$kernel${CKPT:+-$CKPT}${MEDIUM:+-$MEDIUM}
	modules=$CACHE/build/bench-f2fs-$kernel
	rm -rf "$modules"
	mkdir -p "$modules" "$dir"
	tree=$("$HARNESS/stage.sh" "$kernel")
	for name in $variants; do
		options=$(variant_field "$name" 2)
		[ -n "$options" ] || die "VARIANTS: f2fs has no variant '$name'; it has:" \
			"$(f2fs_variants | cut -d' ' -f1 | tr '\n' ' ')and cp-PATCH"
		# shellcheck disable=SC2086 # words
		ko=$("$TOP/ports/port.sh" f2fs "$kernel" ${options//,/ }) || exit 1
		strip -g -o "$modules/f2fs-$name.ko" "$ko"
	done
	for name in $(modinfo -F depends "$modules"/*.ko | tr , '\n' | sort -u); do
		[ "$name" = fscommit ] || kmods+=(--kmod "$name")
	done
	# f2fs requests these modules by name when it is mounted
	# shellcheck source=/dev/null
	for name in $(. "$TOP/ports/f2fs/options" && echo "${kmods[@]}"); do
		kmods+=(--kmod "$name")
	done
	if [ "${TRACE:-0}" != 0 ]; then
		f2fs_traces
		return
	fi
	for r in $(seq "$rounds"); do
		f2fs_plan "$r" >"$CACHE/build/bench-f2fs.plan"
		f2fs_boot "$dir/round-$r" "$usually"
	done
	/usr/bin/python3 "$bench/merge_fsync.py" "$dir/fsync.json" "$dir"/round-*/*.json
	files+=("$dir/fsync.json")
}

# Trace one run of each load and variant, and print where the time goes.
f2fs_traces()
{
	local load name
	f2fs_plan 1 | sed 's: CKPT=: TRACE=1&:' >"$CACHE/build/bench-f2fs.plan"
	f2fs_boot "$dir-traces" '2 min'
	for load in $loads; do
		for name in $variants; do
			/usr/bin/python3 "$bench/fsync_causes.py" \
				--json "$dir-traces/causes-$name.${load//:/-}.json" \
				"$dir-traces/$name.${load//:/-}.trace" |
				tee "$dir-traces/causes-$name.${load//:/-}.txt"
		done
	done
}
