#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make demo`: low-priority readers, busy tasks and one checkpoint writer, on each lock type in
# one boot of a stock kernel, with preempt=full and then as the kernel boots. Print tables, and the
# path of a picture of them. KERNEL=NAME selects another kernel than 6.12.

. "$(dirname "$0")/lib.sh"

kernel=${KERNEL:-6.12}
out=$TOP/out/demo
matrix_field "$kernel" kind >/dev/null

say "fscommit demo: Linux $kernel in a virtual machine with two CPUs"
need gcc make libc.a /usr/bin/python3
tree=$("$HARNESS/stage.sh" "$kernel")
mkdir -p "$CACHE/build"
gcc -O2 -static -o "$CACHE/build/ckptlat" "$TOP/tools/ckptlat.c"

mkdir -p "$out"
common='-r 2 -D 1.2s --busy=4 --threads=8'
idle='--reader-policy=idle --reader-hold=500'
throttled='--reader-nice=0 --reader-cpu-max=10'
# as Debian's kernels boot
case $kernel in
6.*-rt) mode=full ;;
6.*) mode=voluntary ;;
*) mode=lazy ;;
esac
cat >"$CACHE/build/demo.plan" <<END
load fscommit
load fscommit_test
test idle 100 mkdir -p /tmp/out; ckptlat $common $idle --json=/tmp/out/idle.json
test throttled 100 ckptlat $common $throttled --json=/tmp/out/throttled.json
test default 100 echo $mode >/sys/kernel/debug/sched/preempt && ckptlat $common $idle --json=/tmp/out/default.json
unload fscommit_test
unload fscommit
END
rm -f "$LOGS/demo.log"
step "running the readers against the checkpoint writer" "40 s" "$LOGS/demo.log" \
	"$SCRIPTS/boot.sh" --out "$out" --timeout 240 --append preempt=full "$kernel" \
	"$CACHE/build/demo.plan" "$tree/module/fscommit.ko" "$tree/selftests/fscommit_test.ko" \
	"$CACHE/build/ckptlat" || die "the demo failed; see $out"
for run in idle throttled default; do
	grep "^DONE $run 0 " "$out/result.txt" >/dev/null || die "the run '$run' failed; see $out"
done

# table NAME TITLE: print the table of a run; save all of its output in NAME.txt
picture=()
table()
{
	awk -v t="$1" '/^TEST / { on = $2 == t } on && sub(/^TAP /, "")' \
		"$out/result.txt" >"$out/$1.txt"
	[ -e "$out/$1.json" ] || return 0
	printf '\n%s:\n' "$2"
	sed -n "/^writer's wait/,/^unfair_rwsem/p" "$out/$1.txt"
	picture+=("$out/$1.json" "$2")
}

release=$(sed -n 's/^KERNEL \([^ ]*\) .*/\1/p' "$out/result.txt")
echo
echo "Linux $release, 2 CPUs, 4 busy tasks at nice 0, one checkpoint writer at nice -20"
table idle "8 SCHED_IDLE readers that hold the lock for 0.5 ms, preempt=full"
table throttled "8 readers in a cgroup that gets 10 % of a CPU, preempt=full"
table default "8 SCHED_IDLE readers that hold the lock for 0.5 ms, preempt=$mode as the kernel boots"
echo
awk '
	/^(rw_sem|percpu|f2fs)/ { m = $(NF - 5) + 0; if (!least || m < least) least = m; if (m > most) most = m }
	/^unfair_rwsem/ { ours = $4 }
	END {
		printf "Low-priority readers stalled the slowest checkpoint for %.0f to %.0f ms under\n", least, most
		printf "the other locks, and for %.1f ms under unfair_rwsem.\n", ours
	}' < <(sed -n "/^writer's wait/,/^unfair_rwsem/p" "$out/idle.txt")
/usr/bin/python3 "$SCRIPTS/plot.py" "$out/demo.svg" "Linux $release: how long a checkpoint waits" \
	"${picture[@]}"
echo
echo "Picture: $out/demo.svg"
echo "Tables: $out/{idle,throttled,default}.txt; for programs: the same with .json"
