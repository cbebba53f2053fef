#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Puts a kernel's own filesystem driver on fscommit: copies its source, applies our
# semantic patches, checks that none of their sites is left, builds the module.
#
#   port.sh FS KERNEL [OPTION=VALUE...]      KERNEL: a name of harness/matrix
#   port.sh FS KSRC=SOURCE KDIR=BUILD [OPTION=VALUE...]
#                                            source and build folder of your own
#   port.sh FS                               the options of that driver
#   port.sh ... CHECK=1                      applies and checks the patches, builds nothing
#
# Prints the path of FS.ko; fscommit.ko, if it needs that, lies beside it. Variants
# lie side by side in the cache, in build/fs/KERNEL/FS-VARIANT/, with the patched
# source in src/ and what the patches changed in changes.diff.
#
# FS/options is a shell script that says what there is to choose. It sets
#
#   module    the folder below fs/ and the name of the module
#   config    the options, without CONFIG_, that are set where the kernel's own
#             configuration has no such driver; the first one switches it on
#   options   NAME=DEFAULT [WORDS] for each option, WORDS being the values allowed
#
# and for the tests
#
#   packages  Debian's packages with the programs that are needed
#   tools     programs that the guest needs
#   kmods     modules of the kernel that it asks for by another way than symbols
#
# and defines choose(), which reads the options as shell variables and sets
#
#   variant   the name of the result
#   patches   the semantic patches of FS/ to apply, in this order, each with options
#             for spatch, and sed scripts for the macros that those do not see; with
#             none the driver is built as it is, and needs no fscommit
#   alone     1: it needs none with these patches either
#   files     sources of ours that become part of the driver
#   flags     more for the compiler
#   checks    functions to call with two folders, the source before and after the
#             patches, or such commands with their first arguments; see sites.sh

. "$(dirname "$0")/../selftests/harness/lib.sh"
FSDIR=$TOP/ports
. "$FSDIR/sites.sh"
# make's own variables are not for the kernel's build
unset MAKEFLAGS MFLAGS MAKELEVEL

fs=${1:-}
[ -n "$fs" ] || { sed -n '3,/^$/s/^# \{0,1\}//p' "$0"; exit 2; }
[ -e "$FSDIR/$fs/options" ] ||
	die "no patches for '$fs'; there are: $(cd "$FSDIR" && printf '%s ' */options | sed 's:/options::g')"
shift
module=$fs config=() options=() variant=''
patches=() alone='' files=() flags=() checks=()
# shellcheck source=/dev/null
. "$FSDIR/$fs/options"

usage()
{
	local o
	say "port.sh $fs KERNEL [OPTION=VALUE...]; options with their defaults:"
	for o in "${options[@]}"; do
		say "    ${o%% *}$(case $o in *\ *) echo "   (of: ${o#* })" ;; esac)"
	done
	exit 2
}

# option NAME VALUE: must be one that there is
option()
{
	local o words
	for o in "${options[@]}"; do
		[ "${o%%=*}" = "$1" ] || continue
		case $o in
		*\ *)	words=" ${o#* } "
			[[ $words = *" $2 "* ]] || die "$1=$2: it is one of:${words% }" ;;
		esac
		printf -v "$1" %s "$2"
		return 0
	done
	die "$fs has no option $1; there are: $(printf '%s\n' "${options[@]}" | cut -d= -f1 | tr '\n' ' ')"
}

KERNEL='' KSRC='' KDIR='' CHECK=''
for o in "${options[@]}"; do
	o=${o%% *}
	option "${o%%=*}" "${o#*=}"
done
[ $# -gt 0 ] || usage
for arg in "$@"; do
	case $arg in
	KERNEL=*|KSRC=*|KDIR=*|CHECK=*) printf -v "${arg%%=*}" %s "${arg#*=}" ;;
	*=*) option "${arg%%=*}" "${arg#*=}" ;;
	*) KERNEL=$arg ;;
	esac
done
choose
[ -n "$variant" ] || die "$fs/options: choose() names no variant"
need_packages coccinelle rsync make kmod perl

# --- what it is built for -----------------------------------------------------

if [ -n "$KERNEL" ]; then
	kernel=$("$HARNESS/kernel.sh" get "$KERNEL")
	[ -n "$KSRC" ] || KSRC=$("$HARNESS/kernel.sh" source "$(matrix_field "$KERNEL" version)")
	KDIR=$kernel/kdir
	release=$(cat "$kernel/release")
	place=$CACHE/build/fs/$KERNEL
else
	if [ -z "$KSRC" ] || [ -z "$KDIR" ]; then
		usage
	fi
	KSRC=$(cd "$KSRC" && pwd)
	KDIR=$(cd "$KDIR" && pwd)
	release=$(make -s -C "$KDIR" kernelrelease) || die "KDIR=$KDIR is no build folder of a kernel"
	place=$CACHE/build/fs/$release
fi
source=$KSRC/fs/$module
[ -d "$source" ] || die "KSRC=$KSRC has no fs/$module"
dir=$place/$fs-$variant
log=$LOGS/port-$fs-$variant-$(basename "$place").log

kernel_make()
{
	if [ -n "$KERNEL" ]; then
		"$HARNESS/kernel.sh" build "$KERNEL" "$@"
	else
		make -C "$KDIR" M="$1" "${@:2}"
	fi
}

# The product for this kernel; prints its folder.
product()
{
	local tree=$place/product
	if [ -n "$KERNEL" ]; then
		"$HARNESS/stage.sh" "$KERNEL"
		return
	fi
	mkdir -p "$tree"
	rsync -a --checksum "$TOP/module" "$TOP/Kbuild" "$tree/"
	kernel_make "$tree" modules >"$LOGS/port-product.log" 2>&1 ||
		die "building fscommit for $release failed; see $LOGS/port-product.log"
	printf '%s\n' "$tree"
}

# --- the driver ---------------------------------------------------------------

# apply FOLDER: every patch must find something
apply()
{
	local p before after
	for p in "${patches[@]}"; do
		echo "applying $p"
		before=$(cat "$1"/*.[ch] | cksum)
		case $p in
		*.sed)	sed -i -E -f "$FSDIR/$fs/$p" "$1"/*.[ch] || return 1 ;;
		*)	# A driver's own headers are patched as files of their own.  With the
			# isomorphism, a pattern E->f takes a[i].f for a->f, and loses the index.
			# shellcheck disable=SC2086 # the first word is the file
			set -- "$1" $p
			spatch --very-quiet --no-includes --include-headers --in-place \
				--disable-iso ptr_to_array --sp-file "$FSDIR/$fs/$2" "${@:3}" \
				--dir "$1" || return 1 ;;
		esac
		after=$(cat "$1"/*.[ch] | cksum)
		[ "$before" != "$after" ] || { echo "$p changed nothing"; return 1; }
	done
}

configure()
{
	local c
	args=("CONFIG_${config[0]}=m")
	# a kernel that has the driver says itself how it is configured
	if grep -q "^CONFIG_${config[0]}=" "$KDIR/.config"; then
		return 0
	fi
	flags+=("-DCONFIG_${config[0]}_MODULE=1")
	for c in "${config[@]:1}"; do
		args+=("CONFIG_$c=y")
		flags+=("-DCONFIG_$c=1")
	done
}

build_driver()
{
	local tmp=$dir.tmp.$$ args=() tree=''
	rm -rf "$dir".tmp.*
	mkdir -p "$tmp/src" "$LOGS"
	: >"$log"
	cp -r "$source/." "$tmp/src"
	configure
	if [ ${#patches[@]} -gt 0 ]; then
		step "$fs-$variant: ${#patches[@]} semantic patches" "5-20 s" "$log" apply "$tmp/src" ||
			die "cannot apply the patches of $fs"
		(cd "$tmp" && diff -ru "$source" src >changes.diff) || true
		for c in "${checks[@]}"; do
			# shellcheck disable=SC2086 # a command
			$c "$source" "$tmp/src" || die "$fs-$variant of $release is not converted; see $tmp/src"
		done
		if [ -n "$CHECK" ]; then
			rm -rf "$tmp"
			say "$fs-$variant: every site of $KSRC is converted"
			exit
		fi
	fi
	if [ ${#patches[@]} -gt 0 ] && [ -z "$alone" ]; then
		tree=$(product) || exit 1
		cp "$TOP/selftests/lib/import_fscommit.h" "$FSDIR/import_fscommit.c" "$tmp/src/"
		echo "$module-y += import_fscommit.o" >>"$tmp/src/Makefile"
		for c in "${files[@]}"; do
			cp "$FSDIR/$fs/$c" "$tmp/src/"
			[[ $c = *.h ]] || echo "$module-y += ${c%.c}.o" >>"$tmp/src/Makefile"
		done
		flags+=("-I$tree/module/include")
		args+=("KBUILD_EXTRA_SYMBOLS=$tree/Module.symvers")
	fi
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

# Everything that the result depends on.
key()
{
	local deps=("$FSDIR/port.sh" "$FSDIR/sites.sh" "$FSDIR"/import* "$FSDIR/$fs/options") p
	for p in "${patches[@]}" "${files[@]}"; do
		deps+=("$FSDIR/$fs/${p%% *}")
	done
	[ ${#patches[@]} -eq 0 ] || deps+=("$TOP"/module/*.[ch] "$TOP"/module/include/linux/*.h)
	cat "${deps[@]}" | cksum
	echo "$release $source $variant ${patches[*]} ${flags[*]}"
	stat -c %Y "$KDIR/.config" "$source/Makefile"
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
