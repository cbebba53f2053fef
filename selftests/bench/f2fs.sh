# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086 # of bench.sh; lists are words
# The part f2fs of bench.sh: fsync on real f2fs beside writers of low priority, the kernel's
# own driver and ours, all in one boot, each run on a new filesystem, in an order that
# rotates from round to round; a boot for each round.
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, the stock ones in QEMU
#   ROUNDS=5        of all variants and loads; 1 with QUICK=1
#   DURATION=4s     of a run; what does not return within it counts with that time
#   VARIANTS=       of f2fs_variants below, all that the kernel has
#   LOADS=          like "8:nice:19 32:idle": low-priority tasks and what they are; there are
#                   nice:N, idle, weight:N and quota:PERCENT, see fsyncbench --help
#   BUSY=4          tasks at nice 0 that spin
#   MEDIUM=disk     or ram: a brd in the guest, which takes no time; what is left then is what
#                   tasks wait for each other and for a CPU
#   CKPT=           nice, fifo: f2fs's own threads at nice -20 or SCHED_FIFO, for all variants
#   TRACE=1         one more run of each load, traced on VARIANTS (ours if not named): where
#                   the time goes
# Sourced, never run.

# NAME, options of port.sh, knobs of the mount; the first three are the peers. The knobs are
# the most that stock f2fs has against low-priority readers, from 7.0 on.
f2fs_variants()
{
	cat <<-END
		stock VARIANT=stock
		uplift VARIANT=stock adjust_lock_priority=127,lock_duration_priority=100,critical_task_priority=100
		f2fs-unfair VARIANT=f2fs-unfair
		cp LOCKS=cp_rwsem,EXPEDITE=0
		cp-expedite LOCKS=cp_rwsem,EXPEDITE=1
		all LOCKS=all,EXPEDITE=0
		all-expedite LOCKS=all,EXPEDITE=1
		mutexes LOCKS=all+mutexes,EXPEDITE=0
		mutexes-expedite LOCKS=all+mutexes,EXPEDITE=1
	END
}

# f2fs_plan ROUND: every variant with every load, the first one another one each round
f2fs_plan()
{
	local round=$1 load n class name knobs low
	echo 'load fscommit'
	for load in $loads; do
		n=${load%%:*} class=${load#*:}
		for name in $(printf '%s\n' $variants | awk -v r="$round" '
			{ v[NR] = $1 } END { for (i = 0; i < NR; i++) print v[(i + r - 1) % NR + 1] }'); do
			knobs=$(f2fs_variants | awk -v n="$name" '$1 == n { print $3 }')
			low="-n $n --low=$class -b ${BUSY:-4}"
			# as many fsyncs for each, so that the work can be compared
			[ "$class" != alone ] || low="-n $n --low=nice:0 -b 0 --timed=nice:0 --period=1000000"
			echo "test $name.${load//:/-} 200 CKPT=${CKPT:-} DISK=$disk sh /fscommit/f2fs_guest.sh" \
				"f2fs-$name $name.${load//:/-}${knobs:+:$knobs} $low -D $duration" \
				"--title='f2fs, fsync: $title'"
		done
	done
	echo 'unload fscommit'
}

# f2fs_boot DIR USUALLY: the plan f2fs, with what it needs
f2fs_boot()
{
	local dir=$1 usually=$2 test rc
	mkdir -p "$dir"
	: >"$LOGS/bench-f2fs.log"
	step "f2fs on $kernel, $(basename "$dir"): $(grep -c '^test' "$CACHE/build/bench-f2fs.plan") runs" \
		"$usually" "$LOGS/bench-f2fs.log" boot_and_follow "$dir" --timeout 3600 --mem 3G \
		"${store[@]}" --with mkfs.f2fs --with fsck.f2fs --with chrt "${kmods[@]}" "$kernel" \
		"$CACHE/build/bench-f2fs.plan" "$tree/module/fscommit.ko" "$modules"/*.ko \
		"$CACHE/build/bench/fsyncbench" "$bench"/f2fs_guest.sh "$bench"/f2fs_trace_guest.sh ||
		die "f2fs: $(cat "$dir/verdict" 2>/dev/null || echo 'the guest did not start'); see $dir"
	while read -r _ test rc _; do
		[ "$rc" -eq 0 ] || die "f2fs: $test failed ($rc): $(sed -n "/^TEST $test\$/,/^DONE/s/^TAP //p" \
			"$dir/result.txt" | tail -n 1)"
	done < <(grep '^DONE ' "$dir/result.txt")
}

f2fs()
{
	local kernel=${KERNEL:-uml} rounds duration loads variants usually name options tree modules \
		kmods=() dir r ko store disk title
	PATH=$PATH:/usr/sbin:/sbin
	need_packages f2fs-tools util-linux
	case ${QUICK:-0},$kernel in
	0,uml*)	rounds=5 duration=4s loads='8:nice:19 8:idle 32:nice:19 32:idle 8:alone' usually='7 min' ;;
	0,*)	rounds=3 duration=10s loads='8:nice:19 8:idle' usually='10 min' ;;
	*)	rounds=1 duration=1s loads='8:nice:19' usually='1 min' ;;
	esac
	rounds=${ROUNDS:-$rounds} duration=${DURATION:-$duration} loads=${LOADS:-$loads}
	variants=${VARIANTS:-$(f2fs_variants | cut -d' ' -f1)}
	[ "${TRACE:-0}" = 0 ] || variants=${VARIANTS:-mutexes-expedite}
	# the disk's name is the guest's to expand
	# shellcheck disable=SC2016
	case ${MEDIUM:-disk} in
	disk) store=(--disk 1G) disk='$DISK' title='a disk' ;;
	ram) store=(--kmod 'brd rd_nr=1 rd_size=1048576') disk=/dev/ram0
		title='a disk in memory' ;;
	*) die "MEDIUM=$MEDIUM: is disk or ram" ;;
	esac
	# before 7.0 f2fs had none of these knobs
	case $(matrix_field "$kernel" version) in
	6.*) variants=$(printf '%s\n' $variants | grep -vx uplift) ;;
	esac
	dir=$out/f2fs-$kernel${CKPT:+-$CKPT}${MEDIUM:+-$MEDIUM}
	modules=$CACHE/build/bench-f2fs-$kernel
	rm -rf "$modules"
	mkdir -p "$modules" "$dir"
	tree=$("$HARNESS/stage.sh" "$kernel")
	for name in $variants; do
		options=$(f2fs_variants | awk -v n="$name" '$1 == n { print $2 }')
		[ -n "$options" ] || die "VARIANTS: no variant '$name' of f2fs; there are: $(f2fs_variants |
			cut -d' ' -f1 | tr '\n' ' ')"
		# shellcheck disable=SC2086 # words
		ko=$("$TOP/ports/port.sh" f2fs "$kernel" ${options//,/ }) || exit 1
		strip -g -o "$modules/f2fs-$name.ko" "$ko"
	done
	for name in $(modinfo -F depends "$modules"/*.ko | tr , '\n' | sort -u); do
		[ "$name" = fscommit ] || kmods+=(--kmod "$name")
	done
	# and what it asks for by name when it is mounted
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

# Where the time goes: one traced run for each load.
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
