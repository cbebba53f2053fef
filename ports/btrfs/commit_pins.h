/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit roots for btrfs, in place of commit_root_sem. COMMIT_ROOT=1 copies this file into
 * fs/btrfs. docs/porting_btrfs.rst explains why it is safe.
 */
#ifndef BTRFS_COMMIT_PINS_H
#define BTRFS_COMMIT_PINS_H

#include <linux/commit_root.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/unfair_rwsem.h>
#include <linux/wait.h>

struct btrfs_bio;
struct btrfs_fs_info;
struct btrfs_path;
struct btrfs_root;
struct btrfs_trans_handle;
struct extent_buffer;

/* search_csum_tree(): returns the number of sectors whose checksums it has copied, or an error */
typedef int btrfs_search_sums_t(struct btrfs_fs_info *fs_info, struct btrfs_path *path, u64 start,
				u64 len, u8 *sums);

/* On the stack of the function that pins, or in struct btrfs_caching_control. */
struct btrfs_pin {
	struct hlist_node	node;		/* in the hash by @task */
	struct task_struct	*task;
	struct btrfs_fs_info	*fs_info;
	struct commit_pin	pin;		/* empty in a transaction and before the set */
	bool			fst_untrusted;	/* the flag, read before the pin */
};

/* In struct btrfs_fs_info. */
struct btrfs_commit_pins {
	struct commit_root_set	set;
	bool			started;	/* @set is initialized */
	struct commit_roots	*next;		/* prepared for the running commit */
	char			name[48];
	spinlock_t		lock;		/* protects the lists */
	struct list_head	switched;	/* roots switched within the transaction */
	struct list_head	firsts;		/* replaced roots; before the set exists, all */
	struct list_head	delayed;	/* transactions whose extents wait for pins */
	struct mutex		unpinning;	/* tasks only try it */
	wait_queue_head_t	unpin_wait;
};

/* In struct btrfs_root. */
struct btrfs_root_pins {
	struct commit_tree	tree;
	struct extent_buffer	*first;		/* commit root when btrfs read the tree */
	u64			replaced;	/* first generation with another root, or 0 */
	u64			published;	/* last generation that published this root */
	struct list_head	first_node;	/* on firsts */
	struct list_head	switched_node;	/* on switched, if @noted */
	bool			noted;
};

/* readers */
void btrfs_pin_commit(struct btrfs_fs_info *fs_info, struct btrfs_pin *p);
bool btrfs_try_pin_commit(struct btrfs_fs_info *fs_info, struct btrfs_pin *p);
void btrfs_unpin_commit(struct btrfs_pin *p);
bool btrfs_pin_wanted(struct btrfs_fs_info *fs_info);
struct extent_buffer *btrfs_pinned_root(struct btrfs_root *root);
u64 btrfs_pinned_reloc_trans(struct btrfs_fs_info *fs_info);
bool btrfs_pinned_fst_untrusted(struct btrfs_fs_info *fs_info);
u32 btrfs_search_old_sums(const struct commit_gen *gen, struct btrfs_bio *bbio,
			  struct btrfs_path *path, btrfs_search_sums_t *search);

/* roots */
void btrfs_root_has_first(struct btrfs_root *root);
void btrfs_root_goes(struct btrfs_root *root);

/* the committer */
void btrfs_note_switched(struct btrfs_trans_handle *trans, struct btrfs_root *root);
void btrfs_prepare_pins(struct btrfs_trans_handle *trans);
void btrfs_publish_commit_roots(struct btrfs_trans_handle *trans);
int btrfs_unpin_extents(struct btrfs_trans_handle *trans);
void btrfs_settle_pins(struct btrfs_fs_info *fs_info);

/* mount and unmount */
void btrfs_init_pins(struct btrfs_fs_info *fs_info);
int btrfs_start_pins(struct btrfs_fs_info *fs_info);
void btrfs_stop_pins(struct btrfs_fs_info *fs_info);

#endif /* BTRFS_COMMIT_PINS_H */
