#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench-PART`: measure a part of fscommit, or filesystems on it, in guests.
#
#   bench.sh PART...
#
#   locks      the lock and its peers: the wait of a checkpoint writer, a mix, a bound, costs
#   csum diff share         commit roots, COW diff, share gate
#   f2fs       fsync beside low-priority writers (fsync_guest.sh)
#   btrfs      sync beside low-priority readers of old data; with LOADS='1:fio 8:fio'
#              VARIANTS='stock gate always-locked', fsyncs by jobs of fio; with
#              LOADS=512:pressure:256, beside a cgroup that reads ten times its memory.high
#   xfs        create and unlink files, with stock's reuse of inodes and with stamps
#   harm       what tasks that have nothing to do with the filesystem notice of lent priority
#   apps       applications on FS=f2fs or btrfs, see apps.sh
#
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, stock kernels in QEMU. For the
#                   first two lines it may be a list
#   ROUNDS=         rounds of all runs and drivers; DURATION= seconds of a run
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
#   FS=f2fs APPS= NICE=-10   of apps: the application's nice value
#   LIMIT=100       seconds after DURATION at which a run of apps is stopped; 600 for pressure
#
#   OUT=DIR         instead of out/bench; results of boots that DIR has are kept
#
# A round is a boot. All drivers run in it, each run on a new filesystem, and another driver is the
# first in each round. The table goes to stdout and, with a head of comment lines, to
# out/bench/PART-KERNEL/figures.tsv. The folders beside it have what the guests printed.
#
# The figures are ratios within one run. Keep the machine idle otherwise. QEMU without KVM and
# User-Mode Linux add the jitter of the host.

. "$(dirname "$0")/../filesystems/drivers.sh"

bench=$TOP/selftests/bench
. "$bench/apps.sh"

# about PART KERNEL ROUNDS [OPTION]: write the head of the table; OPTION is one of the kernel
about()
{
	local v command="make bench-$1" system=Linux machine='2 CPUs of QEMU without KVM' commit
	for v in FS KERNEL ROUNDS DURATION APPS LOADS VARIANTS BUSY MEDIUM SCHEDULER NICE LIMIT \
		PREEMPT ICOUNT; do
		[ -z "${!v+set}" ] || command+=" $v='${!v}'"
	done
	! is_uml "$2" || system='User-Mode Linux' machine='2 CPUs'
	[ -z "${ICOUNT:-}" ] || machine='one CPU of QEMU, which counts instructions, 1 ns each'
	machine+=", on $(nproc) of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
	commit=$(git -C "$TOP" rev-parse --short HEAD 2>/dev/null) || commit=unknown
	[ "$commit" = unknown ] ||
		git -C "$TOP" diff --quiet HEAD -- module ports scripts selftests || commit+=-dirty
	cat <<-END
		# SPDX-License-Identifier: GPL-2.0
		# values: median (lowest-highest); ">" is a lower bound
		# rounds: $3 rounds
		# kernel: $system $(cat "$CACHE/kernels/$2/release")${4:+, $4}
		# machine: $machine
		# command: $command
		# date: $(date -I)
		# commit: $commit
	END
}

is_uml() { [ "$(matrix_field "$1" kind)" = uml ]; }

# preemption KERNEL: print the option of a kernel in QEMU that PREEMPT= chooses
preemption() { is_uml "$1" || printf '%s' "${PREEMPT-full}" | sed 's/^./preempt=&/'; }

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

# ticks PID: print the ticks of all CPUs that others than this shell and its children used, and all
ticks()
{
	awk '/^cpu / { busy = $2 + $3 + $4 + $7 + $8 + $9; all = busy + $5 + $6 }
		!/^[a-z]/ { ours = $14 + $15 + $16 + $17 }
		END { print busy - ours, all }' /proc/stat "/proc/$1/stat"
}

# kill_below PID: end what PID started; a guest is in a process group of its own
kill_below()
{
	local p
	for p in $(pgrep -P "$1"); do
		kill_below "$p"
		kill "$p" 2>/dev/null || true
	done
}

# boot DIR SECONDS OPTION...: boot a guest with the plan DIR.plan, if OUT= has not its results
boot()
{
	local dir=$1 seconds=$2 self=$BASHPID n begin others
	shift 2
	[ ! -e "$dir/others" ] || return 0
	rm -rf "$dir"
	n=$(grep -c '^test' "$dir.plan")
	: >"$LOGS/bench.log"
	begin=$(ticks "$self")
	trap 'kill_below "$self"; trap - INT; kill -INT "$self"' INT
	step "${dir#"$out/"}: $n runs" "$seconds s" "$LOGS/bench.log" boot_and_follow "$dir" \
		--timeout $((seconds * 5 + 1800)) "$@" || die "$(guest_verdict "$dir"); see $dir"
	trap - INT
	check_runs "$dir"
	# the last file of a guest: percent of the CPUs that other processes took
	others=$(ticks "$self" | awk -v begin="$begin" '{ split(begin, b)
		others = 100 * ($1 - b[1]) / ($2 - b[2])
		# the ticks of children come late
		printf "%.0f", others < 0 ? 0 : others }')
	echo "$others" >"$dir/others"
}

# new_folder: make $dir, or keep what it has if it is in OUT=
new_folder()
{
	[ "${OUT:-}" ] || rm -rf "$dir"
	mkdir -p "$dir"
}

# table FOLDER...: make the table of the figures in the guests' folders
table() { /usr/bin/python3 "$bench/figures.py" table "$dir/about" "$@"; }

# --- programs of the parts --------------------------------------------------------

# programs FOLDER KERNEL SECONDS [OPTION...]: run the programs of a part of selftests in a guest;
# stdin has lines `NAME COMMAND`. LOADS has the names of those to run.
programs()
{
	local folder=$1 kernel=$2 seconds=$3 dir=$out/$part-$2 tree modules m name command preempt
	shift 3
	tree=$("$HARNESS/stage.sh" "$kernel")
	case $folder in
	unfair_rwsem) modules=fscommit_test ;;
	*) modules="cow_tree_test ${folder}_test" ;;
	esac
	new_folder
	{
		# shellcheck disable=SC2086 # a list
		printf 'load %s\n' fscommit $modules
		while read -r name command; do
			[[ " ${LOADS:-${name%.*}} " != *" ${name%.*} "* ]] ||
				echo "test $name $seconds $command"
		done
		for m in $(tac -s ' ' <<<"$modules ") fscommit; do
			echo "unload $m"
		done
	} >"$dir/guest.plan"
	preempt=$(preemption "$kernel")
	about "$part" "$kernel" "$rounds" "$preempt" >"$dir/about"
	boot "$dir/guest" "$seconds" ${preempt:+--append "$preempt"} "$@" "$kernel" "$dir/guest.plan" "$tree/module/fscommit.ko" \
		"$tree"/selftests/*_test.ko "$built/$folder/bench"/* "$built/tools/ckptlat"
	table "$dir/guest"
}

# settings ROUNDS DURATION: set rounds and duration of programs
settings()
{
	rounds=${ROUNDS:-$1} duration=${DURATION:-$2}
	duration=${duration%s}s
}

# ckptlat RUN OPTION...: print a test for each round, RUN.ROUND
ckptlat()
{
	local r
	for r in $(seq "$rounds"); do
		echo "$1.$r mkdir -p /tmp/out && ckptlat -r 1 -D $duration" \
			"--json=/tmp/out/$1.$r.json ${*:2}"
	done
}

part_locks()
{
	local kernel each
	settings 5 2
	each="-r $rounds -D $duration"
	for kernel in ${KERNEL:-uml 6.12}; do
		if [ "${ICOUNT:-}" ]; then
			# a round is shorter than a tick, so most of them contain none
			programs unfair_rwsem "$kernel" 200 --icount \
				<<<"pairs lockbench pairs -r $((rounds * 20)) -n 10000 --unit=instructions"
			continue
		fi
		{
			ckptlat nice19
			ckptlat idle --reader-policy=idle
			ckptlat weight --reader-nice=0 --reader-cpu-weight=1
			is_uml "$kernel" || ckptlat throttled --reader-nice=0 --reader-cpu-max=20
			ckptlat holders --reader-policy=idle --reader-hold=2000 --reader-interval=5000
			ckptlat fifo -p 1
			echo "mix lockbench mix $each"
			echo "bound lockbench bound $each"
			# ICOUNT=1 tells the cost in QEMU
			! is_uml "$kernel" || printf '%s\n' \
				"pairs lockbench pairs -r $((rounds * 20))" \
				"scaling lockbench scaling $each"
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
	local kernel
	settings 3 1
	for kernel in ${KERNEL:-uml}; do
		programs cow_diff "$kernel" 300 <<<"diff diffbench -r $((rounds * 5))"
	done
}

# fsyncs by 1 to 1,024 jobs, without and with shared extents
part_share()
{
	local kernel
	settings 5 0.5
	for kernel in ${KERNEL:-6.12}; do
		programs share_gate "$kernel" 900 <<-END
			share sharebench -r $rounds -D $duration
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
	ram)	store=(--kmod "brd rd_nr=1 rd_size=$((${disk_mib:-1024} << 10))") disk=/dev/ram0 ;;
	*) die "MEDIUM=$MEDIUM: must be ram, disk or crypt" ;;
	esac
	[[ -z ${SCHEDULER:-} || ${MEDIUM:-ram} = disk ]] || die "SCHEDULER=$SCHEDULER needs MEDIUM=disk"
	preempt=$(preemption "$kernel")
	options+=(${preempt:+--append "$preempt"})
	if [ "${ICOUNT:-}" ]; then
		! is_uml "$kernel" || die "ICOUNT=1: $kernel must be a kernel for QEMU"
		options+=(--icount) slow=60
	fi
	dir=$out/$1-$kernel drivers=$CACHE/build/bench-$1-$kernel
	[ "$1" != apps ] || dir=$out/$1-$fs-$kernel
	new_folder
	about "$1" "$kernel" "$rounds" "$preempt" >"$dir/about"
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
			"$drivers"/*.ko "$built/bench/fsyncbench" "$built/filesystems/inode_reuse" \
			"$FILESYSTEMS/guest_lib.sh" "$bench/driver_guest.sh" "$bench/$script"
	done
}

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
	[[ $loads != *:pressure:* ]] || local disk_mib=4096 more=${LIMIT:-600}
	prepare btrfs
	limit=$((limit + ${more:-0}))
	environment+=" LIMIT=${more:-}"
	options+=("${store[@]}" ${disk_mib:+--mem 6G})
	if [[ $loads = *:fio* || $loads = *:pressure:* ]]; then
		need fio
		options+=(--with fio)
	fi
	# shellcheck disable=SC2086 # a list
	in_rounds fsync_guest.sh $loads
	table "$dir"/round-*/
}

# how XFS reuses inodes
part_xfs()
{
	local fs=xfs
	choose 4 'batch:8 batch:256' 3
	variants=fscommit
	prepare xfs
	options+=("${store[@]}")
	# shellcheck disable=SC2086 # a list
	in_rounds reuse_guest.sh $loads
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
		first environment limit drivers boot product preempt
	mkdir -p "$out" "$LOGS"
	built=$(build_programs) || die "cannot build the programs"
	for part; do
		"part_$part"
	done
}

out=${OUT:-$TOP/out/bench}
for p; do
	case $p in
	locks|csum|diff|share|f2fs|btrfs|xfs|harm|apps) ;;
	*) die "bench.sh: '$p': must be locks, csum, diff, share, f2fs, btrfs, xfs, harm or apps" ;;
	esac
done
locked bench run "$@"
