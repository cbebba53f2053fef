#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Test faults: failing allocations, signals, frozen and killed tasks, module load and unload; and
# the lock and reuse stamps by the kernel's own torture tests.
#
#   run.sh quick           for `make test-all`, on uml: no failing allocations, 20 load cycles
#   run.sh all [KERNEL]    everything: failing allocations and kmemleak on KERNEL [x86-debug],
#                          1,000 load cycles on uml unless KERNEL is given
#   run.sh allocations [KERNEL]
#   run.sh locktorture [KERNEL] [SECONDS]
#                          the kernel's locktorture on its rw_semaphore and on ours
#   run.sh rcutorture [KERNEL] [SECONDS]
#                          the kernel's rcutorture on reuse stamps
#
# Print lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`. The exit status is 0 if
# no test failed.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"
FAULTS=$TOP/selftests/faults

# guest NAME KERNEL SECONDS FOLDER [OPTION...]: boot a guest with the plan from stdin
guest()
{
	local name=$1 kernel=$2 seconds=$3 tree=$4 out=$LOGS/faults-$1-$2
	shift 4
	run_guest "$kernel" "faults on $kernel: $name" "$seconds s" "$out" \
		--timeout $((seconds * 20 + 600)) "$@" "$kernel" "$out.plan" \
		"$tree/module/fscommit.ko" \
		"$tree"/selftests/{fscommit,fault}_test.ko \
		"$programs"/faults/{alloc_faults,freezer,load_cycles,oom} \
		"$programs/faults/signal_storm" "$HARNESS/kmemleak_check"
}

# tasks KERNEL SLOWDOWN CYCLES SECONDS: freezer, OOM killer, signals, and load cycles
tasks()
{
	local tree
	tree=$("$HARNESS/stage.sh" "$1") || { result "$1" faults-build FAIL 0; return; }
	guest tasks "$1" "$4" "$tree" < <(cat <<-EOF
		test freezer 600 FSCOMMIT_SLOWDOWN=$2 freezer
		test oom 600 FSCOMMIT_SLOWDOWN=$2 oom
		test signal_storm 1200 FSCOMMIT_SLOWDOWN=$2 signal_storm
		test load_cycles 3000 cd /fscommit && FSCOMMIT_CYCLES=$3 load_cycles
	EOF
	[ "$1" = uml ] || echo "test kmemleak 300 kmemleak_check")
}

# allocations KERNEL: the module with failing calls of allocators
allocations()
{
	local tree start=$SECONDS sites
	tree=$("$HARNESS/stage.sh" "$1" "$FAULTS/sites.sed") ||
		{ result "$1" faults-build FAIL 0; return; }
	# lockdep would take most of the time
	guest allocations "$1" 240 "$tree" --mem 2G <<-EOF
		test lockdep_off 5 echo 0 >/proc/sys/kernel/prove_locking
		test alloc_faults 1200 cd /fscommit && alloc_faults -v every_site
		test kmemleak 300 kmemleak_check
	EOF
	if sites=$("$FAULTS/sites.sh" "$LOGS/faults-allocations-$1/dmesg"); then
		result "$1" every-site ok $((SECONDS - start)) "$(grep -c failed <<<"$sites")" 0 0
	else
		result "$1" every-site FAIL $((SECONDS - start))
	fi
	printf '%s\n' "$sites" >&2
}

# kernel_torture locktorture|rcutorture KERNEL SECONDS
kernel_torture()
{
	local module=$1 kernel=$2 seconds=$3 start=$SECONDS tree dir out=$LOGS/$1-$2
	local types=${1}_types
	if ! tree=$("$HARNESS/stage.sh" "$kernel") ||
			! dir=$("$KERNEL_TORTURE/build.sh" "$kernel" "$tree"); then
		result "$kernel" "$module-build" FAIL $((SECONDS - start))
		return
	fi
	# shellcheck disable=SC2086 # a list
	run_guest "$kernel" "$module on $kernel" "$((seconds * 5 + 10)) s" "$out" \
		--timeout $((seconds * 20 + 300)) "$kernel" "$out.plan" "$tree/module/fscommit.ko" \
		"$dir"/*.ko "$KERNEL_TORTURE/kernel_torture_guest" \
		< <(plan_kernel_torture "$module" "$seconds" ${!types})
	sed -n 's/^TEST /  /p;s/^TAP #/   /p' "$out/result.txt" >&2
}

programs=$(build_programs) || die "cannot build the test programs"
case ${1:-} in
quick)
	tasks uml 16 20 60
	kernel_torture locktorture uml 6
	kernel_torture rcutorture uml 6 ;;
locktorture|rcutorture)
	kernel_torture "$1" "${2:-uml}" "${3:-6}" ;;
allocations)
	allocations "${2:-x86-debug}" ;;
all)
	allocations "${2:-x86-debug}"
	tasks "${2:-x86-debug}" 8 20 240
	[ -n "${2:-}" ] || tasks uml 1 1000 200 ;;
*) exit_usage ;;
esac
print_results
