#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build the module and the test modules for one kernel, with W=1, in a copy of the tree, so that
# builds for several kernels can run in parallel. A warning is a failure. Print the folder.
#
#   stage.sh KERNEL [EDIT [NAME]]
#
# EDIT is a sed script that breaks the module, to check that a test fails. The folder has the name
# of EDIT, or NAME. Edits that use one NAME in turn share their unchanged objects.

. "$(dirname "$0")/lib.sh"

name=${1:?name of a kernel}
edit=${2:-}
need rsync make
"$SCRIPTS/kernel.sh" get "$name" >/dev/null
tree=$CACHE/build/$name
[ -z "$edit" ] || tree=$CACHE/build/$name-${3:-$(basename "$edit" .sed)}
mkdir -p "$tree/selftests"

# edit_product COPY: edit a copy, so that files that stay the same keep their time in the tree
edit_product()
{
	local f edited=''
	for f in $(product_files "$1"); do
		sed -E -f "$edit" "$f" >"$f.edited"
		cmp -s "$f" "$f.edited" || edited=1
		mv "$f.edited" "$f"
	done
	[ "$edited" ] || die "$edit changed nothing: the line that it edits is gone"
}

stage()
{
	local log
	log=$LOGS/build-$(basename "$tree").log
	mkdir -p "$LOGS"
	# a rebuilt kernel needs new objects, and make does not notice all differences
	if [ "$tree/.kernel" -ot "$CACHE/kernels/$name/complete" ]; then
		rm -rf "$tree"
		mkdir -p "$tree/selftests"
		touch "$tree/.kernel"
	fi
	local from=$TOP
	if [ -n "$edit" ]; then
		from=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-stage.XXXXXX")
		# shellcheck disable=SC2064 # the current value
		trap "rm -rf '$from'" EXIT
		cp -r "$TOP/module" "$TOP/Kbuild" "$from/"
		edit_product "$from"
	fi
	copy_product "$from" "$tree"
	copy_test_modules "$tree"
	# on a kernel with gcov, measure coverage
	local profile=()
	! grep -q '^CONFIG_GCOV_KERNEL=y' "$CACHE/kernels/$name/kdir/.config" ||
		profile=(GCOV_PROFILE=y)
	: >"$log"
	# make does not notice new versions of the module's symbols
	rm -f "$tree/selftests/Module.symvers"
	export FSCOMMIT_BUILD_ROOT=$tree
	if ! { "$SCRIPTS/kernel.sh" build "$name" "$tree" W=1 "${profile[@]}" \
			modules &&
	       "$SCRIPTS/kernel.sh" build "$name" "$tree/selftests" \
			KBUILD_EXTRA_SYMBOLS="$tree/Module.symvers" W=1 "${profile[@]}" modules
			} >>"$log" 2>&1; then
		say "building for $name failed; the end of $log:"
		grep -E 'error|warning|Error|\*\*\*' "$log" | head -n 20 >&2
		exit 1
	fi
	# pahole may be newer than the kernel's
	if [ -z "$edit" ] && grep -E 'warning:|WARNING:' "$log" | grep -v 'pahole version' >&2; then
		die "the build for $name printed warnings; see $log"
	fi
}
locked "build-$(basename "$tree")" stage
printf '%s\n' "$tree"
