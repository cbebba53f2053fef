// SPDX-License-Identifier: GPL-2.0
// Add two types to the kernel's rcutorture.c: rcu_reuse_stamps, and srcu_reuse_stamps for readers of
// SRCU. The objects of `rcu` or `srcu` are freed when their stamp has passed.

@@
@@
 #include "rcu.h"
+#include <linux/rcu_reuse.h>
+#include "import_fscommit.h"

// The kernel exports it with rcutorture only.
@@
identifier f =~ "torture_sched_setaffinity$";
expression mask;
@@
-f(current->pid, mask, ...)
+set_cpus_allowed_ptr(current, mask)

// A test of the slab allocator. KASAN reports the allocator on UML.
@@
expression cache;
@@
+return;
 cache = kmem_cache_create(...);

@@
declarer name module_init;
typedef bool;
@@
+static struct rcu_reuse_clock reuse_torture_clock;
+static void (*reuse_torture_parent_init)(void);
+
+static unsigned long reuse_torture_start_poll(void)
+{
+	struct rcu_reuse_cookie stamp;
+
+	rcu_reuse_stamp(&reuse_torture_clock, &stamp);
+	return stamp.cookie;
+}
+
+static bool reuse_torture_poll(unsigned long cookie)
+{
+	struct rcu_reuse_cookie stamp = { .cookie = cookie };
+
+	return rcu_reuse_passed(&reuse_torture_clock, &stamp);
+}
+
+static void reuse_torture_setup(void)
+{
+	reuse_torture_parent_init();
+	rcu_reuse_clock_init(&reuse_torture_clock, cur_ops == &srcu_ops ? srcu_ctlp : NULL);
+}
+
+static void reuse_torture_cleanup(void)
+{
+	rcu_reuse_clock_destroy(&reuse_torture_clock);
+}
+
+static int __init reuse_torture_init(void)
+{
+	struct rcu_torture_ops *ops = strstarts(torture_type, "srcu") ? &srcu_ops : &rcu_ops;
+
+	if (strstr(torture_type, "_reuse")) {
+		reuse_torture_parent_init = ops->init;
+		ops->name = torture_type;
+		gp_poll = true;
+		ops->init = reuse_torture_setup;
+		ops->cleanup = reuse_torture_cleanup;
+		ops->start_gp_poll = reuse_torture_start_poll;
+		ops->poll_gp_state = reuse_torture_poll;
+		/* of RCU alone */
+		ops->get_gp_state_full = NULL;
+		ops->poll_gp_state_full = NULL;
+	}
+	return rcu_torture_init();
+}
 module_init(
-rcu_torture_init
+reuse_torture_init
 );
