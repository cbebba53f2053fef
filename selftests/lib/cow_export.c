// SPDX-License-Identifier: GPL-2.0
/*
 * The copy-on-write tree as a module, shared by the test modules.
 */
#include <linux/module.h>

#include "cow_blocks.h"

EXPORT_SYMBOL_GPL(cow_fs_create);
EXPORT_SYMBOL_GPL(cow_fs_destroy);
EXPORT_SYMBOL_GPL(cow_running);
EXPORT_SYMBOL_GPL(cow_stale);
EXPORT_SYMBOL_GPL(cow_tree_create);
EXPORT_SYMBOL_GPL(cow_tree_drop);
EXPORT_SYMBOL_GPL(cow_snapshot);
EXPORT_SYMBOL_GPL(cow_begin);
EXPORT_SYMBOL_GPL(cow_end);
EXPORT_SYMBOL_GPL(cow_insert);
EXPORT_SYMBOL_GPL(cow_delete);
EXPORT_SYMBOL_GPL(cow_delete_last);
EXPORT_SYMBOL_GPL(cow_delete_later);
EXPORT_SYMBOL_GPL(cow_search_live);
EXPORT_SYMBOL_GPL(cow_search_root);
EXPORT_SYMBOL_GPL(cow_commit);
EXPORT_SYMBOL_GPL(cow_check_tree);
EXPORT_SYMBOL_GPL(cow_check_blocks);
/* for modules that build trees block by block */
EXPORT_SYMBOL_GPL(cow_reserve);
EXPORT_SYMBOL_GPL(cow_new_block);
EXPORT_SYMBOL_GPL(cow_get_block);
EXPORT_SYMBOL_GPL(cow_put_block);
EXPORT_SYMBOL_GPL(cow_unlock);
EXPORT_SYMBOL_GPL(cow_child_for);

MODULE_DESCRIPTION("A copy-on-write B+tree for tests");
MODULE_LICENSE("GPL");
