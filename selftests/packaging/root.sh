# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# foreign: the commands that need no Debian, in a chroot without dpkg and apt.
# root: `make install-f2fs` in a chroot of bookworm, and three boots from a root filesystem of f2fs,
# with the initramfs that this built: by the ported driver, by the kernel's, by the ported driver
# again. After each boot fsck.f2fs checks the filesystem. Sourced by run.sh.
#
# Seen failing: boot 1, without update-initramfs in driver.sh: the kernel's own f2fs is loaded.

# The tree as a user has it
copy_tree()
{
	rm -rf "$work"
	copy_product "$work/tree"
	rsync -a --exclude '*.o' --exclude '*.ko' "$TOP"/{ports,scripts,selftests} "$work/tree/"
}

copy_packages()
{
	"$TOP/packaging/deb.sh" "$work/debs"
	mkdir "$work/tree/debs"
	cp "$work"/debs/fscommit-{dkms,f2fs-dkms}_*.deb "$work/tree/debs/"
}

# fsck.f2fs reports errors in its output; its exit status is not reliable.
root_is_clean()
{
	fsck.f2fs -f --dry-run "$work/disk" >"$work/fsck"
	cat "$work/fsck"
	grep '\[FSCK\]' "$work/fsck"
	refused grep -E '\[Fail\]|\[ASSERT\]' "$work/fsck"
}

# boot_root N DRIVER
boot_root()
{
	local guest=$LOGS/root-$1-$2 start=$SECONDS
	mkdir -p "$guest"
	echo "test root 300 root_guest" >"$guest.plan"
	step "boot $1 from f2fs, $2 driver" "30 s" "$guest.log" "$SCRIPTS/boot.sh" \
		--out "$guest" --timeout 400 --append "root_boot=$1 root_driver=$2" \
		--root "$work/disk" "$work/initrd.$2" "$work" "$guest.plan" \
		"$programs/filesystems/fsops" "$TOP/selftests/filesystems/smoke_lib.sh" \
		"$PACKAGING/root_guest" || true
	collect "boot-$1-$2" "$guest" $((SECONDS - start))
	check "boot-$1-$2" fsck root_is_clean
}

f2fs_chroot()
{
	need_chroot bookworm-f2fs "$suite" linux-image-amd64 linux-headers-amd64 linux-source-6.1 \
		initramfs-tools dracut-core f2fs-tools coccinelle rsync zstd mount libc6-dev \
		python3
}

foreign()
{
	# shellcheck disable=SC2034 # run_life uses it
	local work=$CACHE/build/foreign suite=bookworm source
	foreign_packages
	f2fs_chroot || return 0
	copy_tree
	source=$("$SCRIPTS/kernel.sh" source 7.3) || exit 1
	rsync -a --include /kselftest/ --exclude '/*/' \
		"$source/tools/testing/selftests/" "$work/tree/ksft/"
	suite=foreign
	run_life bookworm-f2fs foreign_life "$work/tree"
}

root()
{
	# shellcheck disable=SC2034 # run_life uses it
	local work=$CACHE/build/root suite=bookworm programs
	need fsck.f2fs dpkg-buildpackage dh dh_dkms rsync
	f2fs_chroot || return 0
	programs=$(build_programs) || exit 1
	copy_tree
	check bookworm copy_packages copy_packages
	run_life bookworm-f2fs driver_life "$work/tree"
	cp "$LOGS"/life-bookworm-f2fs/{image,initrd.*} "$work/" || return 0
	echo x86_64 >"$work/arch"
	boot_root 1 ported
	boot_root 2 stock
	boot_root 3 ported
}
