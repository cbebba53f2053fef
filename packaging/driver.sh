#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make install-FS`, `make uninstall-FS`, and the packages: a driver for each boot.
#
#   driver.sh install FS [KERNEL_RELEASE=R] [KSRC=SOURCE] [OPTION=VALUE...]
#   driver.sh uninstall FS [KERNEL_RELEASE=R]
#   driver.sh update FS          for packages: install, or bring up to date, for each kernel
#
#   FS                 a port, or fscommit: the module alone
#   KERNEL_RELEASE=R   install: the running kernel if not given; uninstall: all kernels
#   KSRC=SOURCE        that kernel's source; if not given, linux-source-* in /usr/src
#   SIGN_KEY=, SIGN_CERT=   the key that signs the modules, if not that of DKMS
#   OPTION=VALUE       of ports/port.sh FS
#
# install builds FS.ko and fscommit.ko and copies them to /lib/modules/R/updates/fscommit, where
# depmod prefers them to the kernel's own, which stays in place. Then it replaces that kernel's
# initramfs if the new one is complete. /var/lib/fscommit/R/FS has the names of the files, and the
# checksums of what they were made of. uninstall removes the files and builds the initramfs again; so
# does install if it fails. After each step, the next boot and modprobe find one complete driver.
#
# update prints a line for each kernel that changes or has no driver of fscommit, and never fails: a
# package that fails stops apt. /etc/default/fscommit may set SIGN_KEY, SIGN_CERT, UNTRIED, and
# KERNELS, a pattern of the releases to convert; by default those that were booted with a port.

. "$(dirname "$0")/../scripts/lib.sh"
PORTS=$TOP/ports
unset MAKEFLAGS MFLAGS MAKELEVEL

[ $# -ge 2 ] || exit_usage
what=$1 fs=$2
shift 2
[ "$fs" = fscommit ] || [ -e "$PORTS/$fs/options" ] || die "no port of '$fs'"
KERNEL_RELEASE='' KSRC='' SIGN_KEY='' SIGN_CERT='' options=()
for arg in "$@"; do
	case $arg in
	KERNEL_RELEASE=*|KSRC=*|SIGN_KEY=*|SIGN_CERT=*) printf -v "${arg%%=*}" %s "${arg#*=}" ;;
	FSCOMMIT_*=*|DEBIAN_MIRROR=*) ;;	# exported by make
	KDIR=*|KERNEL=*) die "$arg: name the kernel by KERNEL_RELEASE=, as in /lib/modules" ;;
	*) options+=("$arg") ;;
	esac
done
state=/var/lib/fscommit initramfs=kept
[ "$(id -u)" -eq 0 ] || die "this needs root. Run: sudo make $what-$fs $*"

# use_release R: sets what depends on the kernel
use_release()
{
	release=$1
	series=$(cut -d. -f1,2 <<<"${release%%[-+]*}")
	modules=/lib/modules/$release
	kdir=$modules/build
	dir=$modules/updates/fscommit
	symvers=$state/$release/Module.symvers
	manifest=$state/$release/$fs
	# as Debian, openSUSE and Fedora name it
	for initrd in /boot/initrd{.img,}-"$release" /boot/initramfs-"$release".img; do
		[ ! -e "$initrd" ] || break
	done
}

# --- checks before anything is built or changed ---------------------------------------------------

check_kernel()
{
	local other how="make uninstall KDIR=$kdir; or remove its package"
	[ -d "$modules/kernel" ] || die "KERNEL_RELEASE=$release: no such kernel; there are: $(
		cd /lib/modules 2>/dev/null && echo *)"
	# two modules of the same name would be ambiguous
	other=$(find "$modules" -name 'fscommit.ko*' ! -path "$dir/*" | head -n 1)
	[[ $other != */dkms/* ]] ||
		how="dkms remove fscommit/$(modinfo -F version "$other" || true) --all"
	[ -z "$other" ] ||
		die "$other is another fscommit, and a kernel can have one. Remove it: $how"
	if [ "$fs" != fscommit ]; then
		[ -n "$(own_driver)" ] || die "$release has no $fs as a module. Use another kernel; on" \
			"Debian one without -cloud in its name"
		check_boot_tools
	fi
	[ -e "$kdir/Makefile" ] ||
		die "no headers of $release: install the package linux-headers-$release of Debian," \
			"kernel-devel of Fedora, linux-headers of Arch, kernel-default-devel of openSUSE"
}

own_driver() { find "$modules/kernel" -name "$fs.ko*"; }

# The next boot must find both modules in the initramfs, or neither: it must be of a program whose
# result can be checked, and be the file $initrd.
check_boot_tools()
{
	local image
	if command -v update-initramfs >/dev/null; then
		make_initramfs=(mkinitramfs -o "$initrd.new" "$release")
	elif command -v dracut >/dev/null && ! command -v mkinitcpio >/dev/null; then
		make_initramfs=(dracut --force "$initrd.new" "$release")
	else
		die "only initramfs-tools and dracut are known, and this machine has neither of them"
	fi
	image=$(compgen -G '/boot/EFI/Linux/*.efi'; compgen -G '/boot/efi/EFI/Linux/*.efi'
		compgen -G '/efi/EFI/Linux/*.efi'
		grep -lsE '^\s*layout=uki' /{etc,usr/lib}/kernel/install.conf{,.d/*.conf}
		grep -hsE '^initrd\s' {/boot,/boot/efi,/efi}/loader/entries/*"$release".conf |
			grep -vE "^initrd\s+(/boot)?/${initrd##*/}\s*$") || true
	[ -z "$image" ] || die "an initramfs in a unified kernel image, or a copy of it, cannot be" \
		"checked: ${image//$'\n'/, }"
}

# Set KSRC: the part of Debian's source package that the port needs. A fix of f2fs may be in a
# revision of the package alone, so all packages must be of the same version.
find_source()
{
	local image tar versions
	[ -z "$KSRC" ] || return 0
	tar=/usr/src/linux-source-$series.tar.xz
	[ -e "$tar" ] || die "no source of Linux $series. On Debian: apt install" \
		"linux-source-$series; elsewhere: make install-$fs KSRC=FOLDER"
	image=$(dpkg-query -S "/boot/vmlinuz-$release" 2>/dev/null | cut -d: -f1) || true
	[ -n "$image" ] || die "/boot/vmlinuz-$release is of no package. Run: make install-$fs" \
		"KSRC=FOLDER, with its source"
	# shellcheck disable=SC2016 # expanded by dpkg-query
	versions=$(dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' "$image" \
		"linux-headers-$release" "linux-source-$series" 2>&1 |
		sed 's/ \(installed\|trigg.*\)$//') || true
	[ "$(cut -d' ' -f2- <<<"$versions" | sort -u | wc -l)" -eq 1 ] ||
		die "these packages must have the same version: ${versions//$'\n'/, }"
	KSRC=$CACHE/src/$release-$fs
	rm -rf "$KSRC"
	mkdir -p "$KSRC"
	step "unpacking fs/$fs of $tar" "20 s" "$LOGS/source-$fs.log" tar -C "$KSRC" \
		--strip-components=1 -xf "$tar" "linux-source-$series/fs/$fs" \
		"linux-source-$series/Makefile" || die "cannot unpack $tar"
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
	! signatures_enforced || die "this machine loads signed modules only, and has no key." \
		"packaging.rst (Signatures), in docs or /usr/share/doc/fscommit-*, makes one, for" \
		"SIGN_KEY= and SIGN_CERT="
	key=''
}

# mokutil exits with 1 for a key that the kernel trusts, so only its words count.
check_enrolled()
{
	local said
	need mokutil
	said=$(mokutil --test-key "$cert" 2>&1) || true
	case $said in
	*"already enrolled"*|*"already in db"*|*"trusted keyring"*) ;;
	*)	die "this machine loads signed modules only, and mokutil says: $said. Run: mokutil" \
			"--import $cert; then reboot, enroll it at the console, and try again" ;;
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

# The new initramfs must not have FS.ko without fscommit.ko, or an older one.
check_initramfs()
{
	local used list f
	used=$(modinfo -k "$release" -n "$fs")
	[ "$used" = "$dir/$fs.ko" ] ||
		die "modprobe would load $used, not $dir/$fs.ko: see /etc/depmod.d"
	if [ "${make_initramfs[0]}" = mkinitramfs ]; then
		list=$(lsinitramfs "$initrd.new")
	else
		list=$(lsinitrd "$initrd.new" | awk '{ print $NF }')
	fi
	grep "/$fs\.ko" <<<"$list" >/dev/null || return 0
	for f in "${files[@]##*/}"; do
		[ "$(grep "/$f\(\.[a-z]*\)\?$" <<<"$list" | sed 's:^/*\(usr/\)\?::')" = "${dir#/}/$f" ] ||
			die "the new initramfs lacks $dir/$f, or has another"
	done
}

# build_initramfs [CHECK]: if this kernel has one. The old one stays until the new one is complete
build_initramfs()
{
	[ -e "$initrd" ] || return 0
	step "building $initrd again" "10-60 s" "$LOGS/driver-$fs.log" "${make_initramfs[@]}" || {
		rm -f "$initrd.new"
		die "${make_initramfs[0]} failed: $(df -h --output=avail,target /boot | tail -n 1)"
	}
	${1:+"$1"}
	initramfs=replaced
	{ sync "$initrd.new" && mv "$initrd.new" "$initrd"; } || die "cannot write $initrd"
	[ ! -d /etc/initramfs/post-update.d ] ||
		run-parts --arg="$release" --arg="$initrd" /etc/initramfs/post-update.d >&2 ||
		die "a program in /etc/initramfs/post-update.d failed"
}

# shared FILE: does the manifest of another port name it?
shared()
{
	find "$state/$release" -type f ! -name "$fs" ! -name '*.*' -exec cat {} + 2>/dev/null |
		grep " $1\$" >/dev/null
}

# Remove what the manifest names, unless another port uses it. First make modprobe use the kernel's
# own driver.
remove()
{
	local f
	[ -e "$manifest" ] || return 0
	if [ -d "$modules/kernel" ]; then
		echo "override $fs * kernel/fs/$fs" >"$manifest.own"
		depmod -C "$manifest.own" "$release" || true
	fi
	while read -r f; do
		f=${f##* }
		case $f in
		"$dir"/*|"$symvers") shared "$f" || rm -f "$f" "$f.new" ;;
		esac
	done <"$manifest"
	rmdir "$dir" "${dir%/*}" "$modules" 2>/dev/null || true
	[ ! -d "$modules/kernel" ] || depmod "$release" || say "warning: depmod $release failed"
}

# After remove. Without a new one, the old initramfs still has both modules, and boots.
forget()
{
	[ "$fs" = fscommit ] || [ ! -d "$modules/kernel" ] || [ "${1:-}" = kept ] ||
		(check_boot_tools && build_initramfs) || say "warning: $initrd was not built again." \
			"If it has the $fs of fscommit, it keeps it until the next time"
	rm -f "$manifest" "$manifest".{new,own}
	rmdir "$state/$release" "$state" 2>/dev/null || true
}

undo()
{
	trap - EXIT
	wait # for an update of the initramfs
	say "undoing: $release gets its own $fs back"
	rm -f "$initrd.new"
	remove
	forget "$initramfs"
	exit 1
}

# What the running kernel has loaded stays loaded.
tell()
{
	say "$*"
	[ "$release" != "$(uname -r)" ] || [ ! -e "/sys/module/$fs" ] || say "The other driver is" \
		"loaded. Reboot; or unmount, and run: modprobe -r $fs fscommit; modprobe $fs"
}

# Set $files: fscommit.ko, if the driver needs it, and the driver.
build()
{
	local ko tree=$CACHE/build/fs/$release/product clang=()
	! grep -qs '^CONFIG_CC_IS_CLANG=y' "$kdir/include/config/auto.conf" ||
		clang=(clang ld.lld llvm-objcopy)
	need "${clang[@]:-gcc}" strip make rsync
	if [ "$fs" = fscommit ]; then
		mkdir -p "$tree"
		copy_product "$TOP" "$tree"
		step "building fscommit for $release" "20 s" "$LOGS/module.log" \
			make -C "$kdir" M="$tree" ${clang[0]:+LLVM=1} modules ||
			die "cannot build fscommit for $release: $(
				grep -m 3 -E 'error:|\*\*\*' "$LOGS/module.log")"
		files=("$tree/module/fscommit.ko")
		return
	fi
	find_source
	ko=$("$PORTS/port.sh" "$fs" "KSRC=$KSRC" "KDIR=$kdir" "${options[@]}") || exit 1
	files=("$ko")
	[ ! -e "${ko%/*}/fscommit.ko" ] || files=("${ko%/*}/fscommit.ko" "$ko")
}

install()
{
	local files m symbols=$CACHE/build/fs/$release/product/Module.symvers
	mkdir -p "$LOGS"
	check_kernel
	check_key
	build
	for m in "${files[@]}"; do
		modinfo -F vermagic "$m" | grep "^$release " >/dev/null ||
			die "$m is for $(modinfo -F vermagic "$m"), not for $release"
		! shared "$dir/${m##*/}" || [ "$(modinfo -F srcversion "$m")" = \
			"$(modinfo -F srcversion "$dir/${m##*/}")" ] ||
			die "another port uses a different $dir/${m##*/}: uninstall that port first"
	done
	trap undo EXIT
	# never a driver beside a fscommit of another version
	remove
	mkdir -p "$dir" "${manifest%/*}" || die "cannot write to $dir"
	printf "for $dir/%s\n" "${files[@]##*/}" >"$manifest.new"
	echo "for $symvers" >>"$manifest.new"
	sync "$manifest.new"
	mv "$manifest.new" "$manifest"
	for m in "${files[@]}"; do
		shared "$dir/${m##*/}" || copy "$m"
	done
	shared "$symvers" || [ ! -e "$symbols" ] || cp "$symbols" "$symvers"
	depmod "$release" || die "depmod $release failed"
	[ "$fs" = fscommit ] || build_initramfs check_initramfs
	made_of >"$manifest.new"
	sync "$manifest.new"
	mv "$manifest.new" "$manifest"
	trap - EXIT
	tell "$fs of $release is now that of fscommit, in $dir; make uninstall-$fs brings back" \
		"the kernel's"
}

# The checksums of what is installed, and of what it was made of
made_of()
{
	# shellcheck disable=SC2046 # one name, or none
	sha256sum "$dir"/{fscommit,"$fs"}.ko "$symvers" $(own_driver) "$kdir/Module.symvers" \
		"$TOP"/module/{,include/linux/}*.[ch] "$PORTS/$fs"/* 2>/dev/null || true
}

is_current()
{
	[ "$(modinfo -k "$release" -n "$fs" 2>/dev/null)" = "$dir/$fs.ko" ] &&
		[ -e "$dir/fscommit.ko" ] &&
		sha256sum --check --status --ignore-missing "$manifest" 2>/dev/null
}

uninstall()
{
	local r found=''
	for r in ${KERNEL_RELEASE:-$(ls "$state" 2>/dev/null)}; do
		use_release "$r"
		[ -e "$manifest" ] || continue
		found=1
		remove
		forget
		if [ "$fs" = fscommit ]; then
			say "fscommit of $r is removed; if it is loaded, it stays until the next boot"
		else
			tell "$fs of $r is now the kernel's own"
		fi
	done
	[ "$found" ] || die "$fs is not installed${KERNEL_RELEASE:+ for $KERNEL_RELEASE}:" \
		"no $state/${KERNEL_RELEASE:-*}/$fs"
}

update()
{
	local r said keeps="keeps its own $fs:" KERNELS='6.1.*|6.12.*|7.3[.-]*' UNTRIED=''
	trap 'exit 0' EXIT
	[ "$fs" != fscommit ] || keeps="gets no fscommit:"
	export FSCOMMIT_CACHE=/var/cache/fscommit UNTRIED
	# shellcheck source=/dev/null
	[ ! -e /etc/default/fscommit ] || . /etc/default/fscommit
	for r in $(find /lib/modules/ "$state/" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null |
			sort -uV); do
		use_release "$r"
		if [ -d "$modules/kernel" ]; then
			if [[ $fs != fscommit && $r != @($KERNELS) ]]; then
				said="error: not tested, and not in KERNELS= of /etc/default/fscommit"
			elif is_current; then
				continue
			else
				say "  building $fs for $r (usually up to 5 min)"
				said=$("$0" install "$fs" "KERNEL_RELEASE=$r" "SIGN_KEY=$SIGN_KEY" \
					"SIGN_CERT=$SIGN_CERT" 2>&1) && {
					tell "fscommit: $fs is installed for $r"
					rm -rf "$FSCOMMIT_CACHE"/{build/fs/"$r",src}
					continue
				}
			fi
			say "fscommit: $r $keeps $(grep -a '^error: ' <<<"$said" | tail -n 1 | cut -c8-)"
		fi
		# its kernel is gone or has changed
		[ ! -e "$manifest" ] || "$0" uninstall "$fs" "KERNEL_RELEASE=$r" >/dev/null 2>&1 || true
	done
}

use_release "${KERNEL_RELEASE:-$(uname -r)}"
case $what in
install|uninstall) locked driver "$what" ;;
update) update ;;
*) exit_usage ;;
esac
