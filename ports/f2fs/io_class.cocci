// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: what a checkpoint waits for is not limited by a cgroup, nor idle. The bio of a block of
// a node, of f2fs's own, of a folder or in garbage collection belongs to the root cgroup, whoever
// opens it: io.max, iocost and BFQ do not hold it back. Where its task is of the idle class, which
// each SCHED_IDLE task is by itself, the bio is of best effort. A bio that is being filled takes
// further blocks only of the same cgroup and class: else the data of an fsync waits for the limit of
// the task that opened the bio.
//
// From 6.12 on the kernel does that for REQ_META, which stock f2fs sets on checkpoint blocks only,
// but not with BFQ, nor for the data of folders.

@folio@
expression E;
@@
 int f2fs_submit_page_bio(...)
 {
	<+... WB_DATA_TYPE(E, ...) ...+>
 }

@@
@@
 #include <linux/f2fs_fs.h>
+#include <linux/blk-cgroup.h>
+#include <linux/ioprio.h>

@@
@@
 struct f2fs_io_info {
	...
	struct writeback_control *io_wbc;
+	/* what whoever opened the bio asked for, only to compare */
+	struct cgroup_subsys_state *limits;
+	int ioprio;
	...
 };

@@
typedef bool;
expression folio.E;
@@
+/* The cgroup whose limits apply to a block; NULL: it is no data, or commits wait for it. */
+static struct cgroup_subsys_state *limits_of(struct f2fs_io_info *fio)
+{
+	if (is_read_io(fio->op) || fio->type != DATA || !fio->io_wbc ||
+	    f2fs_is_cp_guaranteed(E))
+		return NULL;
+	return wbc_blkcg_css(fio->io_wbc);
+}
+
+static int io_prio(struct f2fs_io_info *fio)
+{
+	int prio = get_current_ioprio();
+
+	if (IOPRIO_PRIO_CLASS(prio) == IOPRIO_CLASS_IDLE && !limits_of(fio))
+		return IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM);
+	return prio;
+}
+
+static void set_io_class(struct bio *bio, struct f2fs_io_info *fio)
+{
+	fio->limits = limits_of(fio);
+	fio->ioprio = io_prio(fio);
+	if (fio->limits) {
+		/* data: also the class is that of whoever submits the bio */
+		wbc_init_bio(fio->io_wbc, bio);
+		return;
+	}
+	bio_associate_blkg_from_css(bio, blkcg_root_css);
+	bio->bi_ioprio = fio->ioprio;
+}
+
+/* Not what the bio has: a cgroup that ends gets its parent's limits. */
+static bool same_io_class(struct f2fs_io_info *opened, struct f2fs_io_info *fio)
+{
+	return opened->limits == limits_of(fio) &&
+	       IOPRIO_PRIO_CLASS(opened->ioprio) == IOPRIO_PRIO_CLASS(io_prio(fio));
+}
+
 static struct bio *__bio_alloc(...)
 {
	...
-	if (fio->io_wbc)
-		wbc_init_bio(fio->io_wbc, bio);
+	set_io_class(bio, fio);
	...
 }

@@
identifier io, fio;
@@
 static bool io_is_mergeable(..., struct f2fs_bio_info *io, struct f2fs_io_info *fio, ...)
 {
	...
-	return io_type_is_mergeable(
+	return same_io_class(&io->fio, fio) && io_type_is_mergeable(
	...);
 }
