#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make coverage`: measures which lines of the module the tests of `make test` execute.
#
# Prints a line for each file of module/, and each line of code that did not run. The exit status is
# 0 if at least 97 % of the lines have run.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"

COV=$TOP/selftests/coverage
kernel=uml-gcov
out=$LOGS/coverage
need gcc python3
tree=$("$HARNESS/stage.sh" "$kernel")
programs=$(build_programs) || die "cannot build the test programs"
rm -rf "$out"
mkdir -p "$out"

# guest NAME SECONDS FILE...: run NAME.plan in a guest, and fetch its coverage data
guest()
{
	local name=$1 seconds=$2
	shift 2
	echo "test collect 60 gcov_collect" >>"$out/$name.plan"
	# `make test` reports failures; here only the data counts
	step "$name on $kernel" "$((seconds / 6)) s" "$out/$name.log" "$SCRIPTS/boot.sh" \
		--out "$out/$name" --timeout "$seconds" --no-panic \
		"$kernel" "$out/$name.plan" "$@" "$COV/gcov_collect" || true
	say "  the guest: $(guest_verdict "$out/$name")"
	[ -s "$out/$name/gcda.tar" ] || die "the guest sent no data; see $out/$name"
	# keep data and notes together, where the next build does not overwrite them
	mkdir -p "$out/$name/obj"
	tar -C "$out/$name/obj" -xf "$out/$name/gcda.tar"
	find "$tree/module" "$tree/selftests" -name '*.gcno' -exec cp -t "$out/$name/obj" {} +
}

{
	# allocations that fail; it loads the modules by itself
	echo "test alloc_failures 200 cd /fscommit && alloc_faults -v every_allocation"
	plan_tests "$kernel"
} >"$out/tests.plan"
mapfile -t files < <(files_for_tests "$tree" "$programs")
guest tests 1200 "${files[@]}" "$programs/faults/alloc_faults"

# every misuse by drivers, one after the other; their warnings are expected and not checked
{
	# shellcheck disable=SC2046,SC2086 # a list
	printf 'load %s\n' fscommit fscommit_test cow_tree_test $(printf '%s_test ' $suites)
	awk '$2 == "uml" { print "test " $1 " 20 misuse " $1 }' "$HARNESS/expected"
} >"$out/misuse.plan"
guest misuse 300 "$tree/module/fscommit.ko" "$tree"/selftests/*_test.ko \
	"$programs/unfair_rwsem/misuse"

python3 "$COV/report.py" "$tree/module" "$out"
