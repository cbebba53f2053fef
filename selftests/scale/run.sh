#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-scale`: test how the lock scales with CPUs, readers and locks.
#
#   run.sh [GUEST...]
#
# A GUEST is `uml`, KERNEL:CPUS (an emulated machine, for example 6.12:16) or KERNEL:count. The
# last boots three times, with 2, 16 and 64 CPUs whose clocks count instructions. The default is
# all guests. TEST=NAME runs only the tests of that name, for example TEST=init_is_cheap.
#
# Tests assert counts and ratios. Times and other figures are printed and written to
# out/scale.figures. The last line is `N passed, N failed, N skipped`. The exit status is 0 if no
# test failed.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"
. "$HARNESS/results.sh"

ALL='uml 6.12:2 6.12:16 6.12:64 7.3:2 7.3:16 7.3:64 6.12:count 7.3:count'
# MORE: limit, in per cent of the instructions on 2 CPUs; SLACK: instructions added to it
MORE=110 SLACK=1

LOGS=$LOGS/scale-$(date +%Y%m%d-%H%M%S)
mkdir -p "$LOGS" "$TOP/out"
export FSCOMMIT_LOGS=$LOGS
figures=$TOP/out/scale.figures
say "everything is logged in $LOGS"

# boot NAME KERNEL FIXTURES SECONDS USUALLY [OPTION...]: boot a guest and collect its figures
boot()
{
	local name=$1 kernel=$2 fixtures=$3 limit=$4 usually=$5 out=$LOGS/$1 start=$SECONDS tree f
	shift 5
	tree=$("$HARNESS/stage.sh" "$kernel") || { result "$name" build FAIL 0; return; }
	mkdir -p "$out"
	{
		echo "load fscommit"
		echo "load fscommit_test"
		echo "load scale_test"
		if [ -n "${TEST:-}" ]; then
			echo "test $TEST $limit scale -t $TEST"
		else
			for f in $fixtures; do
				echo "test $f $limit scale -f $f"
			done
		fi
		echo "unload scale_test"
		echo "unload fscommit_test"
		echo "unload fscommit"
	} >"$out.plan"
	step "$name: $fixtures" "$usually" "$out.log" boot_and_follow "$out" --mem 2G \
		--timeout "$((limit + 120))" "$@" "$kernel" "$out.plan" "$tree/module/fscommit.ko" \
		"$tree"/selftests/{fscommit,scale}_test.ko "$programs/scale/scale" || true
	collect "$name" "$out" $((SECONDS - start))
	sed -n "s/^TAP # figure /$name /p" "$out/result.txt" | tee -a "$figures" >&2
}

# compare KERNEL CPUS: compare the instructions of each path on CPUS and on 2 CPUs
compare()
{
	local kernel=$1 cpus=$2 path few many n=0
	while read -r path few; do
		many=$(awk -v g="$kernel:count-$cpus" -v p="$path" \
			'$1 == g && $2 == p { print $3 }' "$figures")
		[ -n "$many" ] || continue
		n=$((n + 1))
		if [ $((many * 100)) -le $((few * MORE + SLACK * 100)) ]; then
			result "$kernel:count" "$path-$cpus" ok 0
		else
			say "    $kernel, $path: $many instructions with $cpus CPUs, $few with 2"
			result "$kernel:count" "$path-$cpus" FAIL 0
		fi
	done < <(awk -v g="$kernel:count-2" \
		'$1 == g && $2 ~ /^instructions[.]unfair/ { print $2, $3 }' "$figures")
	[ "$n" -eq 3 ] || result "$kernel:count" "comparison-$cpus" FAIL 0
}

# run_guest GUEST: boot a guest and run its tests
run_guest()
{
	local kernel=${1%:*} cpus=${1#*:} n
	case $1 in
	uml)
		boot uml uml 'scale visible' 1500 '2-10 min' ;;
	*:count)
		for n in 2 16 64; do
			boot "$1-$n" "$kernel" instructions 900 "$((n / 16 + 1)) min" --icount \
				--smp "$n" "${LPJ[@]}"
		done
		for n in 16 64; do
			compare "$kernel" "$n"
		done ;;
	*:[1-9]*)
		boot "$1" "$kernel" "scale visible$([ "$cpus" -ne 16 ] || echo ' hotplug')" \
			1800 "$((cpus / 8 + 2)) min" --smp "$cpus" "${LPJ[@]}" ;;
	esac
}

guests=("$@")
# shellcheck disable=SC2206 # a list
[ ${#guests[@]} -gt 0 ] || guests=($ALL)
for g in "${guests[@]}"; do
	[[ $g =~ ^(uml|[^:]+:(count|[1-9][0-9]*))$ ]] || die "no guest '$g'; there are: $ALL"
	matrix_field "${g%:*}" kind >/dev/null
done
# on emulated CPUs the loop calibration would take most of the boot time
LPJ=(--append lpj=4000000)
programs=$("$HARNESS/programs.sh") || die "cannot build the test programs"
: >"$figures"
for g in "${guests[@]}"; do
	say "$g"
	run_guest "$g"
done
print_table
say "figures: $figures; logs: $LOGS"
print_sum
