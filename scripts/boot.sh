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
#   --kmod 'NAME [PARAM=VALUE...]'
#                    load a module of the kernel itself, and its dependencies, before the plan
#
# Exit status: 0 if the verdict is PASS, otherwise 1.

. "$(dirname "$0")/lib.sh"

# --- QEMU ---------------------------------------------------------------------

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
		need "$qemu"
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

# QEMU 10, too, now and then shows a CPU an int3 that another CPU has already replaced (seen once in
# hundreds of boots). Not with KVM, which has no such fault, nor with disks, which are as that guest
# left them.
stale_int3()
{
	[[ ${accel[1]} = tcg,* && ${#disk_args[@]} -eq 0 ]] &&
		sed -n '/Oops: int3/,/Call Trace/p' "$out/console" | grep 'RIP: ' | grep -v fscommit >&2
}

# tsc_khz: print the rate of the TSC, which under TCG is the host's. Guests calibrate it by emulated
# timers; on a busy host, a guest's second once lasted 0.07 s.
tsc_khz()
{
	local program=$CACHE/build/tsc_khz
	if [ ! -x "$program" ]; then
		mkdir -p "$CACHE/build"
		gcc -O2 -o "$program.$$" "$SCRIPTS/tsc_khz.c" || die "cannot build scripts/tsc_khz.c"
		mv "$program.$$" "$program"
	fi
	"$program"
}

start_qemu()
{
	timeout -k 5 "$limit" "$qemu" "${qemu_data[@]}" "${accel[@]}" -smp "$smp" -m "$mem" \
		-display none -no-reboot -nodefaults \
		-chardev "file,id=c,path=$out/console" -chardev "file,id=r,path=$out/result" \
		"${ports[@]}" "${disk_args[@]}" \
		-kernel "$kernel/image" -initrd "$initrd" -append "$1" </dev/null >"$out/qemu" 2>&1
}

# run_qemu: boot the guest in QEMU, and set $rc to its exit status
run_qemu()
{
	# Without la57: while Linux detects CPU features, it assumes page tables of four levels, and
	# KASAN takes the address of an interrupt in that time for a wild one.
	# Without the check of the timer: on a busy host its interrupts come too late, and Linux panics.
	local cpu=max,-cx16,-la57 console="ttyS0 no_timer_check" accel args
	local ports=(-serial chardev:c -serial chardev:r)
	case $arch in
	# QEMU's default is an AMD CPU that is too old for SMP: Linux warns
	i386) cpu=$cpu,vendor=GenuineIntel ;;
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
	if [ "${accel[1]}" = tcg,thread=multi ] && [ "$(uname -m)" = x86_64 ]; then
		need gcc libc.a
		args+=" tsc_early_khz=$(tsc_khz)"
	fi
	rc=0
	start_qemu "$args" || rc=$?
	if stale_int3; then
		say "QEMU executed an int3 that was already replaced: booting once more"
		rc=0
		start_qemu "$args" || rc=$?
	fi
}

# --- User-Mode Linux -----------------------------------------------------------

# the last that User-Mode Linux prints
powered_down() { [ "$arch" = um ] && grep -s 'reboot: Power down' "$out/console" >/dev/null; }

# run_uml: the same in User-Mode Linux
run_uml()
{
	local guest
	rc=0
	# UML maps its memory from a file in TMPDIR
	# shellcheck disable=SC2086 # arguments are words
	TMPDIR=$ram timeout -k 5 "$limit" "$kernel/image" mem="$mem" ncpus="$smp" seccomp=on \
		"${disk_args[@]}" initrd="$initrd" con=null con0=null,fd:1 ssl=null ssl1=null,fd:9 \
		panic=-1 quiet log_buf_len=4M $rcu $panic $append \
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
}

# --- the guest's files ----------------------------------------------------------

# make_root FILE...: fill the folder $root
make_root()
{
	local busybox=/bin/busybox p path l
	mkdir -p "$root"/{bin,fscommit/kmod,lib,lib64,etc}
	[ ! -e "$kernel/busybox" ] || busybox=$kernel/busybox
	cp "$busybox" "$root/bin/"
	cp "$SCRIPTS/init" "$root/init"
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
}

# add_kmod NAME: copy the module and its dependencies, and append them to $loaded in that order
add_kmod()
{
	local module=${1//-/_} file dep
	[[ $loaded = *" $module "* ]] && return 0
	file=$(find "$modules" -name "${module//_/[-_]}.ko*" ! -name '*.o' ! -name '*.cmd' |
		head -n 1)
	[ -n "$file" ] || return 1
	case $file in
	*.xz) xz -dc "$file" >"$root/fscommit/kmod/$module.ko" ;;
	*) cp "$file" "$root/fscommit/kmod/$module.ko" ;;
	esac
	for dep in $(/sbin/modinfo -F depends "$root/fscommit/kmod/$module.ko" | tr , ' '); do
		add_kmod "$dep" || die "$name has no module $dep, which $module needs"
	done
	loaded="$loaded$module "
}

# Add the modules of the kernel itself.
add_kmods()
{
	local m kmod
	[ ${#kmods[@]} -gt 0 ] || [ ${#disks[@]} -gt 0 ] || return 0
	need modinfo xz
	if [ "$(matrix_field "$name" kind)" != stock ]; then
		modules=$kernel/kdir/
	else
		modules=$("$SCRIPTS/kernel.sh" modules "$name")/ || exit 1
		# a built-in driver has no module
		[ ${#disks[@]} -eq 0 ] || for m in virtio_pci virtio_blk; do add_kmod "$m" || true; done
	fi
	for m in "${kmods[@]}"; do
		kmod=${m%% *}
		add_kmod "$kmod" || say "  $name has no module $kmod: assuming that it is built in"
		[[ $m != *' '* ]] || echo "${m#* }" >"$root/fscommit/kmod/${kmod//-/_}.params"
	done
}

# Set $disk_args, and $disk_env to lines that name the devices for the guest.
add_disks()
{
	local n=0 size file ro letter dev drive
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
}

# Make $initrd of the files, or, for --root, the image.
pack_root()
{
	if [ -z "$image" ]; then
		initrd=$out/initramfs
		(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0 | gzip -1) >"$initrd"
		return
	fi
	disk_args+=(-drive "file=$image,format=raw,if=virtio,cache=unsafe")
	append+=' root=/dev/vda rootfstype=f2fs rw init=/init'
	[ ! -e "$image" ] || return 0
	need mkfs.f2fs sload.f2fs
	mkdir -p "$root"/{dev,proc,run,sys,tmp}
	truncate -s 512M "$image.tmp"
	{ mkfs.f2fs -f -q "$image.tmp" && sload.f2fs -f "$root" "$image.tmp"; } >"$out/image" ||
		die "cannot make $image: see $out/image"
	mv "$image.tmp" "$image"
}

# --- the boot -------------------------------------------------------------------

out='' limit=300 append='' expect='' smp='' icount='' mem=1G with=() disks=() kmods=()
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
	--kmod) kmods+=("$2"); shift 2 ;;
	--*) die "boot.sh: unknown option $1" ;;
	*) break ;;
	esac
done
[ $# -ge 2 ] || exit_usage
name=$1 plan=$2
shift 2
smp=${smp:-${icount:-2}}
# a report of KCSAN counts as a warning: the first one, mostly of the kernel itself, must not end
# the run
[ "$name" != x86-kcsan ] || panic=oops=panic
case $name in
*/*) kernel=$name ;;
*) kernel=$("$SCRIPTS/kernel.sh" get "$name") || exit 1 ;;
esac
arch=$(cat "$kernel/arch")
out=${out:-$LOGS/boot-$name}
mkdir -p "$out"
rm -rf "${out:?}"/*

need busybox-static cpio gzip
[ "$arch" = um ] || find_qemu "$arch"

# Problem reports in the kernel's log.
reports='WARNING:|BUG:|BUG |Oops|INFO: task .* blocked|soft lockup|hard LOCKUP'
reports="$reports|rcu.*detected .*stall|unreferenced object|general protection|Kernel panic"
reports="$reports|scheduling while atomic|possible (recursive|circular)|lock held when returning"
reports="$reports|psi: inconsistent|refcount_t:|list_(add|del) corruption|ODEBUG:"
# KCSAN under its strict rules reports many races of the kernel alone. One of ours has a function of
# a module in its title.
foreign='/BUG: KCSAN: data-race/ { /\[[a-z0-9_]*\]/!d }'

root=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-root.XXXXXX")
ram=$(df --output=target /dev/shm >/dev/null 2>&1 && echo /dev/shm || echo "${TMPDIR:-/tmp}")
disk_dir=$(mktemp -d "$ram/fscommit-disk.XXXXXX")
trap 'rm -rf "$root" "$disk_dir"' EXIT
loaded=' ' disk_args=() disk_env=''
make_root "$@"
add_kmods
add_disks
result=/dev/ttyS1
# the arm64 console is a PL011, ttyAMA0
[ "$arch" != arm64 ] || result=/dev/ttyS0
cat >"$root/fscommit/env" <<EOF
RESULT=$result
EXPECT='$expect'
REPORTS='$reports'
FOREIGN='$foreign'
KMODS='$loaded'
$disk_env
EOF
pack_root
if [ "$arch" = um ]; then
	run_uml
else
	run_qemu
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
   sed "$foreign" "$out/console" | grep -E "$reports" >/dev/null; then
	verdict="FAIL a report on the console"
fi
printf '%s\n' "$verdict" | tee "$out/verdict"
[ "$verdict" = PASS ]
