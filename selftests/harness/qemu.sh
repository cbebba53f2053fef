# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The emulator of a guest. Sourced, after lib.sh; never run.

# QEMU before 8.1 translates a page of code without its lock: a CPU that translates while
# another one writes there may keep an int3 that is gone, and the guest dies of a patch that
# is done. Debian 12 has 7.2, so there the one of Debian 13.
oldest_qemu=1:8.1

# find_qemu ARCH: as $qemu, with $qemu_data for its command line
find_qemu()
{
	local package=qemu-system-x86 arch=$1 candidate packages d
	case $arch in
	arm64) package=qemu-system-arm arch=aarch64 ;;
	esac
	qemu=qemu-system-$arch qemu_data=()
	candidate=$(LC_ALL=C apt-cache policy "$package" 2>/dev/null | sed -n 's/^ *Candidate: //p')
	if dpkg --compare-versions "${candidate:-0}" ge "$oldest_qemu"; then
		need_packages "$package"
		return
	fi
	if [ ! -e "$CACHE/toolchain/$package/complete" ]; then
		suite_update trixie
		packages=$(closure trixie "$package") || die "trixie has no $package"
		# shellcheck disable=SC2086 # a list
		later_tool "$package" trixie $packages || exit 1
	fi
	qemu=$CACHE/toolchain/$package/bin/$qemu
	# it looks for its firmware beside itself, and is the dynamic loader
	for d in qemu seabios ../lib/ipxe/qemu; do
		qemu_data+=(-L "$CACHE/toolchain/$package/root/usr/share/$d")
	done
}

# A /dev/kvm that exists proves nothing: a guest must have printed something.
#   kvm_works IMAGE
kvm_works()
{
	local mark=$CACHE/kvm-works
	[ -w /dev/kvm ] || return 1
	if [ ! -e "$mark" ]; then
		timeout 10 "$qemu" "${qemu_data[@]}" -accel kvm -cpu host -m 256M -nographic -no-reboot \
			-kernel "$1" -append 'console=ttyS0 panic=-1' </dev/null 2>/dev/null |
			grep -q 'Linux version' && echo yes >"$mark" || echo no >"$mark"
	fi
	[ "$(cat "$mark")" = yes ]
}
