#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build the userspace programs for all guests, static, in the cache. Print their folder.
#
#   programs.sh [ARCH]

. "$(dirname "$0")/lib.sh"

arch=${1:-amd64}
prefix=$(cross prefix "$arch")
# shellcheck disable=SC2046 # a list
need_packages gcc make libc6-dev $(cross packages "$arch")
source=$("$HARNESS/kernel.sh" source 7.3)
out=$CACHE/build/programs${prefix:+-$arch}
targets=(programs)
[ -z "$prefix" ] || targets=("CC=${prefix}gcc" tests)
mkdir -p "$out"
if ! make -C "$TOP/selftests" OUTPUT="$out" KSFT="$source/tools/testing/selftests" \
	"${targets[@]}" >"$out/log" 2>&1; then
	say "building the test programs failed; the end of $out/log:"
	tail -n 20 "$out/log" >&2
	exit 1
fi
if grep -q 'warning:' "$out/log"; then
	grep 'warning:' "$out/log" >&2
	die "the build of the test programs printed warnings"
fi
printf '%s\n' "$out"
