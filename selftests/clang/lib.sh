# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Builds modules with clang for a kernel that gcc built. Sourced after harness/lib.sh.

CLANGDIR=$TOP/selftests/clang
STABLE_CLANG=19		# available in bookworm and trixie

# clang_for KERNEL [newest]: sets $clang_home (a Debian release; empty for this machine),
# $clang_suffix, and $clang_version (in the kernel's notation). The tools in the headers of a
# stock kernel need the libc of its release. If the host cannot run them, the build uses a root
# folder with the newest clang. Returns 1 if there is no clang.
clang_for()
{
	local v
	clang_home='' clang_suffix=-$STABLE_CLANG
	if [ "${2:-}" = newest ] || [ "$(matrix_field "$1" toolchain)" = trixie ]; then
		clang_home=sid clang_suffix=''
		v=$(FSCOMMIT_TOOLCHAIN=sid "$HARNESS/kernel.sh" run clang -dumpversion) || return 1
	else
		need_packages clang-$STABLE_CLANG lld-$STABLE_CLANG llvm-$STABLE_CLANG make
		v=$(clang$clang_suffix -dumpversion) || return 1
	fi
	clang_version=$(printf '%s\n' "$v" | awk -F. '{ printf "%d%02d%02d", $1, $2, $3 }')
}

# clang_config KERNEL DIR: applies `options` to the kernel's configuration. Writes the result for
# make to DIR/flags, one option per line, and for C to DIR/include, which must come first.
clang_config()
{
	local kdir=$CACHE/kernels/$1/kdir dir=$2 option instead name value with
	mkdir -p "$dir/include/generated"
	cp "$(realpath "$kdir")/include/generated/autoconf.h" "$dir/include/generated/autoconf.h"
	: >"$dir/flags"
	while read -r option instead _; do
		case $option in
		''|'#'*) continue ;;
		*'&!'*) with=${option#*&!}
			! grep -q "^CONFIG_$with=" "$kdir/.config" || continue ;;
		*'&'*)	with=${option#*&}
			grep -q "^CONFIG_$with=" "$kdir/.config" || continue ;;
		esac
		option=${option%%&*}
		grep -q "^CONFIG_$option=" "$kdir/.config" || continue
		printf 'CONFIG_%s=\n' "$option" >>"$dir/flags"
		sed -i "/^#define CONFIG_$option /d" "$dir/include/generated/autoconf.h"
		[ "$instead" != - ] || continue
		instead=${instead//@VERSION@/$clang_version}
		name=${instead%%=*} value=${instead#*=}
		# the last setting counts
		printf 'CONFIG_%s=%s\n' "$name" "${value//\"/}" >>"$dir/flags"
		{
			echo "#undef CONFIG_$name"
			echo "#define CONFIG_$name ${value/#y/1}"
		} >>"$dir/include/generated/autoconf.h"
	done <"$CLANGDIR/options"
}

# clang_build KERNEL CONFIG DIR [ARG...]: builds the modules in DIR by `make LLVM=1`; call
# clang_for and clang_config first
clang_build()
{
	local kernel=$1 config=$2 dir=$3 flags
	shift 3
	mapfile -t flags <"$config/flags"
	FSCOMMIT_TOOLCHAIN=${clang_home} FSCOMMIT_BUILD_ROOT=$CACHE "$HARNESS/kernel.sh" \
		build "$kernel" "$dir" LLVM="${clang_suffix:-1}" \
		CC="clang$clang_suffix -I$config/include" "${flags[@]}" "$@"
}
