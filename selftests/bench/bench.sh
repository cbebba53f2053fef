#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench-PART`: measure a part of fscommit, or filesystems on it, in guests.
#
#   bench.sh [PART...]      default: all but apps
#
#   locks      the lock and its peers: the wait of a checkpoint writer, a mix, a bound, costs
#   csum diff share         commit roots, COW diff, share gate
#   f2fs       fsync beside low-priority writers (fsync_guest.sh)
#   btrfs      sync beside low-priority readers of old data; with LOADS='1:fio 8:fio'
#              VARIANTS='stock gate always-locked', fsyncs by jobs of fio
#   harm       what tasks that have nothing to do with the filesystem notice of lent priority
#   apps       applications on FS=f2fs or btrfs, see apps.sh
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, stock kernels in QEMU. For the
#                   first two lines it may be a list
#   ROUNDS=         rounds of all runs and drivers; DURATION= seconds of a run
#   QUICK=1         a few short runs, which check these scripts
#   VARIANTS=       drivers, see selftests/filesystems/drivers.sh
#   LOADS=          number and kind of low-priority tasks, for example '8:nice:19 32:idle'; of harm
#                   its runs, see harm_guest.sh; of apps also none
#   BUSY=4          number of tasks at nice 0 that spin
#   SCHEDULER=      of the disk's I/O, with MEDIUM=disk: none, mq-deadline or bfq
#   MEDIUM=ram      a disk in the guest's memory, whose requests have no latency; disk: a file in the
#                   host's memory; or crypt: dm-crypt on that disk, in QEMU
#   PREEMPT=full    preemption of a kernel in QEMU; PREEMPT= leaves it as the kernel boots
#   ICOUNT=1        QEMU counts instructions, 1 ns each, on one CPU: whatever else the host does, a
#                   time shows what a driver costs. A second takes a minute
#   FS=f2fs APPS= NICE=-10 LIMIT=100   of apps: the application's nice value, and the seconds after
#                   DURATION at which a run is stopped
#
# A round is a boot. All drivers run in it, each run on a new filesystem, and another driver is the
# first in each round. Tables go to stdout and, with a head of comment lines, to
# out/bench/PART-KERNEL/*.tsv. The folders beside them have what the guests printed.
#
# The figures are ratios within one run. Keep the machine idle otherwise. QEMU without KVM and
# User-Mode Linux add the jitter of the host.

. "$(dirname "$0")/../filesystems/drivers.sh"

bench=$TOP/selftests/bench
. "$bench/apps.sh"

# about PART KERNEL ROUNDS: write the head of the data files
about()
{
	local v command="make bench-$1"
	for v in FS KERNEL ROUNDS DURATION QUICK APPS LOADS VARIANTS BUSY MEDIUM SCHEDULER NICE \
		LIMIT PREEMPT ICOUNT; do
		[ -z "${!v+set}" ] || command+=" $v='${!v}'"
	done
	cat <<-END
		# command: $command
		# date: $(date -I)
		# commit: $(git -C "$TOP" describe --always --dirty 2>/dev/null || echo unknown)
		# machine: $(nproc) of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)
		# kernel: $2 $(cat "$CACHE/kernels/$2/release")
		# rounds: $3
	END
}

is_uml() { [ "$(matrix_field "$1" kind)" = uml ]; }

# check_runs DIR: exit unless each test of the guest succeeded
check_runs()
{
	local test rc
	while read -r _ test rc _; do
		# 4: skipped
		[ "$rc" -eq 0 ] || [ "$rc" -eq 4 ] || die "$test failed ($rc):" \
			"$(sed -n "/^TEST ${test//\//\\/}\$/,/^DONE/s/^TAP //p" "$1/result.txt" | tail -n 1)"
	done < <(grep '^DONE ' "$1/result.txt")
}

# boot DIR SECONDS OPTION...: boot a guest with the plan DIR.plan
boot()
{
	local dir=$1 seconds=$2 n
	shift 2
	n=$(grep -c '^test' "$dir.plan")
	: >"$LOGS/bench.log"
	step "${dir#"$out/"}: $n runs" "$seconds s" "$LOGS/bench.log" boot_and_follow "$dir" \
		--timeout $((seconds * 5 + 1800)) "$@" || die "$(guest_verdict "$dir"); see $dir"
	check_runs "$dir"
}

# --- programs of the parts --------------------------------------------------------

# programs FOLDER KERNEL SECONDS [OPTION...]: run the programs of a part of selftests in a guest;
# stdin has lines `NAME COMMAND`. Each table that they print becomes NAME.tsv.
programs()
{
	local folder=$1 kernel=$2 seconds=$3 dir=$out/$part-$2 tree modules m name command
	shift 3
	tree=$("$HARNESS/stage.sh" "$kernel")
	case $folder in
	unfair_rwsem) modules=fscommit_test ;;
	*) modules="cow_tree_test ${folder}_test" ;;
	esac
	rm -rf "$dir"
	mkdir -p "$dir"
	{
		# shellcheck disable=SC2086 # a list
		printf 'load %s\n' fscommit $modules
		while read -r name command; do
			echo "test $name $seconds $command"
		done
		for m in $(tac -s ' ' <<<"$modules ") fscommit; do
			echo "unload $m"
		done
	} >"$dir/guest.plan"
	about "$part" "$kernel" "$rounds" >"$dir/about"
	boot "$dir/guest" "$seconds" "$@" "$kernel" "$dir/guest.plan" "$tree/module/fscommit.ko" \
		"$tree"/selftests/*_test.ko "$built/$folder/bench"/* "$built/tools/ckptlat"
	/usr/bin/python3 "$bench/figures.py" programs "$dir" "$dir/guest/result.txt"
}

# settings ROUNDS DURATION: set rounds and duration of programs
settings()
{
	[ "${QUICK:-0}" = 0 ] || set -- 1 0.5
	rounds=${ROUNDS:-$1} duration=${DURATION:-$2}
	duration=${duration%s}s
}

part_locks()
{
	local kernel ckptlat
	settings 5 2
	ckptlat="ckptlat -r $rounds -D $duration"
	for kernel in ${KERNEL:-uml 6.12}; do
		if [ "${ICOUNT:-}" ]; then
			# a round is shorter than a tick, so the minimum contains no tick
			programs unfair_rwsem "$kernel" 200 --icount \
				<<<"pairs lockbench pairs -r 20 -n 10000 --unit=instructions"
			continue
		fi
		{
			echo "nice19 $ckptlat"
			echo "idle $ckptlat --reader-policy=idle"
			echo "weight $ckptlat --reader-nice=0 --reader-cpu-weight=1"
			is_uml "$kernel" ||
				echo "throttled $ckptlat --reader-nice=0 --reader-cpu-max=20"
			echo "holders $ckptlat --reader-policy=idle --reader-hold=2000" \
				--reader-interval=5000
			echo "fifo $ckptlat -p 1"
			echo "mix lockbench mix -r $rounds -D $duration"
			echo "bound lockbench bound -r $rounds -D $duration"
			# ICOUNT=1 tells the cost in QEMU
			! is_uml "$kernel" || printf '%s\n' \
				"pairs lockbench pairs -r $((rounds * 20))" \
				"scaling lockbench scaling -r $rounds -D $duration"
		} | programs unfair_rwsem "$kernel" 300
	done
}

part_csum()
{
	local kernel
	settings 2 4
	# not on User-Mode Linux, where a per-CPU counter costs more than a search
	for kernel in ${KERNEL:-6.12}; do
		programs commit_root "$kernel" 1500 <<-END
			commits csumbench -r $rounds -D $duration
		END
	done
}

# the blocks that three walkers mark after a tree has changed
part_diff()
{
	local kernel keys=100000
	settings 3 1
	[ "${QUICK:-0}" = 0 ] || keys=10000
	for kernel in ${KERNEL:-uml}; do
		programs cow_diff "$kernel" 300 <<<"diff diffbench -r $rounds -k $keys"
	done
}

# fsyncs by 1 to 1,024 jobs, without and with shared extents
part_share()
{
	local kernel most
	settings 5 0.5
	most=$([ "${QUICK:-0}" = 0 ] && echo 1024 || echo 64)
	for kernel in ${KERNEL:-6.12}; do
		programs share_gate "$kernel" 900 <<-END
			share sharebench -r $rounds -D $duration --max-jobs=$most
			shared sharebench -s 10 --min-jobs=16 --max-jobs=128 -r $rounds -D $duration
		END
	done
}

# --- filesystems --------------------------------------------------------------------

# choose DURATION LOADS ROUNDS: set what the variables do not
choose()
{
	kernel=${KERNEL:-uml} rounds=${ROUNDS:-$3} duration=${DURATION:-$1} loads=${LOADS:-$2}
	case $fs,$(matrix_field "$kernel" version) in
	f2fs,6.*) variants='stock f2fs-unfair fscommit fscommit-all' ;;
	# stock-tuned has knobs from 7.0 on
	f2fs,*) variants='stock stock-tuned f2fs-unfair fscommit fscommit-all' ;;
	*) variants='stock fscommit fscommit-all' ;;
	esac
	if [ "${QUICK:-0}" != 0 ]; then
		rounds=${ROUNDS:-1} duration=${DURATION:-1} loads=${LOADS:-${2##* }}
	fi
	variants=${VARIANTS:-$variants} duration=${duration%s}
	[[ $rounds =~ ^[1-9][0-9]*$ && $duration =~ ^[1-9][0-9]*$ ]] ||
		die "ROUNDS and DURATION must be numbers from 1"
}

# prepare NAME: build the drivers; set dir, disk, store, environment, limit, and options for boot.sh
# shellcheck disable=SC2016 # the guest expands $DISK
prepare()
{
	options=(--mem 2G) slow=1 first=()
	case ${MEDIUM:-ram} in
	disk)	store=(--disk 1G) disk='$DISK'
		case ${SCHEDULER:-none} in
		none) ;;
		mq-deadline|bfq) is_uml "$kernel" || store+=(--kmod "$SCHEDULER") ;;
		*) die "SCHEDULER=$SCHEDULER: must be none, mq-deadline or bfq" ;;
		esac ;;
	crypt)	! is_uml "$kernel" || die "MEDIUM=crypt: $kernel has no dm-crypt"
		store=(--disk 1G --kmod dm-crypt --with dmsetup) disk='$DISK' ;;
	ram)	store=(--kmod 'brd rd_nr=1 rd_size=1048576') disk=/dev/ram0 ;;
	*) die "MEDIUM=$MEDIUM: must be ram, disk or crypt" ;;
	esac
	[[ -z ${SCHEDULER:-} || ${MEDIUM:-ram} = disk ]] || die "SCHEDULER=$SCHEDULER needs MEDIUM=disk"
	is_uml "$kernel" || options+=(--append "${PREEMPT-preempt=full}")
	if [ "${ICOUNT:-}" ]; then
		! is_uml "$kernel" || die "ICOUNT=1: $kernel must be a kernel for QEMU"
		options+=(--icount) slow=60
	fi
	dir=$out/$1-$kernel drivers=$CACHE/build/bench-$1-$kernel
	[ "$1" != apps ] || dir=$out/$1-$fs-$kernel
	rm -rf "$dir"
	mkdir -p "$dir"
	about "$1" "$kernel" "$rounds" >"$dir/about"
	# shellcheck disable=SC2086 # a list
	prepare_drivers "$fs" "$kernel" "$drivers" $variants
	options+=("${boot[@]}")
	environment="BUSY=${BUSY:-4} DURATION=$duration MEDIUM=${MEDIUM:-ram} SCHEDULER=${SCHEDULER:-}"
	limit=$((duration * 10 * slow + 300))
}

# in_rounds GUEST-SCRIPT RUN...: measure each run with each driver in each round
in_rounds()
{
	local script=$1 r run d seconds
	shift
	seconds=$(($# * $(wc -w <<<"$variants") * (duration + 5) * slow))
	mkdir -p "$dir"
	for r in $(seq "$rounds"); do
		{
			[ -z "$product" ] || echo "load $product"
			[ ${#first[@]} -eq 0 ] || printf '%s\n' "${first[@]}"
			for run; do
				# shellcheck disable=SC2086 # a list
				for d in $(rotate "$r" $variants); do
					echo "test $run/$d $limit $environment DISK=$disk" \
						"sh /fscommit/$script $fs $(driver_file "$fs" "$d")" \
						"$(driver_knobs "$d") $run"
				done
			done
			[ -z "$product" ] || echo "unload $product"
		} >"$dir/round-$r.plan"
		boot "$dir/round-$r" "$seconds" "${options[@]}" "$kernel" "$dir/round-$r.plan" \
			"$drivers"/*.ko "$built/bench/fsyncbench" \
			"$bench/driver_guest.sh" "$bench/$script"
	done
}

# table ROUND-FOLDER...: print the figures of all rounds
table() { /usr/bin/python3 "$bench/figures.py" rounds "$dir" "$@"; }

part_f2fs()
{
	local fs=f2fs
	choose 4 '8:alone 8:nice:19 8:idle 32:nice:19 32:idle' 5
	prepare f2fs
	options+=("${store[@]}" --with chrt)
	# shellcheck disable=SC2086 # a list
	in_rounds fsync_guest.sh $loads
	table "$dir"/round-*/
}

part_btrfs()
{
	local fs=btrfs
	choose 15 128:readers 5
	prepare btrfs
	options+=("${store[@]}")
	if [[ $loads = *:fio* ]]; then
		need fio
		options+=(--with fio)
	fi
	# shellcheck disable=SC2086 # a list
	in_rounds fsync_guest.sh $loads
	table "$dir"/round-*/
}

part_harm()
{
	local fs=f2fs kinds='cyclictest:2 cyclictest:50 cyclictest:90 share:20'
	# these kernels have the tracer
	[[ ${KERNEL:-uml} != *-rt* ]] || kinds+=' timerlat:2 timerlat:50 timerlat:90'
	choose 4 "$kinds" 5
	variants=${VARIANTS:-stock fscommit}
	need cyclictest
	prepare harm
	options+=("${store[@]}" --with cyclictest --with chrt)
	# shellcheck disable=SC2086 # a list
	in_rounds harm_guest.sh $loads
	table "$dir"/round-*/
}

run()
{
	local part fs=${FS:-f2fs} kernel rounds duration loads variants dir disk store options slow \
		first environment limit drivers boot product
	mkdir -p "$out" "$LOGS"
	built=$(build_programs) || die "cannot build the programs"
	for part; do
		"part_$part"
	done
}

out=$TOP/out/bench
[ $# -gt 0 ] || set -- locks csum diff share f2fs btrfs harm
for p; do
	case $p in
	locks|csum|diff|share|f2fs|btrfs|harm|apps) ;;
	*) die "bench.sh: '$p': must be locks, csum, diff, share, f2fs, btrfs, harm or apps" ;;
	esac
done
locked bench run "$@"
