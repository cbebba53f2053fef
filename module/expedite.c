// SPDX-License-Identifier: GPL-2.0
/*
 * Expedited sections: a committer lends to the readers of a lock although it waits for something
 * else. The caller provides the storage. The name follows rcu_expedite_gp().
 *
 * Most sections are short and need no loan. So a section begins in a list of new sections and does
 * not touch the semaphore. A timer wakes the watcher if a section is older than a period, and its
 * task blocked, or older than two. The watcher activates the section: from then on all readers are
 * visible, and the watcher looks at them. Active sections are in one tree, sorted by semaphore,
 * then by level: the sections of a semaphore are neighbours, the highest one first.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rbtree.h>

#include "expedite.h"
#include "internal.h"
#include "lend.h"
#include "stats.h"
#include "visible_readers.h"
#include "watcher.h"

/* Sections that expedite_look() or due_in() visits in one call. */
#define EXPEDITE_CHUNK	32
/* Pause of the timer after such a call, in ns, for other interrupts. */
#define CHUNK_PAUSE	20000U
/* Sections that become active in one pass of the watcher. */
#define ACTIVATE_MAX	256
/* Of due_in(): it must be called again. No time is as long. */
#define VISIT_MORE	(U64_MAX - 1)
/*
 * How late the timer of new sections may be, in lend periods. On a CPU whose tick comes within that
 * time it needs no interrupt of its own, and runs with the last tick that is not too late.
 */
#define SLACK_PERIODS	4

/* Protects all variables below; nests within any wait_lock. */
static DEFINE_RAW_SPINLOCK(expedite_lock);
/* By since. */
static LIST_HEAD(new_sections);
static struct hrtimer section_timer;
/* False: there are no new sections, and the timer is not queued. */
static bool section_timer_armed;
static struct rb_root active_sections;
/* A section that is no longer new and not yet active. */
static struct unfair_section *activating;

#define to_section(n)	rb_entry_safe(n, struct unfair_section, node)

static bool section_before(struct rb_node *na, const struct rb_node *nb)
{
	const struct unfair_section *a = to_section(na), *b = to_section((struct rb_node *)nb);

	if (a->sem != b->sem)
		return a->sem < b->sem;
	if (a->level != b->level)
		return a->level > b->level;
	return a->since < b->since;
}

/* The active section of @sem with the highest level. */
static struct unfair_section *first_section(const struct unfair_rwsem *sem)
{
	struct rb_node *n = active_sections.rb_node;
	struct unfair_section *first = NULL;

	lockdep_assert_held(&expedite_lock);
	while (n) {
		struct unfair_section *s = to_section(n);

		if (s->sem == sem)
			first = s;
		n = s->sem >= sem ? n->rb_left : n->rb_right;
	}
	return first;
}

/* The highest level of the active sections of @sem; 0: nothing. Called under wait_lock. */
u8 expedite_level(const struct unfair_rwsem *sem)
{
	struct unfair_section *s;
	u8 level = 0;

	if (!sem->expedited)
		return level;
	raw_spin_lock(&expedite_lock);
	s = first_section(sem);
	if (s)
		level = s->level;
	raw_spin_unlock(&expedite_lock);
	return level;
}

/* The watch of an active section of @sem, or NULL. Called under wait_lock, so it is not freed. */
struct unfair_watch *expedite_watch(const struct unfair_rwsem *sem)
{
	struct unfair_section *s;

	raw_spin_lock(&expedite_lock);
	s = first_section(sem);
	raw_spin_unlock(&expedite_lock);
	return s ? &s->watch : NULL;
}

/**
 * expedite_look() - lend the committers of a semaphore the levels that they lend
 * @sem: the semaphore, with at least one active section
 * @look: the look that begins; gets the cgroup of the sections
 * @work: for the caller to apply
 *
 * Without it, the readers that a committer lends to could keep it off its CPU.
 *
 * Context: under wait_lock, the watcher.
 * Return: true if @work has no room for a holder and its links, or after LEND_STEP_LINKS links.
 */
bool expedite_look(struct unfair_rwsem *sem, struct look *look, struct lend_work *work)
{
	struct unfair_section *s, *next;
	bool on = lend_is_on(sem);
	u64 now = ktime_get_ns();
	unsigned int i;

	raw_spin_lock(&expedite_lock);
	s = first_section(sem);
	look->group = s ? compat_task_group(s->task) : NULL;
	look->static_prio = MAX_PRIO;
	for (i = 0; i < EXPEDITE_CHUNK && work->nr < LEND_WORK_MAX; i++) {
		if (!s || s->sem != sem || look->links >= LEND_STEP_LINKS)
			break;
		next = to_section(rb_next(&s->node));
		if (s->real_time || compat_task_group(s->task) != look->group)
			look->group = NULL;
		look->static_prio = min(look->static_prio, READ_ONCE(s->task->static_prio));
		if (s->since != now) {
			lend_to_expediter(sem, s->task, on ? s->level : 0, look, work);
			/* behind its equals: the next look begins with others */
			rb_erase(&s->node, &active_sections);
			s->since = now;
			rb_add(&s->node, &active_sections, section_before);
		}
		s = next;
	}
	/* of the others nothing is known */
	if (s && s->sem == sem && s->since != now)
		look->group = NULL;
	raw_spin_unlock(&expedite_lock);
	return work->nr + 1 + LEND_MAX_LINKS > LEND_WORK_MAX || look->links >= LEND_STEP_LINKS;
}

/*
 * A task that is not blocked waits for no reader, unless it loops. While it is preempted, tasks
 * with a loan may be what keeps it off its CPU.
 */
static bool must_put_off(const struct unfair_section *s)
{
	if (s->put_off || !task_is_running(s->task))
		return false;
	return owner_on_cpu(s->task) || !lend_to_others();
}

/*
 * The time from @now on until the first new section must be activated, in ns; U64_MAX: there is
 * none; VISIT_MORE: unknown. Puts off by a period those whose tasks are not blocked.
 */
static u64 due_in(u64 now)
{
	unsigned int i;

	lockdep_assert_held(&expedite_lock);
	for (i = 0; i < EXPEDITE_CHUNK; i++) {
		struct unfair_section *s = list_first_entry_or_null(&new_sections,
							  struct unfair_section, entry);
		u64 due;

		if (!s)
			return U64_MAX;
		due = s->since + lend_period_ns();
		if (due > now)
			return due - now;
		if (!must_put_off(s))
			return 0;
		s->put_off = true;
		s->since = ktime_get_ns();
		list_move_tail(&s->entry, &new_sections);
	}
	return VISIT_MORE;
}

static void start_section_timer(u64 in)
{
	u64 slack = SLACK_PERIODS * lend_period_ns();

	if (in == VISIT_MORE) {
		in = CHUNK_PAUSE;
		slack = 0;
	}
	in = min(in, MAX_INTERVAL);
	hrtimer_start_range_ns(&section_timer, ns_to_ktime(in), min(slack, MAX_INTERVAL - in),
			       HRTIMER_MODE_REL_HARD);
}

static enum hrtimer_restart section_timeout(struct hrtimer *timer)
{
	u64 in;

	/* do not spin here while tasks begin and end sections, or the watcher looks at some */
	if (!raw_spin_trylock(&expedite_lock)) {
		start_section_timer(VISIT_MORE);
		return HRTIMER_NORESTART;
	}
	in = due_in(ktime_get_ns());
	section_timer_armed = in != U64_MAX;
	if (!in)
		watcher_activate();
	if (section_timer_armed)
		start_section_timer(in ?: lend_period_ns());
	raw_spin_unlock(&expedite_lock);
	return HRTIMER_NORESTART;
}

/*
 * Makes the first section active that is due. While @activating is set, the section does not
 * end, so @sem is not freed. Returns the semaphore, with wait_lock held; NULL if there is none.
 */
static struct unfair_rwsem *activate_next(u64 now, struct unfair_section **next,
					  unsigned long *irqflags)
	__fsc_unchecked
{
	struct unfair_rwsem *sem;
	struct unfair_section *s;

	raw_spin_lock_irqsave(&expedite_lock, *irqflags);
	if (due_in(now)) {
		raw_spin_unlock_irqrestore(&expedite_lock, *irqflags);
		return NULL;
	}
	s = list_first_entry(&new_sections, struct unfair_section, entry);
	list_del_init(&s->entry);
	activating = s;
	raw_spin_unlock(&expedite_lock);
	sem = s->sem;
	raw_spin_lock(&sem->wait_lock);
	raw_spin_lock(&expedite_lock);
	rb_add(&s->node, &active_sections, section_before);
	activating = NULL;
	raw_spin_unlock(&expedite_lock);
	*next = s;
	return sem;
}

/**
 * expedite_activate() - activate the sections that are due, ACTIVATE_MAX at most
 *
 * The timer asks for the others: users choose how many there are, and the watcher has a CPU for
 * itself.
 *
 * Context: the watcher, without locks.
 */
void expedite_activate(void)
	__fsc_unchecked
{
	u64 now = ktime_get_ns();
	struct unfair_section *s;
	struct unfair_rwsem *sem;
	unsigned long irqflags;
	unsigned int nr = 0;

	while (nr < ACTIVATE_MAX && (sem = activate_next(now, &s, &irqflags))) {
		nr++;
		sem->expedited = 1;
		/*
		 * From here on, all readers are visible and acquire wait_lock to release. LENT
		 * comes first: while it is in the word, no reader sets BIAS again.
		 */
		lend_announce(sem);
		visible_readers_revoke_bias(sem);
		if (!sem->watch)
			watcher_add(sem, &s->watch);
		/* the caller is the watcher */
		watcher_look_now(sem);
		count_event(sem, EV_ACTIVATED);
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		lend_pause();
	}
}

/* Begins a section. Context: any but NMI. */
void expedite_begin(struct unfair_section *s)
{
	unsigned long irqflags;

	INIT_LIST_HEAD(&s->entry);
	RB_CLEAR_NODE(&s->node);
	raw_spin_lock_irqsave(&expedite_lock, irqflags);
	list_add_tail(&s->entry, &new_sections);
	if (!section_timer_armed) {
		section_timer_armed = true;
		start_section_timer(lend_period_ns());
	}
	raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
}

/**
 * expedite_end() - end a section that may be new
 * @s: the section
 *
 * Context: any but NMI; not under wait_lock, which the watcher may wait for meanwhile.
 * Return: true if the section is active: the caller must call expedite_deactivate().
 */
bool expedite_end(struct unfair_section *s)
{
	unsigned long irqflags;
	bool active;

	raw_spin_lock_irqsave(&expedite_lock, irqflags);
	/* the watcher has interrupts off, and waits for wait_lock only */
	while (activating == s) {
		raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
		cpu_relax();
		raw_spin_lock_irqsave(&expedite_lock, irqflags);
	}
	list_del(&s->entry);
	active = !RB_EMPTY_NODE(&s->node);
	raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
	return active;
}

/* Ends an active section. Context: under wait_lock. */
void expedite_deactivate(struct unfair_section *s)
{
	raw_spin_lock(&expedite_lock);
	rb_erase(&s->node, &active_sections);
	s->sem->expedited = !!first_section(s->sem);
	raw_spin_unlock(&expedite_lock);
}

void __init expedite_init(void)
{
	compat_hrtimer_setup(&section_timer, section_timeout, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_HARD);
}

/* No section is open. */
void expedite_exit(void)
{
	hrtimer_cancel(&section_timer);
}
