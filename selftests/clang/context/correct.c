// SPDX-License-Identifier: GPL-2.0
/*
 * Each way to acquire and to release: the analysis must report nothing here.
 */
#include "guarded.h"

long plain(struct fs *fs);
long plain(struct fs *fs)
{
	long seen;

	unfair_down_read(&fs->cp_sem);
	seen = fs->generation;
	unfair_up_read(&fs->cp_sem);
	unfair_down_write(&fs->cp_sem);
	fs->generation = seen + 1;
	unfair_up_write(&fs->cp_sem);
	return seen;
}

int may_end_early(struct fs *fs, long timeout);
int may_end_early(struct fs *fs, long timeout)
{
	int ret = unfair_down_read_killable(&fs->cp_sem);

	if (ret)
		return ret;
	ret = fs->generation;
	unfair_up_read(&fs->cp_sem);
	if (unfair_down_read_interruptible(&fs->cp_sem))
		return -EINTR;
	ret += fs->generation;
	unfair_up_read(&fs->cp_sem);
	if (!unfair_down_read_timeout(&fs->cp_sem, timeout)) {
		ret += fs->generation;
		unfair_up_read(&fs->cp_sem);
	}
	if (unfair_down_write_interruptible(&fs->cp_sem))
		return -EINTR;
	fs->generation = ret;
	unfair_up_write(&fs->cp_sem);
	if (unfair_down_write_timeout(&fs->cp_sem, timeout))
		return -ETIME;
	fs->generation = ret;
	unfair_up_write(&fs->cp_sem);
	ret = unfair_down_write_killable(&fs->cp_sem);
	if (ret)
		return ret;
	fs->generation = ret;
	unfair_up_write(&fs->cp_sem);
	return 0;
}

bool try(struct fs *fs);
bool try(struct fs *fs)
{
	if (unfair_down_write_trylock(&fs->cp_sem)) {
		fs->generation++;
		unfair_up_write(&fs->cp_sem);
	}
	if (!unfair_down_read_trylock(&fs->cp_sem))
		return false;
	may_fail();
	unfair_up_read(&fs->cp_sem);
	return true;
}

long downgraded(struct fs *fs);
long downgraded(struct fs *fs)
{
	long seen;

	unfair_down_write(&fs->cp_sem);
	fs->generation++;
	unfair_downgrade_write(&fs->cp_sem);
	seen = fs->generation;
	unfair_up_read(&fs->cp_sem);
	return seen;
}

long nested(struct fs *fs, struct fs *other);
long nested(struct fs *fs, struct fs *other)
{
	long seen;

	unfair_down_read(&fs->cp_sem);
	unfair_down_read_nested(&other->cp_sem, SINGLE_DEPTH_NESTING);
	seen = fs->generation + other->generation;
	unfair_up_read(&other->cp_sem);
	unfair_up_read(&fs->cp_sem);
	unfair_down_write_nested(&fs->cp_sem, SINGLE_DEPTH_NESTING);
	fs->generation = seen;
	unfair_up_write(&fs->cp_sem);
	mutex_lock(&fs->trees_lock);
	unfair_down_write_nest_lock(&fs->cp_sem, &fs->trees_lock);
	fs->generation = seen;
	unfair_up_write(&fs->cp_sem);
	mutex_unlock(&fs->trees_lock);
	return seen;
}

int guards(struct fs *fs);
int guards(struct fs *fs)
{
	scoped_guard(unfair_rwsem_write, &fs->cp_sem)
		fs->generation++;
	scoped_cond_guard(unfair_rwsem_write_kill, return -EINTR, &fs->cp_sem)
		fs->generation++;
	scoped_cond_guard(unfair_rwsem_write_intr, return -EINTR, &fs->cp_sem)
		fs->generation++;
	scoped_cond_guard(unfair_rwsem_write_try, return -EAGAIN, &fs->cp_sem)
		fs->generation++;
	scoped_cond_guard(unfair_rwsem_read_kill, return -EINTR, &fs->cp_sem)
		if (fs->generation)
			return 1;
	scoped_cond_guard(unfair_rwsem_read_intr, return -EINTR, &fs->cp_sem)
		if (fs->generation)
			return 2;
	scoped_cond_guard(unfair_rwsem_read_try, return -EAGAIN, &fs->cp_sem)
		if (fs->generation)
			return 3;
	guard(unfair_rwsem_read)(&fs->cp_sem);
	return fs->generation;
}

/* The caller holds the lock: by an attribute, and by assertions at run time. */
long said(struct fs *fs);
long said(struct fs *fs)
	__must_hold_shared(&fs->cp_sem)
{
	return fs->generation;
}

void asserted(struct fs *fs);
void asserted(struct fs *fs)
{
	unfair_rwsem_assert_held_write(&fs->cp_sem);
	fs->generation++;
}

long asserted_shared(struct fs *fs);
long asserted_shared(struct fs *fs)
{
	unfair_rwsem_assert_held_read(&fs->cp_sem);
	return fs->generation;
}

long by_lockdep(struct fs *fs);
long by_lockdep(struct fs *fs)
{
	lockdep_assert_held(&fs->cp_sem);
	return fs->generation;
}

int pinned(struct commit_root_set *set);
int pinned(struct commit_root_set *set)
{
	struct commit_pin pin;
	int ret = commit_root_pin(set, &pin);

	if (ret)
		return ret;
	ret = may_fail();
	commit_root_unpin(&pin);
	return ret;
}
