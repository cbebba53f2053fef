# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# `make install-f2fs` in a chroot of bookworm, and three boots from a root filesystem of f2fs, with
# the initramfs that this built: by the ported driver, by the kernel's, by the ported driver again.
# After each boot fsck.f2fs checks the filesystem. Sourced by run.sh.
#
# Seen failing: boot 1, without update-initramfs in driver.sh: the kernel's own f2fs is loaded.

# Runs driver_life in a copy of the chroot, and fetches the initramfs of each driver.
live_driver()
{
	local chroot=$work/chroot rc=0
	rm -rf "$work" "$out"
	mkdir -p "$out" "$work" "$chroot"
	cp -a "$CACHE/chroot/bookworm-f2fs/root/." "$chroot/"
	mkdir -p "$chroot/fscommit"/{selftests,debs}
	"$TOP/packaging/deb.sh" "$work/debs"
	cp "$work"/debs/fscommit-{dkms,f2fs-dkms}_*.deb "$chroot/fscommit/debs/"
	copy_product "$chroot/fscommit"
	rsync -a "$TOP/ports" "$chroot/fscommit/"
	rsync -a "$TOP"/selftests/{harness,lib} "$chroot/fscommit/selftests/"
	cp "$PACKAGING/driver_life" "$chroot/fscommit/"
	in_chroot "$chroot" bash /fscommit/driver_life >"$out/tap" 2>"$out/log" || rc=$?
	cp "$chroot"/tmp/out/* "$work/"
	rm -rf "$chroot"
	echo x86_64 >"$work/arch"
	return $rc
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
	step "boot $1 from f2fs, $2 driver" "30 s" "$guest.log" "$HARNESS/boot.sh" \
		--out "$guest" --timeout 400 --append "root_boot=$1 root_driver=$2" \
		--root "$work/disk" "$work/initrd.$2" "$work" "$guest.plan" \
		"$programs/filesystems/fsops" "$TOP/selftests/filesystems/smoke_lib.sh" \
		"$PACKAGING/root_guest" || true
	collect "boot-$1-$2" "$guest" $((SECONDS - start))
	check "boot-$1-$2" fsck root_is_clean
}

root()
{
	local work=$CACHE/build/root out=$LOGS/root start=$SECONDS programs
	need_packages f2fs-tools dpkg-dev debhelper dh-dkms rsync
	if [ "$(id -u)" -ne 0 ]; then
		check bookworm root skipped "a chroot with mounts needs root"
		return 0
	fi
	programs=$("$HARNESS/programs.sh") || exit 1
	locked chroot-bookworm-f2fs make_chroot bookworm-f2fs bookworm linux-image-amd64 \
		linux-headers-amd64 linux-source-6.1 initramfs-tools f2fs-tools coccinelle rsync zstd mount
	step "make install-f2fs in bookworm" "5 min" "$LOGS/root.log" live_driver ||
		say "  bookworm: driver_life did not finish: see $out/log"
	collect_life bookworm "$out" driver_life $((SECONDS - start))
	[ -e "$work/initrd.stock" ] || return 0
	boot_root 1 ported
	boot_root 2 stock
	boot_root 3 ported
}
