// SPDX-License-Identifier: GPL-2.0
// Add a type to the kernel's rcutorture.c: rcu_reuse_stamps. The objects of `rcu` are freed when their
// stamp has passed.

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
+
+static unsigned long reuse_torture_start_poll(void)
+{
+	return rcu_reuse_stamp(&reuse_torture_clock);
+}
+
+static bool reuse_torture_poll(unsigned long cookie)
+{
+	return rcu_reuse_passed(&reuse_torture_clock, cookie);
+}
+
+static int __init reuse_torture_init(void)
+{
+	if (strstr(torture_type, "_reuse")) {
+		rcu_ops.name = torture_type;
+		gp_poll = true;
+		rcu_ops.start_gp_poll = reuse_torture_start_poll;
+		rcu_ops.poll_gp_state = reuse_torture_poll;
+		rcu_ops.get_gp_state_full = NULL;
+		rcu_ops.poll_gp_state_full = NULL;
+	}
+	return rcu_torture_init();
+}
 module_init(
-rcu_torture_init
+reuse_torture_init
 );
