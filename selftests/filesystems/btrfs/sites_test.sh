#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The site check of btrfs must report a missed site. Each test reverts one site of the patched
# source, as if spatch had not seen it. TAP.
#
#   sites_test.sh ORIGINAL PATCHED      folders with fs/btrfs, LOCKS=eb COMMIT_ROOT=1
#                                       SHARE_GATE=1 EXPEDITE=1

. "$(dirname "$0")/../../harness/lib.sh"
. "$TOP/ports/sites.sh"
. "$TOP/selftests/filesystems/tap.sh"
. "$TOP/ports/btrfs/options"

original=${1:?folder} patched=${2:?folder}
work=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-btrfs-sites.XXXXXX")
trap 'rm -rf "$work"' EXIT

# check FOLDER: the checks of port.sh
check()
{
	check_eb "$original" "$1" && check_roots "$original" "$1" &&
		check_gate "$original" "$1" && check_expedite "$original" "$1"
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

mkdir "$work/src"
cp "$patched"/*.[ch] "$work/src/"
rm -f "$work"/src/commit_pins.[ch]
rc=0
check "$work/src" 2>"$work/said" || rc=1
verdict $rc "whole"
fires check_roots ctree.c 'b = btrfs_pinned_root\(root\)=>b = root->commit_root' \
	'uses of a committed root'
fires check_roots ctree.c \
	'btrfs_try_pin_commit\(fs_info\)=>down_read_trylock(\&fs_info->commit_root_sem)' \
	'ctree.c:[0-9]+: commit_root_sem'
fires check_roots send.c 'btrfs_unpin_commit\(fs_info\)=>pass(fs_info)' 'unpins'
fires check_roots send.c 'btrfs_pinned_reloc_trans\(fs_info\)=>fs_info->last_reloc_trans' \
	'last_reloc_trans'
fires check_roots block-group.c 'btrfs_pin_wanted\(fs_info\)=>false' 'give way'
fires check_roots block-group.c 'btrfs_pinned_fst_untrusted\(fs_info\)=>false' 'untrusted'
fires check_roots relocation.c 'btrfs_settle_pins\(.*MAX_SCHEDULE_TIMEOUT\);=>;' \
	'waits of a relocation'
fires check_roots volumes.c 'btrfs_settle_pins\(.*MAX_SCHEDULE_TIMEOUT\);=>;' 'settle_pins'
fires check_roots transaction.c 'btrfs_publish_commit_roots\(trans\)=>pass(trans)' 'publish'
fires check_roots transaction.c 'btrfs_prepare_pins\(trans->fs_info\)=>pass(trans)' 'prepare'
fires check_roots transaction.c 'btrfs_unpin_extents\(trans\)=>btrfs_finish_extent_commit(trans)' \
	'unpin_extents'
fires check_roots disk-io.c 'btrfs_root_has_first\(root\);=>;' 'get a committed root'
fires check_eb locking.c 'unfair_up_read\(&eb->lock\)=>up_read(\&eb->lock)' \
	'locking.c:[0-9]+: still'
fires check_gate reflink.c 'share_gate_mark\(&src->gate.*;=>;' 'marks'
fires check_gate tree-log.c '!share_gate_may_be_shared\(.*transid\)\)=>true)' 'questions'
fires check_gate tree-log.c 'share_gate_clear\(&inode->gate, marks\)=>pass(marks)' 'of 6 sites'
fires check_gate tree-log.c 'ret == SHARE_GATE_LOCKED=>!ret' 'of 3 sites'
fires check_gate inode.c 'share_gate_reloaded\(=>pass(' 'of 6 sites'
fires check_gate btrfs_inode.h 'share_gate_raise\(.*;=>inode->last_reflink_trans = 1;' \
	'btrfs_inode.h:[0-9]+: last_reflink_trans is'
fires check_expedite transaction.c 'unfair_down_read\(&fs_info->handle_rwsem=>pass(\&fs_info' \
	'handles that begin'
fires check_expedite transaction.c 'unfair_up_read\(&info->handle_rwsem=>pass(\&info' \
	'handles that end'
fires check_expedite transaction.c 'cond_wake_up\(&cur_trans=>pass();cond_wake_up(\&cur' \
	'before its task has left'
fires check_expedite disk-io.c 'init_unfair_rwsem\(&fs_info->handle=>pass(\&fs_info->handle' \
	'of 2 sites'
fires check_expedite file.c 'guard\(unfair_rwsem_expedite\)=>pass' 'of 4 sites'
echo "1..$n"
exit $failed
