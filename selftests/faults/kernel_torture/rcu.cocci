// SPDX-License-Identifier: GPL-2.0
// Add five types to the kernel's rcutorture.c:
//
//	rcu_reuse_queue		readers of RCU; objects are freed into a reuse queue
//	rcu_reuse_expedited	the same, and the queue requests expedited grace periods
//	rcu_reuse_stamps	objects are freed when their stamp has passed
//	srcu_reuse_queue	the same for readers of SRCU
//	srcu_reuse_stamps
//
// Each replaces the update side of `rcu` or `srcu`: the deferred free of rcutorture's objects,
// callbacks from timers and interrupts, and barriers use the queue; polled grace periods, the stamps.

@@
@@
 #include "rcu.h"
+#include <linux/rcu_reuse.h>
+#include "import_fscommit.h"
+static void reuse_torture_dequeue(void);

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
@@
 rcu_torture_alloc(...)
 {
 ...
+reuse_torture_dequeue();
 spin_lock_bh(...);
 ...
 }

@@
declarer name module_init;
typedef bool, rcu_callback_t;
@@
+static struct rcu_reuse_queue reuse_torture_queue;
+static struct rcu_reuse_clock reuse_torture_clock;
+static struct rcu_reuse_params reuse_torture_params = {
+	.batch = 8, .keep = 64, .max_age_ms = 40,
+};
+static void (*reuse_torture_parent_init)(void);
+
+/* The queue uses the list pointer of an rcu_head, which RCU does not know meanwhile. */
+static void reuse_torture_release(void *private, struct rcu_reuse_head *head)
+{
+	struct rcu_head *rhp = (struct rcu_head *)head;
+
+	rhp->func(rhp);
+}
+
+static const struct rcu_reuse_ops reuse_torture_queue_ops = {
+	.release = reuse_torture_release,
+};
+
+static void reuse_torture_call(struct rcu_head *rhp, rcu_callback_t func)
+{
+	struct rcu_reuse_head *head = (struct rcu_reuse_head *)rhp;
+
+	BUILD_BUG_ON(offsetof(struct rcu_head, func) < sizeof(*head));
+	rhp->func = func;
+	rcu_reuse_head_init(head);
+	WARN_ON_ONCE(rcu_reuse_enqueue(&reuse_torture_queue, head));
+}
+
+static void reuse_torture_deferred_free(struct rcu_torture *p)
+{
+	reuse_torture_call(&p->rtort_rcu, rcu_torture_cb);
+}
+
+/* Called by writers. The other objects leave by the worker. */
+static void reuse_torture_dequeue(void)
+{
+	struct rcu_reuse_head *head;
+	int i;
+
+	if (cur_ops->deferred_free != reuse_torture_deferred_free)
+		return;
+	for (i = 0; i < 16; i++) {
+		head = rcu_reuse_dequeue(&reuse_torture_queue);
+		if (!head)
+			break;
+		reuse_torture_release(NULL, head);
+	}
+}
+
+static void reuse_torture_barrier(void)
+{
+	reuse_torture_dequeue();
+	rcu_reuse_drain(&reuse_torture_queue);
+}
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
+	if (cur_ops == &srcu_ops)
+		reuse_torture_params.srcu = srcu_ctlp;
+	reuse_torture_params.expedited = !!strstr(torture_type, "_expedited");
+	rcu_reuse_clock_init(&reuse_torture_clock, reuse_torture_params.srcu);
+	if (rcu_reuse_init(&reuse_torture_queue, torture_type, &reuse_torture_queue_ops, NULL,
+			   &reuse_torture_params))
+		panic("no reuse queue");
+}
+
+static void reuse_torture_cleanup(void)
+{
+	rcu_reuse_destroy(&reuse_torture_queue);
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
+		if (strstr(torture_type, "_stamps"))
+			gp_poll = true;
+		else
+			gp_normal = true;
+		ops->init = reuse_torture_setup;
+		ops->cleanup = reuse_torture_cleanup;
+		ops->deferred_free = reuse_torture_deferred_free;
+		ops->call = reuse_torture_call;
+		ops->cb_barrier = reuse_torture_barrier;
+		ops->start_gp_poll = reuse_torture_start_poll;
+		ops->poll_gp_state = reuse_torture_poll;
+		/* of RCU alone */
+		ops->get_gp_state_full = NULL;
+		ops->poll_gp_state_full = NULL;
+	}
+	return rcu_torture_init();
+}
-module_init(rcu_torture_init);
+module_init(reuse_torture_init);
