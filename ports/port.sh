#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Port a kernel's filesystem driver to fscommit: copy its source, apply the semantic
# patches, check that they converted every site, build the module.
#
#   port.sh FS KERNEL [OPTION=VALUE...]      KERNEL: a name of scripts/matrix
#   port.sh FS KSRC=SOURCE KDIR=BUILD [LLVM=1] [CC=] [LD=] [OPTION=VALUE...]
#                                            any kernel source and build folder
#   port.sh FS                               list and explain the options of the driver
#   port.sh ... UNTRIED=1                    for a newer kernel than those of module/kernels
#   port.sh ... CHECK=1                      apply and check the patches, build nothing
#   port.sh ... EDIT=FILE                    then break the driver by a script for sed -E, to see a
#                                            test fail
#
# Prints the path of FS.ko; fscommit.ko is in the same folder if the driver needs it.
# Each variant has a folder build/fs/KERNEL/FS-VARIANT/ in the cache, with the patched
# source in src/ and its changes in changes.diff.
#
# FS/options is a shell script. Its first comment explains the options. It sets
#
#   module    the folder below fs/ and the name of the module
#   config    options, without CONFIG_, to set if the kernel's configuration lacks the
#             driver; the first one enables it
#   options   NAME=DEFAULT [WORDS] for each option; WORDS are the allowed values
#
# and for the tests
#
#   tools     programs that the guest needs
#   kmods     kernel modules that the driver requests other than by symbols
#
# and defines choose(), which reads the options as shell variables and sets
#
#   variant   the name of the result
#   patches   semantic patches in FS/, in order of use, each with options for spatch,
#             and sed scripts for macros that spatch does not see; without patches
#             the driver is built as it is and does not need fscommit
#   alone     1: the driver does not need fscommit with these patches either
#   files     sources from FS/ to link into the driver
#   flags     more compiler flags
#   checks    commands to call with two folders, the source before and after the
#             patches; see sites.sh

. "$(dirname "$0")/../scripts/lib.sh"
FSDIR=$TOP/ports
. "$FSDIR/sites.sh"
# Do not pass the calling make's variables to the kernel's build.
unset MAKEFLAGS MFLAGS MAKELEVEL

fs=${1:-}
help() { sed -n '3,/^$/s/^# \{0,1\}//p' "$0"; }
case $fs in
'') help; exit 2 ;;
-h|--help) help; exit ;;
esac
[ -e "$FSDIR/$fs/options" ] ||
	die "no patches for '$fs'; available: $(
		cd "$FSDIR" && printf '%s ' */options | sed 's:/options::g')"
shift
module=$fs config=() options=() variant=''
patches=() alone='' files=() flags=() checks=()
# shellcheck source=/dev/null
. "$FSDIR/$fs/options"

# usage [ERROR]
usage()
{
	local o
	[ $# -eq 0 ] || say "error: $*"
	say "port.sh $fs KERNEL [OPTION=VALUE...]; options with their defaults:"
	for o in "${options[@]}"; do
		say "    ${o%% *}$(case $o in *\ *) echo "   (of: ${o#* })" ;; esac)"
	done
	# what they mean, from the head of the file
	say ""
	sed -n '5,/^[^#]/s/^# \{0,1\}//p' "$FSDIR/$fs/options" >&2
	exit 2
}

# option NAME VALUE: set an option that $options lists
option()
{
	local o words
	for o in "${options[@]}"; do
		[ "${o%%=*}" = "$1" ] || continue
		case $o in
		*\ *)	words=" ${o#* } "
			[[ $words = *" $2 "* ]] || die "$1=$2: must be one of:${words% }" ;;
		esac
		printf -v "$1" %s "$2"
		return 0
	done
	die "$fs has no option $1; available: $(
		printf '%s\n' "${options[@]}" | cut -d= -f1 | tr '\n' ' ')"
}

KERNEL='' KSRC='' KDIR='' CHECK='' EDIT='' compiler=()
for o in "${options[@]}"; do
	o=${o%% *}
	option "${o%%=*}" "${o#*=}"
done
[ $# -gt 0 ] || usage
for arg in "$@"; do
	case $arg in
	FSCOMMIT_*=*|DEBIAN_MIRROR=*) ;;	# exported by make
	UNTRIED=*) export "${arg?}" ;;
	LLVM=*|CC=*|LD=*) compiler+=("$arg") ;;
	KERNEL=*|KSRC=*|KDIR=*|CHECK=*|EDIT=*) printf -v "${arg%%=*}" %s "${arg#*=}" ;;
	*=*) option "${arg%%=*}" "${arg#*=}" ;;
	*) KERNEL=$arg ;;
	esac
done
choose
[ -n "$variant" ] || die "$fs/options: choose() names no variant"
if [ -n "$EDIT" ]; then
	[ -e "$EDIT" ] || die "EDIT=$EDIT: no such file"
	variant+=-$(basename "$EDIT" .sed)
fi
[ -z "$KERNEL" ] || need_debian
need spatch rsync make modinfo perl

# --- the target kernel --------------------------------------------------------

if [ -n "$KERNEL" ]; then
	[ ${#compiler[@]} -eq 0 ] || die "${compiler[0]}: KERNEL=$KERNEL has a compiler of its own"
	kernel=$("$SCRIPTS/kernel.sh" get "$KERNEL") || exit 1
	KDIR=$kernel/kdir
	release=$(cat "$kernel/release")
	place=$CACHE/build/fs/$KERNEL
else
	if [ -z "$KSRC" ] || [ -z "$KDIR" ]; then
		usage "which kernel? Name it by KERNEL=, or by both KSRC= and KDIR="
	fi
	[ -d "$KSRC" ] || die "KSRC=$KSRC: no such folder.$([ ! -e "$KSRC.tar.xz" ] ||
		echo " Run: tar -C ${KSRC%/*} -xf $KSRC.tar.xz")"
	[ -e "$KDIR/Makefile" ] || die "KDIR=$KDIR: no headers and no build folder of a kernel"
	KSRC=$(cd "$KSRC" && pwd)
	KDIR=$(cd "$KDIR" && pwd)
	# not `make kernelrelease`: the flavours of Debian's 6.1 have the same
	release=$(sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' \
		"$KDIR/include/generated/utsrelease.h") ||
		die "KDIR=$KDIR is not a kernel build folder"
	version=$(awk '$1 == "VERSION" { v = $3 } $1 == "PATCHLEVEL" { print v "." $3; exit }' \
		"$KSRC/Makefile") || die "KSRC=$KSRC is not the source of a kernel"
	case $release in
	"$version"|"$version"[!0-9]*) ;;
	*) die "KSRC=$KSRC is Linux $version, KDIR=$KDIR is $release: the source must be of the" \
		"same version, on Debian the package linux-source-X.Y" ;;
	esac
	place=$CACHE/build/fs/$release
	# a kernel that clang built needs clang
	[ ${#compiler[@]} -gt 0 ] ||
		! grep -qs '^CONFIG_CC_IS_CLANG=y' "$KDIR/include/config/auto.conf" ||
		compiler=(LLVM=1)
fi
[ ${#patches[@]} -eq 0 ] || "$TOP/module/kernels" "$fs" "$release" || exit 1
[ -n "$KSRC" ] || KSRC=$("$SCRIPTS/kernel.sh" source "$(matrix_field "$KERNEL" version)")
source=$KSRC/fs/$module
[ -d "$source" ] || die "KSRC=$KSRC has no fs/$module"
dir=$place/$fs-$variant
log=$LOGS/port-$fs-$variant-$(basename "$place").log

kernel_make()
{
	if [ -n "$KERNEL" ]; then
		"$SCRIPTS/kernel.sh" build "$KERNEL" "$@"
	else
		make -C "$KDIR" M="$1" "${compiler[@]}" "${@:2}"
	fi
}

# Build fscommit for this kernel; print its folder.
product()
{
	local tree=$place/product
	# a rebuilt kernel needs new objects
	[ "$tree/Module.symvers" -nt "$KDIR/.config" ] || rm -rf "$tree"
	mkdir -p "$tree"
	copy_product "$TOP" "$tree"
	kernel_make "$tree" modules >"$LOGS/port-product.log" 2>&1 ||
		die "building fscommit for $release failed; see $LOGS/port-product.log:" \
			"$(grep -m 3 -E 'error:|\*\*\*' "$LOGS/port-product.log")"
	printf '%s\n' "$tree"
}

# --- the driver ---------------------------------------------------------------

# sources FOLDER COMMAND...: run a command with the sources of the folder and below
sources() { find "$1" -name '*.[ch]' -print0 | sort -z | xargs -0 "${@:2}"; }

# apply FOLDER: fails if a patch changes nothing
apply()
{
	local p before after
	for p in "${patches[@]}"; do
		echo "applying $p"
		before=$(sources "$1" cat | cksum)
		case $p in
		*.sed)	sources "$1" sed -i -E -f "$FSDIR/$fs/$p" || return 1 ;;
		*)	# spatch patches a driver's headers as files of their own.  With this
			# isomorphism, E->f would match a[i].f as a->f, and lose the index.
			# shellcheck disable=SC2086 # the first word is the file
			set -- "$1" $p
			spatch --very-quiet --no-includes --include-headers --in-place \
				--disable-iso ptr_to_array --sp-file "$FSDIR/$fs/$2" "${@:3}" \
				--dir "$1" || return 1 ;;
		esac
		after=$(sources "$1" cat | cksum)
		[ "$before" != "$after" ] || { echo "$p changed nothing"; return 1; }
	done
}

configure()
{
	local c
	args=("CONFIG_${config[0]}=m")
	# A kernel with this driver has its configuration already.
	if grep -q "^CONFIG_${config[0]}=" "$KDIR/.config"; then
		return 0
	fi
	flags+=("-DCONFIG_${config[0]}_MODULE=1")
	for c in "${config[@]:1}"; do
		args+=("CONFIG_$c=y")
		flags+=("-DCONFIG_$c=1")
	done
}

# break_driver FOLDER: fails if the edit changes nothing
break_driver()
{
	local before after
	before=$(sources "$1" cat | cksum)
	sources "$1" sed -i -E -f "$EDIT"
	after=$(sources "$1" cat | cksum)
	[ "$before" != "$after" ] || die "$EDIT changed nothing: the line that it edits is gone"
}

build_driver()
{
	local tmp=$dir.tmp.$$ args=() tree=''
	rm -rf "$dir".tmp.*
	mkdir -p "$tmp/src" "$LOGS"
	: >"$log"
	cp -r "$source/." "$tmp/src"
	configure
	# for packaging/dist.sh
	printf '%s\n' "$KSRC" "${args[*]}" "${flags[*]}" >"$tmp/made-of"
	if [ ${#patches[@]} -gt 0 ]; then
		step "$fs-$variant: ${#patches[@]} semantic patches" "5-20 s" "$log" \
			apply "$tmp/src" ||
			die "cannot apply the patches of $fs"
		(cd "$tmp" && diff -ru "$source" src >changes.diff) || true
		for c in "${checks[@]}"; do
			# shellcheck disable=SC2086 # a command
			$c "$source" "$tmp/src" ||
				die "$fs-$variant: $release is not fully converted; see $tmp/src"
		done
		if [ -n "$CHECK" ]; then
			rm -rf "$tmp"
			say "$fs-$variant: every site of $KSRC is converted"
			exit
		fi
	fi
	if [ ${#patches[@]} -gt 0 ] && [ -z "$alone" ]; then
		tree=$(locked "product-$(basename "$place")" product) || exit 1
		cp "$FSDIR/import_fscommit.c" "$tmp/src/"
		# /sys/module/FS/version; and DKMS replaces no module of the same version
		sed -n 's/^MODULE_VERSION("/&fscommit-/p' "$TOP/module/main.c" \
			>>"$tmp/src/import_fscommit.c"
		echo "$module-y += import_fscommit.o" >>"$tmp/src/Makefile"
		for c in "${files[@]}"; do
			cp "$FSDIR/$fs/$c" "$tmp/src/"
			[[ $c = *.h ]] || echo "$module-y += ${c%.c}.o" >>"$tmp/src/Makefile"
		done
		flags+=("-I$tree/module/include")
		args+=("KBUILD_EXTRA_SYMBOLS=$tree/Module.symvers")
	fi
	[ -z "$EDIT" ] || break_driver "$tmp/src"
	step "$fs-$variant: building for $release" "15-40 s, longer the first time" "$log" \
		kernel_make "$tmp/src" -j"$(nproc)" "${args[@]}" KCFLAGS="${flags[*]}" modules ||
		die "cannot build $fs-$variant for $release: $(grep -m 3 -E 'error:|ERROR' "$log")"
	mv "$tmp/src/$module.ko" "$tmp/"
	find "$tmp/src" \( -name '*.o' -o -name '.*.cmd' -o -name '*.mod*' \) -delete
	if [ -n "$tree" ]; then
		cp "$tree/module/fscommit.ko" "$tmp/"
		modinfo -F depends "$tmp/$module.ko" | tr , '\n' | grep -x fscommit >/dev/null ||
			die "$module.ko does not depend on fscommit"
	fi
	printf '%s\n' "$key" >"$tmp/key"
	rm -rf "$dir"
	mv "$tmp" "$dir"
}

# Print a key of everything that the result depends on.
key()
{
	local deps=("$FSDIR/port.sh" "$FSDIR/sites.sh" "$FSDIR"/import* "$FSDIR/$fs/options")
	# all of FS/, since patches and sources include other files of it
	[ ${#patches[@]} -eq 0 ] || deps+=("$FSDIR/$fs"/*
		"$TOP"/module/*.[ch] "$TOP"/module/include/linux/*.h)
	[ -z "$EDIT" ] || deps+=("$EDIT")
	cat "${deps[@]}" | cksum
	echo "$release $source $variant ${patches[*]} ${flags[*]} ${compiler[*]}"
	find "$source" -type f -name '*.[chS]' -print0 | sort -z | xargs -0 cat | cksum
	# vmlinux and Module.symvers: the kernel was built again
	stat -c %Y "$KDIR/.config" "$source/Makefile"
	stat -c %Y "$KDIR"/{vmlinux,Module.symvers} 2>/dev/null || true
}

make_port()
{
	local key
	key=$(key)
	if [ -n "$CHECK" ] || [ ! -e "$dir/$module.ko" ] || [ "$(cat "$dir/key")" != "$key" ]; then
		build_driver
	fi
}

mkdir -p "$place"
locked "port-$(basename "$place")-$fs-$variant" make_port
[ -n "$CHECK" ] || printf '%s\n' "$dir/$module.ko"
