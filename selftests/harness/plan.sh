# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Plans for the tests of the module: for `make test`, single tests, mutants and coverage. Sourced
# after lib.sh, never run.

tests='g1_exclusion g2_no_grant g3_writer_first g4_bounded_bypass g6_spin_on_owner
	g7_clean_retreat g8_lockdep clone_bugs interface contention_events'
# These tests run with the default lending; the tests above run with QUIET.
lending_tests='visible_readers g5_lent_priority g9_expedite g10_chain g11_prompt_writer g12_budget
	g13_nothing_to_keep observability fuzz_device'

# folders with one program of the same name
suites='commit_root share_gate cow_diff rcu_reuse'

# Keep the watcher from looking at locks, because a look would repair a lost wakeup.
QUIET='lend_period_us=60000000 lend=0'

# Plan line that restores the default lending
LEND_ON='test lend_on 60 cd /sys/module/fscommit/parameters &&'
LEND_ON+=' echo 1 >lend && echo 0 >lend_nice && echo 1000 >lend_period_us'

# plan_program FOLDER SECONDS PROGRAM [ARG...]: print a plan for one program of that folder
plan_program()
{
	case $3 in
	# it loads the module itself
	load_cycles)
		echo "test $3 $2 cd /fscommit && ${*:3}"
		return ;;
	esac
	echo "load fscommit $QUIET"
	[[ " $(echo $lending_tests) " != *" $3 "* ]] || echo "$LEND_ON"
	plan_suite "$@"
	echo "unload fscommit"
}

# plan_tests KERNEL PROGRAMS: print the plan of `make test`
plan_tests()
{
	local name=$1 programs=$2 torture t scale suite_scale limit=1800 suite_limit=1200
	# slow kernels run fewer rounds of the randomised tests
	case $name in
	uml|uml-gcov) scale=2 suite_scale=2 ;;
	uml-debug) scale=4 suite_scale=4 ;;
	x86-*) scale=16 suite_scale=32 suite_limit=3600 ;;
	*) scale=4 suite_scale=4 ;;
	esac
	torture=$(torture_seconds "$name")
	{
		echo "load fscommit $QUIET"
		echo "load fscommit_test"
		for t in $tests; do
			[ -e "$programs/unfair_rwsem/$t" ] && echo "test $t $limit $t"
		done
		echo "$LEND_ON"
		for t in $lending_tests; do
			[ -e "$programs/unfair_rwsem/$t" ] && echo "test $t $limit $t"
		done
		echo "test watch_off 60 echo 60000000 >/sys/module/fscommit/parameters/lend_period_us"
		echo "unload fscommit_test"
		for t in $suites; do
			plan_suite "$t" "$suite_limit" "$t"
		done
		echo "load unfair_torture torture_type=unfair_rwsem onoff_interval=3"
		echo "test torture $((torture + 120)) torture_watch $torture"
		echo "unload unfair_torture"
		echo "test torture_verdict 60 dmesg | grep 'End of test: SUCCESS' >/dev/null"
		echo "unload fscommit"
		[ "$name" != x86-debug ] || echo "test kmemleak 300 kmemleak_check"
	} | sed -E -e "s/^test (${suites// /|}) ([0-9]+) [a-z_]+$/test \\1 \\2 FSCOMMIT_SCALE=$suite_scale \\1/" \
		-e "s/^test ([a-z0-9_]+) ([0-9]+) ([a-z0-9_]+)$/test \\1 \\2 FSCOMMIT_SCALE=$scale \\3/"
}

# the kernel's torture tests, see build.sh there
# shellcheck disable=SC2034 # for the scripts that source this
KERNEL_TORTURE=$TOP/selftests/faults/kernel_torture
# shellcheck disable=SC2034 # the same
locktorture_types='rwsem_lock unfair_rwsem_lock unfair_rwsem_expedited_lock'
# shellcheck disable=SC2034 # the same
rcutorture_types='rcu_reuse_queue rcu_reuse_expedited rcu_reuse_stamps srcu_reuse_queue
	srcu_reuse_stamps'

# plan_kernel_torture MODULE SECONDS TYPE...: print a plan that runs locktorture or rcutorture on
# each type
plan_kernel_torture()
{
	local module=$1 seconds=$2 t
	shift 2
	echo "load fscommit"
	echo "load torture"
	for t in "$@"; do
		echo "test $t $((seconds + 120)) kernel_torture_guest $module $seconds $t"
	done
	echo "unload torture"
	echo "unload fscommit"
}

# torture_seconds KERNEL: print the duration of the torture test; DURATION sets it for a kernel
# that is not part of `make test`
torture_seconds()
{
	local torture
	torture=$(matrix_field "$1" torture) || exit 1
	[ "$torture" != - ] || torture=${DURATION:-6}
	echo "$torture"
}

# files_for_tests TREE PROGRAMS: print the files that the plan of plan_tests() needs
files_for_tests()
{
	local t
	printf '%s\n' "$1"/module/fscommit.ko "$1"/selftests/*.ko "$2"/unfair_rwsem/* \
		"$HARNESS"/{torture_watch,kmemleak_check}
	for t in $suites; do
		echo "$2/$t/$t"
	done
}

# boot_misuse NAME KERNEL REGEX OUT TREE PROGRAMS: boot a guest that runs a misuse. The exit status
# is 0 if the kernel printed exactly one report, it matches REGEX, and the program found no harm.
boot_misuse()
{
	local name=$1 kernel=$2 regex=$3 out=$4 tree=$5 t
	{
		echo "load fscommit"
		for t in fscommit_test cow_tree_test $(printf '%s_test ' $suites); do
			echo "load $t"
		done
		echo "test $name 120 misuse $name"
	} >"$out.plan"
	"$HARNESS/boot.sh" --out "$out" --timeout 300 --expect "$regex" "$kernel" "$out.plan" \
		"$tree/module/fscommit.ko" "$tree"/selftests/*_test.ko \
		"$6/unfair_rwsem/misuse" >"$out.log" 2>&1 &&
		grep -q "^DONE $name 0 " "$out/result.txt"
}

# build_programs [ARCH]: build the userspace programs for all guests, static, in the cache. Print
# their folder.
build_programs()
{
	local arch=${1:-amd64} prefix source out targets=(programs)
	prefix=$(cross prefix "$arch") || exit 1
	# shellcheck disable=SC2046 # a list
	need_packages gcc make libc6-dev $(cross packages "$arch")
	source=$("$HARNESS/kernel.sh" source 7.3) || exit 1
	out=$CACHE/build/programs${prefix:+-$arch}
	[ -z "$prefix" ] || targets=("CC=${prefix}gcc" tests)
	mkdir -p "$out"
	if ! make -C "$TOP/selftests" OUTPUT="$out" KSFT="$source/tools/testing/selftests" \
			"${targets[@]}" >"$out/log" 2>&1; then
		say "building the test programs failed; the end of $out/log:"
		tail -n 20 "$out/log" >&2
		exit 1
	fi
	! grep 'warning:' "$out/log" >&2 || die "the build of the test programs printed warnings"
	printf '%s\n' "$out"
}
