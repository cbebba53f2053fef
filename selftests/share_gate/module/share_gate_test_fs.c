// SPDX-License-Identifier: GPL-2.0
/*
 * The files of the toy filesystem: what is written, shared, logged, committed, and what is
 * there after a crash. How the rules of share_gate.h are kept: a share holds the locks of both
 * files, an fsync that of its file.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "fscommit_test.h"
#include "share_gate_test_internal.h"

static u64 csum(u64 block)
{
	return hash_64(block, 64);
}

static bool breaks(const struct sgt *s, u32 rule)
{
	return s->setup.broken & rule;
}

/* The log is searched by nobody who has not locked it. */
static u64 reusable(void *private)
{
	return ~0ULL;
}

/* At a commit, with nobody in: what is in the files is committed, and the log begins anew. */
static void publish(void *private, u64 generation)
{
	struct sgt *s = private;
	unsigned int i, k;

	for (i = 0; i < s->setup.files; i++) {
		struct file_of_test *f = &s->file[i];

		for (k = 0; k < SGT_SLOTS; k++)
			f->slot[k].logged = true;
		memcpy(f->committed, f->slot, sizeof(f->slot));
	}
	cow_tree_drop(&s->log);
	s->log = s->next_log;
}

static const struct cow_ops cow_ops = { reusable, publish };

int sgt_commit(struct sgt *s)
{
	int ret;

	cow_begin(s->fs);
	ret = cow_tree_create(&s->next_log, s->fs);
	cow_end(s->fs);
	return ret ?: cow_commit(s->fs, 0);
}

/* --- operations ---------------------------------------------------------- */

static struct file_of_test *file_at(struct sgt *s, const struct sgt_slot *at)
{
	if (at->file >= s->setup.files || at->slot >= SGT_SLOTS)
		return NULL;
	return &s->file[at->file];
}

static int fsync_locked(struct sgt *s, struct file_of_test *f)
{
	u64 running = cow_running(s->fs), marks = share_gate_marks(&f->gate);
	unsigned int i;
	int ret = 0;

	if (breaks(s, SGT_BREAK_CLEAR))
		share_gate_clear(&f->gate, marks);
	for (i = 0; i < SGT_SLOTS && !ret; i++) {
		struct slot *slot = &f->slot[i];

		if (slot->logged)
			continue;
		if (slot->nr && slot->generation == running)
			ret = sgt_log_slot(s, &f->gate, slot);
		slot->logged = !ret;
	}
	if (ret)
		return ret;
	memcpy(f->logged, f->slot, sizeof(f->slot));
	f->logged_in = running;
	share_gate_clear(&f->gate, marks);
	return 0;
}

int sgt_fsync(struct sgt *s, u32 file)
{
	struct file_of_test *f;
	int ret;

	if (file >= s->setup.files)
		return -EINVAL;
	f = &s->file[file];
	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	cow_begin(s->fs);
	ret = fsync_locked(s, f);
	cow_end(s->fs);
	mutex_unlock(&f->lock);
	return ret;
}

int sgt_write(struct sgt *s, const struct sgt_slot *at, bool fsync)
{
	struct file_of_test *f = file_at(s, at);
	int ret = 0;

	if (!f)
		return -EINVAL;
	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	cow_begin(s->fs);
	f->slot[at->slot] = (struct slot) {
		.place = atomic64_add_return(SGT_BLOCKS, &s->next_place),
		.nr = SGT_BLOCKS, .generation = cow_running(s->fs),
	};
	f->last_transaction = cow_running(s->fs);
	if (fsync)
		ret = fsync_locked(s, f);
	cow_end(s->fs);
	mutex_unlock(&f->lock);
	return ret;
}

/* In order, or two that share with each other wait for ever. */
static int lock_both(struct file_of_test *a, struct file_of_test *b)
{
	if (a > b)
		swap(a, b);
	if (mutex_lock_killable(&a->lock))
		return -EINTR;
	if (a == b)
		return 0;
	if (mutex_lock_killable_nested(&b->lock, SINGLE_DEPTH_NESTING)) {
		mutex_unlock(&a->lock);
		return -EINTR;
	}
	return 0;
}

int sgt_clone(struct sgt *s, const struct sgt_clone *c)
{
	struct file_of_test *from = file_at(s, &c->from), *to = file_at(s, &c->to);
	struct slot slot;
	int ret;

	if (!from || !to || !c->nr || c->offset >= SGT_BLOCKS || c->nr > SGT_BLOCKS - c->offset)
		return -EINVAL;
	ret = lock_both(from, to);
	if (ret)
		return ret;
	cow_begin(s->fs);
	slot = from->slot[c->from.slot];
	if (c->offset + c->nr <= slot.nr) {
		share_gate_mark(breaks(s, SGT_BREAK_SOURCE) ? &to->gate : &from->gate,
				breaks(s, SGT_BREAK_DESTINATION) ? &from->gate : &to->gate,
				cow_running(s->fs));
		slot.place += c->offset;
		slot.nr = c->nr;
		slot.logged = false;
		to->slot[c->to.slot] = slot;
		to->last_transaction = cow_running(s->fs);
	} else {
		ret = -ENODATA;
	}
	cow_end(s->fs);
	mutex_unlock(&from->lock);
	if (to != from)
		mutex_unlock(&to->lock);
	return ret;
}

/* What was logged is to be logged again; also since it is not known after a read. */
int sgt_full(struct sgt *s, u32 file, bool evict)
{
	struct file_of_test *f;
	unsigned int i;

	if (file >= s->setup.files)
		return -EINVAL;
	f = &s->file[file];
	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	cow_begin(s->fs);
	for (i = 0; i < SGT_SLOTS; i++)
		f->slot[i].logged = false;
	if (!evict) {
		if (!breaks(s, SGT_BREAK_RAISE))
			share_gate_raise(&f->gate, f->last_transaction);
	} else if (breaks(s, SGT_BREAK_RELOAD)) {
		share_gate_init(&f->gate);
	} else {
		share_gate_reloaded(&f->gate, f->last_transaction);
	}
	cow_end(s->fs);
	mutex_unlock(&f->lock);
	return 0;
}

/* --- a crash ------------------------------------------------------------- */

static void replay_slot(struct sgt *s, const struct slot *slot, struct sgt_crash *crash)
{
	unsigned int i;

	/* older ones have their checksums in the tree that was committed */
	if (slot->generation != cow_running(s->fs))
		return;
	for (i = 0; i < slot->nr; i++) {
		crash->checked++;
		if (sgt_has_csum(s, slot->place + i))
			crash->sum += csum(slot->place + i);
		else
			crash->missing++;
	}
}

/* Nobody else is there: what was not logged is gone. Then a commit. */
int sgt_crash(struct sgt *s, struct sgt_crash *crash)
{
	unsigned int i, k;

	*crash = (struct sgt_crash){ };
	for (i = 0; i < s->setup.files; i++) {
		struct file_of_test *f = &s->file[i];
		bool logged = f->logged_in == cow_running(s->fs);

		for (k = 0; logged && k < SGT_SLOTS; k++)
			replay_slot(s, &f->logged[k], crash);
		memcpy(f->slot, logged ? f->logged : f->committed, sizeof(f->slot));
		share_gate_reloaded(&f->gate, f->last_transaction);
	}
	return sgt_commit(s);
}

/* --- setup --------------------------------------------------------------- */

void sgt_tear_down(struct sgt *s)
{
	if (s->fs)
		cow_fs_destroy(s->fs);
	s->fs = NULL;
	kvfree(s->file);
	s->file = NULL;
}

int sgt_set_up(struct sgt *s, const struct sgt_setup *setup)
{
	struct cow_params params = { .max_blocks = 60000, .lock_type = setup->lock_type };
	unsigned int i;
	int ret = -ENOMEM;

	if (setup->mode >= SGT_NR_MODES || !setup->files || setup->files > SGT_MAX_FILES ||
	    setup->broken & ~SGT_BREAKS ||
	    (setup->lock_type != FCT_RWSEM && setup->lock_type != FCT_F2FS &&
	     setup->lock_type != FCT_UNFAIR))
		return -EINVAL;
	if (s->fs)
		return -EBUSY;
	s->setup = *setup;
	share_ranges_init(&s->ranges);
	atomic64_set(&s->next_place, 0);
	s->file = kvcalloc(setup->files, sizeof(*s->file), GFP_KERNEL);
	if (!s->file)
		return -ENOMEM;
	for (i = 0; i < setup->files; i++) {
		mutex_init(&s->file[i].lock);
		share_gate_init(&s->file[i].gate);
	}
	ret = cow_fs_create(&s->fs, &params, &cow_ops, s) ?: cow_tree_create(&s->log, s->fs);
	if (ret)
		sgt_tear_down(s);
	return ret;
}
