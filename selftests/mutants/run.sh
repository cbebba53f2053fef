#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests of the tests.   run.sh quick|all|NAME...
#
# The harness must report FAIL for a guest that warns, hangs, powers off early, leaks or
# kills a test. Each mutant of the module must fail the tests that it names. Each part
# has one file of mutants, see lib.sh for the format. The keys are
#
#	fails: PROGRAM TEST	this test must fail
#	warns: PROGRAM TEST	the kernel must warn, or panic, in this test
#	silent: NAME		the report NAME of harness/expected must not appear
#
# Prints a line `NAME ok|FAIL SECONDS` for each.

. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/lib.sh"
MUTANTS=$TOP/selftests/mutants
PARTS=(unfair_rwsem commit_root share_gate cow_diff rcu_reuse whole)
programs=$(build_programs)
tree=$("$HARNESS/stage.sh" uml)
bad=0

# verdict NAME START STATUS: prints the line of a test
verdict()
{
	local v=ok
	[ "$3" -eq 0 ] || { v=FAIL; bad=1; }
	printf '%s %s %d\n' "$1" "$v" $((SECONDS - $2))
}

# harness NAME REGEX KERNEL PLAN-LINES [OPTION...]: the verdict must match
harness()
{
	local name=$1 regex=$2 kernel=$3 plan=$4 start=$SECONDS out=$LOGS/meta-$1 got
	shift 4
	printf 'load fscommit\nload fscommit_test\n%b' "$plan" >"$out.plan"
	got=$("$SCRIPTS/boot.sh" --out "$out" --timeout 400 "$@" "$kernel" "$out.plan" \
		"$CACHE/build/$kernel/module/fscommit.ko" \
		"$CACHE/build/$kernel/selftests/"*.ko \
		"$programs/unfair_rwsem/misuse" 2>"$out.log") && got="PASS $got"
	if grep -qE "$regex" <<<"$got"; then
		verdict "$name" "$start" 0
	else
		say "  $name: the verdict was '$got', not '$regex'"
		verdict "$name" "$start" 1
	fi
}

# counted NAME PLAN-LINES: a test that fails or is killed must count as failed, whatever the
# guest reports.
counted()
{
	local name=$1 plan=$2 start=$SECONDS out=$LOGS/meta-$1
	printf 'load fscommit\n%b\nunload fscommit\n' "$plan" >"$out.plan"
	"$SCRIPTS/boot.sh" --out "$out" --timeout 180 uml "$out.plan" "$tree/module/fscommit.ko" \
		>"$out.log" 2>&1 || true
	if (collect uml "$out" 0 2>/dev/null; print_sum >"$out.sum"); then
		verdict "$name" "$start" 1
	else
		# expected: the summary of the whole run must not repeat it
		rm -f "$out/failed"
		verdict "$name" "$start" 0
	fi
}

# mutant FILE NAME
mutant()
{
	local file=$LOGS/mutant-$$.sed name=$2 broken how program test
	mutant_script "$1" "$name" >"$file"
	mutant_lines "$1" "$name" | grep -E '^(fails|warns|silent): ' >/dev/null ||
		die "mutant $name names no test"
	broken=$("$HARNESS/stage.sh" uml "$file" mutants) ||
		{ verdict "mutant:$name" "$SECONDS" 1; return; }
	while read -r how program test; do
		if [ "$how" = silent ]; then
			is_silent_on "$name" "$broken" "$program"
		else
			fails_on "$name" "$broken" "$how" "$program" "$test"
		fi
	done < <(mutant_lines "$1" "$name" | sed -n -E 's/^(fails|warns|silent): /\1 /p')
}

# is_silent_on MUTANT TREE NAME
is_silent_on()
{
	local name=$1 broken=$2 start=$SECONDS out=$LOGS/mutant-$1-$3 kernel regex rc=0
	read -r kernel regex < <(sed -n "s/^$3 //p" "$HARNESS/expected") || true
	[ "${kernel:-}" = uml ] || die "mutant $name: harness/expected has no '$3' on uml"
	boot_misuse "$3" uml "$regex" "$out" "$broken" "$programs" </dev/null || rc=1
	# the guest must have done it, and nothing else must have failed
	if [ $rc -eq 1 ] && grep -q '^FAIL 0 reports in the log, 1 expected' "$out.log"; then
		verdict "mutant:$name" "$start" 0
	else
		say "  mutant $name: $3 is still reported; see $out"
		verdict "mutant:$name" "$start" 1
	fi
}

# fails_on MUTANT TREE fails|warns PROGRAM TEST
fails_on()
{
	local name=$1 broken=$2 how=$3 program=$4 test=$5 start=$SECONDS out=$LOGS/mutant-$1-$5
	local path='' seconds=110 panic=--no-panic files
	# a warning of the kernel, or worse, must stop the guest
	[ "$how" = fails ] || panic=
	case $program in
	locktorture|rcutorture) ;;
	*)	path=$(echo "$programs"/*/"$program")
		[ -e "$path" ] || die "mutant $name: no test program '$program'"
		files=("$broken"/selftests/*_test.ko "$path") ;;
	esac
	case $program in
	# the test is a type of lock or RCU, and the name of the guest's test, too
	locktorture|rcutorture)
		seconds=200
		files=("$("$KERNEL_TORTURE/build.sh" uml "$broken")"/*.ko
			"$KERNEL_TORTURE/kernel_torture_guest")
		plan_kernel_torture "$program" 6 "$test"
		program=$test ;;
	load_cycles) seconds=140
		echo "test $program 120 cd /fscommit && FSCOMMIT_CYCLES=200 $program -t $test" ;;
	*)	echo "test $program 80 $program -t $test" ;;
	esac >"$out.plan"
	"$SCRIPTS/boot.sh" --out "$out" --timeout "$seconds" ${panic:+"$panic"} uml "$out.plan" \
		"$broken/module/fscommit.ko" "${files[@]}" </dev/null >"$out.log" 2>&1 || true
	# failed, or the guest died before it could report; but the test must have begun
	if grep -q "^TEST $program" "$out/result.txt" && ! grep -q '^TAP ok ' "$out/result.txt" &&
	   ! grep -q "^DONE $program 0 " "$out/result.txt" &&
	   { [ "$how" = fails ] || grep -q 'Kernel panic' "$out/console"; }; then
		verdict "mutant:$name" "$start" 0
	else
		say "  mutant $name was not caught by $program $test; see $out"
		verdict "mutant:$name" "$start" 1
	fi
}

quick()
{
	harness injected-warn '^FAIL' uml 'test w 60 misuse injected_warn\n'
	harness hung-guest 'FAIL the guest hung' uml 'test hang 1000 sleep 1000\n' --timeout 8
	harness early-power-off 'FAIL the guest stopped' uml 'test off 10 poweroff -f; sleep 100\n'
	harness leaked-reference 'FAIL .*cannot unload' uml \
		'test leak 60 misuse leak_reference\nunload fscommit_test\n'
	harness unexpected-silence 'FAIL .*reports in the log, 1 expected' uml 'test t 5 true\n' \
		--expect 'never said'
	counted killed-test 'test k 10 kill -9 $$'
	counted failed-test 'test f 10 echo "not ok 1 it"; true'
}

# All mutants share one tree, because nearly all of their objects are the same.
mkdir -p "$CACHE/locks"
exec 8>"$CACHE/locks/mutants"
flock 8

case ${1:-quick} in
quick) quick ;;
all)
	quick
	for p in "${PARTS[@]}"; do
		for n in $(mutant_names "$MUTANTS/$p"); do
			mutant "$MUTANTS/$p" "$n"
		done
	done ;;
*)
	for n in "$@"; do
		p=$(cd "$MUTANTS" && grep -lxF "[$n]" "${PARTS[@]}") ||
			die "no mutant '$n' in $MUTANTS"
		mutant "$MUTANTS/$p" "$n"
	done ;;
esac
exit $bad
