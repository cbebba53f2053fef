#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the userspace programs, once for all guests: static, in the cache. Prints
# their folder.

. "$(dirname "$0")/lib.sh"

need_packages gcc make libc6-dev
source=$("$HARNESS/kernel.sh" source 7.3)
out=$CACHE/build/programs
mkdir -p "$out"
if ! make -C "$TOP/selftests" OUTPUT="$out" KSFT="$source/tools/testing/selftests" \
	programs >"$out/log" 2>&1; then
	say "building the test programs failed; the end of $out/log:"
	tail -n 20 "$out/log" >&2
	exit 1
fi
if grep -q 'warning:' "$out/log"; then
	grep 'warning:' "$out/log" >&2
	die "the test programs give warnings"
fi
printf '%s\n' "$out"
