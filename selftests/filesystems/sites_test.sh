#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests of the site check. TAP.
#
#   sites_test.sh                     the check itself, and port.sh
#   sites_test.sh ORIGINAL PATCHED    the checks of btrfs, on two folders with fs/btrfs; PATCHED has
#                                     LOCKS=eb COMMIT_ROOT=1 SHARE_GATE=1 EXPEDITE=1
#
# The check must name each site that a semantic patch has missed: on sources of a few lines, and
# through port.sh, on f2fs with one site that spatch does not see. And port.sh must build a driver
# again if a file has changed that a patch or a source includes. The checks of btrfs must report each
# site that is reverted, as if spatch had not seen it.
#
# Seen failing without arguments: 2 to 6 and 8 if `converted` always succeeds; 5 without the
# comparison of places; 1 and 5 without the removal of comments; 11 and 12 with a key of the patches
# and sources that the options name, 12 also without import_fscommit.c.

. "$(dirname "$0")/../harness/lib.sh"
FSDIR=$TOP/ports
. "$TOP/ports/sites.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-sites.XXXXXX")
trap 'rm -rf "$work" "$CACHE/build/fs/uml/tiny-$$"' EXIT
n=0 failed=0

# verdict STATUS NAME: print the line of a test, and the messages of one that failed
verdict()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		sed 's/^/# /' "$work/said"
		failed=1
	fi
}

# --- btrfs ---------------------------------------------------------------------

# check_all FOLDER: all checks of btrfs
check_all()
{
	check_eb "$original" "$1" && check_roots "$original" "$1" &&
		check_csum "$original" "$1" && check_gate "$original" "$1" &&
		check_expedite "$original" "$1"
}

# fires CHECK FILE OLD=>NEW REGEX: with the first OLD of FILE replaced, CHECK prints REGEX
fires()
{
	local rc=1
	cp "$patched/$2" "$work/src/$2"
	sed -i -E "0,/${3%%=>*}/s//${3#*=>}/" "$work/src/$2"
	if cmp -s "$patched/$2" "$work/src/$2"; then
		echo "$2 has no ${3%%=>*}" >"$work/said"
	elif ! "$1" "$original" "$work/src" 2>"$work/said" && grep -qE -e "$4" "$work/said"; then
		rc=0
	fi
	verdict $rc "$2: ${3%%=>*}"
	cp "$patched/$2" "$work/src/$2"
}

btrfs()
{
	# shellcheck disable=SC2034 # for check_roots
	local original=$1 patched=$2 rc=0 CSUM=1
	. "$TOP/ports/btrfs/options"
	mkdir "$work/src"
	cp "$patched"/*.[ch] "$work/src/"
	rm -f "$work"/src/commit_pins.[ch]
	check_all "$work/src" 2>"$work/said" || rc=1
	verdict $rc "whole"
	fires check_roots ctree.c 'b = btrfs_pinned_root\(root\)=>b = root->commit_root' \
		'ctree.c:[0-9]+:.*root->commit_root'
	fires check_roots ctree.c 'refcount_inc\(&b->refs\)=>refcount_inc(\&root->commit_root->refs)' \
		'ctree.c:[0-9]+:.*root->commit_root'
	fires check_roots backref.c 'btrfs_header_level\(btrfs_pinned_root=>get(root->commit_root)(' \
		'backref.c:[0-9]+:.*root->commit_root'
	fires check_roots send.c 'generation\(btrfs_pinned_root=>generation(root->commit_root)(' \
		'send.c:[0-9]+:.*root->commit_root'
	fires check_roots send.c 'btrfs_pinned_reloc_trans\(fs_info\)=>fs_info->last_reloc_trans' \
		'send.c:[0-9]+:.*last_reloc_trans'
	fires check_roots ctree.c \
		'btrfs_try_pin_commit\(fs_info, &commit_pin\)=>down_read_trylock(\&fs_info->commit_root_sem)' \
		'ctree.c:[0-9]+: commit_root_sem'
	fires check_roots send.c 'btrfs_unpin_commit\(&commit_pin\)=>pass(fs_info)' 'unpins'
	fires check_roots block-group.c 'btrfs_pin_wanted\(fs_info\)=>false' 'give way'
	fires check_roots block-group.c 'btrfs_pinned_fst_untrusted\(fs_info\)=>false' 'untrusted'
	fires check_roots relocation.c 'btrfs_settle_pins\(.*block_group.*\);=>;' 'waits of a relocation'
	fires check_roots volumes.c 'btrfs_settle_pins\(.*\);=>;' 'settle_pins'
	fires check_roots transaction.c 'btrfs_publish_commit_roots\(trans\)=>pass(trans)' 'publish'
	fires check_roots transaction.c 'btrfs_prepare_pins\(trans\)=>pass(trans)' 'prepare'
	fires check_roots transaction.c 'btrfs_unpin_extents\(trans\)=>btrfs_finish_extent_commit(trans)' \
		'unpin_extents'
	fires check_roots disk-io.c 'btrfs_root_has_first\(root\);=>;' 'get a committed root'
	fires check_eb locking.c 'unfair_up_read\(&eb->lock\)=>up_read(\&eb->lock)' \
		'locking.c:[0-9]+: still'
	fires check_csum bio.c 'gen = (orig_bbio|bbio)->gen=>gen = other->gen' 'of 2 sites'
	fires check_gate reflink.c 'share_gate_mark\(&src->gate.*;=>;' 'marks'
	fires check_gate tree-log.c '!share_gate_may_be_shared\(.*transid\)\)=>true)' 'questions'
	fires check_gate tree-log.c 'share_gate_log_end\(&inode->gate, seen\)=>pass(seen)' 'of 4 sites'
	fires check_gate inode.c 'share_gate_mark\(=>pass(' 'of 2 sites'
	fires check_gate btrfs_inode.h 'share_gate_mark\(.*;=>inode->last_reflink_trans = 1;' \
		'btrfs_inode.h:[0-9]+: last_reflink_trans is'
	fires check_expedite transaction.c 'unfair_down_read\(&fs_info->handle_rwsem=>pass(\&fs_info' \
		'become visible'
	fires check_expedite extent_io.c 'unfair_down_read\(&fs_info->handle=>pass(\&fs_info->handle' \
		'become visible'
	fires check_expedite transaction.c 'unfair_up_read\(&info->handle_rwsem=>pass(\&info' \
		'were visible'
	fires check_expedite transaction.c 'cond_wake_up\(&cur_trans=>pass();cond_wake_up(\&cur' \
		'before its task has left'
	fires check_expedite disk-io.c 'init_unfair_rwsem\(&fs_info->handle=>pass(\&fs_info->handle' \
		'of 2 sites'
	fires check_expedite space-info.c 'guard\(unfair_rwsem_expedite\)=>pass' 'of 5 sites'
}

echo "TAP version 13"
if [ $# -gt 0 ]; then
	btrfs "$@"
	echo "1..$n"
	exit $failed
fi

# --- the check itself, and port.sh ------------------------------------------------

# sources BEFORE AFTER: the text of fs.c
sources()
{
	rm -rf "$work/before" "$work/after"
	mkdir "$work/before" "$work/after"
	printf '%s\n' "$1" >"$work/before/fs.c"
	printf '%s\n' "$2" >"$work/after/fs.c"
}

# accepts NAME, refuses NAME REGEX: the expected result of converted
accepts()
{
	local rc=0
	converted "$work/before" "$work/after" unfair_rwsem sem 2>"$work/said" || rc=1
	verdict $rc "$1"
}

refuses()
{
	local rc=1
	converted "$work/before" "$work/after" unfair_rwsem sem 2>"$work/said" ||
		{ grep -qE "$2" "$work/said" && rc=0; }
	verdict $rc "$1"
}

before='struct rw_semaphore sem;
/* down_read(&fs->sem) is not here */
init_rwsem(&fs[i].sem);
down_read(&fs->sem);
up_read(&fs->sem);'
after=$(sed 's/^[a-z]*_read/unfair_&/; s/rw_semaphore/unfair_rwsem/; s/init_/&unfair_/' \
	<<<"$before")

sources "$before" "$after"
accepts "all sites converted, and a comment"
sources "$before" "${after/unfair_up_read/up_read}"
refuses "a function of the old kind" 'fs.c:5: sem is not converted'
sources "$before" "${after/struct unfair_rwsem/struct rw_semaphore}"
refuses "a declaration of the old kind" 'fs.c:1: sem is not converted'
sources "$before" "${after/up_read\(/$'up_read(\n'}"
refuses "a lock on the next line" 'fs.c:6: sem is not converted'
sources "$before" "${after/\[i\]./->}"
refuses "another lock than before" 'fs\[i\]\.sem'
sources "int x;" "int x;"
refuses "a source without that lock" 'does not know'

# port.sh on f2fs, as it is and with a macro that spatch cannot parse
source=$("$SCRIPTS/kernel.sh" source 7.3)
mkdir -p "$work/linux/fs"
cp -r "$source/fs/f2fs" "$work/linux/fs/"
check() { "$FSDIR/port.sh" f2fs KERNEL=uml KSRC="$work/linux" CHECK=1 >"$work/said" 2>&1; }
rc=0
check || rc=1
verdict $rc "port.sh knows the sites of f2fs"
cat >>"$work/linux/fs/f2fs/super.c" <<'END'
#define locked_for_a_while(sbi)				\
	for (f2fs_down_read(&(sbi)->cp_rwsem); once;	\
	     f2fs_up_read(&(sbi)->cp_rwsem)
END
rc=1
check || { grep -q 'super.c:[0-9]*: cp_rwsem is not .* for (f2fs_down_read' "$work/said" && rc=0; }
verdict $rc "port.sh names what a macro hides"

# A copy of the ports, with a driver of a few lines.
tree=$work/tree fs=$work/tree/ports/tiny
mkdir -p "$work/linux/fs/tiny" "$fs"
cp -r "$TOP/module" "$TOP/Kbuild" "$tree/"
cp "$FSDIR"/*.sh "$FSDIR/import_fscommit.c" "$tree/ports/"
cp -r "$TOP/scripts" "$tree/"
printf '%s\n' 'module=tiny config=(TINY) options=()' 'choose()' '{' "	variant=$$" \
	"	patches=(\"tiny.cocci --macro-file $fs/macros.h\") alone=1" '}' >"$fs/options"
printf '%s\n' '@@' '@@' '-int tiny;' '+int small;' >"$fs/tiny.cocci"
echo '#define __of_spatch' >"$fs/macros.h"
printf '%s\n' '#include <linux/module.h>' 'MODULE_LICENSE("GPL");' 'int tiny;' \
	>"$work/linux/fs/tiny/tiny.c"
echo 'obj-m := tiny.o' >"$work/linux/fs/tiny/Makefile"
# The number of the file that port.sh builds or keeps, in $file.
build()
{
	local ko
	ko=$("$tree/ports/port.sh" tiny uml KSRC="$work/linux" 2>"$work/said") &&
		file=$(stat -c %i "$ko")
}
# builds again if FILE is changed
again()
{
	local before=$file
	echo "// $RANDOM" >>"$1"
	build && [ "$file" != "$before" ]
}
rc=0
build || rc=1
verdict $rc "port.sh builds a driver"
before=$file rc=0
{ build && [ "$file" = "$before" ]; } || rc=1
verdict $rc "port.sh keeps what has not changed"
rc=0
again "$fs/macros.h" || rc=1
verdict $rc "port.sh builds again for a file that a patch includes"
rc=0
again "$tree/ports/import_fscommit.c" || rc=1
verdict $rc "port.sh builds again for a source that it adds to each driver"
echo "1..$n"
exit $failed
