#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests `make upstream` on a copy of linux-source 7.3. Builds that tree as User-Mode Linux with
# FSCOMMIT=y and the test modules, boots it, and runs the tree's test programs; builds it
# with FSCOMMIT=m, too.
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed. The cache keeps the tree and its objects.

. "$(dirname "$0")/../harness/lib.sh"
BUILD=$CACHE/build/upstream
LINUX=$BUILD/linux
KDIR=$BUILD/kdir
LOG=$LOGS/upstream.log
UPSTREAM=$TOP/upstream/upstream.sh
mkdir -p "$LOGS"

# verdict TEST COMMAND...: runs it and prints its line
verdict()
{
	local name=$1 v=ok start=$SECONDS
	shift
	"$@" >>"$LOG" 2>&1 || { v=FAIL; say "  $name failed, see $LOG"; }
	result upstream "$name" "$v" $((SECONDS - start))
	[ "$v" = ok ]
}

finish()
{
	print_results
	exit
}

# A copy of hard links: neither upstream.sh nor a build with O= writes to source files.
get_tree()
{
	local source
	source=$("$SCRIPTS/kernel.sh" source 7.3) || exit 1
	[ ! -e "$LINUX" ] || return 0
	mkdir -p "$BUILD"
	rm -rf "$BUILD"/linux.tmp.*
	cp -al "$(realpath "$source")" "$BUILD/linux.tmp.$$"
	mv "$BUILD/linux.tmp.$$" "$LINUX"
}

# tree_is_source: no change of ours is left
tree_is_source()
{
	local source f
	source=$(realpath "$("$SCRIPTS/kernel.sh" source 7.3)")
	for f in lib include/linux Documentation/core-api MAINTAINERS \
		tools/testing/selftests/Makefile; do
		diff -rq --no-dereference "$source/$f" "$LINUX/$f" || return 1
	done
}

tree_state()
{
	(cd "$LINUX" && cat MAINTAINERS lib/Kconfig lib/Makefile tools/testing/selftests/Makefile \
		Documentation/core-api/index.rst | cksum
	 find lib/fscommit include/linux tools/testing/selftests/fscommit \
		Documentation/core-api/fscommit -type f -newer "$BUILD/mark")
}

undone() { "$UPSTREAM" undo "$LINUX" && tree_is_source; }

put_twice()
{
	local first
	"$UPSTREAM" "$LINUX" || return 1
	touch "$BUILD/mark"
	sleep 1
	first=$(tree_state)
	"$UPSTREAM" "$LINUX" && [ "$first" = "$(tree_state)" ]
}

refused()
{
	local d=$BUILD/refused
	rm -rf "$d"
	mkdir -p "$d/lib"
	! "$UPSTREAM" "$d" && [ -z "$(find "$d" -type f)" ]
}

# Starts from the objects of the kernel uml, which `make test-all` has built. The tree and the objects
# are mounted at their old paths, so that make compiles only new files and links again.
get_objects()
{
	local kernel
	kernel=$("$SCRIPTS/kernel.sh" get uml) || exit 1
	[ "$KDIR/.complete" -nt "$kernel/complete" ] && return 0
	rm -rf "$KDIR"
	cp -a "$(realpath "$kernel/kdir")" "$KDIR"
	touch "$KDIR/.complete"
}

# in_place COMMAND...: runs it in the folder of the objects
in_place()
{
	local ns=(unshare -m)
	[ "$(id -u)" -eq 0 ] || ns=(unshare -rm)
	# shellcheck disable=SC2016 # expanded inside
	"${ns[@]}" sh -c 'set -e
		mount --bind "$1" "$2"; mount --bind "$3" "$4"; cd "$4"; shift 4; exec "$@"' \
		sh "$LINUX" "$(realpath "$CACHE/src/7.3")" \
		"$KDIR" "$(realpath "$CACHE/kernels/uml/kdir")" "$@"
}

# configure y|m
configure()
{
	sed -i '/CONFIG_FSCOMMIT/d' "$KDIR/.config"
	printf 'CONFIG_FSCOMMIT=%s\nCONFIG_FSCOMMIT_TEST=m\n' "$1" >>"$KDIR/.config"
	in_place make ARCH=um olddefconfig &&
	grep -x "CONFIG_FSCOMMIT=$1" "$KDIR/.config" &&
	grep -x CONFIG_FSCOMMIT_TEST=m "$KDIR/.config"
}

# Builds our code and the test modules, without a warning.
as_module()
{
	configure m &&
	step "FSCOMMIT=m, W=1" "1-2 min" "$LOG.module" \
		in_place make -j2 ARCH=um W=1 lib/fscommit/ || return 1
	! grep -E 'fscommit.*warning:' "$LOG.module" || return 1
	! grep -E 'linux/(unfair_rwsem|commit_root|share_gate|cow_diff|rcu_reuse).*warning:' \
		"$LOG.module" || return 1
	# Kconfig and the Makefiles must build both
	[ -e "$KDIR/lib/fscommit/fscommit.o" ] && [ -e "$KDIR/lib/fscommit/tests/fscommit_test.o" ]
}

built_in()
{
	configure y &&
	step "FSCOMMIT=y, and the kernel" "2 min" "$LOG.kernel" in_place make -j2 ARCH=um all &&
	grep -q ' unfair_downgrade_write$' "$KDIR/System.map"
}

# The programs, the kernel's runner and the test modules, as a user installs them: $out.tar
installed()
{
	rm -rf "$BUILD/root"
	make -C "$LINUX/tools/testing/selftests" TARGETS=fscommit \
		USERLDFLAGS=-static INSTALL_PATH="$BUILD/root/kselftest" install &&
	in_place make ARCH=um INSTALL_MOD_PATH="$BUILD/root" modules_install &&
	tar -C "$BUILD/root" -cf "$out.tar" .
}

need gcc make flex bison bc libelf.h openssl/opensslv.h rsync unifdef
rm -f "$LOG"*
: >"$LOG"
get_tree
verdict refuses-what-is-none refused
verdict undone-is-as-before undone || finish
verdict twice-is-once put_twice || finish
get_objects
verdict as-module as_module
verdict built-in built_in || finish
out=$LOGS/upstream
mkdir -p "$BUILD/kernel"
verdict installed installed || finish

cp "$KDIR/linux" "$BUILD/kernel/image"
echo um >"$BUILD/kernel/arch"
run_guest upstream "its tests in the guest" "1-2 min" "$out" --timeout 900 \
	"$BUILD/kernel" "$out.plan" "$out.tar" <<-END
		test kselftest 800 tar xf /fscommit/upstream.tar -C / && FSCOMMIT_SLOWDOWN=4 /kselftest/run_kselftest.sh
	END
finish
