# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tests and benchmarks share: the programs, the plans of guests, the results.
# Sourced, never run.

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# make kselftest needs no kernel of Debian
[ "${0##*/}" = kselftest.sh ] || need_debian
HARNESS=$TOP/selftests/harness

# --- plans ---------------------------------------------------------------------

# folders with one program of the same name
suites='commit_root share_gate cow_diff rcu_reuse'

# lock_tests: print the programs that test the lock
lock_tests() { basename -s .c "$TOP"/selftests/unfair_rwsem/[!m]*.c; }

# plan_tests KERNEL: print the plan of `make test`
plan_tests()
{
	local name=$1 torture t slowdown suite_slowdown limit=1200
	# slow kernels run fewer rounds of the randomised tests
	case $name in
	uml|uml-gcov) slowdown=2 suite_slowdown=2 ;;
	x86-*) slowdown=16 suite_slowdown=32 limit=3600 ;;
	*) slowdown=4 suite_slowdown=4 ;;
	esac
	torture=$(torture_seconds "$name")
	for t in $(lock_tests); do
		echo "test $t 1800 FSCOMMIT_SLOWDOWN=$slowdown $t"
	done
	for t in $suites; do
		echo "test $t $limit FSCOMMIT_SLOWDOWN=$suite_slowdown $t"
	done
	cat <<-END
		load fscommit lend_period_us=60000000
		load unfair_torture torture_type=unfair_rwsem onoff_interval=3
		test torture $((torture + 120)) torture_watch $torture
		unload unfair_torture
		test torture_verdict 60 dmesg | grep 'End of test: SUCCESS' >/dev/null
		unload fscommit
	END
	[ "$name" != x86-debug ] || echo "test kmemleak 300 kmemleak_check"
}

# the kernel's torture tests, see build.sh there
# shellcheck disable=SC2034 # for the scripts that source this
KERNEL_TORTURE=$TOP/selftests/faults/kernel_torture
# shellcheck disable=SC2034 # the same
locktorture_types='rwsem_lock unfair_rwsem_lock unfair_rwsem_expedited_lock'
# shellcheck disable=SC2034 # the same
rcutorture_types=rcu_reuse_stamps

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
	printf '%s\n' "$1"/module/fscommit.ko "$1"/selftests/*.ko \
		"$HARNESS"/{torture_watch,kmemleak_check}
	for t in $(lock_tests); do
		echo "$2/unfair_rwsem/$t"
	done
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
	"$SCRIPTS/boot.sh" --out "$out" --timeout 300 --expect "$regex" "$kernel" "$out.plan" \
		"$tree/module/fscommit.ko" "$tree"/selftests/*_test.ko \
		"$6/unfair_rwsem/misuse" >"$out.log" 2>&1 &&
		grep -q "^DONE $name 0 " "$out/result.txt"
}

# build_programs [ARCH]: build the userspace programs for all guests, static, in the cache. Print
# their folder.
build_programs()
{
	local arch=${1:-amd64} prefix source out targets=(programs)
	prefix=$(cross "$arch") || exit 1
	need gcc make libc.a "${prefix}gcc" ${prefix:+"/usr/${prefix%-}/lib/libc.a"}
	source=$("$SCRIPTS/kernel.sh" source 7.3) || exit 1
	out=$CACHE/build/programs${prefix:+-$arch}
	[ -z "$prefix" ] || targets=("CC=${prefix}gcc" tests)
	mkdir -p "$out"
	if ! make -C "$TOP/selftests" OUTPUT="$out" KSFT="$source/tools/testing/selftests" \
			LDFLAGS=-static "${targets[@]}" >"$out/log" 2>&1; then
		say "building the test programs failed; the end of $out/log:"
		tail -n 20 "$out/log" >&2
		exit 1
	fi
	! grep 'warning:' "$out/log" >&2 || die "the build of the test programs printed warnings"
	printf '%s\n' "$out"
}

# product_files TREE: print the source files of the module, which the mutants edit
product_files()
{
	local f
	for f in "$1"/module/*.[ch] "$1"/module/include/linux/*.h; do
		[[ $f = *.mod.c ]] || printf '%s\n' "$f"
	done
}

# copy_test_modules DIR: copy the test modules to DIR/selftests, whose Kbuild builds all of them
copy_test_modules()
{
	mkdir -p "$1/selftests"
	copy_by_content --include /Kbuild --include '/lib/***' --include '/*/' \
		--include '/*/module/***' --filter='-p *' --prune-empty-dirs \
		"$TOP/selftests/" "$1/selftests/"
}

# boot_and_follow DIR OPTION...: boot a guest, and copy its results, without its files, to stdout as
# they appear, so that step() shows the progress.
boot_and_follow()
{
	local dir=$1 self=$BASHPID pid rc=0
	shift
	rm -f "$dir/result"
	# without --pid, it would keep the lock of a benchmark that was killed
	tail -n +1 -F --pid="$self" "$dir/result" > >(sed -u '/^FILE /,/^END/d') 2>/dev/null &
	pid=$!
	"$SCRIPTS/boot.sh" --out "$dir" "$@" || rc=$?
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	return "$rc"
}

# guest_verdict DIR: print the verdict of a guest
guest_verdict() { cat "$1/verdict" 2>/dev/null || echo 'the guest did not start'; }

# rotate ROUND NAME...: print the names, beginning with another one in each round
rotate()
{
	printf '%s\n' "${@:2}" | awk -v r="$1" '{ v[NR] = $1 }
		END { for (i = 0; i < NR; i++) print v[(i + r - 1) % NR + 1] }'
}

# --- results --------------------------------------------------------------------

RESULTS=()
FAILURES=()

# result KERNEL TEST ok|FAIL|skip SECONDS [PASS FAIL SKIP]
result()
{
	local pass=${5:-0} fail=${6:-0} skip=${7:-0}
	if [ $# -lt 5 ]; then
		case $3 in
		ok) pass=1 ;;
		skip) skip=1 ;;
		*) fail=1 ;;
		esac
	fi
	RESULTS+=("$1 $2 $3 $4 $pass $fail $skip")
	[ "$fail" -eq 0 ] || FAILURES+=("$1: $2 $3")
}

# collect KERNEL OUT SECONDS: collect the results of a guest (see init)
collect()
{
	local name=$1 out=$2 seconds=$3 test verdict s pass fail skip
	while read -r test verdict s pass fail skip; do
		result "$name" "$test" "$verdict" "$s" "$pass" "$fail" "$skip"
	done < <(awk '
		function done_test(rc, secs) {
			if (!pass && !fail && !skip) {		# no TAP: the exit status decides
				if (rc == 0) pass = 1
				else fail = 1
			} else if (rc != 0 && rc != 4 && !fail) {
				fail = 1
			}
			verdict = fail ? "FAIL" : pass ? "ok" : "skip"
			print test, verdict, secs, pass, fail, skip
			test = ""
		}
		/^FILE / { file = 1 } /^END$/ { file = 0 } file { next }
		/^TEST / { if (test != "") done_test(1, 0)
			   test = $2; pass = fail = skip = 0 }
		/^TAP ok / { if (/# SKIP/) skip++; else pass++ }
		/^TAP not ok / { fail++ }
		/^DONE / { done_test($3, $4) }
		END { if (test != "") done_test(1, 0) }' "$out/result.txt")
	# the messages of each failed test; print_sum() repeats them
	awk '
		/^TEST / { t = $2; n = 0 }
		!/^TAP / { next }
		{ sub(/^TAP /, "") }
		/^#  RUN / { n = 0 }
		/^# .*(\.c:[0-9]+:|left with)/ && n < 10 { said[n++] = $0 }
		/^not ok / { for (i = 0; i < n; i++) print "    " t ": " said[i]
			     print "    " t ": " $0 }
		/^(not )?ok / { n = 0 }' "$out/result.txt" | tee "$out/failed" >&2
	if [ "$(guest_verdict "$out")" = PASS ]; then
		result "$name" clean ok "$seconds"
	else
		say "  $name: $(guest_verdict "$out")"
		result "$name" clean FAIL "$seconds"
	fi
}

# run_guest KERNEL WHAT USUALLY OUT OPTION...: boot a guest with the plan on stdin, which becomes
# OUT.plan, and with these options for boot.sh, and collect its results. For WHAT USUALLY see step()
run_guest()
{
	local out=$4 start=$SECONDS
	mkdir -p "$out"
	cat >"$out.plan"
	step "$2" "$3" "$out.log" boot_and_follow "$out" "${@:5}" || true
	collect "$1" "$out" $((SECONDS - start))
}

# print_results: fails if one of them failed
print_results() { printf '%s\n' "${RESULTS[@]}"; [ ${#FAILURES[@]} -eq 0 ]; }

# Print the sums for each kernel or part.
print_table()
{
	printf '%s\n' "${RESULTS[@]}" | awk '
		!($1 in seconds) { name[++n] = $1 }
		{ seconds[$1] += $4; p[$1] += $5; f[$1] += $6; s[$1] += $7 }
		END {
			printf "\n%-14s %7s %7s %7s %7s\n", "", "passed", "failed", "skipped", "s"
			for (i = 1; i <= n; i++)
				printf "%-14s %7d %7d %7d %7d\n", name[i], p[name[i]],
					f[name[i]], s[name[i]], seconds[name[i]]
		}'
}

print_sum()
{
	local f
	if [ ${#FAILURES[@]} -gt 0 ]; then
		printf 'failed: %s\n' "${FAILURES[@]}"
		for f in "$LOGS"/*/failed; do
			[ ! -s "$f" ] || { echo "$(basename "$(dirname "$f")"):"; head -n 20 "$f"; }
		done
	fi
	printf '%s\n' "${RESULTS[@]}" |
		awk '{ p += $5; f += $6; s += $7 }
		     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }'
}
