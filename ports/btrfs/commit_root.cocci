// SPDX-License-Identifier: GPL-2.0
// COMMIT_ROOT=1: readers of commit_root_sem pin the newest commit, the committer switches
// roots without waiting, and freed extents are reused once no pin reaches them.
// The functions are in commit_pins.c; docs/porting_btrfs.rst explains why it is safe.

// --- readers ---

// commit_root_sem stays, as the lock that a reader holds while it has a pin. The pin is on the
// stack of the function; a caching thread gives way in another function than it pins in.

@@
identifier f = {caching_thread, load_extent_tree_free};
symbol caching_ctl;
expression F;
@@
 f(...)
 {
	<...
(
-	down_read(&F->commit_root_sem)
+	btrfs_pin_commit(F, &caching_ctl->pin)
|
-	up_read(&F->commit_root_sem)
+	btrfs_unpin_commit(&caching_ctl->pin)
)
	...>
 }

@@
symbol commit_pin;
expression F;
@@
(
-down_read(&F->commit_root_sem)
+btrfs_pin_commit(F, &commit_pin)
|
-down_read_trylock(&F->commit_root_sem)
+btrfs_try_pin_commit(F, &commit_pin)
|
-up_read(&F->commit_root_sem)
+btrfs_unpin_commit(&commit_pin)
|
-rwsem_is_contended(&F->commit_root_sem)
+btrfs_pin_wanted(F)
|
-init_rwsem(&F->commit_root_sem)
+btrfs_init_pins(F)
)

@exists@
identifier f;
expression F;
symbol commit_pin;
@@
 f(...)
 {
+	struct btrfs_pin commit_pin;
	... when any
	btrfs_pin_commit(F, &commit_pin)
	... when any
 }

// Searches begin at the root that the pinned commit has.

@@
struct btrfs_path *P;
struct btrfs_root *R;
identifier b;
@@
 if (P->search_commit_root) {
	...
-	b = R->commit_root;
+	b = btrfs_pinned_root(R);
	...
 }

@@
struct btrfs_root *R;
@@
(
 btrfs_header_level(
-	R->commit_root
+	btrfs_pinned_root(R)
 )
|
 btrfs_clone_extent_buffer(
-	R->commit_root
+	btrfs_pinned_root(R)
 )
)

@@
expression R;
@@
(
 btrfs_header_level(
-	R->parent_root->commit_root
+	btrfs_pinned_root(R->parent_root)
 )
|
 btrfs_header_level(
-	R->send_root->commit_root
+	btrfs_pinned_root(R->send_root)
 )
)

@@
struct btrfs_root *R;
@@
 btrfs_compare_trees(...)
 {
	<...
 btrfs_header_generation(
-	R->commit_root
+	btrfs_pinned_root(R)
 )
	...>
 }

// Other state that commit_root_sem protected.

@@
struct send_ctx *S;
struct btrfs_fs_info *F;
identifier f;
@@
(
 S->f =
-	F->last_reloc_trans
+	btrfs_pinned_reloc_trans(F)
|
-F->last_reloc_trans
+btrfs_pinned_reloc_trans(F)
 > S->f
)

@@
struct btrfs_fs_info *F;
@@
 caching_thread(...)
 {
	<...
-	test_bit(BTRFS_FS_FREE_SPACE_TREE_UNTRUSTED, &F->flags)
+	btrfs_pinned_fst_untrusted(F)
	...>
 }

// --- creation and removal of trees ---

@@
struct btrfs_root *R;
@@
 R->commit_root = btrfs_root_node(R);
+btrfs_root_has_first(R);

@@
struct btrfs_root *R;
@@
 free_root_extent_buffers(...)
 {
	...
 if (R) {
+	btrfs_root_goes(R);
	...
 }
 }

// --- the committer ---

// btrfs_publish_commit_roots() has switched the readers' roots before, for whole commits only.

@@
struct btrfs_fs_info *F;
identifier trans;
@@
 switch_commit_roots(struct btrfs_trans_handle *trans)
 {
	<...
(
-down_write(&F->commit_root_sem);
|
-up_write(&F->commit_root_sem);
)
	...>
 }

@@
struct btrfs_root *R;
identifier trans;
@@
 switch_commit_roots(struct btrfs_trans_handle *trans)
 {
	<...
(
 list_del_init(&R->dirty_list);
+btrfs_note_switched(trans, R);
|
-btrfs_root_has_first(R);
)
	...>
 }

// The allocations of the switch are made while other tasks may join the transaction, though not start
// one.

@@
identifier trans;
expression T, Y;
@@
 btrfs_commit_transaction(struct btrfs_trans_handle *trans)
 {
	... when any
+	btrfs_prepare_pins(trans);
	extwriter_counter_dec(T, Y);
	... when any
+	btrfs_publish_commit_roots(trans);
	switch_commit_roots(trans);
	... when any
-	btrfs_finish_extent_commit(trans)
+	btrfs_unpin_extents(trans)
	... when any
 }

// --- waiting for space ---

@@
expression R;
@@
 flush_space(...)
 {
	<...
 ret = btrfs_commit_current_transaction(R);
+btrfs_settle_pins(R->fs_info);
	...>
 }

// A device that shrinks, or goes, may have had a block group whose extents are not discarded yet.

@@
expression R;
identifier trans;
@@
 btrfs_shrink_device(...)
 {
	<...
 R = btrfs_commit_transaction(trans);
+btrfs_settle_pins(fs_info);
	...>
 }

// Scrub copies to the new device only what the newest committed roots reach. It may have failed.

@@
expression R;
identifier trans;
@@
 btrfs_dev_replace_finishing(...)
 {
	<...
 R = btrfs_commit_transaction(trans);
+if (!scrub_ret)
+	btrfs_settle_pins(fs_info);
	...>
 }

@@
struct reloc_control *C;
@@
+btrfs_settle_pins(C->block_group->fs_info);
 WARN_ON(C->block_group->pinned > 0);

@@
identifier fs_info;
@@
 btrfs_delete_unused_bgs(struct btrfs_fs_info *fs_info)
 {
	...
 if (btrfs_fs_closing(fs_info))
	return;
+if (!list_empty_careful(&fs_info->unused_bgs))
+	btrfs_settle_pins(fs_info);
	...
 }

// --- mount and unmount ---

@@
expression F;
statement S;
@@
 ret = init_tree_roots(F);
+if (!ret)
+	ret = btrfs_start_pins(F);
 if (ret) S

// It waits until free space is cached, which a thread reports before it ends its pin. On 6.12 the
// workqueue does not exist any more when free_root_pointers() is called.
@@
expression F;
@@
 btrfs_put_block_group_cache(F);
+btrfs_flush_workqueue(F->caching_workers);

@@
expression F;
@@
+btrfs_stop_pins(F);
 free_root_pointers(F, true);

// --- structures ---

@info@
@@
 struct btrfs_fs_info {
	...
-	struct rw_semaphore commit_root_sem;
+	struct unfair_rwsem commit_root_sem;
+	struct btrfs_commit_pins commit_pins;
	...
 };

@depends on info@
@@
 #include "block-rsv.h"
+#include "commit_pins.h"

@root@
@@
 struct btrfs_root {
	...
	struct extent_buffer *commit_root;
+	struct btrfs_root_pins pins;
	...
 };

@depends on root@
@@
 #include "locking.h"
+#include "commit_pins.h"

@caching@
@@
 struct btrfs_caching_control {
	...
	struct btrfs_block_group *block_group;
+	struct btrfs_pin pin;
	...
 };

@depends on caching@
@@
 #include "free-space-cache.h"
+#include "commit_pins.h"

@@
@@
 struct btrfs_transaction {
	...
	struct extent_io_tree pinned_extents;
+	struct list_head delayed;
	...
 };
