#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench-btrfs`: sync on real btrfs beside low-priority readers of old data, the
# kernel's own driver and ours, all in one boot for each round, each run on a new filesystem,
# in an order that rotates from round to round.
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, the stock ones in QEMU
#   ROUNDS=5        1 with QUICK=1
#   VARIANTS=       of variants() below, all that the kernel has
#   LOAD=           options of syncbench
#
# Results: out/bench-btrfs-KERNEL/sync.{txt,svg,json}, and in a folder per round what each
# run said, its JSON, commit_stats, and what the committing tasks waited for (NAME.waits).
#
# The figures are ratios within one run: leave the machine alone meanwhile.

. "$(dirname "$0")/../harness/lib.sh"

bench=$TOP/selftests/bench
kernel=${KERNEL:-uml}
out=$TOP/out/bench-btrfs-$kernel
case ${QUICK:-0} in
0) rounds=5 duration=15s ;;
*) rounds=1 duration=8s ;;
esac
rounds=${ROUNDS:-$rounds}
# read again and again, with the tree blocks that hold its checksums: what memory pressure does
load=${LOAD:--r 128 -w 2 -b 4 --drop -D $duration}

# NAME, options of port.sh
variants()
{
	cat <<-END
		stock LOCKS=none
		eb LOCKS=eb
		roots COMMIT_ROOT=1
		eb-roots LOCKS=eb COMMIT_ROOT=1
	END
	# 7.x searches checksums in committed trees by itself
	case $(matrix_field "$kernel" version) in
	6.*) echo "eb-roots-csum LOCKS=eb COMMIT_ROOT=1 CSUM=1" ;;
	esac
}

# plan ROUND: the first variant another one each round
plan()
{
	local name
	echo 'load fscommit'
	# shellcheck disable=SC2086 # words
	for name in $(printf '%s\n' $names | awk -v r="$1" '
		{ v[NR] = $1 } END { for (i = 0; i < NR; i++) print v[(i + r - 1) % NR + 1] }'); do
		echo "test $name 300 btrfs_guest.sh btrfs-$name $name $load"
	done
	echo 'unload fscommit'
}

run()
{
	local name options ko tree modules=$CACHE/build/bench-btrfs-$kernel kmods=() r dir test rc
	PATH=$PATH:/usr/sbin:/sbin
	need_packages btrfs-progs gcc libc6-dev kmod python3-matplotlib
	rm -rf "$modules" "$out"
	mkdir -p "$modules" "$out" "$CACHE/build/bench" "$LOGS"
	gcc -O2 -Wall -Wextra -static -I"$TOP/selftests/lib" \
		-o "$CACHE/build/bench/syncbench" "$TOP/selftests/filesystems/bench/syncbench.c"
	names=${VARIANTS:-$(variants | cut -d' ' -f1)}
	tree=$("$HARNESS/stage.sh" "$kernel")
	for name in $names; do
		options=$(variants | sed -n "s/^$name //p")
		[ -n "$options" ] || die "VARIANTS: no variant '$name' of btrfs; there are:" \
			"$(variants | cut -d' ' -f1 | tr '\n' ' ')"
		# shellcheck disable=SC2086 # words
		ko=$("$TOP/ports/port.sh" btrfs "$kernel" $options) || exit 1
		strip -g -o "$modules/btrfs-$name.ko" "$ko"
	done
	for name in $(modinfo -F depends "$modules"/*.ko | tr , '\n' | sort -u); do
		[ "$name" = fscommit ] || kmods+=(--kmod "$name")
	done
	for r in $(seq "$rounds"); do
		dir=$out/round-$r
		mkdir -p "$dir"
		plan "$r" >"$CACHE/build/bench-btrfs.plan"
		: >"$LOGS/bench-btrfs.log"
		step "btrfs on $kernel, round $r of $rounds: $(wc -w <<<"$names") runs" "2 min" \
			"$LOGS/bench-btrfs.log" boot_and_follow "$dir" --timeout 1800 \
			--disk 1G --mem 1G --with mkfs.btrfs --with btrfs "${kmods[@]}" \
			"$kernel" "$CACHE/build/bench-btrfs.plan" "$tree/module/fscommit.ko" \
			"$modules"/*.ko "$CACHE/build/bench/syncbench" "$bench/btrfs_guest.sh" ||
			die "btrfs: $(cat "$dir/verdict" 2>/dev/null || echo 'the guest did not start'); see $dir"
		while read -r _ test rc _; do
			[ "$rc" -eq 0 ] || die "btrfs: $test failed ($rc); see $dir/result.txt"
		done < <(grep '^DONE ' "$dir/result.txt")
		sed -n 's/^TAP # //p' "$dir/result.txt" >"$dir/said"
	done
	/usr/bin/python3 "$bench/report_btrfs.py" --out "$out" "$out"/round-*
}

locked bench run
