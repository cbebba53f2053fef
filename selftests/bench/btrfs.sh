#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench-btrfs`: measure sync on real btrfs beside low-priority readers of old data, with the
# stock driver and the ported ones. A round is one boot. Each run gets a new filesystem, and the
# order of the variants rotates.
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, stock kernels in QEMU
#   ROUNDS=5        number of rounds; 1 with QUICK=1
#   VARIANTS=       names of btrfs_variants in drivers.sh; default: all that the kernel supports, but
#                   gate, always and all
#   LOAD=           options of syncbench, for example -m MIB and -C CPUS for a cgroup of the
#                   readers: the table has its stall times
#   FSYNC='1 8'     instead, measure fsyncs of so many jobs of fio, each with a file of its own: the
#                   stock driver, one with SHARE_GATE=1, and one that always locks the log's range
#
# Results: out/bench-btrfs-KERNEL/sync.{txt,svg,json}, or fsync.txt. A folder per round has for each
# run the output, JSON, commit_stats, and the lock waits of the committing tasks (NAME.waits).
#
# The figures are ratios within one run. Keep the machine idle otherwise.

. "$(dirname "$0")/../harness/lib.sh"

bench=$TOP/selftests/bench
. "$bench/drivers.sh"
kernel=${KERNEL:-uml}
out=$TOP/out/bench-btrfs-$kernel
case ${QUICK:-0} in
0) rounds=5 duration=15s ;;
*) rounds=1 duration=8s ;;
esac
rounds=${ROUNDS:-$rounds}
fsync=${FSYNC:-}
# --drop makes readers read data and checksum tree blocks again, as memory pressure does
load=${LOAD:--r 128 -w 2 -b 4 --drop -D $duration}

# plan ROUND: print the plan; another variant is the first in each round
plan()
{
	local name jobs run
	echo 'load fscommit'
	for jobs in $fsync; do
		# shellcheck disable=SC2086 # words
		for name in $(rotate "$1" $names); do
			run="btrfs_guest.sh btrfs-$name $name-$jobs --fio $jobs"
			echo "test $name-$jobs 300 $run"
		done
	done
	[ -z "$fsync" ] || { echo 'unload fscommit'; return; }
	# shellcheck disable=SC2086 # words
	for name in $(rotate "$1" $names); do
		echo "test $name 300 btrfs_guest.sh btrfs-$name $name $load"
	done
	echo 'unload fscommit'
}

run()
{
	local tree modules=$CACHE/build/bench-btrfs-$kernel kmods=() r dir extra=()
	PATH=$PATH:/usr/sbin:/sbin
	need_packages btrfs-progs gcc libc6-dev kmod python3-matplotlib
	rm -rf "$out"
	mkdir -p "$out" "$CACHE/build/bench" "$LOGS"
	programs=$("$HARNESS/programs.sh") || die "cannot build the programs"
	names=$(variant_names btrfs "$kernel" | grep -vxE 'gate|always|all')
	if [ -n "$fsync" ]; then
		names='stock gate always'
		need_packages fio
		extra=(--with fio)
	fi
	names=${VARIANTS:-$names}
	tree=$("$HARNESS/stage.sh" "$kernel")
	# shellcheck disable=SC2086 # words
	build_variants btrfs "$kernel" "$modules" $names
	for r in $(seq "$rounds"); do
		dir=$out/round-$r
		mkdir -p "$dir"
		plan "$r" >"$CACHE/build/bench-btrfs.plan"
		: >"$LOGS/bench-btrfs.log"
		step "btrfs on $kernel, round $r of $rounds: $(wc -w <<<"$names") runs" "2 min" \
			"$LOGS/bench-btrfs.log" boot_and_follow "$dir" --timeout 1800 \
			--disk 1G --mem 1G --with mkfs.btrfs --with btrfs "${extra[@]}" \
			"${kmods[@]}" \
			"$kernel" "$CACHE/build/bench-btrfs.plan" "$tree/module/fscommit.ko" \
			"$modules"/*.ko "$programs/filesystems/bench/syncbench" \
			"$bench"/{driver,btrfs}_guest.sh ||
			die "btrfs: $(guest_verdict "$dir"); see $dir"
		check_runs btrfs "$dir"
		sed -n 's/^TAP # //p' "$dir/result.txt" >"$dir/said"
	done
	/usr/bin/python3 "$bench/report_btrfs.py" --out "$out" "$out"/round-*
}

locked bench run
