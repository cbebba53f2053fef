// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/share_gate_test: a toy filesystem, see share_gate_test.h. As the rules of share_gate.h
 * demand, a share holds the locks of both files and an fsync that of its file.
 */
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/share_gate.h>
#include <linux/slab.h>

#include "cow_tree.h"
#include "fscommit_test.h"
#include "share_gate_test.h"
#include "test_device.h"

#define NR_RANGES	4096

/* A part of an extent; nr == 0: an empty slot. */
struct slot {
	u64	place;		/* of the first block of the part */
	u32	nr;
	bool	logged;		/* its current content is logged or committed */
	u64	generation;	/* in which the extent was written */
};

struct test_file {
	struct mutex		lock;		/* excludes shares and fsyncs */
	struct share_gate	gate;
	u64			last_transaction;
	u64			logged_in;	/* generation */
	struct slot		slot[GATE_TEST_SLOTS];
	struct slot		logged[GATE_TEST_SLOTS];
	struct slot		committed[GATE_TEST_SLOTS];
};

struct gate_test {
	struct gate_test_setup	setup;
	struct rw_semaphore	life;		/* written by setup and a crash; outermost */
	struct mutex		lock;		/* commits */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		log, next_log;
	struct mutex		range_lock[NR_RANGES];	/* of extents, by place */
	struct test_file	*file;
	atomic64_t		next_place;
	atomic64_t		skipped, locked, deleted;
};

/* --- the log: items (first block, blocks) that must not overlap -------------- */

/* The items that begin in the blocks of an extent, and their lengths. */
struct items {
	u64		length[GATE_TEST_BLOCKS];
	unsigned long	found[BITS_TO_LONGS(GATE_TEST_BLOCKS)];
};

static u64 start_of_extent(u64 block)
{
	return block / GATE_TEST_BLOCKS * GATE_TEST_BLOCKS;
}

static void find_items(struct gate_test *s, u64 first, unsigned int nr, struct items *items)
{
	struct cow_range range = { first, nr, items->length, items->found };

	memset(items->found, 0, sizeof(items->found));
	cow_search_live(&s->log, &range);
}

/* Reinsert what a deleted item covered outside @first to @last. */
static int put_rest_back(struct gate_test *s, u64 key, u64 length, u64 first, u64 last)
{
	int ret = 0;

	if (key < first)
		ret = cow_insert(&s->log, key, min(length, first - key));
	if (!ret && key + length - 1 > last)
		ret = cow_insert(&s->log, max(key, last + 1), key + length - max(key, last + 1));
	return ret;
}

/* An item that ends before @first stays. */
static int delete_items(struct gate_test *s, u64 first, u64 last)
{
	u64 from = start_of_extent(first);
	struct items items;
	unsigned int i;
	int ret = 0;

	find_items(s, from, last - from + 1, &items);
	for (i = 0; i <= last - from && !ret; i++) {
		if (!test_bit(i, items.found) || from + i + items.length[i] <= first)
			continue;
		atomic64_inc(&s->deleted);
		ret = cow_delete(&s->log, from + i);
		ret = ret ?: put_rest_back(s, from + i, items.length[i], first, last);
	}
	return ret;
}

/* The range lock is that of a whole extent. */
static struct mutex *mutex_of(struct gate_test *s, u64 first)
{
	return &s->range_lock[first / GATE_TEST_BLOCKS % NR_RANGES];
}

/*
 * Log @slot, an extent of the running generation, within a transaction. Lock the whole extent:
 * an overlapping item may extend beyond the slot.
 */
static int log_slot(struct gate_test *s, struct share_gate *gate, const struct slot *slot)
{
	u64 first = slot->place, last = first + slot->nr - 1;
	struct mutex *range = mutex_of(s, first);
	bool lock = s->setup.mode == GATE_TEST_ALWAYS ||
		    (s->setup.mode == GATE_TEST_GATE &&
		     share_gate_may_be_shared(gate, cow_running(s->fs)));
	int ret;

	if (!lock) {
		atomic64_inc(&s->skipped);
		return cow_insert(&s->log, first, slot->nr);
	}
	if (mutex_lock_killable(range))
		return -EINTR;
	atomic64_inc(&s->locked);
	ret = delete_items(s, first, last) ?: cow_insert(&s->log, first, slot->nr);
	mutex_unlock(range);
	return ret;
}

/* Look in the last item that begins at or before @block. */
static bool has_csum(struct gate_test *s, u64 block)
{
	u64 from = start_of_extent(block);
	struct items items;
	unsigned int i;

	find_items(s, from, block - from + 1, &items);
	for (i = block - from + 1; i--; )
		if (test_bit(i, items.found))
			return from + i + items.length[i] > block;
	return false;
}

/* --- files --------------------------------------------------------------- */

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

static int commit(struct gate_test *s)
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
	u64 running = cow_running(s->fs), seen = share_gate_log_begin(&f->gate);
	unsigned int i;
	int ret = 0;

	if (breaks(s, GATE_TEST_BREAK_CLEAR))
		share_gate_log_end(&f->gate, seen);
	for (i = 0; i < GATE_TEST_SLOTS && !ret; i++) {
		struct slot *slot = &f->slot[i];

		if (slot->logged)
			continue;
		if (slot->nr && slot->generation == running)
			ret = log_slot(s, &f->gate, slot);
		slot->logged = !ret;
	}
	if (ret)
		return ret;
	memcpy(f->logged, f->slot, sizeof(f->slot));
	f->logged_in = running;
	share_gate_log_end(&f->gate, seen);
	return 0;
}

static int fsync_file(struct gate_test *s, u32 file)
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

static int write_slot(struct gate_test *s, const struct gate_test_slot *at, bool fsync)
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

static int clone(struct gate_test *s, const struct gate_test_clone *c)
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
		if (slot.generation == cow_running(s->fs) && !breaks(s, GATE_TEST_BREAK_SOURCE))
			share_gate_mark(&from->gate, cow_running(s->fs));
		if (!breaks(s, GATE_TEST_BREAK_DESTINATION))
			share_gate_mark(&to->gate, cow_running(s->fs));
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
static int forget_logged(struct gate_test *s, u32 file, bool evict)
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
	if (evict)
		share_gate_init(&f->gate);
	if (!breaks(s, evict ? GATE_TEST_BREAK_RELOAD : GATE_TEST_BREAK_FULL))
		share_gate_mark(&f->gate, f->last_transaction);
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
		crash->missing += !has_csum(s, slot->place + i);
	}
}

/* The caller excludes all other operations. Drop what was not logged, then commit. */
static int crash(struct gate_test *s, struct gate_test_crash *result)
{
	unsigned int i, k;

	*result = (struct gate_test_crash){ };
	for (i = 0; i < s->setup.files; i++) {
		struct test_file *f = &s->file[i];
		bool logged = f->logged_in == cow_running(s->fs);

		for (k = 0; logged && k < GATE_TEST_SLOTS; k++)
			replay_slot(s, &f->logged[k], result);
		memcpy(f->slot, logged ? f->logged : f->committed, sizeof(f->slot));
		share_gate_init(&f->gate);
		share_gate_mark(&f->gate, f->last_transaction);
	}
	return commit(s);
}

/* --- setup --------------------------------------------------------------- */

static void tear_down(struct gate_test *s)
{
	if (s->fs)
		cow_fs_destroy(s->fs);
	s->fs = NULL;
	kvfree(s->file);
	s->file = NULL;
}

static int set_up(struct gate_test *s, const struct gate_test_setup *setup)
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
	for (i = 0; i < NR_RANGES; i++)
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
		tear_down(s);
	return ret;
}

/* --- the device ---------------------------------------------------------- */

union gate_test_args {
	struct gate_test_setup setup;
	struct gate_test_slot slot;
	struct gate_test_clone clone;
	struct gate_test_crash crash;
	struct gate_test_state state;
	u32 number;
};

static int run_command(struct gate_test *s, unsigned int cmd, union gate_test_args *a)
{
	int ret;

	if (cmd == GATE_TEST_SETUP)
		return set_up(s, &a->setup);
	if (!s->fs)
		return -ENXIO;
	switch (cmd) {
	case GATE_TEST_CRASH:
		return crash(s, &a->crash);
	case GATE_TEST_COMMIT:
		mutex_lock(&s->lock);
		ret = commit(s);
		mutex_unlock(&s->lock);
		return ret;
	case GATE_TEST_WRITE:
	case GATE_TEST_WRITE_FSYNC:
		return write_slot(s, &a->slot, cmd == GATE_TEST_WRITE_FSYNC);
	case GATE_TEST_CLONE:
		return clone(s, &a->clone);
	case GATE_TEST_FSYNC:
		return fsync_file(s, a->number);
	case GATE_TEST_FULL:
	case GATE_TEST_EVICT:
		return forget_logged(s, a->number, cmd == GATE_TEST_EVICT);
	case GATE_TEST_STATE:
		a->state.skipped = atomic64_read(&s->skipped);
		a->state.locked = atomic64_read(&s->locked);
		a->state.deleted = atomic64_read(&s->deleted);
		return 0;
	}
	return -ENOTTY;
}

static int gate_test_run(void *object, unsigned int cmd, void *args)
{
	bool alone = cmd == GATE_TEST_SETUP || cmd == GATE_TEST_CRASH;
	union gate_test_args *a = args;
	struct gate_test *s = object;
	int ret;

	if (cmd == GATE_TEST_CONTRACT)
		return gate_test_contract(a->number);
	ret = alone ? down_write_killable(&s->life) : down_read_killable(&s->life);
	if (ret)
		return ret;
	ret = run_command(s, cmd, a);
	if (alone)
		up_write(&s->life);
	else
		up_read(&s->life);
	return ret;
}

static int gate_test_open(void **object)
{
	struct gate_test *s = kvzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->lock);
	init_rwsem(&s->life);
	*object = s;
	return 0;
}

static void gate_test_release(void *object)
{
	tear_down(object);
	kvfree(object);
}

TEST_DEVICE(share_gate_test, gate_test_open, gate_test_release, gate_test_run,
	    union gate_test_args);

MODULE_DESCRIPTION("Tests of the share gate on a log of checksums");
MODULE_LICENSE("GPL");
