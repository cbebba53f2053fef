#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test`, `make test-all`: build for each kernel, boot it, run the tests there, and print a table.
#
#   run.sh first            6.12 and 7.3, and the checkers that need little: `make test`
#   run.sh all              all of the matrix, the misuses that the kernel must report, and the parts
#                           of selftests/ that are named below: `make test-all`
#   run.sh rest             `all` without `first`
#   run.sh KERNEL...        only these kernels, and the misuses on them
#   LANES=1                 one guest after the other, for a busy machine
#
# The file `results` has a line for each program. A result counts as it is: a test that fails once is
# a failure. The last line is `N passed, N failed, N skipped`. Exit status 0 if none failed.

. "$(dirname "$0")/lib.sh"

LOGS=$CACHE/logs/test-$(date +%Y%m%d-%H%M%S)
mkdir -p "$LOGS"
ln -sfn "$(basename "$LOGS")" "$CACHE/logs/latest"
export FSCOMMIT_LOGS=$LOGS
say "everything is logged in $LOGS"

# stock kernels: nothing to compile but the modules and the programs
first=(6.12 7.3)
checkers='' parts=''
case ${1:?first, all, rest or names of kernels} in
first) kernels=("${first[@]}") checkers=quick ;;
all)
	mapfile -t kernels < <(matrix_names)
	checkers=all parts=1 ;;
rest)
	mapfile -t kernels < <(matrix_names | grep -vxF "$(printf '%s\n' "${first[@]}")")
	checkers=rest parts=1 ;;
*) kernels=("$@") ;;
esac
for k in "${kernels[@]}"; do
	matrix_field "$k" kind >/dev/null
done

programs=$(build_programs) || die "cannot build the test programs"

# run_kernel NAME
run_kernel()
{
	local name=$1 tree out=$LOGS/$1 start=$SECONDS programs=$programs files all=4800
	local usually='1-2 min' options=()
	case $name in
	x86-*) all=7200 usually='10 min and the torture' options=(--mem 2G) ;;
	esac
	say "kernel $name"
	tree=$("$HARNESS/stage.sh" "$name") || { result "$name" build FAIL 0; return; }
	result "$name" build ok $((SECONDS - start))
	if [ "$(kernel_arch "$name")" != amd64 ] &&
		! programs=$(build_programs "$(kernel_arch "$name")"); then
		result "$name" programs FAIL $((SECONDS - start))
		return
	fi
	mapfile -t files < <(files_for_tests "$tree" "$programs")
	run_guest "$name" "$name: tests in the guest" "$usually" "$out" \
		--timeout $((all + $(torture_seconds "$name"))) "${options[@]}" "$name" "$out.plan" \
		"${files[@]}" < <(plan_tests "$name")
}

run_kernels()
{
	local k
	for k in "$@"; do
		run_kernel "$k"
	done
}

# run_misuse NAME KERNEL REGEX: run a misuse that the kernel must report, and write its result to a
# file, because two of them run in parallel.
run_misuse()
{
	local name=$1 kernel=$2 start=$SECONDS out=$LOGS/expected-$1 verdict=FAIL
	if boot_misuse "$@" "$out" "$CACHE/build/$kernel" "$programs"; then
		verdict=ok
	else
		say "  $name: $(tail -n 1 "$out.log")"
	fi
	echo "misuse $name $verdict $((SECONDS - start))" >"$out.verdict"
}

# the misuses on the kernels of this run
run_misuses()
{
	local n=0 name kernel regex f
	say "misuses, each in its own boot"
	while read -r name kernel regex; do
		[[ $name != '#'* && " ${kernels[*]} " = *" $kernel "* ]] || continue
		run_misuse "$name" "$kernel" "$regex" </dev/null &
		[ $((++n % 2)) -ne 0 ] || wait
	done <"$HARNESS/expected"
	wait
	for f in "$LOGS"/expected-*.verdict; do
		# shellcheck disable=SC2046 # words
		[ ! -e "$f" ] || result $(cat "$f")
	done
}

# run_part PART MODE: run `selftests/PART/run.sh MODE`. It prints a line for each result, either
# `KERNEL NAME VERDICT SECONDS PASSED FAILED SKIPPED` or `NAME ok|FAIL SECONDS`. It must print one,
# and fail only if one is a failure: otherwise it ended early.
run_part()
{
	local part=$1 lines=$LOGS/$1.results rc=0 words last=$1
	say "$part"
	"$TOP/selftests/$part/run.sh" "$2" >"$lines" || rc=$?
	while read -r -a words; do
		case ${#words[@]}:${words[1]:-} in
		*:ok|*:FAIL) words=("$part" "${words[@]:0:3}") ;;
		# the verdict of the guest follows the lines of its tests
		7:clean) words[1]=$last-clean ;;
		7:*) last=${words[1]} ;;
		*) continue ;;
		esac
		result "${words[@]}"
	done <"$lines"
	if [ ! -s "$lines" ] || { [ "$rc" -ne 0 ] && ! grep -q FAIL "$lines"; }; then
		result "$part" ended-early FAIL 0
	fi
}

# lane NAME NICE COMMAND...: run the commands in order, and write their results to a file, because
# lanes run in parallel.
lane()
{
	local name=$1 c
	[ "$2" -eq 0 ] || renice -n "$2" "$BASHPID" >/dev/null
	shift 2
	RESULTS=()
	for c in "$@"; do
		# shellcheck disable=SC2086 # a command line
		$c
	done
	printf '%s\n' "${RESULTS[@]}" | sed '/^$/d' >"$LOGS/lane-$name"
}

# Two lanes of guests: no guest uses all of two CPUs, and no test asserts times. But randomised tests
# reach fewer cases on a busy machine, so builds and deterministic checks run at nice 5. They must
# still progress beside other tasks of the host.
one=() two=()
for k in "${kernels[@]}"; do
	if [ "$(matrix_field "$k" kind)" = uml ] || [ "$1:$k" = first:7.3 ]; then
		two+=("$k")
	else
		one+=("$k")
	fi
done
lane one 0 "run_kernels ${one[*]}" ${parts:+"run_part filesystems quick"} &
[ "${LANES:-2}" != 1 ] || wait
[ -z "$checkers" ] || lane checks 5 "run_part lint $checkers" \
	${parts:+"run_part models quick" "run_part clang quick"} &
lane two 0 "run_kernels ${two[*]}" run_misuses ${parts:+"run_part mutants quick" \
	"run_part packaging quick" "run_part faults quick"} &
wait

for lane in one two ${checkers:+checks}; do
	[ -e "$LOGS/lane-$lane" ] || { result any "lane-$lane" FAIL 0; continue; }
	while read -r -a words; do
		result "${words[@]}"
	done <"$LOGS/lane-$lane"
done
printf '%s\n' "${RESULTS[@]}" >"$LOGS/results"
print_table
say "logs: $LOGS"
print_sum
