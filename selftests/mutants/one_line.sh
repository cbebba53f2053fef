#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-points`: torture of the lock with random delays at each access to shared memory,
# and of mutants that differ in one line each.
#
#   one_line.sh torture [SECONDS]   the module without a mutant, in a guest    [120]
#   one_line.sh tests               the tests of the lock, with the delays
#   one_line.sh named               the mutants of points/named, which must be caught
#   one_line.sh all                 these, and one mutant for each statement and condition
#                                   in the functions of points/functions
#   one_line.sh FUNCTION...         the mutants of these functions
#   one_line.sh list [FUNCTION...]  list them only
#
# A mutant is caught if the module warns, the torture fails, or the guest hangs. Each survivor
# must be in points/survivors, with the reason. The last line is `N passed, N failed,
# N skipped`: caught, survived without a reason, survived with a reason.
# CATCH_S=20: seconds of torture per mutant.

. "$(dirname "$0")/../harness/lib.sh"
. "$HARNESS/plan.sh"
. "$HARNESS/results.sh"
. "$(dirname "$0")/lib.sh"
POINTS_DIR=$TOP/selftests/mutants/points
CATCH_S=${CATCH_S:-20}
export TEST_POINTS=1
passed=0 failed=0 skipped=0

# torture_plan SECONDS [FUNCTION]: first without lending, since the watcher would hide a lost
# wakeup; then with lending and expedited sections
torture_plan()
{
	local quiet=$(($1 * 6 / 10)) lending=$(($1 - $1 * 6 / 10)) us=300
	# longer delays are affordable in a single function
	[ -z "${2:-}" ] || us=4000
	local params='lend_period_us=60000000 lend=0'
	local common='torture_type=unfair_rwsem mixed=1 nreaders_stress=7 nwriters_stress=0'
	common="$common shuffle_interval=1 stat_interval=0 fatal=1 stuck=6 stutter=0 long_hold=0"
	cat <<-END
	load fscommit $params test_points=$us ${2:+test_points_in=$2}
	load unfair_torture $common
	test quiet $((quiet + 30)) torture_watch $quiet
	unload unfair_torture
	test lend_on 5 cd /sys/module/fscommit/parameters; echo 1000 >lend_period_us; echo 1 >lend
	load unfair_torture $common expedite=10
	test lending $((lending + 30)) torture_watch $lending
	unload unfair_torture
	test counters 10 points_watch bias_set bias_revoked loans activated
	unload fscommit
	END
}

# torture TREE OUT SECONDS [FUNCTION]: exit status 0 if no error was found
torture()
{
	local tree=$1 out=$2 seconds=$3
	mkdir -p "$(dirname "$out")"
	torture_plan "$seconds" "${4:-}" >"$out.plan"
	nice "$HARNESS/boot.sh" --out "$out" --timeout $((seconds + 40)) --smp "${SMP:-2}" uml \
		"$out.plan" "$tree/module/fscommit.ko" \
		"$tree/selftests/unfair_torture.ko" "$HARNESS/torture_watch" \
		"$POINTS_DIR/points_watch" </dev/null >"$out.log" 2>&1 &&
		! grep -q '^DONE [a-z_]* [1-9]' "$out/result.txt"
}

# found OUT: prints the error in a few words
found()
{
	local out=$1
	{
		sed -n -E 's/.*unfair_torture: ([a-z]+: .*)/\1/p' "$out/console" |
			{ grep -v -- '---' || true; }
		sed -n -E 's/.*(fscommit: .*|BUG: .*|WARNING: .*|Kernel panic.*|INFO: .*)/\1/p' \
			"$out/console"
		sed -n 's/^TAP # \(loans\|counter \)/\1/p' "$out/result.txt"
		cat "$out/verdict"
	} 2>/dev/null | head -n 1 | cut -c1-110 || true
}

# try FILE NAME FUNCTION: runs a mutant; $how is the error found, empty if it survived
try()
{
	local tree out=$LOGS/points-mutant
	how='' broken=''
	if ! tree=$("$HARNESS/stage.sh" uml "$1" one-line 2>"$LOGS/points-build.log"); then
		say "  $2: $(tail -n 1 "$LOGS/points-build.log")"
		broken=1
		return 0
	fi
	torture "$tree" "$out" "$CATCH_S" "$3" || how=$(found "$out")
	rm -rf "$out-$2"
	cp -r "$out" "$out-$2"
}

named()
{
	local name start
	for name in $(mutant_names "$POINTS_DIR/named"); do
		start=$SECONDS
		mutant_script "$POINTS_DIR/named" "$name" >"$LOGS/mutant.sed"
		try "$LOGS/mutant.sed" "$name" "$(mutant_values "$POINTS_DIR/named" "$name" delays)"
		if [ -n "$how" ]; then
			passed=$((passed + 1))
			echo "$name caught $((SECONDS - start)): $how"
		else
			failed=$((failed + 1))
			echo "$name SURVIVED $((SECONDS - start))"
		fi
	done
}

# listed [FUNCTION...]: writes the list of mutants that one_line.py generates
listed()
{
	rm -rf "$LOGS/points-sed"
	mkdir -p "$LOGS/points-sed"
	python3 "$POINTS_DIR/one_line.py" "$LOGS/points-sed" "$TOP/module" \
		"$POINTS_DIR/functions" "$@" >"$LOGS/points-sed/list"
}

# generated: runs the mutants of that list
generated()
{
	local number functions what start reason
	while IFS=$'\t' read -r number what; do
		functions=${number#* } number=${number%% *} start=$SECONDS
		reason=$(awk -v w="$what -- " \
			'index($0, w) == 1 { print substr($0, length(w) + 1) }' \
			"$POINTS_DIR/survivors")
		try "$LOGS/points-sed/$number.sed" last "${functions% *}"
		# a delay in another function of its row may expose it
		[ -n "$how$reason" ] || try "$LOGS/points-sed/$number.sed" last "${functions#* }"
		if [ -n "$how" ]; then
			passed=$((passed + 1))
			echo "caught   $((SECONDS - start)) s  $what  ($how)"
			continue
		fi
		if [ -n "$reason" ]; then
			skipped=$((skipped + 1))
			echo "survived $((SECONDS - start)) s  $what  ($reason)"
		else
			failed=$((failed + 1))
			echo "${broken:+DOES NOT BUILD, }SURVIVED $((SECONDS - start)) s  $what"
		fi
	done <"$LOGS/points-sed/list"
}

# The tests of the lock as `make test` runs them, but with delays.
ordinary_tests()
{
	local tree programs out=$LOGS/points-tests
	programs=$("$HARNESS/programs.sh")
	tree=$("$HARNESS/stage.sh" uml)
	mkdir -p "$out"
	plan_tests uml "$programs" | sed -n '1,/^unload fscommit_test/p' >"$out.plan"
	echo 'unload fscommit' >>"$out.plan"
	step "the tests of the lock" "2 min" "$out.log" nice "$HARNESS/boot.sh" --out "$out" \
		--timeout 900 uml "$out.plan" "$tree/module/fscommit.ko" \
		"$tree/selftests/fscommit_test.ko" "$programs"/unfair_rwsem/* || true
	collect uml "$out" 0
	print_sum
}

case ${1:-} in
tests)	ordinary_tests
	exit ;;
named) named ;;
list)	shift
	listed "$@"
	cut -f 2 "$LOGS/points-sed/list"
	exit 0 ;;
all)	named
	listed
	generated ;;
[a-z_]*_[a-z_]*|apply|queue|unqueue)
	listed "$@"
	generated ;;
torture)
	tree=$("$HARNESS/stage.sh" uml)
	out=$LOGS/points-torture
	rc=0
	torture "$tree" "$out" "${2:-120}" "${3:-}" || rc=1
	sed -n 's/^TAP //p' "$out/result.txt"
	if [ $rc -eq 0 ]; then
		passed=1
	else
		failed=1
		say "the torture found: $(found "$out"); see $out"
	fi ;;
*)	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit 2 ;;
esac
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
