#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench-harm`: what tasks that have nothing to do with the filesystem notice of lent priority.
# Stock f2fs and ours, in the same boot, in rotated order; each run gets a new filesystem.
#
#   KERNEL=uml      a kernel of the matrix
#   ROUNDS=5        rounds of all runs and drivers
#   DURATION=4      seconds of a run
#   RUNS=           see harm_guest.sh; default: cyclictest at priorities 2, 50 and 90, the share
#                   of a nice 0 task, and, on the PREEMPT_RT kernels, which have it, timerlat
#
#   ICOUNT=1        QEMU counts instructions, 1 ns each, on one CPU: nothing on the host adds to
#                   a latency, but a second takes a minute. The guest's clock goes on while it
#                   waits for its disk: on a busy host a run takes minutes of it, and may time out
#
# The table has the medians of all rounds, and the worst round. QEMU without KVM and User-Mode Linux
# add the jitter of the host: there, compare the drivers only.

. "$(dirname "$0")/../filesystems/drivers.sh"

kernel=${KERNEL:-uml} rounds=${ROUNDS:-5} seconds=${DURATION:-4}
runs='cyclictest:2 cyclictest:50 cyclictest:90 share:20'
[[ $kernel != *-rt* ]] || runs+=' timerlat:2 timerlat:50 timerlat:90'
runs=${RUNS:-$runs}
for n in "$rounds" "$seconds"; do
	[[ $n =~ ^[1-9][0-9]{0,2}$ ]] || die "$n: ROUNDS and DURATION must be numbers from 1 to 999"
done
PATH=$PATH:/usr/sbin:/sbin

measure()
{
	need_packages rt-tests f2fs-tools util-linux
	programs=$("$HARNESS/programs.sh")
	out=$LOGS/harm-$kernel${ICOUNT:+-icount} boot=() product=''
	drivers='VARIANT=stock default'
	guest=() slow=2
	[ "$(matrix_field "$kernel" kind)" = uml ] || guest=(--append preempt=full)
	if [ -n "${ICOUNT:-}" ]; then
		[ "$(matrix_field "$kernel" kind)" != uml ] || die "ICOUNT=1 needs a kernel for QEMU"
		guest+=(--icount) slow=100
	fi
	# shellcheck disable=SC2086 # a list
	prepare_drivers f2fs "$kernel" "$out.drivers" $drivers
	{
		echo "load $product"
		for round in $(seq "$rounds"); do
			for run in $runs; do
				# shellcheck disable=SC2086 # a list
				for d in $(rotate "$round" $drivers); do
					file=$(fs=f2fs driver_file "$d")
					echo "test $run/$file $((seconds * 10 + 120))" \
						"harm_guest.sh $file $run $seconds"
				done
			done
		done
		echo "unload $product"
	} >"$out.plan"
	n=$(grep -c '^test' "$out.plan")
	step "harm to others on $kernel: $n runs" "$((n * (seconds + 4))) s" "$out.log" \
		boot_and_follow "$out" --timeout $((n * (seconds * slow + 30) + 120)) --mem 2G \
		--disk 512M "${guest[@]}" \
		--with cyclictest --with chrt "${boot[@]}" "$kernel" "$out.plan" "$out.drivers"/*.ko \
		"$programs/filesystems/bench/fsyncbench" "$TOP/selftests/bench/harm_guest.sh" ||
		die "$(guest_verdict "$out"); see $out"
	! grep -qE '^DONE [^ ]+ ([^04]|[04][0-9])' "$out/result.txt" ||
		die "a run failed; see $out/result.txt"
}

# table: print a line for each run and driver: medians of the rounds, and the worst round
table()
{
	awk '
		function median(key,  i, j, t, v, n) {
			n = split(all[key], v, " ")
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {
					t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
				}
			return v[int((n + 1) / 2)]
		}
		/^TEST / { name = $2; if (!(name in seen)) { seen[name] = 1; names[++count] = name } }
		/^TAP # SKIP / { sub(/^TAP # SKIP/, ""); skipped[name] = $0 }
		/^TAP # FIGURES / {
			for (i = 4; i <= 8; i++)
				all[name, i] = all[name, i] " " $i
			rounds[name]++
			if ($7 > worst[name])
				worst[name] = $7
			if (!(name in least) || $5 < least[name])
				least[name] = $5
		}
		END {
			printf "%-16s %-16s %6s %8s %8s %8s %8s %8s %8s\n", "run", "driver", "rounds",
				"samples", "p50", "p99.9", "max", "worst", "syncs"
			for (i = 1; i <= count; i++) {
				split(names[i], part, "/")
				if (names[i] in skipped) {
					printf "%-16s skipped:%s\n", part[1], skipped[names[i]]
					continue
				}
				sub(/^f2fs-/, "", part[2])
				printf "%-16s %-16s %6d %8d %8d %8d %8d %8d %8d\n", part[1], part[2],
					rounds[names[i]], median(names[i] SUBSEP 4),
					median(names[i] SUBSEP 5), median(names[i] SUBSEP 6),
					median(names[i] SUBSEP 7),
					part[1] ~ /^share/ ? least[names[i]] : worst[names[i]],
					median(names[i] SUBSEP 8)
			}
		}' "$out/result.txt"
}

run()
{
	measure
	table | tee "$out/table.txt"
}

locked bench run
