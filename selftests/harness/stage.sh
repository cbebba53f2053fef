#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the product and the test modules for one kernel, in a copy of the tree, so
# that builds for several kernels do not meet. A warning (W=1) is a failure.
#
#   stage.sh KERNEL [EDIT [NAME]]
#
# EDIT is a sed script for the product's files: a broken product, for the tests that
# show that a test fails on one. One NAME for many edits, one after the other, saves the
# building of what they have in common. With POINTS=1 the lock has random delays, see
# selftests/mutants/points. Prints the folder with the modules.

. "$(dirname "$0")/lib.sh"

name=${1:?name of a kernel}
edit=${2:-}
need_packages rsync make
"$HARNESS/kernel.sh" get "$name" >/dev/null
tree=$CACHE/build/$name
[ -z "$edit" ] || tree=$CACHE/build/$name-${3:-$(basename "$edit" .sed)}
[ -z "${POINTS:-}" ] || tree=$tree-points
mkdir -p "$tree/selftests"

# edit_product COPY: before the tree sees it, so that what is the same as before is not built anew
edit_product()
{
	local f edited='' points=$TOP/selftests/mutants/points
	if [ -n "$edit" ]; then
		for f in $(product_files "$1"); do
			sed -E -f "$edit" "$f" >"$f.edited"
			cmp -s "$f" "$f.edited" || edited=1
			mv "$f.edited" "$f"
		done
		[ "$edited" ] || die "$edit changed nothing: the line that it breaks is gone"
	fi
	[ -n "${POINTS:-}" ] || return 0
	for f in unfair_rwsem.c visible_readers.c lend.c watcher.c expedite.c \
		 include/linux/unfair_rwsem.h; do
		sed -E -i -f "$points/points.sed" "$1/module/$f"
	done
	cp "$points/test_points.c" "$1/module/"
	cp "$points/unfair_test_points.h" "$1/module/include/linux/"
	sed -i 's/^fscommit-y := main\.o/& test_points.o/' "$1/module/Kbuild"
}

# By content, and with the time of the copy: make must see what another tree had otherwise.
stage()
{
	local log
	log=$LOGS/build-$(basename "$tree").log
	mkdir -p "$LOGS"
	# objects for another build of that kernel: make does not see all that has changed
	if [ "$tree/.kernel" -ot "$CACHE/kernels/$name/complete" ]; then
		rm -rf "$tree"
		mkdir -p "$tree/selftests"
		touch "$tree/.kernel"
	fi
	local from=$TOP
	if [ -n "$edit${POINTS:-}" ]; then
		from=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-stage.XXXXXX")
		# shellcheck disable=SC2064 # as it is now
		trap "rm -rf '$from'" EXIT
		cp -r "$TOP/module" "$TOP/Kbuild" "$from/"
		edit_product "$from"
	fi
	rsync -a --no-times --checksum --delete --exclude '*.o' --exclude '*.ko' --exclude '*.mod*' --exclude '.*' \
		--exclude Module.symvers --exclude modules.order --exclude '*.a' --exclude '*.gcno' \
		"$from/module" "$from/Kbuild" "$tree/"
	copy_test_modules "$tree"
	# that kernel tells which lines of the module have run; kcov looks at the product alone
	local profile=()
	! grep -q '^CONFIG_GCOV_KERNEL=y' "$CACHE/kernels/$name/kdir/.config" || profile=(GCOV_PROFILE=y)
	: >"$log"
	# the versions of the product's symbols are looked up anew: no object depends on them
	rm -f "$tree/selftests/Module.symvers"
	export FSCOMMIT_BUILD_ROOT=$tree
	if ! { "$HARNESS/kernel.sh" build "$name" "$tree" W=1 "${profile[@]}" \
			${profile:+KCOV_INSTRUMENT=y} modules &&
	       "$HARNESS/kernel.sh" build "$name" "$tree/selftests" \
			KBUILD_EXTRA_SYMBOLS="$tree/Module.symvers" W=1 "${profile[@]}" modules; } >>"$log" 2>&1; then
		say "building for $name failed; the end of $log:"
		grep -E 'error|warning|Error|\*\*\*' "$log" | head -n 20 >&2
		exit 1
	fi
	# pahole may be newer than the one that the kernel was built with
	if [ -z "$edit" ] && grep -E 'warning:|WARNING:' "$log" | grep -v 'pahole version' >&2; then
		die "building for $name gives warnings; see $log"
	fi
}
locked "build-$(basename "$tree")" stage
printf '%s\n' "$tree"
