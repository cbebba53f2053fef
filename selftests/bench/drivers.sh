# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The drivers that benchmarks compare on real filesystems: their names, how to build them, and what
# they run on. For f2fs.sh, btrfs.sh and apps.sh. Sourced after lib.sh, never run.

# Print lines `NAME PORT_OPTIONS [KNOBS]`; KNOBS are files of the mount in sysfs, or parameters of
# fscommit. The first three are the peers; cp-expedite is the default of `make f2fs`, and cp-nolinks
# the same without G10. The knobs of uplift, from 7.0 on, are stock f2fs's best defence against
# low-priority readers. stock-chain has no lock of ours, but waits in fsync as ours does
# (fsync_chain.cocci): what ours costs beyond that is the cost of the lock and the sections.
f2fs_variants()
{
	cat <<-END
		stock VARIANT=stock
		uplift VARIANT=stock adjust_lock_priority=127,lock_duration_priority=100,critical_task_priority=100
		stock-chain VARIANT=stock,FSYNC=chain
		f2fs-unfair VARIANT=f2fs-unfair
		cp LOCKS=cp_rwsem,EXPEDITE=0
		cp-expedite LOCKS=cp_rwsem,EXPEDITE=1
		cp-nolinks LOCKS=cp_rwsem,EXPEDITE=1 fscommit/lend_links=0
		all LOCKS=all,EXPEDITE=0
		all-expedite LOCKS=all,EXPEDITE=1
	END
}

# The same for btrfs; eb-roots-expedite is the default of `make btrfs`. Stock 7.x already searches
# checksums in committed trees. gate and always differ in when an fsync locks its range of the log.
btrfs_variants()
{
	cat <<-END
		stock VARIANT=stock
		eb LOCKS=eb,COMMIT_ROOT=0,EXPEDITE=0
		roots LOCKS=none,COMMIT_ROOT=1,EXPEDITE=0
		eb-roots LOCKS=eb,COMMIT_ROOT=1,EXPEDITE=0
		eb-roots-expedite LOCKS=eb,COMMIT_ROOT=1,EXPEDITE=1
		eb-roots-csum LOCKS=eb,COMMIT_ROOT=1,CSUM=1,EXPEDITE=0
		gate LOCKS=none,COMMIT_ROOT=0,SHARE_GATE=1,EXPEDITE=0
		always VARIANT=stock,EDIT=always_locks
		all LOCKS=eb,COMMIT_ROOT=1,CSUM=1,SHARE_GATE=1,EXPEDITE=0
	END
}

# variant_names FS KERNEL: print the variants of the filesystem that the kernel supports
variant_names()
{
	local without=-
	# f2fs has the knobs of uplift from 7.0 on
	case $1,$(matrix_field "$2" version) in
	f2fs,6.*) without=uplift ;;
	btrfs,[!6].*) without=eb-roots-csum ;;
	esac
	"$1_variants" | cut -d' ' -f1 | grep -vxe "$without"
}

# variant_field FS NAME NUMBER: a field of a variant's line. A variant cp-A-B of f2fs that has no
# line is cp_rwsem with EXTRA=A+B: cp-none, cp-evict, cp-evict-threads.
variant_field()
{
	local extra=${2#cp-}
	{
		"$1_variants"
		[ "$1" != f2fs ] || [ "$extra" = "$2" ] ||
			echo "$2 LOCKS=cp_rwsem,EXPEDITE=1,EXTRA=${extra//-/+}"
	} | awk -v n="$2" -v f="$3" '$1 == n { print $f; exit }'
}

# build_variants FS KERNEL FOLDER NAME...: build FOLDER/FS-NAME.ko of each variant; set kmods to the
# options of boot.sh for the modules that they need
build_variants()
{
	local fs=$1 kernel=$2 folder=$3 name options ko
	shift 3
	kmods=()
	rm -rf "$folder"
	mkdir -p "$folder"
	for name in "$@"; do
		options=$(variant_field "$fs" "$name" 2)
		[ -n "$options" ] || die "VARIANTS: $fs has no variant '$name'; it has:" \
			"$("$fs"_variants | cut -d' ' -f1 | tr '\n' ' ')" \
			"$([ "$fs" != f2fs ] || echo 'and cp-PATCH')"
		"$fs"_variants | grep "^$name " >/dev/null &&
			! variant_names "$fs" "$kernel" | grep -x "$name" >/dev/null &&
			die "VARIANTS: $kernel has no variant '$name'; it has:" \
				"$(variant_names "$fs" "$kernel" | tr '\n' ' ')"
		# shellcheck disable=SC2086 # words
		ko=$("$TOP/ports/port.sh" "$fs" "$kernel" ${options//,/ }) || exit 1
		strip -g -o "$folder/$fs-$name.ko" "$ko"
	done
	for name in $(modinfo -F depends "$folder"/*.ko | tr , '\n' | sort -u); do
		[ "$name" = fscommit ] || kmods+=(--kmod "$name")
	done
	# the driver requests these modules by name when it is mounted
	# shellcheck source=/dev/null
	for name in $(. "$TOP/ports/$fs/options" && echo "${kmods[@]}"); do
		kmods+=(--kmod "$name")
	done
}

# choose_medium MEDIUM: set store to the options of boot.sh, disk to the device in the guest, and
# title to its name. With ram, a request has no latency.
# shellcheck disable=SC2016,SC2034 # the guest expands $DISK; for the caller
choose_medium()
{
	case $1 in
	disk) store=(--disk 1G) disk='$DISK' title='a disk' ;;
	ram) store=(--kmod 'brd rd_nr=1 rd_size=1048576') disk=/dev/ram0
		title='a disk in memory' ;;
	*) die "MEDIUM=$1: must be disk or ram" ;;
	esac
}

# check_runs FS DIR: exit unless each test of the guest succeeded
check_runs()
{
	local test rc
	while read -r _ test rc _; do
		[ "$rc" -eq 0 ] || die "$1: $test failed ($rc):" \
			"$(sed -n "/^TEST $test\$/,/^DONE/s/^TAP //p" "$2/result.txt" | tail -n 1)"
	done < <(grep '^DONE ' "$2/result.txt")
}
