# SPDX-License-Identifier: GPL-2.0
# Each call of an allocator decrements the parameter fault_site; the call that makes it 0 returns
# nothing. The edit matches the text before the call, so it covers every kind of allocation.
1s|$|\
extern int fault_site;\
#define FAULT_SITE(none, call)							\\\
	(fault_site \&\& !--fault_site ?						\\\
	 (pr_info("fscommit: none at %s:%d\\n", kbasename(__FILE__), __LINE__), none) : call)\
#line 2|
/^MODULE_LICENSE/s|^|int fault_site;\
module_param(fault_site, int, 0600);\
|
s/= ((kv?[mzc]alloc|kvcalloc|(__)?alloc_percpu(_gfp)?|alloc(_ordered)?_workqueue|kobject_create_and_add)\(.*\));$/= FAULT_SITE(NULL, \1);/
s/= ((kthread_run|debugfs_create_dir)\(.*\));$/= FAULT_SITE(ERR_PTR(-ENOMEM), \1);/
s/= (sysfs_create_file\(.*\));$/= FAULT_SITE(-ENOMEM, \1);/
s/^\t(debugfs_create_file\(.*\));$/\t(void)FAULT_SITE(ERR_PTR(-ENOMEM), \1);/
