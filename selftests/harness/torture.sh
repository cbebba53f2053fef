#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make torture`: run the torture module for a given time.
#
#	torture.sh KERNEL SECONDS [PARAMETER=VALUE...]
#
# modinfo lists the parameters of unfair_torture.

. "$(dirname "$0")/lib.sh"

kernel=${1:?name of a kernel} seconds=${2:?seconds}
shift 2
[[ $seconds =~ ^[0-9]+$ ]] && [ "$seconds" -ge 1 ] && [ "$seconds" -le 86400 ] ||
	die "DURATION=$seconds: must be a number of seconds from 1 to 86400"
tree=$("$HARNESS/stage.sh" "$kernel")
out=$LOGS/torture-$kernel
mkdir -p "$LOGS"
cat >"$out.plan" <<EOF
load fscommit
load unfair_torture torture_type=unfair_rwsem onoff_interval=3 expedite=10 chains=30 $*
test torture $((seconds + 60)) torture_watch $seconds
unload unfair_torture
test verdict 60 dmesg | grep 'End of test:' | grep SUCCESS
unload fscommit
EOF
# The clock of an emulated guest is late on a busy host. loglevel: a warning stops the debug kernels,
# and the console is all that is left of them.
step "torture on $kernel" "$seconds s" "$out.log" \
	"$SCRIPTS/boot.sh" --out "$out" --timeout $((2 * seconds + 200)) \
	--append loglevel=5 "$kernel" "$out.plan" \
	"$tree"/module/fscommit.ko "$tree"/selftests/unfair_torture.ko \
	"$HARNESS/torture_watch" || { cat "$out/verdict" >&2; die "see $out"; }
sed -n 's/^TAP //p' "$out/result.txt"
if grep -q '^DONE .* [1-9][0-9]* [0-9]*$' "$out/result.txt"; then
	die "the torture test failed; see $out"
fi
