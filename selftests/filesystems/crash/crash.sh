#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make crash-FS`, FS f2fs, btrfs, nilfs2 or xfs: crash a driver at many points, and check
# that nothing promised is lost.
#
#   crash.sh FS KERNEL         the stock driver and ours, in one boot; losses of the stock
#                              driver are printed, but are no failure
#   crash.sh FS KERNEL quick   our driver, few points, in about 20 seconds; of btrfs, no links, and
#                              folders stay
#   crash.sh FS KERNEL meta    test of the test: it must find broken promises
#
# POINTS=100      crashes of each driver
# SEED=NUM        seed of the workload and the points; printed; default: the time
# DURATION=30     seconds of workload for each driver
# MOUNT=OPTIONS   of the mount, for example fsync_mode=strict
# DRIVERS=LIST    drivers, separated by blanks, see drivers.sh
#
# Tasks race, so the same seed does not repeat a workload. A reported point belongs to that
# run; the output folder has what the guest printed.

. "$(dirname "$0")/../drivers.sh"

fs=${1:-} kernel=${2:-uml} mode=${3:-full}
case $fs in
f2fs) size=256M ;;
btrfs|nilfs2|xfs) size=384M ;;
*) exit_usage ;;
esac
case $mode in
full) points=100 duration=30 drivers="stock $(our_drivers "$fs")" ;;
quick) points=10 duration=4 drivers=$(our_drivers "$fs" | cut -d " " -f 1) ;;
meta)	points=6 duration=4 drivers=stock
	case $fs in
	# a driver that forgets what was shared
	btrfs) drivers+=" SHARE_GATE=1,EDIT=marks-nothing" ;;
	# a driver that omits a record in the log
	xfs) drivers+=" EDIT=size-not-logged" ;;
	esac ;;
*) die "crash.sh: no mode $mode: must be quick or meta" ;;
esac
points=${POINTS:-$points} duration=${DURATION:-$duration} seed=${SEED:-$(date +%s)}
drivers=${DRIVERS:-$drivers}
for n in "$points" "$duration" "$seed"; do
	[[ $n =~ ^[1-9][0-9]{0,9}$ ]] || die "$n: POINTS, DURATION and SEED must be numbers from 1"
done
if [ "$points" -gt 10000 ] || [ "$duration" -gt 3600 ]; then
	die "POINTS must be at most 10000, DURATION at most 3600"
fi
slow=1
[ "$(matrix_field "$kernel" kind)" = uml ] || slow=8
[ "$kernel" != uml-debug ] || slow=4

need dmsetup losetup
programs=$(build_programs)
out=$LOGS/crash-$fs-$kernel boot=() product=''
[ "$mode" = full ] || out=$out-$mode
# shellcheck disable=SC2086 # a list
prepare_drivers "$fs" "$kernel" "$out.drivers" $drivers

limit=$(((duration * 3 + points * 4 + 60) * slow))
n=0
{
	[ -z "$product" ] || echo "load fscommit"
	for d in $drivers; do
		file=$(driver_file "$fs" "$d")
		echo "load $file"
		run="MOUNT=${MOUNT:-} crash_guest $fs $file $points $seed $duration"
		# the kernel's own btrfs may lose renamed files and folders: see filesystems.rst
		[ "$mode-$fs" != quick-btrfs ] || run="PLAIN=1 $run"
		case $mode:$d in
		meta:*EDIT*)
			run="crash_guest $fs $file $((points * 8)) $seed $((duration * 5))"
			echo "test broken $((limit * 8)) $run" ;;
		meta:*)
			echo "test never $limit $run no-fsync"
			echo "test lying $limit LOSE=20 $run"
			n=$((n + 1)) ;;
		full:stock) echo "test $file $limit CONTROL=1 $run" ;;
		*) echo "test $file $limit $run" ;;
		esac
		n=$((n + 1))
		echo "unload $fs"
	done
	[ -z "$product" ] || echo "unload fscommit"
} >"$out.plan"

say "crashes of $fs on $kernel: $n runs of $points points, SEED=$seed; all in $out"
step "crashing, replaying, checking" "$((n * (duration + points) * slow)) s" "$out.log" \
	"$SCRIPTS/boot.sh" --out "$out" --timeout $((limit * (n + 8) + 60)) --mem 2G \
	--no-panic --disk "$size" --disk 1500M --kmod dm_log_writes --kmod loop \
	--with dmsetup --with losetup "${boot[@]}" \
	"$kernel" "$out.plan" "$out.drivers"/*.ko "$programs"/filesystems/crash/crash_* \
	"$FILESYSTEMS/guest_lib.sh" "$FILESYSTEMS/crash/crash_guest" || true
if [ "$mode" = meta ]; then
	# Each run must have tested all points and reported a loss.
	caught=$(grep -cE '^TAP not ok - .* of [0-9]+ crashes lost' "$out/result.txt") || true
	if [ "$caught" -ne "$n" ]; then
		verdict_of "$out" || true
		die "$caught of $n kinds of broken promises were found"
	fi
	echo "ok - $n kinds of broken promises were found"
	exit 0
fi
verdict_of "$out" || die "$fs lost something, or could not be tested; see $out"
