// SPDX-License-Identifier: GPL-2.0
/*
 * The files of the toy filesystem: write, share, log, commit, and check after a crash. As the
 * rules of share_gate.h demand, a share holds the locks of both files and an fsync that of
 * its file.
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

static bool breaks(const struct gate_test *s, u32 rule)
{
	return s->setup.broken & rule;
}

/* Freed blocks are reusable at once: every search of the log locks its blocks. */
static u64 reusable(void *private)
{
	return ~0ULL;
}

/* Commit with all operations excluded: commit the files and start an empty log. */
static void publish(void *private, u64 generation)
{
	struct gate_test *s = private;
	unsigned int i, k;

	for (i = 0; i < s->setup.files; i++) {
		struct test_file *f = &s->file[i];

		for (k = 0; k < GATE_TEST_SLOTS; k++)
			f->slot[k].logged = true;
		memcpy(f->committed, f->slot, sizeof(f->slot));
	}
	cow_tree_drop(&s->log);
	s->log = s->next_log;
}

static const struct cow_ops cow_ops = { reusable, publish };

int gate_test_commit(struct gate_test *s)
{
	int ret;

	cow_begin(s->fs);
	ret = cow_tree_create(&s->next_log, s->fs);
	cow_end(s->fs);
	return ret ?: cow_commit(s->fs, 0);
}

/* --- operations ---------------------------------------------------------- */

static struct test_file *file_at(struct gate_test *s, const struct gate_test_slot *at)
{
	if (at->file >= s->setup.files || at->slot >= GATE_TEST_SLOTS)
		return NULL;
	return &s->file[at->file];
}

static int fsync_locked(struct gate_test *s, struct test_file *f)
{
	u64 running = cow_running(s->fs), marks = share_gate_marks(&f->gate);
	unsigned int i;
	int ret = 0;

	if (breaks(s, GATE_TEST_BREAK_CLEAR))
		share_gate_clear(&f->gate, marks);
	for (i = 0; i < GATE_TEST_SLOTS && !ret; i++) {
		struct slot *slot = &f->slot[i];

		if (slot->logged)
			continue;
		if (slot->nr && slot->generation == running)
			ret = gate_test_log_slot(s, &f->gate, slot);
		slot->logged = !ret;
	}
	if (ret)
		return ret;
	memcpy(f->logged, f->slot, sizeof(f->slot));
	f->logged_in = running;
	share_gate_clear(&f->gate, marks);
	return 0;
}

int gate_test_fsync(struct gate_test *s, u32 file)
{
	struct test_file *f;
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

int gate_test_write(struct gate_test *s, const struct gate_test_slot *at, bool fsync)
{
	struct test_file *f = file_at(s, at);
	int ret = 0;

	if (!f)
		return -EINVAL;
	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	cow_begin(s->fs);
	f->slot[at->slot] = (struct slot) {
		.place = atomic64_add_return(GATE_TEST_BLOCKS, &s->next_place),
		.nr = GATE_TEST_BLOCKS, .generation = cow_running(s->fs),
	};
	f->last_transaction = cow_running(s->fs);
	if (fsync)
		ret = fsync_locked(s, f);
	cow_end(s->fs);
	mutex_unlock(&f->lock);
	return ret;
}

/* Lock by address to avoid deadlock. */
static int lock_both(struct test_file *a, struct test_file *b)
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

int gate_test_clone(struct gate_test *s, const struct gate_test_clone *c)
{
	struct test_file *from = file_at(s, &c->from), *to = file_at(s, &c->to);
	struct slot slot;
	int ret;

	if (!from || !to || !c->nr || c->offset >= GATE_TEST_BLOCKS ||
	    c->nr > GATE_TEST_BLOCKS - c->offset)
		return -EINVAL;
	ret = lock_both(from, to);
	if (ret)
		return ret;
	cow_begin(s->fs);
	slot = from->slot[c->from.slot];
	if (c->offset + c->nr <= slot.nr) {
		share_gate_mark_extent(breaks(s, GATE_TEST_BREAK_SOURCE) ? &to->gate : &from->gate,
				       breaks(s, GATE_TEST_BREAK_DESTINATION) ? &from->gate :
				       &to->gate, cow_running(s->fs),
				       slot.generation == cow_running(s->fs));
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

/* Mark all slots as not logged. With @evict the file is read in again, too. */
int gate_test_full(struct gate_test *s, u32 file, bool evict)
{
	struct test_file *f;
	unsigned int i;

	if (file >= s->setup.files)
		return -EINVAL;
	f = &s->file[file];
	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	cow_begin(s->fs);
	for (i = 0; i < GATE_TEST_SLOTS; i++)
		f->slot[i].logged = false;
	if (!evict) {
		if (!breaks(s, GATE_TEST_BREAK_RAISE))
			share_gate_raise(&f->gate, f->last_transaction);
	} else if (breaks(s, GATE_TEST_BREAK_RELOAD)) {
		share_gate_init(&f->gate);
	} else {
		share_gate_reloaded(&f->gate, f->last_transaction);
	}
	cow_end(s->fs);
	mutex_unlock(&f->lock);
	return 0;
}

/* --- a crash ------------------------------------------------------------- */

static void replay_slot(struct gate_test *s, const struct slot *slot,
			struct gate_test_crash *crash)
{
	unsigned int i;

	/* checksums of older extents are in the committed tree */
	if (slot->generation != cow_running(s->fs))
		return;
	for (i = 0; i < slot->nr; i++) {
		crash->checked++;
		if (gate_test_has_csum(s, slot->place + i))
			crash->sum += csum(slot->place + i);
		else
			crash->missing++;
	}
}

/* The caller excludes all other operations. Drop what was not logged, then commit. */
int gate_test_crash(struct gate_test *s, struct gate_test_crash *crash)
{
	unsigned int i, k;

	*crash = (struct gate_test_crash){ };
	for (i = 0; i < s->setup.files; i++) {
		struct test_file *f = &s->file[i];
		bool logged = f->logged_in == cow_running(s->fs);

		for (k = 0; logged && k < GATE_TEST_SLOTS; k++)
			replay_slot(s, &f->logged[k], crash);
		memcpy(f->slot, logged ? f->logged : f->committed, sizeof(f->slot));
		share_gate_reloaded(&f->gate, f->last_transaction);
	}
	return gate_test_commit(s);
}

/* --- setup --------------------------------------------------------------- */

void gate_test_tear_down(struct gate_test *s)
{
	if (s->fs)
		cow_fs_destroy(s->fs);
	s->fs = NULL;
	kvfree(s->file);
	s->file = NULL;
}

int gate_test_set_up(struct gate_test *s, const struct gate_test_setup *setup)
{
	struct cow_params params = { .max_blocks = 60000, .lock_type = setup->lock_type };
	unsigned int i;
	int ret = -ENOMEM;

	if (setup->mode >= GATE_TEST_NR_MODES || !setup->files ||
	    setup->files > GATE_TEST_MAX_FILES ||
	    setup->broken & ~GATE_TEST_BREAKS ||
	    (setup->lock_type != LOCK_TEST_RWSEM && setup->lock_type != LOCK_TEST_F2FS &&
	     setup->lock_type != LOCK_TEST_UNFAIR))
		return -EINVAL;
	if (s->fs)
		return -EBUSY;
	s->setup = *setup;
	for (i = 0; i < GATE_TEST_RANGES; i++)
		mutex_init(&s->range_lock[i]);
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
		gate_test_tear_down(s);
	return ret;
}
