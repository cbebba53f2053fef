#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make crash-f2fs`, `make crash-btrfs`: crashes a driver at many points of a workload, and
# looks whether all is there that was promised.
#
#   crash.sh FS KERNEL         the stock driver and ours, in one boot; what stock loses is
#                              said, and is no failure
#   crash.sh FS KERNEL quick   ours, few points, in some 20 seconds
#   crash.sh FS KERNEL meta    the test of the test: broken promises must be found
#
# POINTS=100      crashes of each driver
# SEED=NUM        of the workload and the points; printed, the time if not given
# DURATION=30     seconds of the workload of each driver
# LATE=MS         writes to every other block take so long, and flushes do not: what an fsync
#                 does not wait for is lost
# DRIVERS=LIST    port.sh's options of each, with commas between; `default` has none
#
# The workload is not the same twice, with one seed either: tasks race. A point that has
# lost something is one of that run; its folder has what the guest said.

. "$(dirname "$0")/../drivers.sh"

fs=${1:-} kernel=${2:-uml} mode=${3:-full}
case $fs in
f2fs) size=256M ;;
btrfs) size=384M ;;
*) sed -n '3,/^$/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
case $mode in
full) points=100 duration=30 drivers="$(control_driver "$fs") $(our_drivers "$fs")" ;;
quick) points=10 duration=4 drivers=$(our_drivers "$fs" | cut -d " " -f 1) ;;
meta) points=6 duration=4 drivers=$(control_driver "$fs") ;;
*) die "crash.sh: $mode is none of: quick, meta" ;;
esac
points=${POINTS:-$points} duration=${DURATION:-$duration} seed=${SEED:-$(date +%s)} late=${LATE:-0}
drivers=${DRIVERS:-$drivers}
for n in "$points" "$duration" "$seed"; do
	[[ $n =~ ^[1-9][0-9]{0,9}$ ]] || die "POINTS, DURATION and SEED are numbers from 1: $n is not"
done
if [ "$points" -gt 10000 ] || [ "$duration" -gt 3600 ]; then
	die "at most POINTS=10000 DURATION=3600"
fi
[[ $late =~ ^[0-9]{1,3}$ ]] || die "LATE is a number of milliseconds, up to 999: $late is not"
slow=1
[ "$(matrix_field "$kernel" kind)" = uml ] || slow=8
[ "$kernel" != uml-debug ] || slow=4

need_packages dmsetup util-linux mount
programs=$("$HARNESS/programs.sh")
out=$LOGS/crash-$fs-$kernel boot=() product=''
[ "$mode" = full ] || out=$out-$mode
# shellcheck disable=SC2086 # a list
prepare_drivers "$fs" "$kernel" "$out.drivers" $drivers

delay=() load_delay=''
[ "$late" -eq 0 ] || prepare_delay "$kernel" "$out.drivers"

# A run with next to no promises proves nothing: one in two seconds is far below what any
# of them makes.
least=$((duration / 2 > 0 ? duration / 2 : 1))
limit=$(((duration * 3 + points * 4 + 60) * slow))
n=0
{
	[ -z "$load_delay" ] || echo "$load_delay"
	[ -z "$product" ] || echo "load fscommit"
	for d in $drivers; do
		file=$(driver_file "$d")
		echo "load $file"
		run="LATE=$late crash_guest $fs $file $points $seed $duration $least"
		case $mode in
		meta)
			echo "test early $limit $run 0 --mark-early"
			echo "test never $limit $run 0 --no-fsync"
			echo "test lying $limit $run 20"
			n=$((n + 3)) ;;
		*)
			[[ $d = "$(control_driver "$fs")" && $mode = full ]] && run="CONTROL=1 $run"
			echo "test $file $limit $run"
			n=$((n + 1)) ;;
		esac
		echo "unload $fs"
	done
	[ -z "$product" ] || echo "unload fscommit"
} >"$out.plan"

say "crashes of $fs on $kernel: $n runs of $points points, SEED=$seed; all in $out"
step "crashing, replaying, checking" "$((n * (duration + points) * slow)) s" "$out.log" \
	"$HARNESS/boot.sh" --out "$out" --timeout $((limit * n + 60)) --mem 2G \
	--disk "$size" --disk 1500M --kmod dm_log_writes --kmod loop \
	--with dmsetup --with losetup "${boot[@]}" "${delay[@]}" \
	"$kernel" "$out.plan" "$out.drivers"/*.ko "$programs"/filesystems/crash/crash_* \
	"$FILESYSTEMS/crash/crash_guest" || true
if [ "$mode" = meta ]; then
	# each of the three must have crashed everywhere, and must have been caught
	caught=$(grep -cE '^TAP not ok - .* of [0-9]+ crashes lost' "$out/result.txt") || true
	if [ "$caught" -ne 3 ]; then
		verdict_of "$out" || true
		die "$caught of 3 kinds of broken promises were found"
	fi
	echo "ok - three kinds of broken promises were found"
	exit 0
fi
verdict_of "$out" || die "$fs lost something, or could not be tested; see $out"
