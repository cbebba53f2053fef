// SPDX-License-Identifier: GPL-2.0
/*
 * The locks of the copy-on-write tree: any type of test_locks.h.
 */
#include "test_locks.h"

#include "cow_port.h"

size_t cow_lock_size(void)
{
	return sizeof(union test_lock);
}

/*
 * A task locks blocks from the root down, and siblings under their parent's lock: more levels and
 * siblings than lockdep has subclasses.
 */
int cow_lock_init(union test_lock *lock, unsigned int type, bool of_block)
{
	int ret = test_lock_init(lock, type);

	if (!of_block)
		return ret;
	if (type == LOCK_TEST_UNFAIR)
		lockdep_set_novalidate_class(&lock->unfair);
	else
		lockdep_set_novalidate_class(&lock->rwsem);
	return ret;
}

void cow_lock_destroy(union test_lock *lock, unsigned int type)
{
	test_lock_destroy(lock, type);
}

void cow_lock(union test_lock *lock, unsigned int type, bool write)
{
	test_locks[type].lock(lock, write, LOCK_TEST_PLAIN, 0, 0);
}

void cow_unlock(union test_lock *lock, unsigned int type, bool write)
{
	test_locks[type].unlock(lock, write);
}
