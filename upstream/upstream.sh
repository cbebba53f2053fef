#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Adds the parts to a kernel tree, as code of that tree.
#
#   upstream.sh KSRC        run it again to update the tree
#   upstream.sh undo KSRC   removes everything again
#
# The tree must be of a version that module/kernels names. It gets
#
#   lib/fscommit/                        sources, Kconfig, Makefile; tests/ has the test modules
#   include/linux/                       the public headers
#   tools/testing/selftests/fscommit/    the programs
#   Documentation/core-api/fscommit/     the pages of the parts, and of what they have in common
#
# and one line in each of lib/Kconfig, lib/Makefile, tools/testing/selftests/Makefile and
# Documentation/core-api/index.rst, and a section in MAINTAINERS. unifdef and in-tree.sed remove
# the code for older kernels, so that no file there checks the kernel version. Files are
# replaced, never written to: a tree of hard links is safe.

. "$(dirname "$0")/../scripts/lib.sh"
HERE=$TOP/upstream
HEADERS='unfair_rwsem commit_root share_gate cow_diff rcu_reuse fs_generation'
PAGES='why unfair_rwsem visible_readers lent_priority commit_root share_gate cow_diff
	rcu_reuse observability glossary'
SUITES='unfair_rwsem commit_root share_gate cow_diff rcu_reuse'
DEST='lib/fscommit tools/testing/selftests/fscommit Documentation/core-api/fscommit'

# tree_version DIR: prints the version; fails if DIR is no kernel tree
tree_version()
{
	local d=$1 f
	for f in Makefile Kbuild MAINTAINERS lib/Kconfig lib/Makefile \
		include/linux/compiler_types.h tools/testing/selftests/Makefile \
		Documentation/core-api/index.rst; do
		[ -f "$d/$f" ] || return 1
	done
	awk -F' *= *' '/^VERSION/ { v = $2 } /^PATCHLEVEL/ { p = $2 }
		END { print v "." p }' "$d/Makefile"
}

# the newest kernels have what Kbuild looks for
mapfile -t has < <(sed -n 's/.*call has,\([^,]*\),.*/-DCOMPAT_HAS_\1/p' "$TOP/module/Kbuild")

# in_tree FILE: prints FILE without the code for older kernels
in_tree()
{
	local rc=0
	# simplify mixed conditions first: unifdef needs known ones
	sed -E 's/LINUX_VERSION_CODE >= KERNEL_VERSION\([0-9, ]*\) && //' "$1" |
		unifdef -k -DLINUX_VERSION_CODE=2 -DKERNEL_VERSION=1 -DDEFINE_LOCK_GUARD_1_COND_4 \
			-DWITH_LOCK_GUARD_1_ATTRS "${has[@]}" || rc=$?
	# status 1: it has changed something
	[ "$rc" -le 1 ] || die "unifdef failed on $1"
}

# put_source FROM TO
put_source()
{
	in_tree "$1" | sed -E -f "$HERE/in-tree.sed" >"$2"
}

# put_internal FILE: internal.h, with those parts of compat.h that are more than another name
put_internal()
{
	put_source "$TOP/module/compat.h" "$1.all"
	awk -v RS= -v ORS='\n\n' '
		/SPDX/ || /_FSCOMMIT_COMPAT_H/ { next }
		/include <trace\/events\/lock.h>/ { print "#include <trace/events/lock.h>"; next }
		/define (EXPORT_SYMBOL|trace_contended_release|preempt_|task->)/ { next }
		/define hrtimer_setup/ { next }
		{ print }' "$1.all" |
	sed -E -e 's/^ \* Not in 6\.12, but in 7\.3: when/ * When/' \
		-e 's/^#if defined\((\w+)\)$/#ifdef \1/' |
	cat -s >"$1.compat"
	put_source "$TOP/module/internal.h" "$1.all"
	sed -e "/^#include \"compat.h\"/{
		r $1.compat
		d
	}" "$1.all" | cat -s >"$1"
	rm "$1.all" "$1.compat"
}

# fill DIR: writes all files below DIR
fill()
{
	local d=$1 f p s
	mkdir -p "$d"/{include/linux,lib/fscommit/tests} "$d/Documentation/core-api/fscommit" \
		"$d/tools/testing/selftests/fscommit/lib"
	for f in $HEADERS; do
		put_source "$TOP/module/include/linux/$f.h" "$d/include/linux/$f.h"
	done
	for f in "$TOP"/module/*.[ch]; do
		[[ $f = */compat.h || $f = */internal.h ]] ||
			put_source "$f" "$d/lib/fscommit/$(basename "$f")"
	done
	# of compat.h, only internal.h needs something here
	sed -i '/^#include "compat.h"$/,+1d' "$d/lib/fscommit/trace.h"
	put_internal "$d/lib/fscommit/internal.h"
	cp "$HERE/Kconfig" "$d/lib/fscommit/Kconfig"
	{
		echo "# SPDX-License-Identifier: GPL-2.0"
		echo "obj-\$(CONFIG_FSCOMMIT) += fscommit.o"
		sed -n '/^fscommit-y/,/[^\\]$/p' "$TOP/module/Kbuild"
		echo
		echo "CFLAGS_trace.o := -I\$(src)"
		echo "CONTEXT_ANALYSIS := y"
		echo
		echo "obj-\$(CONFIG_FSCOMMIT_TEST) += tests/"
	} >"$d/lib/fscommit/Makefile"

	(cd "$TOP/selftests" &&
		ls lib/{cow_,test_device,import_,contract}*.[ch] ./*/module/*.[ch]) |
	while read -r f; do
		mkdir -p "$d/lib/fscommit/tests/$(dirname "$f")"
		put_source "$TOP/selftests/$f" "$d/lib/fscommit/tests/$f"
	done
	# shellcheck disable=SC2016 # for make
	sed -E \
		-e 's,^# The test modules\..*,# For tools/testing/selftests/fscommit.,' \
		-e 's/^obj-m := /obj-$(CONFIG_FSCOMMIT_TEST) += /' -e '/^ccflags-y :=/d' \
		"$TOP/selftests/Kbuild" >"$d/lib/fscommit/tests/Makefile"

	p=$d/tools/testing/selftests/fscommit
	for s in $SUITES; do
		mkdir -p "$p/$s/module"
		cp "$TOP/selftests/$s"/*.c "$p/$s/"
		cp "$TOP/selftests/$s"/module/*_test.h "$p/$s/module/"
	done
	# each misuse needs a boot of its own
	rm -f "$p"/unfair_rwsem/misuse.c
	cp "$TOP"/selftests/lib/{common,counters,device_test,lent,load,modules,pi_futex,priority,put,slowdown,trace}.h "$p/lib/"
	cp "$TOP"/selftests/unfair_rwsem/module/fscommit_test.h "$p/unfair_rwsem/module/"
	cp "$HERE/selftests.mk" "$p/Makefile"
	cp "$TOP/selftests/settings" "$p/"
	{ cat "$TOP/selftests/config"; printf 'CONFIG_FSCOMMIT%s=m\n' '' _TEST; } >"$p/config"
	(cd "$p" && echo "# SPDX-License-Identifier: GPL-2.0" &&
		printf '%s\n' ./*/*.c | sed 's,^\.\(.*\)\.c$,\1,') >"$p/.gitignore"

	p=$d/Documentation/core-api/fscommit
	{
		printf '%s\n' '.. SPDX-License-Identifier: GPL-2.0' '' \
			'==========================================' \
			'Commit-path primitives for filesystems' \
			'==========================================' '' \
			'.. toctree::' '   :maxdepth: 1' ''
		# shellcheck disable=SC2086 # a list
		printf '   %s\n' $PAGES
	} >"$p/index.rst"
	for s in $PAGES; do
		sed -E -e 's,kernel-doc:: module/include/,kernel-doc:: include/,' \
			-e 's,kernel-doc:: module/,kernel-doc:: lib/fscommit/,' \
			-e '/^\.\. figures::/d' "$TOP/docs/$s.rst" >"$p/$s.rst"
	done
}

# Finds what in-tree.sed has missed or broken.
check()
{
	local bad
	bad=$(cd "$1" && grep -rnE -e 'LINUX_VERSION_CODE|KERNEL_VERSION|linux/version\.h' \
		-e '\bcompat_(tr|le|cl|cu|hr|sh)|__fsc_|fscommit_(abi|context)|\.\./module' \
		-e '\b(6\.(1|7|8|12|13|17)|7\.[0-3])\b' lib include) || true
	[ -z "$bad" ] || { say "$bad"; die "upstream/in-tree.sed misses these lines"; }
}

# edit FILE COMMAND...: replaces FILE by the output of COMMAND, if that differs
edit()
{
	local f=$ksrc/$1
	shift
	"$@" <"$f" >"$f.fscommit" || { rm -f "$f.fscommit"; die "cannot edit $f"; }
	if cmp -s "$f" "$f.fscommit"; then
		rm "$f.fscommit"
	else
		chmod --reference="$f" "$f.fscommit"
		mv "$f.fscommit" "$f"
	fi
}

SOURCE_LINE='source "lib/fscommit/Kconfig"'
# shellcheck disable=SC2016 # for make
OBJ_LINE='obj-$(CONFIG_FSCOMMIT) += fscommit/'
TARGET_LINE='TARGETS += fscommit'
INDEX_LINE='   fscommit/index'

# without_lines: filters our lines out of stdin
without_lines()
{
	awk -v s="$SOURCE_LINE" -v o="$OBJ_LINE" -v t="$TARGET_LINE" -v i="$INDEX_LINE" '
		$0 == s || $0 == o || $0 == t || $0 == i { next }
		/^FSCOMMIT: / { ours = 1; next }
		ours && /^$/ { ours = 0; next }
		ours { next }
		{ print }'
}

# with LINE REGEX: inserts LINE after the last line that matches REGEX
with() { without_lines | awk -v line="$1" -v re="$2" '
	{ l[NR] = $0; if ($0 ~ re) at = NR }
	END {
		for (i = 1; i <= NR; i++) { print l[i]; if (i == at) print line }
		exit !at
	}'; }

# inserts our section: MAINTAINERS is sorted by title
with_section() { without_lines | LC_ALL=C awk -v file="$HERE/maintainers" '
	/^(FSC[P-Z]|FS[D-Z]|F[T-Z]|G)/ && prev == "" && !done {
		while ((getline line < file) > 0) if (line !~ /^#/) print line
		done = 1
	}
	{ print; prev = $0 }
	END { exit !done }'; }

need unifdef rsync
undo=
[ "${1:-}" != undo ] || { undo=1; shift; }
ksrc=${1:-}
[ -n "$ksrc" ] || exit_usage
version=$(tree_version "$ksrc") || die "$ksrc is no kernel tree"
ksrc=$(cd "$ksrc" && pwd)

if [ -n "$undo" ]; then
	for f in lib/Kconfig lib/Makefile tools/testing/selftests/Makefile \
		Documentation/core-api/index.rst MAINTAINERS; do
		edit "$f" without_lines
	done
	for f in $DEST; do
		rm -rf "${ksrc:?}/$f"
	done
	for f in $HEADERS; do
		rm -f "$ksrc/include/linux/$f.h"
	done
	say "removed fscommit from $ksrc"
	exit 0
fi

"$TOP/module/kernels" upstream "$version" || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-upstream.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
fill "$tmp"
check "$tmp"
for f in $HEADERS; do
	[ ! -e "$ksrc/include/linux/$f.h" ] || [ -d "$ksrc/lib/fscommit" ] ||
		die "$ksrc already has its own include/linux/$f.h"
done
for f in $DEST; do
	mkdir -p "$ksrc/$f"
	# compare by content, so that make rebuilds only what has changed
	rsync -a --checksum --no-times --delete "$tmp/$f/" "$ksrc/$f/"
done
rsync -a --checksum --no-times "$tmp/include/linux/" "$ksrc/include/linux/"
edit lib/Kconfig with "$SOURCE_LINE" '^source "lib/crypto/Kconfig"$'
edit lib/Makefile with "$OBJ_LINE" '^obj-y \+= math/|^obj-\$\(CONFIG_GENERIC_LIB|^obj-'
edit tools/testing/selftests/Makefile with "$TARGET_LINE" '^TARGETS \+= fpu$'
edit Documentation/core-api/index.rst with "$INDEX_LINE" '^   (rbtree|idr|xarray)$'
edit MAINTAINERS with_section
say "$ksrc has lib/fscommit: CONFIG_FSCOMMIT, CONFIG_FSCOMMIT_TEST"
say "to remove it: $0 undo $ksrc"
