#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-scale`: test how the lock scales with CPUs, readers and locks.
#
#   run.sh [GUEST...]
#
# A GUEST is `uml`, KERNEL:CPUS (an emulated machine, for example 6.12:16) or KERNEL:count. The
# last boots with 2, 16 and 64 CPUs whose clocks count instructions, and compares these counts.
# TEST=NAME runs only the tests of that name. The exit status is 0 if no test failed.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"

ALL='uml 6.12:64 6.12:count 7.3:count'
LOGS=$LOGS/scale-$(date +%Y%m%d-%H%M%S)
export FSCOMMIT_LOGS=$LOGS

# boot NAME KERNEL FIXTURE USUALLY [OPTION...]: boot a guest and collect its results
boot()
{
	local name=$1 kernel=$2 what="-f $3" usually=$4 out=$LOGS/$1 tree
	shift 4
	[ -z "${TEST:-}" ] || what="-t $TEST"
	tree=$("$HARNESS/stage.sh" "$kernel") || { result "$name" build FAIL 0; return; }
	# on emulated CPUs the loop calibration would take most of the boot time
	run_guest "$name" "$name: scale $what" "$usually" "$out" --mem 2G \
		--timeout 1900 --append lpj=4000000 "$@" "$kernel" "$out.plan" \
		"$tree/module/fscommit.ko" "$tree"/selftests/{fscommit,scale}_test.ko \
		"$programs/scale/scale" <<<"test scale 1800 scale $what"
}

# compare NAME FEW MANY: MANY instructions must be at most 10 % more than FEW, and one
compare()
{
	local verdict=ok
	say "    $1: $3 instructions, ${2:-none} in the guest with less"
	[ "${3:-0}" -gt 0 ] && [ $(($3 * 100)) -le $((${2:-0} * 110 + 100)) ] || verdict=FAIL
	result growth "$1" $verdict 0
}

# figure GUEST PATH: print the instructions of a path
figure() { sed -n "s/^TAP # figure $2 //p" "$LOGS/$1/result.txt"; }

# count KERNEL: nothing may grow with CPUs or waiters
count()
{
	local n path
	for n in 2 16 64; do
		boot "$1:$n" "$1" growth "$((n / 16 + 1)) min" --icount --smp "$n"
		for path in read-pair write-pair migrated-unlock; do
			compare "$1-$path-$n" "$(figure "$1:2" $path)" "$(figure "$1:$n" $path)"
		done
	done
	# on more CPUs the woken readers run beside the release, and the clock counts them, too
	compare "$1-waiters" "$(figure "$1:2" crowded-unlock-20)" \
		"$(figure "$1:2" crowded-unlock-400)"
}

guests=("$@")
# shellcheck disable=SC2206 # a list
[ ${#guests[@]} -gt 0 ] || guests=($ALL)
for g in "${guests[@]}"; do
	[[ $g =~ ^(uml|[^:]+:(count|[1-9][0-9]*))$ ]] || die "no guest '$g', for example: $ALL"
	matrix_field "${g%:*}" kind >/dev/null
done
say "everything is logged in $LOGS"
programs=$(build_programs) || die "cannot build the test programs"
for g in "${guests[@]}"; do
	say "$g"
	case $g in
	uml) boot uml uml scale '2-10 min' ;;
	*:count) count "${g%:*}" ;;
	*) boot "$g" "${g%:*}" scale "$((${g#*:} / 8 + 2)) min" --smp "${g#*:}" ;;
	esac
done
print_table
print_sum
