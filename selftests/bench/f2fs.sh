# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086 # of bench.sh; lists are words
# The part f2fs of bench.sh: measure fsync on real f2fs beside low-priority writers, with the stock
# driver and the ported ones. A round is one boot. Each run gets a new filesystem, and the order of
# the variants rotates. Sourced, never run.
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, stock kernels in QEMU
#   ROUNDS=5        rounds of all variants and loads; 1 with QUICK=1
#   DURATION=4s     duration of a run; an unfinished fsync counts with its time so far
#   VARIANTS=       names of f2fs_variants in drivers.sh; default: all that the kernel supports
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

# f2fs_plan ROUND: print the plan: every variant with every load; another variant is the first in
# each round
f2fs_plan()
{
	local round=$1 load n class name knobs low
	echo 'load fscommit'
	for load in $loads; do
		n=${load%%:*} class=${load#*:}
		for name in $(rotate "$round" $variants); do
			knobs=$(variant_field f2fs "$name" 3)
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
	local dir=$1 usually=$2 runs
	mkdir -p "$dir"
	: >"$LOGS/bench-f2fs.log"
	runs=$(grep -c '^test' "$CACHE/build/bench-f2fs.plan")
	step "f2fs on $kernel, $(basename "$dir"): $runs runs" "$usually" "$LOGS/bench-f2fs.log" \
		boot_and_follow "$dir" --timeout 3600 --mem 3G "${store[@]}" \
		--with mkfs.f2fs --with fsck.f2fs --with chrt "${kmods[@]}" "$kernel" \
		"$CACHE/build/bench-f2fs.plan" "$tree/module/fscommit.ko" "$modules"/*.ko \
		"$CACHE/build/bench/fsyncbench" "$bench"/{driver,f2fs,f2fs_trace}_guest.sh ||
		die "f2fs: $(guest_verdict "$dir"); see $dir"
	check_runs f2fs "$dir"
}

f2fs()
{
	local kernel=${KERNEL:-uml} rounds duration loads variants usually name tree \
		modules kmods=() dir r store=() disk title
	PATH=$PATH:/usr/sbin:/sbin
	need_packages f2fs-tools util-linux
	case ${QUICK:-0},$kernel in
	0,uml*)	rounds=5 duration=4s usually='7 min'
		loads='8:nice:19 8:idle 32:nice:19 32:idle 8:alone' ;;
	0,*)	rounds=3 duration=10s usually='10 min' loads='8:nice:19 8:idle' ;;
	*)	rounds=1 duration=1s usually='1 min' loads='8:nice:19' ;;
	esac
	rounds=${ROUNDS:-$rounds} duration=${DURATION:-$duration} loads=${LOADS:-$loads}
	variants=${VARIANTS:-$(variant_names f2fs "$kernel" | grep -vx stock-chain)}
	[ "${TRACE:-0}" = 0 ] || variants=${VARIANTS:-cp-expedite}
	choose_medium "${MEDIUM:-disk}"
	dir=$out/f2fs-$kernel${CKPT:+-$CKPT}${MEDIUM:+-$MEDIUM}
	modules=$CACHE/build/bench-f2fs-$kernel
	mkdir -p "$dir"
	tree=$("$HARNESS/stage.sh" "$kernel")
	# shellcheck disable=SC2086 # words
	build_variants f2fs "$kernel" "$modules" $variants
	if [ "${TRACE:-0}" != 0 ]; then
		f2fs_traces
		return
	fi
	rm -rf "$dir"/round-*
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
