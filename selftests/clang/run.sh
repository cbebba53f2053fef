#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-clang`: builds the module and the test modules for the kernel uml by the newest clang
# in Debian, with W=1, with the context analysis and without a warning, and runs some tests. The
# analysis must report what context.c names, and nothing else. `run.sh quick` ends there. Then, on a
# kernel that clang builds with CONFIG_CFI: g1_exclusion, and the smoke test of the f2fs port.
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed.

. "$(dirname "$0")/../harness/lib.sh"
CLANG=$TOP/selftests/clang
work=$CACHE/build/clang
mkdir -p "$LOGS" "$work/config/generated" "$work/context"

# gcc built the kernel. Replace what its configuration says about the compiler: for make in $flags,
# for C by a copy of autoconf.h that comes first.
configure()
{
	flags=("CC=clang -I$work/config" CONFIG_CC_IS_GCC= CONFIG_GCC_VERSION=
		CONFIG_CC_NO_STRINGOP_OVERFLOW= CONFIG_CC_IS_CLANG=y "CONFIG_CLANG_VERSION=${version}0000"
		CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough CONFIG_WARN_CONTEXT_ANALYSIS=y)
	{
		grep -vE '^#define CONFIG_(CC_IS_GCC|(GCC|CLANG)_VERSION) ' "$kdir/include/generated/autoconf.h"
		echo "#define CONFIG_CC_IS_CLANG 1"
		echo "#define CONFIG_CLANG_VERSION ${version}0000"
	} >"$work/config/generated/autoconf.h"
}

# compile FOLDER [ARG...]
compile()
{
	FSCOMMIT_TOOLCHAIN=sid FSCOMMIT_BUILD_ROOT=$CACHE "$SCRIPTS/kernel.sh" build uml "$1" \
		LLVM=1 W=1 "${flags[@]}" "${@:2}" modules
}

build()
{
	copy_product "$TOP" "$work/src"
	copy_test_modules "$work/src"
	rm -f "$work/src/selftests/Module.symvers"
	compile "$work/src" && compile "$work/src/selftests" \
		KBUILD_EXTRA_SYMBOLS="$work/src/Module.symvers"
}

# The build has no warning but those about the compiler of the kernel, and make has not used gcc.
is_clean()
{
	! grep -E 'warning:|WARNING:' "$log" |
		grep -vE 'warning: (the compiler|pahole version) differs from' | sort -u >&2 &&
	readelf -p .comment "$work/src/module/fscommit.ko" | grep 'clang version' >/dev/null
}

context()
{
	cp "$CLANG/context.c" "$work/context/"
	printf '%s\n' 'CONTEXT_ANALYSIS := y' 'obj-m := context.o' \
		"ccflags-y := -I$work/src/module/include" >"$work/context/Kbuild"
	rm -f "$work"/context/*.o
	compile "$work/context" KBUILD_MODPOST_WARN=1 >"$log.context" 2>&1 || return 1
	diff <(sed -n 's,^/\* report: \(.*\) \*/$,\1,p' "$CLANG/context.c" | sort) \
		<(sed -n 's/^.*context\.c:.*: warning: \(.*\) \[-W.*/\1/p' "$log.context" | sort) >&2
}

run_tests()
{
	local out=$LOGS/clang programs
	programs=$(build_programs) || exit 1
	run_guest uml "tests in the guest" "10-60 s" "$out" --timeout 1500 uml "$out.plan" \
		"$work/src/module/fscommit.ko" "$work/src/selftests/fscommit_test.ko" \
		"$programs/unfair_rwsem"/g[13]_* <<-END
			load fscommit lend_period_us=60000000 lend=0
			load fscommit_test
			test clang-g1_exclusion 600 FSCOMMIT_SLOWDOWN=8 g1_exclusion
			test clang-g3_writer_first 600 FSCOMMIT_SLOWDOWN=8 g3_writer_first
			unload fscommit_test
			unload fscommit
		END
}

need rsync make strip
kdir=$("$SCRIPTS/kernel.sh" get uml)/kdir
version=$(FSCOMMIT_TOOLCHAIN=sid "$SCRIPTS/kernel.sh" run clang -dumpversion | cut -d. -f1)
log=$LOGS/clang-build.log start=$SECONDS
: >"$log"
configure
if step "the modules, by clang $version" "2 min" "$log" build && is_clean; then
	result uml clang-build ok $((SECONDS - start))
	if context; then result uml clang-context ok 5; else result uml clang-context FAIL 5; fi
	run_tests
else
	result uml clang-build FAIL $((SECONDS - start))
fi
if [ "${1:-}" != quick ]; then
	if "$HARNESS/one.sh" g1_exclusion x86-kcfi >&2; then verdict=ok; else verdict=FAIL; fi
	result x86-kcfi g1_exclusion "$verdict" 60
	# prints its own lines
	"$TOP/selftests/filesystems/run.sh" smoke f2fs x86-kcfi || FAILURES+=(smoke)
fi
print_results
