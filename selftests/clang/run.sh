#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the product and the test modules with clang, and runs clang's context analysis.
#
#   run.sh quick            for `make test-all`: the modules for uml, and the analysis
#   run.sh all              the modules for every kernel of the matrix, and the analysis
#   run.sh build KERNEL [newest]
#                           builds the modules with LLVM=1 W=1, without a warning, boots the
#                           kernel and runs some tests. With clang 19, or with the newest clang
#                           in Debian
#   run.sh context          the analysis must report unguarded accesses and lock leaks, and
#                           must not report correct code or the product; for the kernel uml
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed. Skips a kernel for which there is no compiler.

. "$(dirname "$0")/../harness/lib.sh"
. "$HARNESS/results.sh"
. "$(dirname "$0")/lib.sh"
clang_version=0
mkdir -p "$LOGS"

# copy_to DIR: copies the sources
copy_to()
{
	mkdir -p "$1"
	copy_product "$TOP" "$1"
	copy_test_modules "$1"
}

# get_clang NAME KERNEL [newest]: skips the test NAME if there is no clang
get_clang()
{
	need_packages rsync make
	"$HARNESS/kernel.sh" get "$2" >/dev/null || return 1
	clang_for "$2" "${3:-}" && return 0
	say "  $1: no clang for $2"
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
	# expected: the compiler differs from the kernel's, and pahole may differ, too
	if grep -E 'warning:|WARNING:' "$log" |
	   grep -vE 'warning: (the compiler|pahole version) differs from' >&2; then
		say "  $name for $kernel gives warnings; see $log"
		result "$kernel" "$name-build" FAIL $((SECONDS - start))
		return
	fi
	# `make` must not have used gcc
	if ! readelf -p .comment "$tree/src/module/fscommit.ko" |
	     grep 'clang version' >/dev/null; then
		say "  $name for $kernel: clang did not build fscommit.ko"
		result "$kernel" "$name-build" FAIL $((SECONDS - start))
		return
	fi
	result "$kernel" "$name-build" ok $((SECONDS - start))

	start=$SECONDS
	out=$LOGS/$name-$kernel
	mkdir -p "$out"
	programs=$("$HARNESS/programs.sh") || exit 1
	{
		echo "load fscommit lend_period_us=60000000 lend=0"
		echo "load fscommit_test"
		for t in g1_exclusion g3_writer_first g7_clean_retreat; do
			echo "test $name-$t 600 FSCOMMIT_SCALE=8 $t"
		done
		echo "test $name-lend_on 60 echo 1 >/sys/module/fscommit/parameters/lend"
		echo "test $name-g5_lent_priority 600 FSCOMMIT_SCALE=8 g5_lent_priority"
		echo "unload fscommit_test"
		plan_suite commit_root 600 commit_root |
			sed "s/^test commit_root 600 /test $name-commit_root 600 FSCOMMIT_SCALE=8 /"
		echo "unload fscommit"
	} >"$out.plan"
	step "$kernel: tests in the guest" "10-60 s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout 2400 "$kernel" "$out.plan" "$tree/src/module/fscommit.ko" \
		"$tree"/src/selftests/*.ko "$programs/unfair_rwsem"/g* \
		"$programs/commit_root/commit_root" || true
	# rename the guest's own verdict, too
	local i n=${#RESULTS[@]}
	collect "$kernel" "$out" $((SECONDS - start))
	for ((i = n; i < ${#RESULTS[@]}; i++)); do
		RESULTS[i]=${RESULTS[i]/#"$kernel clean "/"$kernel $name-clean "}
	done
}

# expect_warnings FILE LOG: LOG must have exactly the warnings in the `report:` comments of FILE
expect_warnings()
{
	local file=$1 log=$2 want got
	want=$(sed -n 's,^.*/\* report: \(.*\) \*/$,\1,p' "$file" | sort)
	got=$(grep -F "$(basename "$file"):" "$log" |
		sed -n 's/^.*: warning: \(.*\) \[-W.*/\1/p' | sort)
	[ "$want" = "$got" ] && return 0
	say "  $(basename "$file"): expected, and found:"
	diff <(printf '%s\n' "$want") <(printf '%s\n' "$got") | sed 's/^/    /' >&2
	return 1
}

context()
{
	local kernel=uml start=$SECONDS tree log f name rc
	get_clang context "$kernel" newest || return 0
	# the kernel's Kconfig requires this version
	if [ "$clang_version" -lt 230000 ]; then
		say "  context analysis needs clang 23, this is $clang_version"
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
	step "context analysis of three files" "5 s" "$log" \
		clang_build "$kernel" "$tree" "$tree/src/selftests/context" \
			KBUILD_MODPOST_WARN=1 modules ||
		{ result "$kernel" context FAIL $((SECONDS - start)); return; }
	for f in "$CLANGDIR"/context/*.c; do
		name=$(basename "$f" .c)
		expect_warnings "$f" "$log" && rc=ok || rc=FAIL
		result "$kernel" "context-$name" "$rc" $((SECONDS - start))
		start=$SECONDS
	done

	find "$tree/src/module" -name '*.o' -delete
	: >"$log.product"
	if step "context analysis of the product" "40 s" "$log.product" \
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
