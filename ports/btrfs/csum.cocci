// SPDX-License-Identifier: GPL-2.0
// CSUM=1, after commit_root.cocci: search the checksums of old extents under a pin,
// and what that does not find in the live tree.
//
// A bio records the newest generation of the extents in it. If that is unknown, as in direct
// I/O, repair and writes, btrfs searches the live tree. It does so after a miss, too:
// relocation may have moved an extent in the running transaction.

// --- 7.3 has btrfs_bio.csum_search_commit_root, from btrfs_bio_ctrl.generation ---

@flag@
@@
 struct btrfs_bio {
	...
-	bool csum_search_commit_root:1;
+	struct commit_gen gen;
	...
 };

@sets@
struct btrfs_bio_ctrl *C;
expression E;
@@
-C->bbio->csum_search_commit_root = E;
+commit_gen_add(&C->bbio->gen, C->generation);

@@
struct btrfs_bio *N;
struct btrfs_bio *B;
@@
-N->csum_search_commit_root = B->csum_search_commit_root;
+N->gen = B->gen;

@copies@
struct compressed_bio *C;
struct btrfs_bio *B;
@@
-C->bbio.csum_search_commit_root = B->csum_search_commit_root;
+C->bbio.gen = B->gen;

// --- 6.12 always searches the live tree ---

@bio depends on !flag@
@@
 struct btrfs_bio {
	...
	struct btrfs_fs_info *fs_info;
+	struct commit_gen gen;
	...
 };

@depends on flag || bio@
@@
 #include "tree-checker.h"
+#include <linux/commit_root.h>

@ctrl depends on !sets@
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

@depends on !copies@
identifier B;
struct compressed_bio *C;
expression list A;
@@
 btrfs_submit_compressed_read(struct btrfs_bio *B)
 {
	<...
	C = alloc_compressed_bio(A);
+	C->bbio.gen = B->gen;
	...>
 }

// --- the search ---

@pins@
identifier U;
identifier B;
@@
 btrfs_lookup_bio_sums(struct btrfs_bio *B)
 {
-	struct btrfs_pin commit_pin;
	...
-	bool U = false;
	... when any
-	if (B->csum_search_commit_root) {
-		...
-	}
	<...
-	if (U) {
-		...
-	}
	...>
-	if (U)
-		btrfs_unpin_commit(...);
	...
 }

@search exists@
identifier B, offset, len;
expression P;
expression F;
@@
 btrfs_lookup_bio_sums(struct btrfs_bio *B)
 {
	... when any
+	offset = btrfs_search_old_sums(&B->gen, B, P, search_csum_tree);
	while (offset < len) {
		... when any
		search_csum_tree(F, P, ...)
		... when any
	}
	... when any
 }
