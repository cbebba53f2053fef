#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build the kernel's locktorture with our lock among its types, and the kernel's torture framework,
# which no stock kernel has. Print the folder with unfair_locktorture.ko and torture.ko.
#
#   build.sh KERNEL TREE
#
# The two sources come from the source of the kernel's series. Only lock.cocci changes them. TREE
# is a folder of stage.sh; the modules fit its fscommit.ko.

. "$(dirname "$0")/../../harness/lib.sh"

kernel=${1:?name of a kernel} tree=${2:?folder of stage.sh}
here=$TOP/selftests/unfair_rwsem/locktorture
need_packages coccinelle make
source=$("$HARNESS/kernel.sh" source "$(matrix_field "$kernel" version)")
log=$LOGS/build-locktorture-$(basename "$tree").log

build()
{
	local dir=$tree/locktorture
	rm -rf "$dir"
	mkdir -p "$dir" "$LOGS"
	cp "$source/kernel/torture.c" "$source/kernel/locking/locktorture.c" \
		"$TOP/selftests/lib/import_fscommit.h" "$TOP/ports/import_fscommit.c" "$dir/"
	# the framework has a private header of RCU
	cat >"$dir/Kbuild" <<-EOF
		obj-m := torture.o unfair_locktorture.o
		unfair_locktorture-y := locktorture.o import_fscommit.o
		ccflags-y := -I$source/kernel -I$tree/module/include
	EOF
	spatch --very-quiet --no-includes --in-place --sp-file "$here/lock.cocci" \
		"$dir/locktorture.c" >"$log" 2>&1 || die "cannot apply lock.cocci: see $log"
	[ "$(grep -c '&unfair_rwsem_ops' "$dir/locktorture.c")" -eq 1 ] ||
		die "lock.cocci did not add the lock to $source/kernel/locking/locktorture.c"
	FSCOMMIT_BUILD_ROOT=$tree "$HARNESS/kernel.sh" build "$kernel" "$dir" \
		KBUILD_EXTRA_SYMBOLS="$tree/Module.symvers" modules >>"$log" 2>&1 ||
		die "cannot build locktorture for $kernel: $(grep -m 3 -E 'error:|ERROR' "$log")"
}
locked "locktorture-$(basename "$tree")" build
printf '%s\n' "$tree/locktorture"
