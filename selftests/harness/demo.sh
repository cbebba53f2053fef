#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make demo`: low-priority readers, busy tasks and one checkpoint writer, on each lock type in
# one boot of a stock kernel. KERNEL=NAME selects another kernel than 6.12.

. "$(dirname "$0")/lib.sh"

kernel=${KERNEL:-6.12}
out=$TOP/out/demo
matrix_field "$kernel" kind >/dev/null

say "fscommit demo: Linux $kernel in a virtual machine with two CPUs"
need_packages gcc make libc6-dev
tree=$("$HARNESS/stage.sh" "$kernel")
mkdir -p "$CACHE/build"
gcc -O2 -static -o "$CACHE/build/ckptlat" "$TOP/tools/ckptlat.c"

mkdir -p "$out"
common='-r 2 -D 1.4s --busy=4 --threads=8 --histogram=1000'
throttled='--reader-cpu-max=10 --reader-nice=0'
holders='--reader-policy=idle --reader-section=2000 --reader-interval=5000'
cat >"$CACHE/build/demo.plan" <<EOF
load fscommit
load fscommit_test
test nice19 100 mkdir -p /tmp/out; ckptlat $common --json=/tmp/out/nice19.json
test throttled 100 ckptlat $common $throttled --json=/tmp/out/throttled.json
test holders 100 ckptlat $common $holders --json=/tmp/out/holders.json
unload fscommit_test
unload fscommit
EOF
rm -f "$LOGS/demo.log"
step "running the readers against the checkpoint writer" "45 s" "$LOGS/demo.log" \
	"$HARNESS/boot.sh" --out "$out" --timeout 240 "$kernel" "$CACHE/build/demo.plan" \
	"$tree/module/fscommit.ko" "$tree/selftests/fscommit_test.ko" \
	"$CACHE/build/ckptlat" || die "the demo failed; see $out"

# table NAME: print the table of a run; save all of its output in NAME.txt
table()
{
	awk -v t="$1" '/^TEST / { on = $2 == t } on && sub(/^TAP /, "")' \
		"$out/result.txt" >"$out/$1.txt"
	sed -n "/^writer's wait/,/^unfair_rwsem/p" "$out/$1.txt"
}

echo
echo "Linux $(sed -n 's/^KERNEL \([^ ]*\) .*/\1/p' "$out/result.txt"), 2 CPUs, 4 busy tasks" \
	"at nice 0, one checkpoint writer at nice -20"
echo
echo "8 readers at nice 19:"
table nice19
echo
echo "8 readers in a cgroup that gets 10 % of a CPU (cpu.max):"
table throttled
echo
echo "8 SCHED_IDLE readers that hold the lock for 2 ms, and are preempted with it:"
table holders
echo
# the worst figure of the peers against the worst figure of unfair_rwsem
awk '
	FNR == 1 { run++ }
	run < 3 && /^rw_semaphore|^percpu_rw/ { if ($4 + 0 > peer) peer = $4 + 0 }
	run < 3 && /^unfair_rwsem/ { if ($2 + 0 > p99) p99 = $2 + 0 }
	run == 3 && /^rw_sem|^percpu|^f2fs/ { m = $(NF - 5) + 0; if (m > held) held = m }
	run == 3 && /^unfair_rwsem/ { max = $4 + 0 }
	END {
		printf "Under rw_semaphore and percpu_rw_semaphore a reader that had only been woken stalled the\n"
		printf "checkpoint for up to %.0f ms; under unfair_rwsem 99 of 100 checkpoints waited for at most %.3f ms.\n", peer, p99
		printf "SCHED_IDLE readers that held the lock for 2 ms stalled it for up to %.0f ms under the others;\n", held
		printf "unfair_rwsem lent them the writer'"'"'s priority, and the slowest checkpoint waited for %.1f ms.\n", max
	}' <(table nice19) <(table throttled) <(table holders)
echo
echo "Histograms: $out/{nice19,throttled,holders}.txt; JSON: the same with .json"
