#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make stress-FS`, FS f2fs, btrfs or xfs: stress tests of our drivers, on a kernel with lockdep,
# KASAN and the filesystem's own assertions.
#
#   stress.sh FS [KERNEL]      [uml-debug]
#
# DURATION=300    seconds for each driver, approximately
# SEED=NUM        printed; default: from the time
# DRIVERS=LIST    drivers, separated by blanks, see drivers.sh
# TESTS=LIST      of: fio stress_ng freeze shutdown memory full chunks (btrfs)
#
# Each driver gets its own boot: KASAN may still have the shadow of an unloaded module.

. "$(dirname "$0")/../drivers.sh"

fs=${1:-} kernel=${2:-uml-debug}
case $fs in
f2fs|btrfs|xfs) ;;
*) exit_usage ;;
esac
duration=${DURATION:-300} seed=${SEED:-$(($(date +%s) % 1000000))}
drivers=${DRIVERS:-$(our_drivers "$fs")}
tests=${TESTS:-fio stress_ng freeze shutdown memory full chunks}
for n in "$duration" "$seed"; do
	[[ $n =~ ^[1-9][0-9]{0,5}$ ]] ||
		die "$n: DURATION and SEED must be numbers from 1 to 999999"
done
slow=2
programs=$(build_programs)
[ "$(matrix_field "$kernel" kind)" = uml ] || slow=10

need fio stress-ng
shutdown=()
if [ "$fs" = xfs ]; then
	need xfs_io
	shutdown=(--with xfs_io)
fi
disks=(--disk 768M)
[ "$fs" != btrfs ] || disks=(--disk 1G --disk 1G)
bad=0 boot=() product=''
for d in $drivers; do
	out=$LOGS/stress-$fs-$kernel-$(printf '%s' "$d" | tr -c 'A-Za-z0-9' _)
	prepare_drivers "$fs" "$kernel" "$out.drivers" "$d"
	file=$(driver_file "$fs" "$d")
	limit=$((duration * 2 * slow + 400))
	{
		[ -z "$product" ] || echo "load fscommit"
		echo "load $file"
		echo "test stress $limit stress_guest $fs $duration $seed $tests"
		echo "unload $fs"
		[ -z "$product" ] || echo "unload fscommit"
	} >"$out.plan"
	say "$fs, $d, on $kernel: SEED=$seed; all in $out"
	step "stress" "$((duration * 2)) s" "$out.log" \
		"$SCRIPTS/boot.sh" --out "$out" --timeout $((limit + 120)) --mem 2G \
		"${disks[@]}" --with fio --with stress-ng "${shutdown[@]}" "${boot[@]}" \
		"$kernel" "$out.plan" "$out.drivers"/*.ko \
		"$programs/filesystems/fsops" "$FILESYSTEMS/guest_lib.sh" \
		"$FILESYSTEMS/stress/stress_guest" || true
	verdict_of "$out" || { bad=1; say "  $fs, $d: see $out"; }
done
[ $bad -eq 0 ] || die "a stress test failed"
