#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-points`: the lock with random delays at each access to shared memory, and
# mutants of one line each against that.
#
#   one_line.sh torture [SECONDS]   the unbroken module, in a guest    [120]
#   one_line.sh tests               the tests of the lock on it
#   one_line.sh named               mutants that must be caught: points/mutants/*.sed
#   one_line.sh all                 these, and one mutant for each statement and condition
#                                   in the functions of points/functions
#   one_line.sh FUNCTION...         those of these functions
#   one_line.sh list [FUNCTION...]  what these would be
#
# A mutant is caught if the module warns, the torture finds something, or a guest hangs. Those
# that survive must be in points/survivors, with the reason. The last line is
# `N passed, N failed, N skipped`: caught, survived without a reason, survived with one.
# CATCH_S=20: seconds of torture for a mutant.

. "$(dirname "$0")/../harness/lib.sh"
. "$HARNESS/plan.sh"
. "$HARNESS/results.sh"
POINTS_DIR=$TOP/selftests/mutants/points
CATCH_S=${CATCH_S:-20}
export POINTS=1
passed=0 failed=0 skipped=0

# torture_plan SECONDS [FUNCTION]: first without lending, which makes good a lost wakeup; then with it, and
# with expedited sections
torture_plan()
{
	local quiet=$(($1 * 6 / 10)) lending=$(($1 - $1 * 6 / 10)) us=300
	# in one function they cost less
	[ -z "${2:-}" ] || us=4000
	local common='torture_type=unfair_rwsem mixed=1 nreaders_stress=7 nwriters_stress=0'
	common="$common shuffle_interval=1 stat_interval=0 fatal=1 stuck=6 stutter=0 long_hold=0"
	cat <<-END
	load fscommit lend_period_us=60000000 lend=1 holdup_ms=0 test_points=$us ${2:+test_points_in=$2}
	test stats_on 5 echo on >/sys/kernel/debug/fscommit/stats
	load unfair_torture $common
	test quiet $((quiet + 30)) torture_watch $quiet
	unload unfair_torture
	test lend_on 5 echo 300 >/sys/module/fscommit/parameters/lend_period_us; echo 3 >/sys/module/fscommit/parameters/lend
	load unfair_torture $common expedite=10
	test lending $((lending + 30)) torture_watch $lending
	unload unfair_torture
	test counters 10 points_watch bias_set bias_revoked lent expedited
	unload fscommit
	END
}

# torture TREE OUT SECONDS [FUNCTION]: exit status 0 if nothing was found
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

# found OUT: in a few words
found()
{
	local out=$1
	{
		sed -n -E 's/.*unfair_torture: ([a-z]+: .*)/\1/p' "$out/console" | { grep -v -- '---' || true; }
		sed -n -E 's/.*(fscommit: .*|BUG: .*|WARNING: .*|Kernel panic.*|INFO: .*)/\1/p' "$out/console"
		sed -n 's/^TAP # \(loans\|nothing\)/\1/p' "$out/result.txt"
		cat "$out/verdict"
	} 2>/dev/null | head -n 1 | cut -c1-110 || true
}

# try FILE NAME FUNCTION: a mutant; leaves what was found in $how, empty if it survived
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
	local m name start
	for m in "$POINTS_DIR"/mutants/*.sed; do
		name=$(basename "$m" .sed) start=$SECONDS
		try "$m" "$name" "$(sed -n 's/^# in: //p' "$m")"
		if [ -n "$how" ]; then
			passed=$((passed + 1))
			echo "$name caught $((SECONDS - start)): $how"
		else
			failed=$((failed + 1))
			echo "$name SURVIVED $((SECONDS - start))"
		fi
	done
}

# listed [FUNCTION...]: the mutants, as one_line.py prints them
listed()
{
	rm -rf "$LOGS/points-sed"
	mkdir -p "$LOGS/points-sed"
	python3 "$POINTS_DIR/one_line.py" "$LOGS/points-sed" "$TOP/module" \
		"$POINTS_DIR/functions" "$@" >"$LOGS/points-sed/list"
}

# generated: those of the list
generated()
{
	local number functions what start reason
	while IFS=$'\t' read -r number what; do
		functions=${number#* } number=${number%% *} start=$SECONDS
		reason=$(awk -v w="$what -- " 'index($0, w) == 1 { print substr($0, length(w) + 1) }' \
			"$POINTS_DIR/survivors")
		try "$LOGS/points-sed/$number.sed" last "${functions% *}"
		# the delay that shows it may belong to another function of its row
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

# The tests of the lock, as `make test` runs them, with delays.
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
