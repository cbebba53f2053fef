// SPDX-License-Identifier: GPL-2.0
/*
 * Damage to the copy-on-write tree of the tests: see cow_diff_corrupt.h.
 */
#include "cow_diff_corrupt.h"

/* Marsaglia's xorshift64*. */
u64 cow_random(struct cow_random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1dULL;
}

/* The upper half has the better bits; 32-bit kernels lack a 64-bit division. */
u64 cow_random_below(struct cow_random *r, u64 n)
{
	return (u32)(cow_random(r) >> 32) % (u32)n;
}

u64 cow_bad_value(struct cow_random *r, u64 v)
{
	switch (cow_random_below(r, 6)) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v ^ 1ULL << cow_random_below(r, 64);
	case 3:
		return 0;
	case 4:
		return cow_random_below(r, 100);
	default:
		return cow_random(r);
	}
}

void cow_corrupt(struct cow_random *r, const struct cow_fs *fs, struct cow_block *b)
{
	const unsigned int room = sizeof(b->ptr) / sizeof(b->ptr[0]);
	struct cow_ptr *p = &b->ptr[cow_random_below(r, min(b->nr + 1U, room))];

	switch (cow_random_below(r, 8)) {
	case 0:
		b->generation = cow_bad_value(r, b->generation);
		break;
	case 1:
		b->level = cow_bad_value(r, b->level);
		break;
	case 2:
		b->nr = cow_bad_value(r, b->nr);
		break;
	case 3:
		p->key = cow_bad_value(r, p->key);
		break;
	case 4:
		p->generation = cow_bad_value(r, p->generation);
		break;
	case 5:
		p->block = cow_bad_value(r, p->block);
		break;
	case 6:
		/* any existing block: makes loops and duplicate subtrees */
		p->block = 1 + cow_random_below(r, fs->nr_blocks);
		if (cow_random_below(r, 2))
			p->generation = data_of(fs, p->block)->generation;
		break;
	default:
		*p = b->ptr[cow_random_below(r, room)];
	}
}
