#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make fuzz`: random calls of the test devices, random parameters, and random reads and writes in
# debugfs, with KASAN on User-Mode Linux.
#
#	fuzz.sh SECONDS [EDIT]
#
# EDIT is a sed script for stage.sh that breaks the module, to check that the fuzzer finds the bug.
#
# kcov_fuzz gets half of the time. It keeps sequences that reach new code of the module in the
# cache, and the next run starts with them. FUZZ_SEED repeats a run as far as scheduling allows.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../harness/lib.sh"

seconds=${1:?seconds}
[[ $seconds =~ ^[0-9]+$ ]] && [ "$seconds" -ge 8 ] && [ "$seconds" -le 86400 ] ||
	die "DURATION=$seconds: must be a number of seconds from 8 to 86400"
kernel=uml-gcov
corpus=$CACHE/fuzz/corpus
out=$LOGS/fuzz
need_packages gcc libc6-dev
tree=$("$HARNESS/stage.sh" "$kernel" ${2:+"$2"})
programs=$("$HARNESS/programs.sh") || die "cannot build the test programs"
mkdir -p "$corpus" "$LOGS"
modules='fscommit_test cow_tree_test commit_root_test share_gate_test cow_diff_test rcu_reuse_test'
seed=${FUZZ_SEED:+FUZZ_SEED=$FUZZ_SEED}
{
	echo "load fscommit"
	for m in $modules; do
		echo "load $m"
	done
	half=$((seconds / 2)) quarter=$((seconds / 4))
	echo "test kcov_fuzz $((half + 120)) $seed kcov_fuzz $half /fscommit/corpus"
	echo "test fuzz_device $((quarter + 120)) $seed FUZZ_SECONDS=$quarter fuzz_device"
	# fuzz_files has two tests
	echo "test fuzz_files $((quarter + 120)) $seed FUZZ_SECONDS=$((seconds / 8)) fuzz_files"
	# shellcheck disable=SC2086 # a list
	for m in $(printf '%s\n' $modules | tac); do
		echo "unload $m"
	done
	echo "unload fscommit"
} >"$out.plan"
rm -f "$out.log"
rc=0
step "fuzzing on $kernel" "$seconds s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
	--timeout $((seconds + 400)) "$kernel" "$out.plan" "$tree/module/fscommit.ko" \
	"$tree"/selftests/*_test.ko "$programs"/unfair_rwsem/fuzz_* \
	"$programs/robust/fuzz/kcov_fuzz" "$corpus" || rc=1
sed -n 's/^TAP //p' "$out/result.txt" |
	grep -E '^(not )?ok|^# .*(sequences|texts|times|kills|SEED)' || true
find "$out" -name 'seq-*' -exec cp -t "$corpus" {} +
say "  $(find "$corpus" -type f | wc -l) sequences in $corpus"
if [ "$rc" -ne 0 ] || grep -q '^TAP not ok' "$out/result.txt"; then
	die "$(cat "$out/verdict"): see $out"
fi
