// SPDX-License-Identifier: GPL-2.0
// Only the semaphore between operations and segment construction becomes an unfair_rwsem.

@header@
@@
 struct the_nilfs {
	...
-	struct rw_semaphore ns_segctor_sem;
+	struct unfair_rwsem ns_segctor_sem;
	...
 };

@depends on header@
@@
 #include <linux/refcount.h>
+#include <linux/unfair_rwsem.h>

@@
expression E;
@@
(
-init_rwsem(&E->ns_segctor_sem)
+init_unfair_rwsem(&E->ns_segctor_sem)
|
-down_read(&E->ns_segctor_sem)
+unfair_down_read(&E->ns_segctor_sem)
|
-up_read(&E->ns_segctor_sem)
+unfair_up_read(&E->ns_segctor_sem)
|
-down_write(&E->ns_segctor_sem)
+unfair_down_write(&E->ns_segctor_sem)
|
-up_write(&E->ns_segctor_sem)
+unfair_up_write(&E->ns_segctor_sem)
|
-downgrade_write(&E->ns_segctor_sem)
+unfair_downgrade_write(&E->ns_segctor_sem)
)
