#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test TEST=...`: run one test.
#
#   one.sh TEST [KERNEL]
#
#   PROGRAM[.NAME]      a program of selftests/, or one of its tests, in a guest of KERNEL [uml],
#                       for example g4_bounded_bypass.window_is_not_for_new_readers
#   reported:NAME       a misuse in harness/expected: the kernel must report it
#   model:NAME          a configuration of models/configs, or a mutant of a model
#   locktorture         the kernel's own torture test, on its rw_semaphore and on our lock
#   rcutorture          the same for reuse stamps
#   allocations         each allocation of the module fails once; KERNEL [x86-debug]
#   litmus              all litmus tests
#   mutant:NAME         a mutant of the module: its tests must fail
#   lint:CHECKER        a checker, for example checkpatch
#   smoke:FS[,OPTION=VALUE...]
#                       a ported driver with options of port.sh, on KERNEL
#
# If the test fails, print its messages and the end of the guest's log.

. "$(dirname "$0")/lib.sh"

# run_program KERNEL PROGRAM [NAME]
run_program()
{
	local kernel=$1 program=$2 name=${3:-} programs path folder tree
	local out=$LOGS/one
	programs=$(build_programs "$(kernel_arch "$kernel")") || exit 1
	path=$(find "$programs" -mindepth 2 -maxdepth 2 -type f -name "$program" | head -n 1)
	[ -n "$path" ] || die "TEST=$program: no such program in $programs"
	folder=$(basename "$(dirname "$path")")
	tree=$("$HARNESS/stage.sh" "$kernel") || exit 1
	run_guest "$kernel" "$program${name:+.$name} on $kernel" "5-60 s" "$out" --timeout 1900 \
		--mem 2G "$kernel" "$out.plan" "$tree/module/fscommit.ko" "$tree"/selftests/*.ko \
		"$path" <<<"test $program 1800 cd /fscommit && $program ${name:+-t $name}"
	if [ ${#FAILURES[@]} -gt 0 ]; then
		say "  the end of the log, $out/dmesg:"
		tail -n 25 "$out/dmesg" 2>/dev/null >&2 || tail -n 25 "$out/console" >&2
	fi
	# the kselftest harness does not report an unknown test name
	! grep -q '^TAP 1\.\.0$' "$out/result.txt" ||
		die "$program has no test '$name'; it has: $(sed -nE \
			's/^(TEST|TEST_F)(_TIMEOUT)?\((\w+, )?(\w+).*/\4/p' \
			"$TOP/selftests/$folder/$program.c" | tr '\n' ' ')"
}

run_reported()
{
	local kernel regex tree start=$SECONDS
	read -r kernel regex < <(sed -n "s/^$1 //p" "$HARNESS/expected") || true
	[ -n "${regex:-}" ] || die "harness/expected has no '$1'"
	tree=$("$HARNESS/stage.sh" "$kernel") || exit 1
	if boot_misuse "$1" "$kernel" "$regex" "$LOGS/one" "$tree" "$(build_programs)"; then
		result "$kernel" "$1" ok $((SECONDS - start))
	else
		tail -n 25 "$LOGS/one.log" "$LOGS/one/console" >&2
		result "$kernel" "$1" FAIL $((SECONDS - start))
	fi
}

test=${1:?TEST}
[ "$test" != allocations ] || set -- "$test" "${2:-x86-debug}"
kernel=${2:-uml}
# two of these may run at once
LOGS=$LOGS/one-$$
export FSCOMMIT_LOGS=$LOGS
matrix_field "$kernel" kind >/dev/null
mkdir -p "$LOGS"
case $test in
model:*) exec "$TOP/selftests/models/run.sh" "${test#*:}" ;;
litmus) exec "$TOP/selftests/models/run.sh" litmus ;;
locktorture|rcutorture|allocations) exec "$TOP/selftests/faults/run.sh" "$test" "$kernel" ;;
mutant:*) exec "$TOP/selftests/mutants/run.sh" "${test#*:}" ;;
lint:*) exec "$TOP/selftests/lint/run.sh" "${test#*:}" ;;
smoke:*)
	IFS=, read -ra words <<<"${test#*:}"
	exec "$TOP/selftests/filesystems/run.sh" smoke "${words[0]}" "$kernel" "${words[@]:1}" ;;
reported:*) run_reported "${test#*:}" ;;
*:*) die "TEST=$test: the prefix must be model, mutant, lint, smoke or reported" ;;
*.*) run_program "$kernel" "${test%%.*}" "${test#*.}" ;;
*) run_program "$kernel" "$test" ;;
esac
print_sum
