# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034,SC2154,SC3043 # busybox has `local`
# In the guest: mount a new filesystem with one driver, and check it afterwards. Sourced by scripts.
# The disk is $DISK, and $name begins messages.

# shellcheck source=selftests/filesystems/guest_lib.sh
. /fscommit/guest_lib.sh
# for limit_group()
name=$* group=/sys/fs/cgroup/low

die() { echo "${0##*/}: $name: $*"; exit 1; }

# mount_new FS MODULE KNOB=VALUE,...: load MODULE.ko as the driver of FS, and mount a new filesystem.
# KNOB is a file of the mount in sysfs; - for none.
mount_new()
{
	fs=$1
	trap unmount EXIT
	mkdir -p "$mnt"
	[ -z "$SCHEDULER" ] ||
		echo "$SCHEDULER" >"/sys/class/block/${DISK##*/}/queue/scheduler" ||
		die "$DISK has no scheduler $SCHEDULER"
	[ "$MEDIUM" != crypt ] || encrypt
	insmod "/fscommit/$2.ko" || die "cannot load $2.ko"
	make_fs "$DISK" || die "mkfs: $(tail -n 3 /tmp/out/mkfs)"
	mount_fs "$DISK" "$([ "$1" != xfs ] || echo noatime)" || die "cannot mount it"
	[ "$3" != - ] || return 0
	for k in $(echo "$3" | tr , ' '); do
		echo "${k#*=}" >"/sys/fs/$1/$(basename "$DISK")/${k%%=*}" ||
			die "$2.ko has no ${k%%=*}, or refuses ${k#*=}"
	done
}

# encrypt: put dm-crypt on the disk; its kernel threads have nice 0
encrypt()
{
	[ -e /dev/dm-0 ] ||
		dmsetup create crypt --noudevsync --table "0 $(blockdev --getsz "$DISK") crypt \
			aes-xts-plain64 $(printf %0128d 1) 0 $DISK 0" ||
		die "cannot encrypt $DISK"
	DISK=/dev/dm-0
}

# limit_group KIND: make a cgroup for the low-priority tasks, with one limit:
#
#   weight:N        cpu.weight
#   quota:PERCENT   of a CPU, in total
#   iomax:KIB       reads, and writes, of the disk in a second
#   ioweight:N      io.weight, by iocost on a disk of 20 MiB and 1,000 requests in a second
#   memory:MIB      memory.high
#   memmax:MIB      memory.max
limit_group()
{
	local value=${1#*:} controller dev d rate=''
	case $1 in
	iomax:*|ioweight:*) controller=io ;;
	mem*:*) controller=memory ;;
	*) controller=cpu ;;
	esac
	echo +$controller >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p "$group" ||
		die "no cgroup v2 with the controller $controller"
	dev=$(cat "/sys/class/block/${DISK##*/}/dev")
	case $1 in
	weight:*) echo "$value" >"$group/cpu.weight" ;;
	quota:*) echo "$((value * 1000)) 100000" >"$group/cpu.max" ;;
	iomax:*) echo "$dev rbps=$((value << 10)) wbps=$((value << 10))" >"$group/io.max" ;;
	ioweight:*)
		for d in r w; do
			rate="$rate ${d}bps=20971520 ${d}seqiops=1000 ${d}randiops=1000"
		done
		echo "$dev ctrl=user model=linear$rate" >/sys/fs/cgroup/io.cost.model &&
			echo "$dev enable=1 ctrl=user min=100 max=100" >/sys/fs/cgroup/io.cost.qos &&
			echo "$value" >"$group/io.weight" ;;
	memory:*) echo "${value}M" >"$group/memory.high" ;;
	memmax:*) echo "${value}M" >"$group/memory.max" ;;
	*) false ;;
	esac || die "no load '$1' on this kernel"
}

# lift_limits: what the group still has to write is no longer limited
lift_limits()
{
	echo max >"$group/cpu.max"
	echo max >"$group/memory.high"
	echo max >"$group/memory.max"
	echo 100 >"$group/io.weight"
	echo "$(cat "/sys/class/block/${DISK##*/}/dev") rbps=max wbps=max" >"$group/io.max"
} 2>/dev/null

# at the exit
unmount()
{
	umount "$mnt" 2>/dev/null
	rmmod "$fs" 2>/dev/null
}

# unmount_and_check: unmount it; the filesystem's own check must find nothing
unmount_and_check()
{
	umount "$mnt" || die "cannot unmount it"
	found=$(check_fs "$DISK") || die "not clean: $found"
	rmmod "$fs" || die "cannot unload it"
	trap - EXIT
}
