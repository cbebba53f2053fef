# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# root: `make install-f2fs` and the packages in a chroot of Debian; then boots from a root filesystem
# of f2fs with the initramfs that they left: after the installation, after an upgrade of kernel and
# packages, after the removal. After each boot fsck.f2fs checks the filesystem.
# foreign: the commands that need no Debian, in a chroot without dpkg and apt. Sourced by run.sh.
#
# Seen failing: boot 1, without build_initramfs in driver.sh: the kernel's own f2fs is loaded.

# The tree as a user has it
copy_tree()
{
	rm -rf "$work"
	copy_installable "$work/tree"
	rsync -a --exclude '*.o' --exclude '*.ko' "$TOP"/{ports,scripts,selftests} "$work/tree/"
}

# fsck.f2fs reports errors in its output; its exit status is not reliable.
root_is_clean()
{
	fsck.f2fs -f --dry-run "$work/disk" >"$work/fsck"
	cat "$work/fsck"
	grep '\[FSCK\]' "$work/fsck"
	refused grep -E '\[Fail\]|\[ASSERT\]' "$work/fsck"
}

# boot_root N DRIVER: with the kernel and initramfs N that `life` left
boot_root()
{
	local guest=$LOGS/root-$suite-$1 kernel=$work/$1
	mkdir -p "$kernel"
	echo x86_64 >"$kernel/arch"
	cp "$made/image.$1" "$kernel/image" || return 0
	run_guest "$suite-$1-$2" "$suite: boot $1 from f2fs, $2 driver" "30 s" "$guest" \
		--timeout 400 --append "root_boot=$1 root_driver=$2" \
		--root "$work/disk" "$made/initrd.$1" "$kernel" "$guest.plan" \
		"$programs/filesystems/fsops" "$TOP"/selftests/filesystems/{guest,smoke}_lib.sh \
		"$PACKAGING/root_guest" <<<"test root 300 root_guest"
	check "$suite-$1-$2" fsck root_is_clean
}

# kernel_chroot SUITE SERIES
kernel_chroot()
{
	need_chroot "$1-f2fs" "$suite" linux-image-amd64 linux-headers-amd64 "linux-source-$2" \
		initramfs-tools dracut-core f2fs-tools coccinelle rsync zstd mount libc6-dev \
		python3
}

foreign()
{
	# shellcheck disable=SC2034 # run_life uses it
	local work=$CACHE/build/foreign suite=bookworm source
	foreign_packages
	kernel_chroot bookworm 6.1 || return 0
	copy_tree
	source=$("$SCRIPTS/kernel.sh" source 7.3) || exit 1
	rsync -a --include /kselftest/ --exclude '/*/' \
		"$source/tools/testing/selftests/" "$work/tree/ksft/"
	suite=foreign
	run_life bookworm-f2fs foreign_life "$work/tree"
}

# root SUITE: the initramfs is made by one program at the first boot, by the other after it
root()
{
	local suite=$1 work=$CACHE/build/root-$1 programs made=$LOGS/life-$1-f2fs
	local debs=$CACHE/build/debs
	need fsck.f2fs rsync dpkg-buildpackage dh
	check "$suite" deb_builds build_packages
	[ "$checked" -eq 0 ] || return 0
	case $suite in
	bookworm) set -- 6.1 initramfs-tools dracut ;;
	trixie) set -- 6.12 dracut initramfs-tools ;;
	*) die "root $suite: bookworm or trixie" ;;
	esac
	kernel_chroot "$suite" "$1" || return 0
	programs=$(build_programs) || exit 1
	copy_tree
	cp -r "$debs" "$work/tree/"
	run_life "$suite-f2fs" life "$work/tree" "$2" "$3"
	boot_root 1 ported
	boot_root 2 ported
	boot_root 3 stock
}
