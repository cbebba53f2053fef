#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test`: builds and boots every kernel of the matrix, or those named, runs the
# tests there, and prints a table. Then what must be complained about, and the tests
# of the tests.
#
#   run.sh [KERNEL...]      without names: all of the matrix, and the meta tests
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

kernels=("$@")
if [ ${#kernels[@]} -eq 0 ]; then
	mapfile -t kernels < <(matrix_names)
	meta=1
fi
for k in "${kernels[@]}"; do
	matrix_field "$k" kind >/dev/null
done

programs=$("$HARNESS/programs.sh") || die "cannot build the test programs"

# run_kernel NAME
run_kernel()
{
	local name=$1 tree out=$LOGS/$1 start=$SECONDS programs=$programs files all=900
	local usually='1-2 min' options=()
	case $name in
	x86-*) all=5400 usually='10 min and the torture' options=(--mem 2G) ;;
	esac
	# a data race counts as a warning: not the first one shall end it
	[ "$name" != x86-kcsan ] || options+=(--no-panic)
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

# run_expected NAME KERNEL REGEX: the kernel must complain, and like this. Leaves a
# line `NAME VERDICT SECONDS`, since several run at once.
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

# The compilers first, two at once, where there is nothing to download or to wait for; what
# fails is reported where it is needed.
n=0
for k in "${kernels[@]}"; do
	[ -e "$CACHE/kernels/$k/arch" ] && [ -n "$(ls "$CACHE/toolchain" 2>/dev/null)" ] || continue
	[ $((n++)) -eq 0 ] && say "building for ${#kernels[@]} kernels"
	"$HARNESS/stage.sh" "$k" >/dev/null 2>&1 &
	[ $((n % 2)) -eq 0 ] && wait
done
wait

# run_part NAME LEAST: the quick form of selftests/NAME/run.sh, which prints results line by
# line; with fewer than LEAST it did not come to its end
run_part()
{
	local part=$1 least=$2 kernel name verdict seconds pass fail skip last=$1 n=0
	say "$part"
	while read -r kernel name verdict seconds pass fail skip; do
		# the guest's own verdict, after the lines of its tests
		case $name in
		clean) name=$last-clean ;;
		*) last=$name ;;
		esac
		result "$kernel" "$name" "$verdict" "$seconds" "$pass" "$fail" "$skip"
		n=$((n + 1))
	done < <("$TOP/selftests/$part/run.sh" quick)
	[ "$n" -ge "$least" ] || result any "$part" FAIL 0
}

# run_all_expected: on those of the kernels that are tested
run_all_expected()
{
	local n=0 all name kernel regex verdict seconds f
	all=$(grep -cvE '^#|^$' "$HARNESS/expected")
	while read -r name kernel regex; do
		case $name in ''|'#'*) continue ;; esac
		n=$((n + 1))
		[[ " ${kernels[*]} " = *" $kernel "* ]] || continue
		[ $((n % 4)) -eq 1 ] && say "  what must be reported: $n of $all, each in a boot of its own"
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

# lane NAME COMMAND...: its results go to a file, since it runs beside another one. A lane
# that did not come to its end has failed.
lane()
{
	local name=$1 c start=$SECONDS
	shift
	RESULTS=()
	for c in "$@"; do
		# shellcheck disable=SC2086 # with its arguments
		$c
	done
	result "$name" lane ok $((SECONDS - start))
	printf '%s\n' "${RESULTS[@]}" >"$LOGS/lane-$name"
}

# Lanes of guests: emulated ones, and beside them the debug kernel, then the rest; with LANES=1
# one after the other, with LANES=3 all three side by side. No guest uses all of two CPUs, and no
# test judges by the clock; but what a test has to see by luck it sees less often on a busy
# machine. So what builds, or has nothing to do with luck, runs beside them at nice 19, on what
# they leave of the CPUs.
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
		# where that fails it is reported by whoever needs it
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
[[ ${LANES:-2} = [123] ]] || die "LANES=$LANES: is 1, 2 or 3"
lanes=(emulated debug native)
if [ -n "${meta:-}" ]; then
	lanes+=(checks filesystems)
	{
		renice -n 19 "$BASHPID" >/dev/null
		# which others wait for
		get_kernels "${native[@]}" "${debug[@]}"
		lane checks "run_part lint 25" run_models "run_part clang 5" &
		lane filesystems "run_part filesystems 9"
		wait
	} &
fi
in_lane emulated "run_kernels ${emulated[*]}"
in_lane debug "run_kernels ${debug[*]}"
in_lane native "run_kernels ${native[*]}" run_all_expected ${meta:+run_meta \
	"run_part packaging 9" "run_part robust 5"}
wait
for lane in "${lanes[@]}"; do
	[ -e "$LOGS/lane-$lane" ] || { result any "$lane-lane" FAIL 0; continue; }
	while read -r kernel name verdict seconds pass fail skip; do
		case $name in
		lane) say "  $lane: $seconds s" ;;
		?*) result "$kernel" "$name" "$verdict" "$seconds" "$pass" "$fail" "$skip" ;;
		esac
	done <"$LOGS/lane-$lane"
done

print_table
say "logs: $LOGS"
print_sum
