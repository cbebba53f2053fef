# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Find QEMU. Sourced after lib.sh, never run.

# QEMU before 8.1 translates code without the lock of its page. A CPU that translates while another
# CPU patches the page may keep an int3 that is already replaced, and the guest dies. Debian 12 has
# QEMU 7.2, so use the one of Debian 13 there.
oldest_qemu=1:8.1

# find_qemu ARCH: set $qemu to the program, and $qemu_data to arguments that it needs
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
	# QEMU searches firmware relative to its program, which is the dynamic loader here
	for d in qemu seabios ../lib/ipxe/qemu; do
		qemu_data+=(-L "$CACHE/toolchain/$package/root/usr/share/$d")
	done
}

# kvm_works IMAGE: check once that a guest boots with KVM; /dev/kvm may exist and not work
kvm_works()
{
	local mark=$CACHE/kvm-works
	[ -w /dev/kvm ] || return 1
	if [ ! -e "$mark" ]; then
		timeout -k 5 10 "$qemu" "${qemu_data[@]}" -accel kvm -cpu host -m 256M -nographic -no-reboot \
			-kernel "$1" -append 'console=ttyS0 panic=-1' </dev/null 2>/dev/null |
			grep -q 'Linux version' && echo yes >"$mark" || echo no >"$mark"
	fi
	[ "$(cat "$mark")" = yes ]
}
