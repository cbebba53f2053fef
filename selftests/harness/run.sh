#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test`, `make test-all`: build for each kernel, boot it, run the tests there, and print a table.
# `all` also runs the misuses that the kernel must report, the parts of selftests/ for which run_part()
# is called, models, and the tests of the tests.
#
#   run.sh first            6.12 and 7.3, and the checkers that need little: `make test`
#   run.sh all              all of the matrix, and all else: `make test-all`
#   run.sh rest             `all` without `first`
#   run.sh KERNEL...        only these kernels, and the misuses on them
#   LANES=1                 one guest after the other, see below
#
# The last line is `N passed, N failed, N skipped`. Exit status 0 if none failed.

. "$(dirname "$0")/lib.sh"
. "$HARNESS/results.sh"
. "$HARNESS/plan.sh"

LOGS=$CACHE/logs/test-$(date +%Y%m%d-%H%M%S)
mkdir -p "$LOGS"
ln -sfn "$(basename "$LOGS")" "$CACHE/logs/latest"
export FSCOMMIT_LOGS=$LOGS
say "everything is logged in $LOGS"

# stock kernels: nothing to compile but the modules and the programs
first=(6.12 7.3)
meta='' checkers=''
case ${1:?first, all, rest or names of kernels} in
first) kernels=("${first[@]}") checkers='quick 8' ;;
all)
	mapfile -t kernels < <(matrix_names)
	meta=1 checkers='all 10' ;;
rest)
	mapfile -t kernels < <(matrix_names | grep -vxF "$(printf '%s\n' "${first[@]}")")
	meta=1 checkers='rest 2' ;;
*) kernels=("$@") ;;
esac
for k in "${kernels[@]}"; do
	matrix_field "$k" kind >/dev/null
done

programs=$("$HARNESS/programs.sh") || die "cannot build the test programs"

# run_kernel NAME
run_kernel()
{
	local name=$1 tree out=$LOGS/$1 start=$SECONDS programs=$programs files all=4800
	local usually='1-2 min' options=()
	case $name in
	x86-*) all=7200 usually='10 min and the torture' options=(--mem 2G) ;;
	esac
	tree=$("$HARNESS/stage.sh" "$name") || { result "$name" build FAIL 0; return; }
	result "$name" build ok $((SECONDS - start))
	if [ "$(kernel_arch "$name")" != amd64 ] &&
		! programs=$("$HARNESS/programs.sh" "$(kernel_arch "$name")"); then
		result "$name" programs FAIL $((SECONDS - start))
		return
	fi
	mkdir -p "$out"
	plan_tests "$name" "$programs" >"$out.plan"
	mapfile -t files < <(files_for_tests "$tree" "$programs")
	start=$SECONDS
	step "$name: tests in the guest" "$usually" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout $((all + $(torture_seconds "$name"))) "${options[@]}" "$name" "$out.plan" \
		"${files[@]}" || true
	collect "$name" "$out" $((SECONDS - start))
}

# run_expected NAME KERNEL REGEX: run a misuse that the kernel must report. Write the result to a
# file, as a line `NAME VERDICT SECONDS`, because several misuses run in parallel.
run_expected()
{
	local name=$1 kernel=$2 start=$SECONDS out=$LOGS/expected-$1 verdict=FAIL
	if boot_misuse "$@" "$out" "$CACHE/build/$kernel" "$programs"; then
		verdict=ok
	else
		say "  $name: $(tail -n 1 "$out.log")"
	fi
	echo "$name $verdict $((SECONDS - start))" >"$out.verdict"
}

# Build first, for two kernels at a time, if the kernel and a toolchain are in the cache.
# run_kernel() builds again and reports a failure.
n=0
for k in "${kernels[@]}"; do
	[ -e "$CACHE/kernels/$k/arch" ] && [ -n "$(ls "$CACHE/toolchain" 2>/dev/null)" ] || continue
	[ $((n++)) -eq 0 ] && say "building for ${#kernels[@]} kernels"
	"$HARNESS/stage.sh" "$k" >/dev/null 2>&1 &
	[ $((n % 2)) -eq 0 ] && wait
done
wait

# run_part NAME MODE LEAST: run `selftests/NAME/run.sh MODE`, which prints a line for each result.
# Fewer than LEAST lines mean that it ended early.
run_part()
{
	local part=$1 mode=$2 least=$3 kernel name verdict seconds pass fail skip last=$1 n=0
	say "$part"
	while read -r kernel name verdict seconds pass fail skip; do
		# the verdict of the guest follows the lines of its tests
		case $name in
		clean) name=$last-clean ;;
		*) last=$name ;;
		esac
		result "$kernel" "$name" "$verdict" "$seconds" "$pass" "$fail" "$skip"
		n=$((n + 1))
	done < <("$TOP/selftests/$part/run.sh" "$mode")
	[ "$n" -ge "$least" ] || result any "$part" FAIL 0
}

# Run all misuses whose kernel is in ${kernels[@]}, two at a time.
run_all_expected()
{
	local n=0 all name kernel regex verdict seconds f
	all=$(grep -cvE '^#|^$' "$HARNESS/expected")
	while read -r name kernel regex; do
		case $name in ''|'#'*) continue ;; esac
		n=$((n + 1))
		[[ " ${kernels[*]} " = *" $kernel "* ]] || continue
		[ $((n % 4)) -eq 1 ] && say "  misuse $n of $all, each in its own boot"
		run_expected "$name" "$kernel" "$regex" </dev/null &
		[ $((n % 2)) -eq 0 ] && wait
	done <"$HARNESS/expected"
	wait
	for f in "$LOGS"/expected-*.verdict; do
		[ -e "$f" ] || continue
		read -r name verdict seconds <"$f"
		result reported "$name" "$verdict" "$seconds"
	done
}

run_meta()
{
	local name verdict seconds
	say "tests of the tests"
	while read -r name verdict seconds; do
		result meta "$name" "$verdict" "$seconds"
	done < <("$TOP/selftests/mutants/run.sh" quick)
}

run_models()
{
	local name verdict seconds ended=0
	say "models and litmus tests"
	while read -r name verdict seconds _; do
		case $verdict in
		ok|FAIL) result meta "$name" "$verdict" "$seconds" ;;
		passed,) ended=1 ;;
		esac
	done < <("$TOP/selftests/models/run.sh" quick)
	[ "$ended" -eq 1 ] || result meta models FAIL 0
}

run_kernels()
{
	local k
	for k in "$@"; do
		say "kernel $k"
		run_kernel "$k"
	done
}

# lane NAME COMMAND...: run the commands in order, and write their results to a file, because lanes
# run in parallel. A lane that leaves no file has failed.
lane()
{
	local name=$1 c start=$SECONDS
	shift
	RESULTS=()
	for c in "$@"; do
		# shellcheck disable=SC2086 # a command line
		$c
	done
	result "$name" lane ok $((SECONDS - start))
	printf '%s\n' "${RESULTS[@]}" >"$LOGS/lane-$name"
}

# Lanes of guests: the emulated kernels run in parallel with the debug kernels, and then with the
# native ones. LANES=1 runs the lanes one after the other, LANES=3 all three in parallel. No guest
# uses all of two CPUs, and no test asserts times. But randomised tests reach fewer cases on a busy
# machine. So builds and deterministic checks run at nice 19, on the CPU time that guests leave. The
# filesystems lane boots guests, too: nice 10 keeps them behind the others, but not from the CPU.
# The two kernels of `first` have a lane each.
emulated=() debug=() native=()
for k in "${kernels[@]}"; do
	case $(matrix_field "$k" kind):$k in
	uml:*-debug) debug+=("$k") ;;
	uml:*) native+=("$k") ;;
	*) emulated+=("$k") ;;
	esac
done
get_kernels()
{
	local k
	for k in "$@"; do
		# run_kernel() reports a failure
		"$HARNESS/kernel.sh" get "$k" >/dev/null || true
	done
}
in_lane()
{
	lane "$@" &
	case ${LANES:-2}:$1 in
	1:*|2:debug) wait $! ;;
	esac
}
# at_nice VALUE COMMAND...: run the command in a subshell of that nice value
at_nice()
{
	(
		renice -n "$1" "$BASHPID" >/dev/null
		"${@:2}"
	)
}
[[ ${LANES:-2} = [123] ]] || die "LANES=$LANES: must be 1, 2 or 3"
lanes=(emulated debug native)
[ "$1" != first ] || lanes=("${first[@]}")
if [ -n "$meta" ]; then
	lanes+=(checks filesystems)
	{
		# the other lanes need them
		at_nice 19 get_kernels "${native[@]}" "${debug[@]}"
		at_nice 19 lane checks "run_part lint $checkers" run_models "run_part clang quick 5" &
		at_nice 10 lane filesystems "run_part filesystems quick 20"
		wait
	} &
elif [ -n "$checkers" ]; then
	lanes+=(checks)
	at_nice 19 lane checks "run_part lint $checkers" &
fi
if [ "$1" = first ]; then
	for k in "${first[@]}"; do
		in_lane "$k" "run_kernels $k"
	done
else
	in_lane emulated "run_kernels ${emulated[*]}"
	in_lane debug "run_kernels ${debug[*]}"
	in_lane native "run_kernels ${native[*]}" run_all_expected ${meta:+run_meta \
		"run_part packaging quick 13" "run_part robust quick 10"}
fi
wait

# passes_alone KERNEL TEST: a program failed beside other guests, whose load may delay any task by
# more than the program allows for. True if it passes three times without them. Never for a kernel
# that printed a report, nor for programs that look for violations of an invariant: what these find
# once is there.
passes_alone()
{
	# shellcheck disable=SC2086 # words
	[ "$2" != g1_exclusion ] && [[ " $(echo $tests $lending_tests) " = *" $2 "* ]] &&
		[ "$(guest_verdict "$LOGS/$1")" = PASS ] || return 1
	for _ in 1 2 3; do
		"$HARNESS/one.sh" "$2" "$1" >>"$LOGS/alone.log" || return 1
	done
	UNSTEADY+=("$1: $2")
}

# More failures than this are no accident.
MAX_REPEATED=3
UNSTEADY=()
repeated=0
for lane in "${lanes[@]}"; do
	[ -e "$LOGS/lane-$lane" ] || { result any "$lane-lane" FAIL 0; continue; }
	# the programs in a guest must not read from the file
	while read -r kernel name verdict seconds pass fail skip <&3; do
		[ "$name" != lane ] || { say "  $lane: $seconds s"; continue; }
		if [ "$verdict" = FAIL ] && [ $((repeated++)) -lt $MAX_REPEATED ] &&
				passes_alone "$kernel" "$name"; then
			verdict=ok pass=$((pass + fail)) fail=0
		fi
		result "$kernel" "$name" "$verdict" "$seconds" "$pass" "$fail" "$skip"
	done 3<"$LOGS/lane-$lane"
done

print_table
[ ${#UNSTEADY[@]} -eq 0 ] ||
	printf 'unsteady: %s failed beside other guests, and passed three times alone\n' "${UNSTEADY[@]}"
say "logs: $LOGS"
print_sum
