#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests of the ported drivers.
#
#   run.sh quick           for `make test-all`: f2fs, and btrfs with SHARE_GATE=1, on uml, with
#                          a few crashes, and uml-debug; both with their defaults on 6.12; all
#                          locks of f2fs on 7.3 without a build; and the site check
#   run.sh smoke FS KERNEL [OPTION=VALUE...]
#                          one variant on one kernel, see port.sh; EDIT=NAME breaks it by a
#                          mutant
#   run.sh faults KERNEL   btrfs with COMMIT_ROOT=1, while allocations of fscommit fail
#   run.sh sites           the site check must find sites that spatch misses
#
# Debian's kernels poison freed memory (slub_debug=FZP), where the debug kernels have KASAN.
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed.

. "$(dirname "$0")/drivers.sh"
FSDIR=$FILESYSTEMS PORTS=$TOP/ports
# a sed script that breaks fscommit
edit=

# smoke FS KERNEL [OPTION=VALUE...]
smoke()
{
	local fs=$1 kernel=$2 out name m start=$SECONDS drivers=$LOGS/smoke-$1-$2.drivers driver
	local append=sysctl.kernel.hung_task_timeout_secs=900 boot product variant
	local extras=() disk=512M
	driver=$(IFS=,; printf '%s' "${*:3}")
	driver=${driver:-fscommit}
	if ! prepare_drivers "$fs" "$kernel" "$drivers" "$driver"; then
		result "$kernel" "$fs-build" FAIL $((SECONDS - start))
		return
	fi
	# shellcheck source=/dev/null
	. "$PORTS/$fs/options"
	name=$variant${edit:+-faults} out=$LOGS/$name-$kernel
	for m in "${@:3}"; do
		[[ $m != EDIT=* ]] || variant=${variant%-"${m#*=}"}
	done
	[ -z "$edit" ] ||
		cp "$("$HARNESS/stage.sh" "$kernel" "$edit")/module/fscommit.ko" "$drivers/"
	result "$kernel" "$name-build" ok $((SECONDS - start))
	# for other devices of its smoke test, and their checksums on 6.12
	[ "$fs" != btrfs ] || boot+=(--kmod loop --kmod xxhash_generic)
	[ "$(matrix_field "$kernel" kind)" != stock ] || append+=' slub_debug=FZP'
	driver=$(driver_file "$fs" "$driver")
	# A load on the debug kernel fails in its first second, if at all.
	run_guest "$kernel" "$name on $kernel" "20 s" "$out" --timeout 1700 \
		--append "$append" --disk "$disk" "${boot[@]}" "$kernel" "$out.plan" "$drivers"/*.ko \
		"$programs/filesystems/fsops" "$FSDIR"/{guest,smoke}_lib.sh "$FSDIR/$fs/smoke" \
		"${extras[@]}" <<-END
			${product:+load fscommit}
			load $driver
			test $name 1500 smoke $([ "$kernel" = uml-debug ] && echo 1 || echo 2) $variant
			unload $fs
			${product:+unload fscommit}
		END
}

# sites_of NAME COMMAND...: run a test of the site check
sites_of()
{
	local name=$1 start=$SECONDS
	shift
	if "$@" >&2; then
		result any "$name" ok $((SECONDS - start))
	else
		result any "$name" FAIL $((SECONDS - start))
	fi
}

# Before it builds anything, port.sh must refuse the source of another version than that of KDIR.
# Seen failing without the comparison.
other_source_is_refused()
{
	local kdir tree said
	kdir=$("$SCRIPTS/kernel.sh" get uml)/kdir
	tree=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-source.XXXXXX")
	mkdir -p "$tree/fs/f2fs"
	printf 'VERSION = 7\nPATCHLEVEL = 30\n' >"$tree/Makefile"
	said=$("$PORTS/port.sh" f2fs KSRC="$tree" KDIR="$kdir" 2>&1) || true
	rm -rf "$tree"
	printf '%s\n' "$said" | grep "is Linux 7.30, KDIR=$kdir is 7.3"
}

# crash FS DRIVER: a few crashes on uml; see crash/crash.sh. The docs give POINTS=, too.
crash()
{
	sites_of "crash_$1" env POINTS=10 DRIVERS="$2" "$FSDIR/crash/crash.sh" "$1" uml quick
}

sites()
{
	local source ko
	sites_of port_other_source other_source_is_refused
	sites_of port_sites "$FSDIR/sites_test.sh"
	source=$("$SCRIPTS/kernel.sh" source 7.3) || exit 1
	# If the port cannot be built, the test fails.
	ko=$("$PORTS/port.sh" btrfs uml SHARE_GATE=1) || ko=none/btrfs.ko
	sites_of btrfs_sites "$FSDIR/sites_test.sh" "$source/fs/btrfs" "$(dirname "$ko")/src"
}

case ${1:-} in
quick)
	programs=$(build_programs) || exit 1
	sites
	sites_of f2fs_all_locks "$PORTS/port.sh" f2fs 7.3 LOCKS=all CHECK=1
	# the order of an unmount differs
	smoke f2fs 6.12
	smoke btrfs 6.12
	for kernel in uml uml-debug; do
		smoke f2fs "$kernel"
		smoke btrfs "$kernel" SHARE_GATE=1
	done
	crash f2fs fscommit
	crash btrfs fscommit-all
	sites_of stress_btrfs env TESTS=full DURATION=30 DRIVERS=fscommit-all \
		"$FSDIR/stress/stress.sh" btrfs uml ;;
smoke)
	[ $# -ge 3 ] || die "run.sh smoke FS KERNEL [OPTION=VALUE...]"
	programs=$(build_programs) || exit 1
	smoke "${@:2}" ;;
faults)
	programs=$(build_programs) || exit 1
	edit=$(edit_of btrfs failing-allocations)
	smoke btrfs "${2:?KERNEL}" LOCKS=none COMMIT_ROOT=1 EXPEDITE=0 ;;
sites) sites ;;
*) exit_usage ;;
esac
print_results
