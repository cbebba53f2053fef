#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make install-FS`, `make uninstall-FS`: a ported driver instead of the kernel's, for each boot.
#
#   driver.sh install FS [KERNEL_RELEASE=R] [KSRC=SOURCE] [OPTION=VALUE...]
#   driver.sh uninstall FS [KERNEL_RELEASE=R]
#   driver.sh build FS KERNEL_RELEASE=R         for DKMS: only FS.ko, in this folder
#   driver.sh boot FS KERNEL_RELEASE=R          for DKMS: depmod and the initramfs
#
#   KERNEL_RELEASE=R   a kernel of /lib/modules. install: the running one if not given;
#                      uninstall: every kernel that has the driver
#   KSRC=SOURCE        that kernel's source; if not given, linux-source-* in /usr/src
#   SIGN_KEY=, SIGN_CERT=   the key that signs the modules, if not that of DKMS
#   OPTION=VALUE       of ports/port.sh FS
#
# install builds FS.ko and fscommit.ko and copies them to /lib/modules/R/updates/fscommit, where
# depmod prefers them to the kernel's own, which stays in place. It writes their names to
# /var/lib/fscommit/R/FS before it copies, and builds the initramfs of that kernel again. uninstall
# removes these files and builds it again. If install fails or is interrupted, it uninstalls.

. "$(dirname "$0")/../scripts/lib.sh"
PORTS=$TOP/ports
unset MAKEFLAGS MFLAGS MAKELEVEL

usage() { sed -n '3,/^$/s/^# \{0,1\}//p' "$0"; exit 2; }
[ $# -ge 2 ] || usage
what=$1 fs=$2
shift 2
[ -e "$PORTS/$fs/options" ] || die "no port of '$fs'"
KERNEL_RELEASE='' KSRC='' SIGN_KEY='' SIGN_CERT='' options=()
for arg in "$@"; do
	case $arg in
	KERNEL_RELEASE=*|KSRC=*|SIGN_KEY=*|SIGN_CERT=*) printf -v "${arg%%=*}" %s "${arg#*=}" ;;
	FSCOMMIT_*=*|DEBIAN_MIRROR=*) ;;	# exported by make
	KDIR=*|KERNEL=*) die "$arg: name the kernel by KERNEL_RELEASE=, as in /lib/modules" ;;
	*) options+=("$arg") ;;
	esac
done
state=/var/lib/fscommit
[ "$(id -u)" -eq 0 ] || die "this needs root. Run: sudo make $what-$fs $*"

# use_release R: sets what depends on the kernel
use_release()
{
	release=$1
	kdir=/lib/modules/$release/build
	dir=/lib/modules/$release/updates/fscommit
	manifest=$state/$release/$fs
	# as Debian, openSUSE and Fedora name it
	for initrd in /boot/initrd{.img,}-"$release" /boot/initramfs-"$release".img; do
		[ ! -e "$initrd" ] || break
	done
}

# --- checks before anything is built or changed ---------------------------------------------------

check_kernel()
{
	[ -d "/lib/modules/$release" ] ||
		die "KERNEL_RELEASE=$release: no such kernel; there are: $(
			cd /lib/modules 2>/dev/null && echo *)"
	[ -e "$kdir/Makefile" ] ||
		die "no headers of $release: install the package linux-headers-$release of Debian," \
			"kernel-devel of Fedora, linux-headers of Arch, kernel-default-devel of openSUSE"
	! grep -qs "/$fs\.ko" "/lib/modules/$release/modules.builtin" ||
		die "$fs is built into $release: a module cannot replace it"
	[ -n "$(find "/lib/modules/$release/kernel" -name "$fs.ko*")" ] ||
		die "$release has no $fs. Use another kernel; on Debian one without -cloud in its name"
}

# Two modules of the same name would be ambiguous.
check_other()
{
	local other
	other=$(find "/lib/modules/$release" -name 'fscommit.ko*' ! -path "$dir/*" | head -n 1)
	[ -z "$other" ] || die "$other is another fscommit, and install-$fs brings its own." \
		"Remove it: make uninstall, or the package fscommit-dkms"
}

# Set KSRC: the part of Debian's source package that the port needs, of exactly this version.
find_source()
{
	local version series tar have
	[ -z "$KSRC" ] || return 0
	version=$(make -s -C "$kdir" kernelversion) || die "$kdir cannot be used"
	series=${version%.*}
	tar=/usr/src/linux-source-$series.tar.xz
	[ -e "$tar" ] || die "no source of Linux $version: give KSRC= its folder. On Debian it is" \
		"enough to run: apt install linux-source-$series"
	KSRC=$CACHE/src/$version-$fs
	rm -rf "$KSRC"
	mkdir -p "$KSRC"
	step "unpacking fs/$fs of $tar" "20 s" "$LOGS/source-$fs.log" tar -C "$KSRC" \
		--strip-components=1 -xf "$tar" "linux-source-$series/fs/$fs" \
		"linux-source-$series/Makefile" || die "cannot unpack $tar"
	have=$(sed -nE 's/^(VERSION|PATCHLEVEL|SUBLEVEL) = //p' "$KSRC/Makefile" | xargs | tr ' ' .)
	[ "$have" = "$version" ] ||
		die "$tar is Linux $have, but $release is $version." \
			"Upgrade both, or give KSRC= the folder of that source"
}

# Does this machine refuse modules without a signature?
signatures_enforced()
{
	grep -qsE '\[(integrity|confidentiality)\]' /sys/kernel/security/lockdown ||
		grep -qs Y /sys/module/module/parameters/sig_enforce
}

# Choose the key: that of the caller, or that of DKMS. Without a usable key stop where the next boot
# would not load the module.
check_key()
{
	key=${SIGN_KEY:-/var/lib/dkms/mok.key} cert=${SIGN_CERT:-/var/lib/dkms/mok.pub}
	if [ -e "$key" ] && [ -e "$cert" ]; then
		! signatures_enforced || check_enrolled
		return
	fi
	[ -z "$SIGN_KEY$SIGN_CERT" ] || die "SIGN_KEY=$key, SIGN_CERT=$cert: no such file"
	! signatures_enforced || die "this machine loads signed modules only, and has no key. Run:" \
		"openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=fscommit/ -addext" \
		"extendedKeyUsage=codeSigning -outform DER -keyout key.pem -out cert.der &&" \
		"mokutil --import cert.der; reboot, enroll the key at the console, and give" \
		"SIGN_KEY=key.pem SIGN_CERT=cert.der"
	key=''
}

# mokutil exits with 1 for a key that the kernel trusts, so only its words count.
check_enrolled()
{
	local said again="reboot, enroll it at the console, and try again"
	# to tell whether this machine, which loads signed modules only, trusts $cert
	need mokutil
	said=$(mokutil --test-key "$cert" 2>&1) || true
	case $said in
	*"already enrolled"*|*"already in db"*|*"trusted keyring"*) ;;
	*"enrollment request"*) die "the firmware does not have $cert yet: $again" ;;
	*)	die "this machine loads signed modules only, and mokutil says: $said." \
			"Run: mokutil --import $cert; then $again" ;;
	esac
}

# --- changes --------------------------------------------------------------------------------------

# copy FROM: strip, sign and copy a module
copy()
{
	local to=$dir/${1##*/}
	{ strip --strip-debug -o "$to.new" "$1" &&
	  { [ -z "$key" ] || "$kdir/scripts/sign-file" sha256 "$key" "$cert" "$to.new"; } &&
	  sync "$to.new" && mv "$to.new" "$to"; } ||
		die "cannot write $to: $(df -h --output=avail,target "$dir" | tail -n 1)"
}

# depmod, and the initramfs if this kernel has one
update_boot()
{
	# the package of the kernel may be gone
	[ -d "/lib/modules/$release" ] || return 0
	depmod "$release" || die "depmod $release failed"
	if [ ! -e "$initrd" ]; then
		say "note: no $initrd; if this kernel boots with an initramfs, build that again" \
			"(on Arch: mkinitcpio -P)"
		return
	fi
	local build=(dracut --force "$initrd" "$release")
	! command -v update-initramfs >/dev/null || build=(update-initramfs -u -k "$release")
	step "building $initrd again" "10-60 s" "$LOGS/driver-$fs.log" "${build[@]}" ||
		die "${build[0]} failed: $(df -h --output=avail,target /boot | tail -n 1)"
}

# The initramfs must not have FS.ko without fscommit.ko, or an older one.
check_boot()
{
	local used list f
	used=$(modinfo -k "$release" -n "$fs")
	[ "$used" = "$dir/$fs.ko" ] ||
		die "modprobe would load $used, not $dir/$fs.ko: see /etc/depmod.d"
	[ -e "$initrd" ] || return 0
	if command -v lsinitramfs >/dev/null; then
		list=$(lsinitramfs "$initrd")
	else
		list=$(lsinitrd "$initrd" | awk '{ print $NF }')
	fi
	grep "/$fs\.ko" <<<"$list" >/dev/null || {
		say "note: $initrd has no $fs.ko; so it does not mount a root filesystem of that type"
		return 0
	}
	while read -r f; do
		grep -xF -e "${f#/}" -e "usr$f" <<<"$list" >/dev/null || die "$initrd lacks $f"
	done <"$manifest"
}

# shared FILE: does the manifest of another port name it?
shared()
{
	find "$state/$release" -type f ! -name "$fs" ! -name '*.*' -exec cat {} + 2>/dev/null |
		grep -xF "$1" >/dev/null
}

# Remove what the manifest names, unless another port uses it.
remove()
{
	local f
	[ -e "$manifest" ] || return 0
	while read -r f; do
		shared "$f" || rm -f "$f" "$f.new"
	done <"$manifest"
	rmdir "$dir" "${dir%/*}" 2>/dev/null || true
	update_boot
	rm -f "$manifest" "$manifest.new"
	rmdir "$state/$release" "$state" 2>/dev/null || true
}

undo()
{
	trap - EXIT
	# an update of the initramfs may still run
	wait
	say "undoing: $release gets its own $fs back"
	remove
	exit 1
}

# What the running kernel has loaded stays loaded.
tell()
{
	say "$fs of $release is now $1"
	[ "$release" = "$(uname -r)" ] && [ -e "/sys/module/$fs" ] || return 0
	if [ "$(cat "/sys/module/$fs/refcnt")" = 0 ]; then
		say "The other driver is loaded. Run: modprobe -r $fs && modprobe $fs"
	else
		say "The other driver is in use: $(awk -v fs="$fs" '$3 == fs { print $2 }' /proc/mounts |
			sort -u | xargs)"
		say "Reboot; or unmount, and run: modprobe -r $fs && modprobe $fs"
	fi
}

# Set $ko: the driver, with fscommit.ko beside it.
build()
{
	find_source
	need gcc strip
	ko=$("$PORTS/port.sh" "$fs" "KSRC=$KSRC" "KDIR=$kdir" "${options[@]}") || exit 1
}

install()
{
	local ko files m
	check_kernel
	check_other
	check_key
	build
	files=("$ko")
	[ ! -e "${ko%/*}/fscommit.ko" ] || files=("${ko%/*}/fscommit.ko" "$ko")
	for m in "${files[@]}"; do
		modinfo -F vermagic "$m" | grep "^$release " >/dev/null ||
			die "$m is for $(modinfo -F vermagic "$m"), not for $release"
		! shared "$dir/${m##*/}" || [ "$(modinfo -F srcversion "$m")" = \
			"$(modinfo -F srcversion "$dir/${m##*/}")" ] ||
			die "another port uses a different $dir/${m##*/}: uninstall that port first"
	done
	trap undo EXIT
	mkdir -p "$dir" "${manifest%/*}" || die "cannot write to $dir"
	printf "$dir/%s\n" "${files[@]##*/}" >"$manifest.new"
	sync "$manifest.new"
	mv "$manifest.new" "$manifest"
	for m in "${files[@]}"; do
		copy "$m"
	done
	update_boot
	check_boot
	trap - EXIT
	tell "that of fscommit, in $dir; make uninstall-$fs brings back the kernel's"
}

uninstall()
{
	local r found=''
	for r in ${KERNEL_RELEASE:-$(ls "$state" 2>/dev/null)}; do
		use_release "$r"
		[ -e "$manifest" ] || continue
		found=1
		remove
		tell "the kernel's own"
	done
	[ "$found" ] || die "$fs is not installed${KERNEL_RELEASE:+ for $KERNEL_RELEASE}:" \
		"no $state/${KERNEL_RELEASE:-*}/$fs"
}

use_release "${KERNEL_RELEASE:-$(uname -r)}"
case $what in
install|uninstall) locked driver "$what" ;;
build)	CACHE=$PWD/cache LOGS=$PWD/cache/logs
	export FSCOMMIT_CACHE=$CACHE
	check_kernel
	build
	cp "$ko" . ;;
boot) update_boot ;;
*) usage ;;
esac
