// SPDX-License-Identifier: GPL-2.0
// CSUM=1, after commit_root.cocci: search the checksums of old extents in a pinned commit.
// For kernels without btrfs_bio.csum_search_commit_root, which always search the live tree.
//
// A bio records the newest generation of the extents in it. If that is unknown, as in direct
// I/O, repair and writes, btrfs searches the live tree. It does so after a miss, too:
// relocation may have moved an extent in the running transaction.

@bio@
@@
 struct btrfs_bio {
	...
	struct btrfs_fs_info *fs_info;
+	struct commit_gen gen;
	...
 };

@depends on bio@
@@
 #include "tree-checker.h"
+#include <linux/commit_root.h>

@ctrl@
@@
 struct btrfs_bio_ctrl {
	...
	struct readahead_control *ractl;
+	u64 generation;
	...
 };

@depends on ctrl@
identifier C;
struct extent_map *M;
@@
 btrfs_do_readpage(..., struct btrfs_bio_ctrl *C)
 {
	<...
	C->last_em_start = M->start;
+	C->generation = M->generation;
	...>
 }

@depends on ctrl@
identifier C;
statement S;
expression F, L, O;
@@
 submit_extent_folio(struct btrfs_bio_ctrl *C, ...)
 {
	<...
	if (!bio_add_folio(&C->bbio->bio, F, L, O)) S
+	commit_gen_add(&C->bbio->gen, C->generation);
	...>
 }

@@
struct btrfs_bio *N;
struct btrfs_bio *B;
@@
 btrfs_split_bio(...)
 {
	<...
	N->inode = B->inode;
+	N->gen = B->gen;
	...>
 }

@@
struct compressed_bio *C;
identifier B;
expression list A;
@@
 btrfs_submit_compressed_read(struct btrfs_bio *B)
 {
	<...
	C = alloc_compressed_bio(A);
+	C->bbio.gen = B->gen;
	...>
 }

@search exists@
identifier B, offset, len, count;
struct btrfs_path *P;
struct btrfs_fs_info *F;
@@
 btrfs_lookup_bio_sums(struct btrfs_bio *B)
 {
+	bool committed = false;
	... when any
+	committed = btrfs_pin_old(F, &B->gen, P);
	while (offset < len) {
		... when any
		count = search_csum_tree(F, P, ...);
		... when any
		if (count == 0) {
+			if (committed) {
+				committed = false;
+				btrfs_unpin_old(F, P);
+				continue;
+			}
			...
		}
		...
	}
+	if (committed)
+		btrfs_unpin_old(F, P);
	btrfs_free_path(P);
	... when any
 }
