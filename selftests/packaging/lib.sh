# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for the scripts that source this
# Functions for the tests of what users install. Sourced, never run.

. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
PACKAGING=$TOP/selftests/packaging
. "$PACKAGING/test_lib.sh"
checked=0
# what a user must find installed, and its version
tools=$("$TOP/packaging/tools.sh" list)
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$TOP/module/main.c")

# check WHERE NAME COMMAND...: record one result, log the output of COMMAND, and print it if it
# fails. COMMAND ends at its first failing line. Never call check in a condition, where errexit
# has no effect: it returns 0 and leaves the status in $checked.
check()
{
	local where=$1 name=$2 start=$SECONDS said=$LOGS/packaging-$1-$2.log
	shift 2
	mkdir -p "$LOGS"
	set +e
	(set -e; "$@") >"$said" 2>&1 </dev/null
	checked=$?
	set -e
	if [ $checked -eq 0 ]; then
		result "$where" "$name" ok $((SECONDS - start))
	else
		result "$where" "$name" FAIL $((SECONDS - start))
		say "  $where: $name failed; the end of $said:"
		tail -n 15 "$said" | sed 's/^/    | /' >&2
	fi
}

# in_kernel KERNEL FOLDER SCRIPT: run SCRIPT with the compiler of that kernel; it sees FOLDER
in_kernel()
{
	printf 'set -e\n%s\n' "$3" | FSCOMMIT_BUILD_ROOT=$2 "$SCRIPTS/kernel.sh" shell "$1"
}

# use_kernel KERNEL: set its kdir and release, and arch to ARCH= for make
use_kernel()
{
	kdir=$("$SCRIPTS/kernel.sh" get "$1")/kdir || exit 1
	release=$(cat "$CACHE/kernels/$1/release") arch=''
	[ "$(cat "$CACHE/kernels/$1/arch")" != um ] || arch=ARCH=um
}

# copy_installable FOLDER: copy the files needed to build and install, without the tests
copy_installable()
{
	mkdir -p "$1"
	rsync -a --no-times --checksum --delete --exclude '*.[oa]' --exclude '*.ko' \
		--exclude '*.mod*' --exclude '.*' --exclude Module.symvers --exclude modules.order \
		"$TOP"/{Makefile,Kbuild,COPYING,dkms.conf,module,packaging} "$1/"
	"$TOP/packaging/tools.sh" sources |
		rsync -a --no-times --checksum --files-from=- "$TOP/" "$1/"
}

# --- chroots -----------------------------------------------------------------

# need_chroot NAME SUITE [PACKAGE...]: make the folder chroot/NAME of the cache. Return 1, with a
# skip recorded, if this user cannot.
need_chroot()
{
	if [ "$(id -u)" -ne 0 ]; then
		say "  $1: a chroot with mounts needs root"
		result "$2" "$1" skip 0
		return 1
	fi
	locked "chroot-$1" make_chroot "$@" || exit 1
}

make_chroot()
{
	local name=$1 suite=$2 dir=$CACHE/chroot/$1 tmp
	shift 2
	[ -e "$dir/complete" ] && return 0
	need mmdebstrap debootstrap
	tmp=$dir.tmp.$$
	rm -rf "$dir".tmp.*
	mkdir -p "$tmp"
	set -- dkms gcc make kmod ca-certificates "$@"
	step "a chroot of Debian $suite" "1-4 min" "$LOGS/chroot-$name.log" \
		mmdebstrap --variant=apt --include="$(tr ' ' , <<<"$*")" \
		"$suite" "$tmp/root" "deb $(mirror) $suite main" \
		"deb $(mirror) $suite-backports main" ||
		die "cannot make a chroot of $suite (no network?)"
	touch "$tmp/complete"
	rm -rf "$dir"
	mv "$tmp" "$dir"
}

# run_life NAME PROGRAM FILES ARG...: copy the chroot NAME and run PROGRAM of FILES there, which is
# mounted at /fscommit. Its TAP becomes results, of the suite $suite; what it leaves in /tmp/out is
# copied to the logs.
run_life()
{
	local name=$1 program=$2 files=$3 root=$CACHE/build/life-$1 out=$LOGS/life-$1 line start
	start=$SECONDS
	shift 3
	rm -rf "$root" "$out"
	mkdir -p "$out" "$root"
	cp -a "$CACHE/chroot/$name/root/." "$root/"
	cp -a "$files" "$root/fscommit"
	cp "$PACKAGING"/life_lib.sh "$PACKAGING/$program" "$root/fscommit/"
	mkdir -p "$root/tmp/out"
	step "$program in $name" "5 min" "$out/log" in_chroot "$root" \
		bash -c 'exec >/tmp/out/tap "$@"' bash bash "/fscommit/$program" "$@" ||
		say "  $program did not finish: see $out/log"
	cp -a "$root/tmp/out/." "$out/"
	rm -rf "$root"
	while read -r line; do
		case $line in
		ok*) result "$suite" "${line##* }" ok 0 ;;
		not*)	result "$suite" "${line##* }" FAIL 0
			say "  $suite: ${line##* } failed: see $out/log" ;;
		1..*) result "$suite" "$program" ok $((SECONDS - start)) ;;
		esac
	done <"$out/tap"
	grep -q '^1\.\.' "$out/tap" || result "$suite" "$program" FAIL $((SECONDS - start))
}

# in_chroot FOLDER COMMAND...
in_chroot()
{
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	# shellcheck disable=SC2016 # expanded inside
	unshare -m -p -f --kill-child sh -c '
		set -e
		root=$1; shift
		mount --rbind /dev "$root/dev"
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sysfs "$root/sys"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
		' sh "$@"
}
