/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the RCU reuse queue share. For them, and main.c.
 */
#ifndef _FSCOMMIT_RCU_REUSE_LISTS_H
#define _FSCOMMIT_RCU_REUSE_LISTS_H

#include <linux/rcu_reuse.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

struct dentry;

enum rcu_reuse_event {
	REUSE_ENQUEUE,
	REUSE_REFUSED,		/* the queue was full */
	REUSE_DEQUEUE,
	REUSE_NONE,		/* dequeues that had nothing ready */
	REUSE_BATCH,		/* batches that were closed */
	REUSE_START,		/* grace periods that were asked for */
	REUSE_HAND_OVER,	/* objects from another CPU */
	/* why objects were released, in the order of enum rcu_reuse_why */
	REUSE_OVER,
	REUSE_AGE,
	REUSE_SHRINK,
	REUSE_DRAIN,
	NR_REUSE_EVENTS,
};

/* First in, first out. */
struct reuse_segment {
	struct rcu_reuse_head	*first, *last;
	unsigned int		nr;
	unsigned long		cookie;		/* of those that wait */
};

/* Different cookies that have not passed: this grace period's, and the next one's. */
#define REUSE_WAITING	2

/* All under the lock, which any CPU may take. */
struct rcu_reuse_list {
	raw_spinlock_t		lock;
	int			cpu;
	unsigned int		nr;		/* of all segments */
	unsigned int		nr_waiting;	/* segments */
	struct reuse_segment	open;		/* no cookie yet */
	struct reuse_segment	waiting[REUSE_WAITING];
	struct reuse_segment	ready;
	unsigned int		room;		/* for so many more */
	unsigned int		over;		/* objects for which there was none */
	unsigned int		aged;		/* the first ones of ready: since last time */
	unsigned long		next_age;	/* jiffies */
	int			last_asked;	/* CPU, for a hand-over */
	unsigned long		counts[NR_REUSE_EVENTS];
} ____cacheline_aligned_in_smp;

/* The last one's next: not NULL, which says that an object is in no queue. */
extern struct rcu_reuse_head rcu_reuse_end;

static inline void reuse_append(struct reuse_segment *to, struct rcu_reuse_head *head)
{
	head->next = &rcu_reuse_end;
	if (to->nr++)
		to->last->next = head;
	else
		to->first = head;
	to->last = head;
}

static inline struct rcu_reuse_head *reuse_pop(struct reuse_segment *from)
{
	struct rcu_reuse_head *head = from->first;

	from->first = head->next;
	from->nr--;
	head->next = NULL;
	return head;
}

static inline void reuse_splice(struct reuse_segment *from, struct reuse_segment *to)
{
	if (!from->nr)
		return;
	if (to->nr)
		to->last->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
	to->nr += from->nr;
	from->nr = 0;
}

/* Takes one out of ready. */
static inline struct rcu_reuse_head *reuse_take(struct rcu_reuse_list *l)
{
	l->nr--;
	if (l->aged)
		l->aged--;
	return reuse_pop(&l->ready);
}

static inline unsigned long reuse_cookie(const struct rcu_reuse_queue *q)
{
	return q->params.srcu ? get_state_synchronize_srcu(q->params.srcu) :
				get_state_synchronize_rcu();
}

static inline bool reuse_passed(const struct rcu_reuse_queue *q, unsigned long cookie)
{
	return q->params.srcu ? poll_state_synchronize_srcu(q->params.srcu, cookie) :
				poll_state_synchronize_rcu(cookie);
}

/*
 * Without the lock: how many there were a moment ago. Who counts has the lock, and does so by
 * plain accesses; whoever asks here looks again under it, or wants a sum that is old anyway.
 */
static inline unsigned int reuse_nr(const struct rcu_reuse_list *l)
{
	return data_race(READ_ONCE(l->nr));
}

/* What the worker does next; a higher one replaces a lower one. */
enum { PACE_STOPPED, PACE_SLOW, PACE_FAST };

static inline int reuse_pace(const struct rcu_reuse_list *l)
{
	return l->over ? PACE_FAST : l->nr ? PACE_SLOW : PACE_STOPPED;
}

/* rcu_reuse.c; the first two, and the room, under the lock */
void reuse_poll(const struct rcu_reuse_queue *q, struct rcu_reuse_list *l);
bool reuse_close(const struct rcu_reuse_queue *q, struct rcu_reuse_list *l);
void reuse_ask(struct rcu_reuse_queue *q);
void reuse_ask_work(struct work_struct *work);
void reuse_trim_room(struct rcu_reuse_queue *q, struct rcu_reuse_list *l, unsigned int left);
void reuse_give_room(struct rcu_reuse_queue *q, struct rcu_reuse_list *l, unsigned int nr);
unsigned long reuse_jiffies(const struct rcu_reuse_queue *q, int pace);
void reuse_set_pace(struct rcu_reuse_queue *q, int pace);

/* For debugfs. */
void list_queue(struct rcu_reuse_queue *q);
void unlist_queue(struct rcu_reuse_queue *q);
void init_rcu_reuse_debugfs(struct dentry *dir);

int init_rcu_reuse(struct dentry *debugfs);
void exit_rcu_reuse(void);

#endif /* _FSCOMMIT_RCU_REUSE_LISTS_H */
