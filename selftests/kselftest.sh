#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build the kselftests for a kernel, install them into a folder, and run them on this machine.
#
#   kselftest.sh find            print the folder of a kernel's selftests
#   kselftest.sh install FOLDER  FOLDER/run_kselftest.sh runs them on any machine with that kernel
#   kselftest.sh run             on this machine: `make kselftest`
#
#   KDIR=      the kernel's headers or build folder [those of the running kernel]
#   KSFT=      tools/testing/selftests of a kernel source, 6.9 or later, for its harness and runner
#   TARGETS=   the parts [unfair_rwsem commit_root cow_diff rcu_reuse share_gate]
#   TEST=      one program, or one test of it: g4_bounded_bypass.absent_writer_is_passed
#   LLVM=1     if clang built the kernel
#
# The exit status of `run` is 0 if no test failed, 1 if one did, 4 if all were skipped. Nothing is
# written to this tree. The cache keeps the objects.

. "$(dirname "$0")/harness/lib.sh"
PARTS='unfair_rwsem commit_root cow_diff rcu_reuse share_gate'
KDIR=${KDIR:-/lib/modules/$(uname -r)/build}

# is_ksft FOLDER: 6.9 made the harness report a test as `exit_code`
is_ksft()
{
	[ -e "$1/run_kselftest.sh" ] && grep -q exit_code "$1/kselftest_harness.h" 2>/dev/null
}

find_ksft()
{
	local d
	for d in ${KSFT:+"$KSFT"} "$KDIR" "$KDIR/source" "/lib/modules/$(uname -r)/source" \
			/usr/src/linux* "$CACHE"/src/*; do
		[ "$d" = "${KSFT:-}" ] || d=$d/tools/testing/selftests
		! is_ksft "$d" || { realpath "$d"; return; }
		[ "$d" != "${KSFT:-}" ] || die "KSFT=$d has no kselftest_harness.h of Linux 6.9 or later"
	done
	if is_debian; then
		d=$("$SCRIPTS/kernel.sh" source 7.3) && echo "$d/tools/testing/selftests" && return
	fi
	die "no source of Linux 6.9 or later in KDIR or /usr/src, for its kselftest_harness.h: unpack" \
		"one of https://www.kernel.org, and say KSFT=/its/folder/tools/testing/selftests"
}

# kdir_release: print the release that KDIR is of
kdir_release()
{
	sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' "$KDIR/include/generated/utsrelease.h" 2>/dev/null |
		grep . || die "no kernel to build for in KDIR=$KDIR: install the headers of $(uname -r)"
}

# build: the modules and the programs, in $out
build()
{
	need gcc make rsync modinfo
	release=$(kdir_release)
	ksft=$(find_ksft)
	out=$CACHE/build/kselftest-$release
	mkdir -p "$out/tree"
	copy_product "$TOP" "$out/tree"
	copy_by_content "$TOP/selftests" "$out/tree/"
	rm -f "$out/tree/selftests/Module.symvers"
	: >"$out/log"
	local m=(make -C "$KDIR" -j"$(nproc)")
	step "building the modules for $release" "30 s" "$out/log" \
		"${m[@]}" M="$out/tree" modules &&
	step "building the test modules" "30 s" "$out/log" "${m[@]}" M="$out/tree/selftests" \
		KBUILD_EXTRA_SYMBOLS="$out/tree/Module.symvers" modules &&
	step "building the programs" "20 s" "$out/log" make -C "$out/tree/selftests" -j"$(nproc)" \
		KSFT="$ksft" OUTPUT="$out/programs" tests || die "the build failed; see $out/log"
}

# put_folder FOLDER: what build() has made, as the kernel's `make -C tools/testing/selftests install`
put_folder()
{
	local folder=$1 part f
	rm -rf "${folder:?}"/{kselftest,kselftest-list.txt,modules}
	mkdir -p "$folder/kselftest" "$folder/modules"
	cp "$ksft/run_kselftest.sh" "$folder/"
	cp "$ksft"/kselftest/*.{sh,pl} "$folder/kselftest/"
	cp "$out"/tree/module/fscommit.ko "$out"/tree/selftests/*_test.ko "$folder/modules/"
	for part in $PARTS; do
		rm -rf "${folder:?}/$part"
		mkdir -p "$folder/$part"
		cp "$TOP"/selftests/{config,settings} "$folder/$part/"
		for f in "$TOP/selftests/$part"/*.c; do
			f=$(basename "$f" .c)
			[ "$f" != misuse ] || continue
			cp "$out/programs/$part/$f" "$folder/$part/"
			echo "$part:$f" >>"$folder/kselftest-list.txt"
		done
	done
}

# selected LIST: print the options of run_kselftest.sh for TARGETS= and TEST=
selected()
{
	local part test=${TEST:-}
	for part in ${TARGETS:-}; do
		[[ " $PARTS " = *" $part "* ]] || die "TARGETS=$part: there are $PARTS"
		[ -n "$test" ] || echo "-c $part"
	done
	[ -z "$test" ] || sed -n "s/^.*:${test%%.*}$/-t &/p" "$1" | grep . ||
		die "TEST=$test: there are $(sed 's/.*://' "$1" | tr '\n' ' ')"
}

# Remove what a killed program left.
clean_up()
{
	local m
	[ ! -e "$rt" ] || echo "$throttle" >"$rt"
	for m in $(tac <<<"$ours"); do
		[ ! -e "/sys/module/$m" ] || rmmod "$m" || true
	done
}

run()
{
	local folder options fscommit=/sys/module/fscommit m log rc=0
	[ "$(id -u)" -eq 0 ] || die "the tests load modules: run make kselftest as root"
	release=$(kdir_release)
	[ "$release" = "$(uname -r)" ] || die "KDIR=$KDIR is of $release, but $(uname -r)" \
		"runs; for another machine: make -C selftests install INSTALL_PATH="
	build
	folder=$out/installed
	put_folder "$folder"
	options=$(selected "$folder/kselftest-list.txt")
	m=${TEST:-} m=${m%%.*}
	[[ ${TEST:-} != *.* ]] || export "KSELFTEST_${m^^}_ARGS=-t ${TEST#*.}"
	if [ -e $fscommit ] && [ "$(cat $fscommit/srcversion)" != \
			"$(modinfo -F srcversion "$folder/modules/fscommit.ko")" ]; then
		die "another fscommit is loaded than this tree's: unload it with rmmod"
	fi
	rt=/proc/sys/kernel/sched_rt_runtime_us
	throttle=$(cat $rt 2>/dev/null || true)
	ours=$(for m in fscommit {fscommit,cow_tree,commit_root,share_gate,cow_diff,rcu_reuse}_test; do
		[ -e "/sys/module/$m" ] || echo "$m"
	done)
	trap clean_up EXIT
	say "  the tests (usually 3-5 min)"
	# shellcheck disable=SC2086 # a list
	"$folder/run_kselftest.sh" -s $options | tee "$folder/summary" |
		sed '/^TAP version/d;/^1\.\./d;s/^/  /' >&2 || rc=$?
	log=$folder/output.log
	say "  the whole output: $log"
	# The log has the single tests: print what those that failed have said. A program that was
	# killed has failed, even if none of its tests did, and so has a runner that was.
	awk -v f=$((rc > 128)) '/^# (timeout set|overriding timeout) to / { n++ }
		/^# #  RUN / { said = "" } /^# # .*\.c:[0-9]+:/ { said = said $0 "\n" }
		/^# ok .*# SKIP/ || /^# 1\.\.0 # SKIP/ { s++; next }
		/^# ok / { p++ }
		/^# not ok / { told[n] = 1; if (f++ < 20) printf "%s%s\n", said, $0 >"/dev/stderr" }
		/^(not )?ok / { m++ } /^not ok / && !told[m] { f++ }
		END { printf "%d passed, %d failed, %d skipped\n", p, f, s
			exit f || !(p + s) ? 1 : p ? 0 : 4 }' "$log" "$folder/summary" || {
		rc=$?
		! grep -q '^# 1\.\.0$' "$log" || die "TEST=${TEST:-}: no test of that name"
		exit $rc
	}
}

case ${1:-} in
find) find_ksft ;;
install)
	[ -n "${2:-}" ] || die "INSTALL_PATH= names the folder"
	build
	put_folder "$2"
	say "on a machine with Linux $release: $2/run_kselftest.sh" ;;
run) run ;;
*) exit_usage ;;
esac
