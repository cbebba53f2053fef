/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports of the tasks that hold up a writer; see watcher.h for the one the watcher makes.
 */
#ifndef _FSCOMMIT_REPORT_H
#define _FSCOMMIT_REPORT_H

struct dentry;
void init_reports(struct dentry *dir);
void exit_reports(void);

#endif /* _FSCOMMIT_REPORT_H */
