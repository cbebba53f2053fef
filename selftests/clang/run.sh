#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The product and the test modules built by clang, and clang's context analysis.
#
#   run.sh quick            for `make test`: the modules for uml, and the analysis
#   run.sh all              those for every kernel of the matrix, and the analysis
#   run.sh build KERNEL [newest]
#                           one of them: LLVM=1, W=1, no warning; then it is booted with
#                           them, and some tests run. By clang 19, or by the newest that
#                           Debian has
#   run.sh context          an unguarded access and a lock leak are reported, correct code
#                           and the product are not; for the kernel uml
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed. What no compiler can be had for is skipped.

. "$(dirname "$0")/../harness/lib.sh"
. "$HARNESS/results.sh"
. "$(dirname "$0")/lib.sh"
clang_version=0
mkdir -p "$LOGS"

# copy_to DIR: the sources
copy_to()
{
	rsync -a --no-times --checksum --delete --exclude '*.o' --exclude '*.ko' --exclude '*.mod*' \
		--exclude '.*' --exclude Module.symvers --exclude modules.order \
		"$TOP/module" "$TOP/Kbuild" "$1/"
	copy_test_modules "$1"
}

# get_clang NAME KERNEL [newest]: else the test NAME is skipped
get_clang()
{
	need_packages rsync make
	"$HARNESS/kernel.sh" get "$2" >/dev/null || return 1
	clang_for "$2" "${3:-}" && return 0
	say "  $1: no clang for $2 can be had"
	result "$2" "$1" skip 0
	return 1
}

# build KERNEL [newest]
build()
{
	local kernel=$1 start=$SECONDS name tree log out t programs
	get_clang clang "$@" || return 0
	name=clang-${clang_version:0:2}
	tree=$CACHE/build/$name-$kernel
	log=$LOGS/$name-$kernel-build.log
	copy_to "$tree/src"
	clang_config "$kernel" "$tree"
	rm -f "$tree/src/selftests/Module.symvers"
	: >"$log"
	if ! step "$kernel: modules by clang $clang_version" "1 min" "$log" \
			clang_build "$kernel" "$tree" "$tree/src" W=1 modules ||
	   ! step "$kernel: test modules" "1-2 min" "$log" \
			clang_build "$kernel" "$tree" "$tree/src/selftests" W=1 \
				KBUILD_EXTRA_SYMBOLS="$tree/src/Module.symvers" modules; then
		result "$kernel" "$name-build" FAIL $((SECONDS - start))
		return
	fi
	# the compiler is another one than the kernel's, and pahole may be: known
	if grep -E 'warning:|WARNING:' "$log" |
	   grep -vE 'warning: (the compiler|pahole version) differs from' >&2; then
		say "  $name for $kernel gives warnings; see $log"
		result "$kernel" "$name-build" FAIL $((SECONDS - start))
		return
	fi
	# `make` must not have taken gcc after all
	if ! readelf -p .comment "$tree/src/module/fscommit.ko" | grep 'clang version' >/dev/null; then
		say "  $name for $kernel: fscommit.ko is not by clang"
		result "$kernel" "$name-build" FAIL $((SECONDS - start))
		return
	fi
	result "$kernel" "$name-build" ok $((SECONDS - start))

	start=$SECONDS
	out=$LOGS/$name-$kernel
	mkdir -p "$out"
	programs=$("$HARNESS/programs.sh") || exit 1
	{
		echo "load fscommit lend_period_us=60000000 lend=1 holdup_ms=0"
		echo "load fscommit_test"
		for t in g1_exclusion g3_writer_first g7_clean_retreat; do
			echo "test $name-$t 150 FSCOMMIT_SCALE=8 $t"
		done
		echo "test $name-lend_on 5 echo 3 >/sys/module/fscommit/parameters/lend"
		echo "test $name-g5_lent_priority 150 FSCOMMIT_SCALE=8 g5_lent_priority"
		echo "unload fscommit_test"
		plan_suite commit_root 300 commit_root | sed 's/^\(test \)\(commit_root 300 \)/\1'"$name"'-\2FSCOMMIT_SCALE=8 /'
		echo "unload fscommit"
	} >"$out.plan"
	step "$kernel: tests in the guest" "10-60 s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout 600 "$kernel" "$out.plan" "$tree/src/module/fscommit.ko" \
		"$tree"/src/selftests/*.ko "$programs/unfair_rwsem"/g* \
		"$programs/commit_root/commit_root" || true
	# the guest's own verdict gets a name of its own, too
	local i n=${#RESULTS[@]}
	collect "$kernel" "$out" $((SECONDS - start))
	for ((i = n; i < ${#RESULTS[@]}; i++)); do
		RESULTS[i]=${RESULTS[i]/#"$kernel clean "/"$kernel $name-clean "}
	done
}

# expect_warnings FILE LOG: exactly those lines of FILE that say what must be said there
expect_warnings()
{
	local file=$1 log=$2 want got
	want=$(sed -n 's,^.*/\* report: \(.*\) \*/$,\1,p' "$file" | sort)
	got=$(grep -F "$(basename "$file"):" "$log" | sed -n 's/^.*: warning: \(.*\) \[-W.*/\1/p' | sort)
	[ "$want" = "$got" ] && return 0
	say "  $(basename "$file"): expected, and found:"
	diff <(printf '%s\n' "$want") <(printf '%s\n' "$got") | sed 's/^/    /' >&2
	return 1
}

context()
{
	local kernel=uml start=$SECONDS tree log f name rc
	get_clang context "$kernel" newest || return 0
	# as the kernel's Kconfig has it
	if [ "$clang_version" -lt 230000 ]; then
		say "  context analysis: clang 23 is needed, there is $clang_version"
		result "$kernel" context skip 0
		return
	fi
	tree=$CACHE/build/context-$kernel
	log=$LOGS/context.log
	copy_to "$tree/src"
	rsync -a --no-times --checksum "$CLANGDIR/context" "$tree/src/selftests/"
	clang_config "$kernel" "$tree"
	echo CONFIG_WARN_CONTEXT_ANALYSIS=y >>"$tree/flags"
	rm -f "$tree"/src/selftests/context/*.o
	: >"$log"
	step "what the analysis says about three files" "5 s" "$log" \
		clang_build "$kernel" "$tree" "$tree/src/selftests/context" KBUILD_MODPOST_WARN=1 modules ||
		{ result "$kernel" context FAIL $((SECONDS - start)); return; }
	for f in "$CLANGDIR"/context/*.c; do
		name=$(basename "$f" .c)
		expect_warnings "$f" "$log" && rc=ok || rc=FAIL
		result "$kernel" "context-$name" "$rc" $((SECONDS - start))
		start=$SECONDS
	done

	find "$tree/src/module" -name '*.o' -delete
	: >"$log.product"
	if step "and about the product" "40 s" "$log.product" \
			clang_build "$kernel" "$tree" "$tree/src" modules &&
	   ! grep -E 'warning:.*-Wthread-safety' "$log.product" >&2; then
		result "$kernel" context-product ok $((SECONDS - start))
	else
		result "$kernel" context-product FAIL $((SECONDS - start))
	fi
}

case ${1:-} in
quick)
	build uml
	context ;;
all)
	for k in $(matrix_names); do
		build "$k"
	done
	build uml newest
	context ;;
build) build "${2:?kernel}" "${3:-}" ;;
context) context ;;
*)	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit 2 ;;
esac
printf '%s\n' "${RESULTS[@]}"
[ ${#FAILURES[@]} -eq 0 ]
