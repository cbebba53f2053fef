// SPDX-License-Identifier: GPL-2.0
// LOCKS=eb: the lock of each tree block becomes an unfair_rwsem. btrfs still sets its lockdep
// classes, one for each kind of tree and level: the macro uses only dep_map.

@eb@
@@
 struct extent_buffer {
	...
-	struct rw_semaphore lock;
+	struct unfair_rwsem lock;
	...
 };

@depends on eb@
@@
 #include <linux/rwsem.h>
+#include <linux/unfair_rwsem.h>

@@
struct extent_buffer *B;
expression N;
@@
(
-init_rwsem(&B->lock)
+init_unfair_rwsem(&B->lock)
|
-down_read_nested(&B->lock, N)
+unfair_down_read_nested(&B->lock, N)
|
-down_write_nested(&B->lock, N)
+unfair_down_write_nested(&B->lock, N)
|
-down_read_trylock(&B->lock)
+unfair_down_read_trylock(&B->lock)
|
-down_write_trylock(&B->lock)
+unfair_down_write_trylock(&B->lock)
|
-up_read(&B->lock)
+unfair_up_read(&B->lock)
|
-up_write(&B->lock)
+unfair_up_write(&B->lock)
|
-rwsem_is_contended(&B->lock)
+unfair_rwsem_is_contended(&B->lock)
)
