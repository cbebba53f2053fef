/* SPDX-License-Identifier: GPL-2.0 */
/* Expedited sections: the new ones, and the active ones. For the files of the lock only. */
#ifndef _FSCOMMIT_EXPEDITE_H
#define _FSCOMMIT_EXPEDITE_H

#include "lend.h"

void expedite_begin(struct unfair_section *s);
bool expedite_end(struct unfair_section *s);

/* The caller holds the wait_lock of @sem. */
u8 expedite_level(const struct unfair_rwsem *sem);
struct unfair_watch *expedite_watch(const struct unfair_rwsem *sem);
bool expedite_look(struct unfair_rwsem *sem, struct look *look, struct lend_work *work);
void expedite_deactivate(struct unfair_section *s);

/* The caller holds no lock. */
void expedite_activate(void);
void expedite_init(void);
void expedite_exit(void);

#endif /* _FSCOMMIT_EXPEDITE_H */
