# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the tests of what users install. Sourced, never run.

. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
. "$HARNESS/results.sh"
# shellcheck disable=SC2034 # for the scripts that source this
PACKAGING=$TOP/selftests/packaging
checked=0
# what a user must find installed
# shellcheck disable=SC2034
tools='fscommit-top fscommit-check fscommit-bug-report ckptlat'

# check WHERE NAME COMMAND...: records one result, logs the output of COMMAND, and prints it if it
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
	case $checked in
	0) result "$where" "$name" ok $((SECONDS - start)) ;;
	4)	result "$where" "$name" skip $((SECONDS - start))
		say "  $where: $name is skipped: $(tail -n 1 "$said")" ;;
	*)	result "$where" "$name" FAIL $((SECONDS - start))
		say "  $where: $name failed; the end of $said:"
		tail -n 15 "$said" | sed 's/^/    | /' >&2 ;;
	esac
}

# refused COMMAND...: fails if COMMAND succeeds; errexit ignores `! command`
refused()
{
	"$@" || return 0
	echo "must fail, but succeeded: $*"
	return 1
}

# skipped REASON...: ends a command of check()
skipped()
{
	echo "$*"
	exit 4
}

# in_kernel KERNEL FOLDER SCRIPT: runs SCRIPT with the compiler of that kernel; it sees FOLDER
in_kernel()
{
	printf 'set -e\n%s\n' "$3" | FSCOMMIT_BUILD_ROOT=$2 "$HARNESS/kernel.sh" shell "$1"
}

# kernel_arch KERNEL: prints ARCH= for make
kernel_arch()
{
	[ "$(cat "$CACHE/kernels/$1/arch")" != um ] || echo ARCH=um
}

# copy_product FOLDER: copies the files needed to build and install, without the tests
copy_product()
{
	mkdir -p "$1"
	rsync -a --no-times --checksum --delete --exclude '*.[oa]' --exclude '*.ko' \
		--exclude '*.mod*' --exclude '.*' --exclude Module.symvers --exclude modules.order \
		"$TOP"/{Makefile,Kbuild,COPYING,dkms.conf,module,packaging} "$1/"
	"$TOP/packaging/tools.sh" sources |
		rsync -a --no-times --checksum --files-from=- "$TOP/" "$1/"
}

# --- chroots -----------------------------------------------------------------

# make_chroot NAME SUITE [PACKAGE...]
make_chroot()
{
	local name=$1 suite=$2 dir=$CACHE/chroot/$1 tmp
	shift 2
	[ -e "$dir/complete" ] && return 0
	need_packages mmdebstrap debootstrap
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

# collect_life WHERE FOLDER PROGRAM SECONDS: the results of FOLDER/tap, which PROGRAM wrote. A line
# may end with " # N", the seconds of that test.
collect_life()
{
	local line name seconds
	while read -r line; do
		read -r name seconds < <(sed -E 's/^(not )?ok [0-9]+ //; s/ # / /' <<<"$line")
		case $line in
		ok*) result "$1" "$name" ok "${seconds:-$4}" ;;
		not*)	result "$1" "$name" FAIL "${seconds:-$4}"
			say "  $1: $name failed: see $2/log" ;;
		esac
	done < <(grep -E '^(not )?ok ' "$2/tap")
	grep -q '^1\.\.' "$2/tap" || result "$1" "$3" FAIL 0
}
