// SPDX-License-Identifier: GPL-2.0
// Add two types of lock to the kernel's locktorture.c:
//
//	unfair_rwsem_lock		readers and writers of one unfair_rwsem
//	unfair_rwsem_expedited_lock	the same, and each writer has an expedited section
//
// The delays and the boosts are those of rwsem_lock.

@@
@@
 #include <linux/rwsem.h>
+#include "import_fscommit.h"
+#include <linux/unfair_rwsem.h>

// The kernel exports it with rcutorture only. Nothing sets the masks for which it is called.
@@
@@
-long torture_sched_setaffinity(...);

@@
expression E;
@@
-if (cpumask_nonempty(E))
-	torture_sched_setaffinity(...);

@@
identifier boost;
@@
 static struct lock_torture_ops rwsem_lock_ops = { ..., .task_boost = boost, ... };
+
+static struct unfair_rwsem torture_unfair_rwsem;
+
+static void torture_unfair_init(void)
+{
+	init_unfair_rwsem(&torture_unfair_rwsem);
+}
+
+static int torture_unfair_down_write(int tid)
+{
+	unfair_down_write(&torture_unfair_rwsem);
+	return 0;
+}
+
+static void torture_unfair_up_write(int tid)
+{
+	unfair_up_write(&torture_unfair_rwsem);
+}
+
+/* Of the task that holds the lock for writing. */
+static struct unfair_section *torture_unfair_section;
+
+static int torture_unfair_down_write_expedited(int tid)
+{
+	struct unfair_section *section = kzalloc(sizeof(*section), GFP_KERNEL | __GFP_NOFAIL);
+
+	unfair_rwsem_expedite(&torture_unfair_rwsem, section);
+	unfair_down_write(&torture_unfair_rwsem);
+	torture_unfair_section = section;
+	return 0;
+}
+
+static void torture_unfair_up_write_expedited(int tid)
+{
+	struct unfair_section *section = torture_unfair_section;
+
+	unfair_up_write(&torture_unfair_rwsem);
+	unfair_rwsem_unexpedite(section);
+	kfree(section);
+}
+
+static int torture_unfair_down_read(int tid)
+{
+	unfair_down_read(&torture_unfair_rwsem);
+	return 0;
+}
+
+static void torture_unfair_up_read(int tid)
+{
+	unfair_up_read(&torture_unfair_rwsem);
+}
+
+static struct lock_torture_ops unfair_rwsem_ops = {
+	.init = torture_unfair_init,
+	.writelock = torture_unfair_down_write,
+	.write_delay = torture_rwsem_write_delay,
+	.task_boost = boost,
+	.writeunlock = torture_unfair_up_write,
+	.readlock = torture_unfair_down_read,
+	.read_delay = torture_rwsem_read_delay,
+	.readunlock = torture_unfair_up_read,
+	.name = "unfair_rwsem_lock"
+};
+
+static struct lock_torture_ops unfair_rwsem_expedited_ops = {
+	.init = torture_unfair_init,
+	.writelock = torture_unfair_down_write_expedited,
+	.write_delay = torture_rwsem_write_delay,
+	.task_boost = boost,
+	.writeunlock = torture_unfair_up_write_expedited,
+	.readlock = torture_unfair_down_read,
+	.read_delay = torture_rwsem_read_delay,
+	.readunlock = torture_unfair_up_read,
+	.name = "unfair_rwsem_expedited_lock"
+};

@@
identifier ops;
@@
 struct lock_torture_ops *ops[] = { ..., &rwsem_lock_ops,
+&unfair_rwsem_ops, &unfair_rwsem_expedited_ops,
 ... };
