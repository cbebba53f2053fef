#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Boot a kernel of the matrix, run a plan in it, and print the verdict.
#
#   boot.sh [OPTION...] KERNEL PLAN [FILE...]
#
# KERNEL is a name of the matrix, or a folder with the files image and arch (and the folder
# kdir for User-Mode Linux modules). PLAN lists the steps of the guest (see init). Each FILE is
# copied to /fscommit in the guest. A program must be static, or be added by --with.
#
#   --out DIR        folder for the log, the results and the guest's files
#   --timeout S      kill the guest after S seconds; the verdict is FAIL  [300]
#   --append ARGS    more arguments for the kernel's command line
#   --expect REGEX   the kernel must report exactly one problem, and its log must match REGEX
#   --smp N          number of CPUs                                       [2]
#   --icount         count instructions, 1 ns each: one CPU, or --smp N that take turns
#   --with PROGRAM   copy a program of the host and its libraries
#   --no-panic       do not panic on a WARN
#   --disk SIZE      a block device in the host's memory, for example 512M: $DISK in the
#                    guest; the second is $DISK2, and so on. Or a file: read only
#   --root IMAGE INITRAMFS
#                    boot with this initramfs, and with the root filesystem in IMAGE, which stays.
#                    If IMAGE does not exist, make it: a f2fs with PLAN and each FILE
#   --mem SIZE       the guest's memory                                   [1G]
#   --secure-boot    boot by UEFI with Secure Boot: kernel, initramfs and command line are one
#                    image, signed with the key of Debian's "snakeoil" variables
#   --kmod 'NAME [PARAM=VALUE...]'
#                    load a module of the kernel itself, and its dependencies, before the plan
#
# Exit status: 0 if the verdict is PASS, otherwise 1.

. "$(dirname "$0")/lib.sh"
. "$HARNESS/qemu.sh"

out='' limit=300 append='' expect='' smp='' icount='' mem=1G with=() disks=() kmods=() secure=''
image='' initrd=''
# SCHED_FIFO tasks of the tests have a CPU for up to 60 s: longer, where the host takes CPU time
rcu=rcupdate.rcu_cpu_stall_timeout=120
panic='panic_on_warn=1 oops=panic'
while [ $# -gt 0 ]; do
	case $1 in
	--out) out=$2; shift 2 ;;
	--timeout) limit=$2; shift 2 ;;
	--append) append=$2; shift 2 ;;
	--expect) expect=$2; panic=oops=panic; shift 2 ;;
	--smp) smp=$2; shift 2 ;;
	--icount) icount=1; shift ;;
	--with) with+=("$2"); shift 2 ;;
	--no-panic) panic=oops=panic; shift ;;
	--disk) disks+=("$2"); shift 2 ;;
	--root) image=$2 initrd=$3; shift 3 ;;
	--mem) mem=$2; shift 2 ;;
	--secure-boot) secure=1; shift ;;
	--kmod) kmods+=("$2"); shift 2 ;;
	--*) die "boot.sh: unknown option $1" ;;
	*) break ;;
	esac
done
[ $# -ge 2 ] || { sed -n '3,/^$/s/^# \{0,1\}//p' "$0"; exit 2; }
name=$1 plan=$2
shift 2
smp=${smp:-${icount:-2}}
# a report of KCSAN counts as a warning: the first one, mostly of the kernel itself, must not end
# the run
[ "$name" != x86-kcsan ] || panic=oops=panic
case $name in
*/*) kernel=$name ;;
*) kernel=$("$HARNESS/kernel.sh" get "$name") || exit 1 ;;
esac
arch=$(cat "$kernel/arch")
out=${out:-$LOGS/boot-$name}
mkdir -p "$out"
rm -rf "${out:?}"/*

need_packages busybox-static cpio gzip
[ "$arch" = um ] || find_qemu "$arch"

# Problem reports in the kernel's log.
reports='WARNING:|BUG:|BUG |Oops|INFO: task .* blocked|soft lockup|hard LOCKUP'
reports="$reports|rcu.*detected .*stall|unreferenced object|general protection|Kernel panic"
reports="$reports|scheduling while atomic|possible (recursive|circular)|lock held when returning"
reports="$reports|psi: inconsistent|refcount_t:|list_(add|del) corruption|ODEBUG:"

root=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-root.XXXXXX")
ram=$(df --output=target /dev/shm >/dev/null 2>&1 && echo /dev/shm || echo "${TMPDIR:-/tmp}")
disk_dir=$(mktemp -d "$ram/fscommit-disk.XXXXXX")
trap 'rm -rf "$root" "$disk_dir"' EXIT
mkdir -p "$root"/{bin,fscommit,lib,lib64,etc}
busybox=/bin/busybox
[ -e "$kernel/busybox" ] && busybox=$kernel/busybox
cp "$busybox" "$root/bin/"
cp "$HARNESS/init" "$root/init"
cp "$HARNESS/foreign_races.awk" "$root/fscommit/"
chmod +x "$root/init"
[ $# -eq 0 ] || cp -r "$@" "$root/fscommit/"
for p in "${with[@]}"; do
	path=$(command -v "$p") || die "no program '$p' on this machine"
	cp "$path" "$root/fscommit/"
	ldd "$path" 2>/dev/null | grep -o '/[^ ]*' | while read -r l; do
		mkdir -p "$root$(dirname "$l")"
		cp -L "$l" "$root$l"
	done
done
cp "$plan" "$root/fscommit/plan"

# add_kmod NAME: copy the module and its dependencies, and append them to $loaded in that order
loaded=' '
add_kmod()
{
	local name=${1//-/_} file dep
	[[ $loaded = *" $name "* ]] && return 0
	file=$(find "$modules" -name "${name//_/[-_]}.ko*" ! -name '*.o' ! -name '*.cmd' |
		head -n 1)
	[ -n "$file" ] || return 1
	case $file in
	*.xz) xz -dc "$file" >"$root/fscommit/kmod/$name.ko" ;;
	*) cp "$file" "$root/fscommit/kmod/$name.ko" ;;
	esac
	for dep in $(/sbin/modinfo -F depends "$root/fscommit/kmod/$name.ko" | tr , ' '); do
		add_kmod "$dep" || die "$KERNEL_NAME has no module $dep, which $name needs"
	done
	loaded="$loaded$name "
}

if [ ${#kmods[@]} -gt 0 ] || [ ${#disks[@]} -gt 0 ]; then
	need_packages kmod xz-utils
	KERNEL_NAME=$name
	mkdir -p "$root/fscommit/kmod"
	if [ "$arch" = um ]; then
		modules=$kernel/kdir/
	else
		modules=$("$HARNESS/kernel.sh" modules "$name")/ || exit 1
		# a built-in driver has no module
		[ ${#disks[@]} -eq 0 ] || for m in virtio_pci virtio_blk; do add_kmod "$m" || true; done
	fi
	for m in "${kmods[@]}"; do
		kmod=${m%% *}
		add_kmod "$kmod" || say "  $name has no module $kmod: assuming that it is built in"
		[[ $m != *' '* ]] || echo "${m#* }" >"$root/fscommit/kmod/${kmod//-/_}.params"
	done
fi

disk_args=() disk_env='' n=0
for size in "${disks[@]}"; do
	file=$disk_dir/$n ro=''
	if [ -f "$size" ]; then
		file=$size ro=r
	else
		truncate -s "$size" "$file" ||
			die "--disk $size: must be a file, or a size, for example 512M"
	fi
	letter=$(printf '%b' "\\$(printf '%o' $((97 + n)))")
	if [ "$arch" = um ]; then
		disk_args+=("ubd$n$ro=$file")
		dev=/dev/ubd$letter
	else
		drive=format=raw,if=virtio,cache=unsafe,discard=unmap${ro:+,readonly=on}
		disk_args+=(-drive "file=$file,$drive")
		dev=/dev/vd$letter
	fi
	n=$((n + 1))
	disk_env+="export DISK$([ $n -eq 1 ] || echo $n)=$dev"$'\n'
done
result=/dev/ttyS1
# the arm64 console is a PL011, ttyAMA0
[ "$arch" = arm64 ] && result=/dev/ttyS0
cat >"$root/fscommit/env" <<EOF
RESULT=$result
EXPECT='$expect'
REPORTS='$reports'
KMODS='$loaded'
$disk_env
EOF
if [ -z "$image" ]; then
	initrd=$out/initramfs
	(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0 | gzip -1) >"$initrd"
elif [ ! -e "$image" ]; then
	need_packages f2fs-tools
	mkdir -p "$root"/{dev,proc,run,sys,tmp}
	truncate -s 512M "$image.tmp"
	{ mkfs.f2fs -f -q "$image.tmp" && sload.f2fs -f "$root" "$image.tmp"; } >"$out/image" ||
		die "cannot make $image: see $out/image"
	mv "$image.tmp" "$image"
fi
if [ -n "$image" ]; then
	disk_args+=(-drive "file=$image,format=raw,if=virtio,cache=unsafe")
	append+=' root=/dev/vda rootfstype=f2fs rw init=/init'
fi

# secure_boot_disk ARGS: create a FAT disk with one signed image: kernel, initramfs and the
# command line ARGS
secure_boot_disk()
{
	local uki=$disk_dir/uki disk=$disk_dir/esp keys=/usr/share/ovmf/PkKek-1-snakeoil
	printf '%s' "$1" >"$uki.cmdline"
	# addresses that do not overlap: stub, command line, kernel, initramfs
	objcopy --add-section .cmdline="$uki.cmdline" --change-section-vma .cmdline=0x30000 \
		--add-section .linux="$kernel/image" --change-section-vma .linux=0x2000000 \
		--add-section .initrd="$out/initramfs" --change-section-vma .initrd=0x4000000 \
		/usr/lib/systemd/boot/efi/linuxx64.efi.stub "$uki.efi" &&
	openssl rsa -in "$keys.key" -passin pass:snakeoil -out "$uki.key" 2>/dev/null &&
	sbsign --key "$uki.key" --cert "$keys.pem" --output "$uki.signed" "$uki.efi" \
		>/dev/null 2>&1 &&
	truncate -s 128M "$disk" && mformat -i "$disk" -F :: && mmd -i "$disk" ::/EFI ::/EFI/BOOT &&
	mcopy -i "$disk" "$uki.signed" ::/EFI/BOOT/BOOTX64.EFI &&
	cp /usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd "$disk_dir/vars"
}

# QEMU 10, too, now and then shows a CPU an int3 that another CPU has already replaced (seen once in
# hundreds of boots). Not with KVM, which has no such fault, nor with disks, which are as that guest
# left them.
stale_int3()
{
	[[ ${accel[1]} = tcg,* && ${#disk_args[@]} -eq 0 ]] &&
		sed -n '/Oops: int3/,/Call Trace/p' "$out/console" | grep 'RIP: ' | grep -v fscommit >&2
}

# the last that User-Mode Linux prints
powered_down() { [ "$arch" = um ] && grep -s 'reboot: Power down' "$out/console" >/dev/null; }

rc=0
if [ "$arch" = um ]; then
	[ -z "$secure" ] || die "User-Mode Linux has no firmware"
	# UML maps its memory from a file in TMPDIR
	TMPDIR=$ram timeout -k 5 "$limit" "$kernel/image" mem="$mem" ncpus="$smp" seccomp=on \
		"${disk_args[@]}" \
		initrd="$out/initramfs" con=null con0=null,fd:1 ssl=null ssl1=null,fd:9 \
		panic=-1 quiet log_buf_len=4M $rcu ${panic:+$panic} ${append:+$append} \
		</dev/null >"$out/console" 2>&1 9>"$out/result" &
	guest=$!
	while kill -0 $guest 2>/dev/null && ! powered_down; do
		sleep 0.2
	done
	# now and then it does not exit then
	for _ in $(seq 100); do
		kill -0 $guest 2>/dev/null || break
		sleep 0.1
	done
	kill $guest 2>/dev/null || true
	wait $guest || rc=$?
else
	# Without la57: while Linux detects CPU features, it assumes page tables of four levels, and
	# KASAN takes the address of an interrupt in that time for a wild one.
	cpu=max,-cx16,-la57 console=ttyS0 ports=(-serial chardev:c -serial chardev:r)
	case $arch in
	# QEMU's default is an AMD CPU that is too old for SMP: Linux warns
	i386) cpu=$cpu,vendor=GenuineIntel console="$console no_timer_check" ;;
	# the machine has only one serial port of its own
	arm64) cpu=max console=ttyAMA0
		ports=(-M virt -serial chardev:c -device 'pci-serial,chardev=r') ;;
	esac
	accel=(-accel 'tcg,thread=multi' -cpu "$cpu")
	if [ -n "$icount" ]; then
		accel=(-accel 'tcg,thread=single' -icount 'shift=0,sleep=off' -cpu "$cpu")
	elif [ "$arch" != arm64 ] && kvm_works "$kernel/image"; then
		accel=(-accel kvm -cpu host)
	fi
	# tsc=reliable: under TCG the clocksource watchdog marks the TSC unstable
	args="console=$console panic=-1 quiet log_buf_len=4M tsc=reliable $rcu $panic $append"
	boot=(-kernel "$kernel/image" -initrd "$initrd" -append "$args")
	if [ -n "$secure" ]; then
		need_packages ovmf systemd-boot-efi sbsigntool mtools openssl binutils
		secure_boot_disk "$args" || die "cannot make a signed disk"
		boot=(-machine "q35,smm=on" -global "driver=cfi.pflash01,property=secure,value=on"
			-drive "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
			-drive "if=pflash,format=raw,unit=1,file=$disk_dir/vars"
			-drive "file=$disk_dir/esp,format=raw,if=none,id=esp"
			-device "virtio-blk-pci,drive=esp,bootindex=0")
	fi
	run_qemu()
	{
		rc=0
		timeout -k 5 "$limit" "$qemu" "${qemu_data[@]}" "${accel[@]}" -smp "$smp" -m "$mem" \
			-display none -no-reboot -nodefaults \
			-chardev "file,id=c,path=$out/console" \
			-chardev "file,id=r,path=$out/result" \
			"${ports[@]}" "${disk_args[@]}" "${boot[@]}" \
			</dev/null >"$out/qemu" 2>&1 || rc=$?
	}
	run_qemu
	if stale_int3; then
		say "QEMU executed an int3 that was already replaced: booting once more"
		run_qemu
	fi
fi
rm -f "$out/initramfs"
tr -d '\r' <"$out/result" >"$out/result.txt" 2>/dev/null || : >"$out/result.txt"
rm -f "$out/result"

# unpack the files that the guest sent
awk -v out="$out" '
	/^FILE / { name = $2; gsub(/[^A-Za-z0-9._-]/, "_", name); next }
	name != "" && /^END$/ { close(cmd); name = ""; next }
	name != "" { cmd = "base64 -d | gzip -dc >\"" out "/" name "\""; print | cmd }
	' "$out/result.txt"

verdict=$(sed -n 's/^VERDICT //p' "$out/result.txt" | tail -n 1)
case $rc in
124|137) powered_down || verdict="FAIL the guest hung: killed after $limit s" ;;
esac
[ -n "$verdict" ] || verdict="FAIL the guest printed no verdict (exit status $rc; see $out)"
if [ "$verdict" = PASS ] && [ -z "$expect" ] &&
   awk -f "$HARNESS/foreign_races.awk" "$out/console" | grep -E "$reports" >/dev/null; then
	verdict="FAIL a report on the console"
fi
printf '%s\n' "$verdict" | tee "$out/verdict"
[ "$verdict" = PASS ]
