// SPDX-License-Identifier: GPL-2.0
/*
 * The log of the toy filesystem: items (first block, blocks) that must not overlap.
 */
#include "share_gate_test_internal.h"

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

/* Delete the items in leaves before that of @last. */
static int delete_elsewhere(struct gate_test *s, u64 from, u64 first, u64 last)
{
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

/* An item that ends before @first is reinserted: the caller has locked the extent. */
static int delete_items(struct gate_test *s, u64 first, u64 last)
{
	u64 from = start_of_extent(first), end = last, key, length;

	for (;;) {
		int ret = cow_delete_last(&s->log, from, end, &key, &length);

		if (ret == -EAGAIN)
			return delete_elsewhere(s, from, first, end);
		if (ret == -ENOENT)
			return 0;
		if (ret)
			return ret;
		if (key + length > first)
			atomic64_inc(&s->deleted);
		ret = put_rest_back(s, key, length, first, last);
		/* no earlier item overlaps */
		if (ret || key <= first)
			return ret;
		end = key - 1;
	}
}

/* The range lock: each section locks one whole extent. */
static struct mutex *mutex_of(struct gate_test *s, u64 first)
{
	return &s->range_lock[first / GATE_TEST_BLOCKS % GATE_TEST_RANGES];
}

static int lock_extent(void *s, u64 first, u64 last, void *private)
{
	return mutex_lock_killable(mutex_of(s, first));
}

static void unlock_extent(void *s, u64 first, u64 last, void *private)
{
	mutex_unlock(mutex_of(s, first));
}

static const struct share_gate_ops extent_lock_ops = { lock_extent, unlock_extent };

/*
 * Log @slot, an extent of the running generation, within a transaction. Lock the whole extent:
 * an overlapping item may extend beyond the slot.
 */
int gate_test_log_slot(struct gate_test *s, struct share_gate *gate, const struct slot *slot)
{
	u64 first = slot->place, last = first + slot->nr - 1;
	u64 start = start_of_extent(first), end = start + GATE_TEST_BLOCKS - 1;
	struct share_gate_section section;
	int ret;

	switch (s->setup.mode) {
	case GATE_TEST_ALWAYS:
		ret = lock_extent(s, start, end, NULL);
		if (ret)
			return ret;
		atomic64_inc(&s->locked);
		ret = delete_items(s, first, last) ?: cow_insert(&s->log, first, slot->nr);
		unlock_extent(s, start, end, NULL);
		return ret;
	case GATE_TEST_NEVER:
		return cow_insert(&s->log, first, slot->nr);
	}
	ret = share_gate_enter(&section, gate, cow_running(s->fs), &extent_lock_ops, s, NULL, start,
			       end);
	if (ret < 0)
		return ret;
	atomic64_inc(ret == SHARE_GATE_LOCKED ? &s->locked : &s->skipped);
	ret = ret == SHARE_GATE_LOCKED ? delete_items(s, first, last) : 0;
	ret = ret ?: cow_insert(&s->log, first, slot->nr);
	share_gate_exit(&section);
	return ret;
}

/* Look in the last item that begins at or before @block. */
bool gate_test_has_csum(struct gate_test *s, u64 block)
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
