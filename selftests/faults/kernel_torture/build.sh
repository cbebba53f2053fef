#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build the kernel's locktorture with our lock among its types, its rcutorture with our
# stamps, and the torture framework, which no stock kernel has. Print the folder with the three modules.
#
#   build.sh KERNEL TREE
#
# The sources come from the source of the kernel's series. Only lock.cocci and rcu.cocci change
# them. TREE is a folder of stage.sh; the modules fit its fscommit.ko.

. "$(dirname "$0")/../../harness/lib.sh"

kernel=${1:?name of a kernel} tree=${2:?folder of stage.sh}
here=$TOP/selftests/faults/kernel_torture
need spatch make
source=$("$SCRIPTS/kernel.sh" source "$(matrix_field "$kernel" version)")
log=$LOGS/build-torture-$(basename "$tree").log

# patch NAME PATCH MARK: apply a semantic patch, which must add MARK
patch()
{
	spatch --very-quiet --no-includes --in-place --sp-file "$here/$2" "$tree/torture/$1" \
		>>"$log" 2>&1 || die "cannot apply $2: see $log"
	[ "$(grep -c "$3" "$tree/torture/$1")" -eq 1 ] || die "$2 did not change $1 of $kernel"
}

build()
{
	local dir=$tree/torture
	rm -rf "$dir"
	mkdir -p "$dir" "$LOGS"
	cp "$source"/kernel/{torture.c,locking/locktorture.c,rcu/rcutorture.c} \
		"$TOP/selftests/lib/import_fscommit.h" "$dir/"
	# the framework and rcutorture have private headers of RCU
	cat >"$dir/Kbuild" <<-EOF
		obj-m := torture.o locktorture.o rcutorture.o
		ccflags-y := -I$source/kernel -I$source/kernel/rcu -I$tree/module/include
	EOF
	: >"$log"
	patch locktorture.c lock.cocci '&unfair_rwsem_ops'
	patch rcutorture.c rcu.cocci 'module_init(reuse_torture_init)'
	FSCOMMIT_BUILD_ROOT=$tree "$SCRIPTS/kernel.sh" build "$kernel" "$dir" \
		KBUILD_EXTRA_SYMBOLS="$tree/Module.symvers" modules >>"$log" 2>&1 ||
		die "cannot build the torture tests for $kernel: $(grep -m 3 -E 'error:|ERROR' "$log")"
}
locked "torture-$(basename "$tree")" build
printf '%s\n' "$tree/torture"
