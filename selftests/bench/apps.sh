#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench-apps`: measure applications of Debian 12 that sync, on f2fs or btrfs, beside
# low-priority tasks that create, rename, link and delete. The stock driver and the ported ones run
# in the same boot, one boot for each application and round. Each run gets a new filesystem, and the
# order of the variants rotates.
#
#   FS=f2fs         or btrfs
#   KERNEL=uml      a kernel of the matrix; uml runs at native speed, stock kernels in QEMU
#   PREEMPT=full    preemption of a kernel in QEMU; PREEMPT= leaves it as the kernel boots
#   APPS=           names of app_packages below; the last four are for regressions: nothing runs
#                   in the background
#   LOADS=          number and kind of low-priority tasks, for example "none 8:nice:19 32:idle";
#                   kinds are nice:N, idle, weight:N (a cgroup with this cpu.weight) and
#                   quota:PERCENT (a cgroup with this cpu.max)
#   BUSY=4          number of tasks at nice 0 that spin beside each load except none
#   NICE=-10        nice value of the application
#   VARIANTS=       names of drivers.sh
#   ROUNDS=3        1 with QUICK=1
#   DURATION=5      seconds of a run; etcd takes 60 s of its own, pg_test_fsync 20 s
#   LIMIT=100       a run that takes so many seconds more is stopped, and recorded as such. What is
#                   known of its longest operation: report_apps.py
#   MEDIUM=ram      a brd in the guest, or disk: a file in the host's memory
#   ICOUNT=1        QEMU counts instructions, 1 ns each, on one CPU: throughput shows what a driver
#                   costs there, whatever else the host does. Slow: a second takes a minute
#   PERF=1          also record the waits for locks with perf lock contention (not on uml). It
#                   costs time: compare with other runs of this kind only
#   QUICK=1         a few short runs, which check this script itself
#
# The low-priority tasks are stress-ng's stressors: a quarter of them rename, a quarter dir, one link,
# the others dentry.
#
# Results: out/bench-apps-FS-KERNEL/apps.{txt,json}, from the newest rounds of each application. A
# folder per application and round has what each program printed, and in `about` the state of the
# sources, the host and the parameters. An application of which Debian has no package is skipped.

. "$(dirname "$0")/../harness/lib.sh"

bench=$TOP/selftests/bench
. "$bench/drivers.sh"
# the Debian release of the applications
suite=bookworm

# Print lines `APP PACKAGE...`
app_packages()
{
	cat <<-END
		fio fio
		fs_mark fsmark
		sqlite sqlite3
		fillsync rocksdb-tools
		readwhilewriting rocksdb-tools
		pgbench postgresql-15
		pg_test_fsync postgresql-15
		etcd etcd-server etcd-client
		fio-64 fio
		dbench dbench
		fs_mark-nosync fsmark
		untar tar
	END
}

# loads_of APP: print the loads for it
loads_of()
{
	case $1 in
	fio-64|dbench|fs_mark-nosync|untar) echo none ;;
	# these take longer than DURATION
	etcd|pg_test_fsync) echo "${LOADS:-none 32:idle}" ;;
	*) echo "$loads" ;;
	esac
}

# unpack PACKAGE...: add the packages and what they need to the image's root, or fail
unpack()
{
	local list d dir=$CACHE/apps/debs
	list=$(closure "$suite" "$@") || return 1
	mkdir -p "$dir"
	# shellcheck disable=SC2086 # words
	(cd "$dir" && suite_apt "$suite" apt-get download $list) || return 1
	for d in "$dir"/*.deb; do
		dpkg -x "$d" "$image.root" || return 1
	done
	rm -rf "$dir"
}

# fill_image: unpack all packages that are missing in the root, and make an ext4 of it, for the
# guest to mount. Set apps to those that it has.
fill_image()
{
	local app packages has='' changed='' d=$image.root src
	mkdir -p "$d"/{dev,mnt,proc,sys,tmp,packages}
	while read -r app packages; do
		[[ " $apps base ${PERF:+perf} " = *" $app "* ]] || continue
		# shellcheck disable=SC2086 # words
		if [ ! -e "$d/packages/$app" ]; then
			step "fetching $packages of Debian $suite" "30 s" "$LOGS/bench-apps.log" \
				unpack $packages ||
				{ say "  skipping $app: cannot get $packages from $suite"; continue; }
			touch "$d/packages/$app"
			changed=1
		fi
		has+=" $app"
	done < <(echo 'base stress-ng util-linux coreutils dash'; echo 'perf linux-perf'; app_packages)
	if [ ! -e "$d/linux.tar" ]; then
		src=$("$HARNESS/kernel.sh" source 7.3)
		tar -C "$src" --transform 's:^:linux/:' -cf "$d/linux.tar" fs kernel mm
		changed=1
	fi
	# PostgreSQL runs programs by the shell, and refuses to run as root
	ln -sf dash "$d/bin/sh"
	echo 127.0.0.1 localhost >"$d/etc/hosts"
	printf '%s\n' root:x:0:0::/tmp:/bin/sh postgres:x:1000:1000::/tmp:/bin/sh >"$d/etc/passwd"
	if [ "$changed" ] || [ ! -e "$image" ]; then
		truncate -s 2G "$image.tmp"
		mkfs.ext4 -q -F -O ^has_journal -d "$d" "$image.tmp"
		mv "$image.tmp" "$image"
	fi
	apps=${has/ base/}
	apps=${apps/ perf/}
}

# plan ROUND APP: print the plan: every load with every variant; another variant is the first in
# each round
plan()
{
	local name load knobs run
	run="IMAGE=\$DISK DISK=$disk DURATION=$duration LIMIT=$limit NICE=${NICE:--10}"
	run+=" sh /fscommit/apps_guest.sh"
	echo 'load fscommit'
	echo "test prepare 600 $run prepare $2"
	for load in $(loads_of "$2"); do
		# shellcheck disable=SC2086 # words
		for name in $(rotate "$1" $variants); do
			knobs=$(variant_field "$fs" "$name" 3)
			echo "test $2.$name.${load//:/-} $((limit + 500)) BUSY=${BUSY:-4}" \
				"PERF=${PERF:-} $run $fs $name${knobs:+:$knobs} $2 $load"
		done
	done
	echo 'unload fscommit'
}

# about: print lines `WHAT: VALUE` about this run, for the report
about()
{
	echo "sources: $sources"
	echo "kernel: $kernel $(cat "$CACHE/kernels/$kernel/release")${guest[*]:+ ${guest[*]#--append}}"
	echo "host: $(nproc) of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
	echo "parameters: DURATION=$duration LIMIT=$limit BUSY=${BUSY:-4} NICE=${NICE:--10}" \
		"MEDIUM=${MEDIUM:-ram}"
}

# boot_app ROUND APP: boot a guest that runs the application with every load and variant
boot_app()
{
	local r=$1 app=$2 dir=$out/$2/round-$1 p tools=() plan=$CACHE/build/bench-apps.plan
	plan "$r" "$app" >"$plan"
	mkdir -p "$dir"
	: >"$LOGS/bench-apps.log"
	# shellcheck source=/dev/null
	for p in $(. "$TOP/ports/$fs/options" && echo "${tools[@]}"); do
		tools+=(--with "$p")
	done
	step "$app on $fs, $kernel, round $r of $rounds: $(grep -c "^test $app" "$plan") runs" \
		"1-5 min" "$LOGS/bench-apps.log" boot_and_follow "$dir" \
		--timeout $((3600 * slow)) --mem 3G "${guest[@]}" \
		--disk "$image" "${store[@]}" "${tools[@]}" "${kmods[@]}" \
		"$kernel" "$plan" "$tree/module/fscommit.ko" "$modules"/*.ko \
		"$bench"/{driver,apps}_guest.sh ||
		die "$app: $(guest_verdict "$dir"); see $dir"
	# boot.sh empties the folder
	about >"$dir/about"
	check_runs "$app on $fs" "$dir"
}

run()
{
	local fs=${FS:-f2fs} kernel=${KERNEL:-uml} limit=${LIMIT:-100} failed='' out apps loads \
		variants rounds duration r app tree modules kmods=() store=() guest=() disk \
		image=$CACHE/apps/$suite packages=() slow=1 sources preempt=${PREEMPT-full}
	PATH=$PATH:/usr/sbin:/sbin
	[ "$(matrix_field "$kernel" kind)" = uml ] ||
		guest=(--append "${preempt:+preempt=$preempt}")
	case $fs in
	f2fs) variants='stock uplift f2fs-unfair cp-expedite' ;;
	btrfs) variants='stock eb eb-roots eb-roots-expedite' ;;
	*) die "FS=$fs: must be f2fs or btrfs" ;;
	esac
	variants=${VARIANTS:-$(variant_names "$fs" "$kernel" | grep -xF "${variants// /$'\n'}")}
	case ${QUICK:-0} in
	0)	rounds=3 duration=5 loads='none 8:nice:19 32:idle 8:weight:1 8:quota:20'
		apps=$(app_packages | cut -d' ' -f1 | tr '\n' ' ') ;;
	*)	rounds=1 duration=2 loads=32:idle variants=${VARIANTS:-stock ${variants##*$'\n'}}
		apps='fio fs_mark sqlite fillsync pgbench' ;;
	esac
	rounds=${ROUNDS:-$rounds} duration=${DURATION:-$duration} loads=${LOADS:-$loads}
	apps=${APPS:-$apps}
	for app in $apps; do
		app_packages | grep "^$app " >/dev/null || die "APPS: no application '$app'; there are:" \
			"$(app_packages | cut -d' ' -f1 | tr '\n' ' ')"
	done
	# shellcheck source=/dev/null
	mapfile -t packages < <(. "$TOP/ports/$fs/options" && printf '%s\n' "${packages[@]}")
	need_packages e2fsprogs "${packages[@]}"
	# shellcheck disable=SC2034 # title
	local title
	choose_medium "${MEDIUM:-ram}"
	# the image is the first disk
	disk=${disk/\$DISK/\$DISK2}
	if [ -n "${ICOUNT:-}" ]; then
		[ ${#guest[@]} -gt 0 ] || die "ICOUNT=1: $kernel must be a kernel for QEMU"
		guest+=(--icount) slow=60
	fi
	[ -z "${PERF:-}" ] || [ ${#guest[@]} -gt 0 ] ||
		die "PERF=1: $kernel has no perf events; KERNEL= must be one for QEMU"
	out=$TOP/out/bench-apps-$fs-$kernel${PERF:+-perf}${ICOUNT:+-icount}
	out+=${MEDIUM:+-$MEDIUM}${NICE:+-nice$NICE}${BUSY:+-busy$BUSY}
	[ "$preempt" = full ] || out+=-preempt-${preempt:-default}
	modules=$CACHE/build/bench-apps-$fs-$kernel
	mkdir -p "$out" "$LOGS" "$CACHE/apps"
	suite_update "$suite"
	fill_image
	# they are built once, whatever changes later
	sources=$(git -C "$TOP" describe --always --dirty 2>/dev/null || echo unknown)
	tree=$("$HARNESS/stage.sh" "$kernel")
	# shellcheck disable=SC2086 # words
	build_variants "$fs" "$kernel" "$modules" $variants
	for app in $apps; do
		rm -rf "${out:?}/$app"
		for r in $(seq "$rounds"); do
			# the others go on
			(boot_app "$r" "$app") || failed+=" $app"
		done
	done
	/usr/bin/python3 "$bench/report_apps.py" --out "$out" "$out"/*/round-*
	[ -z "$failed" ] || die "runs failed:$failed"
}

locked bench run
