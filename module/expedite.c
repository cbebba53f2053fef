// SPDX-License-Identifier: GPL-2.0
/*
 * Expedited sections: a committer lends to the readers of a lock although it waits for something
 * else. The caller provides the storage. The name follows rcu_expedite_gp().
 *
 * Most sections are short and need no loan. So a section begins in a list of new sections and does
 * not touch the semaphore. A timer wakes the watcher if a section is older than a period, and its
 * task blocked. The watcher activates the section: from then on all readers are visible, and the
 * watcher looks at them. Active sections are in one tree, sorted by semaphore, then by level: the
 * sections of a semaphore are neighbours, the highest one first.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rbtree.h>

#include "chain.h"
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
 * Return: true if @work has no room for a holder and its links, or after STEP_LINKS links.
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
		if (!s || s->sem != sem || look->links >= STEP_LINKS)
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
	return work->nr + 1 + CHAIN_MAX_LINKS > LEND_WORK_MAX || look->links >= STEP_LINKS;
}

/*
 * A task that is not blocked waits for no reader, unless it loops. While it is preempted, tasks
 * with a loan may be what keeps it off its CPU.
 */
static bool must_put_off(const struct unfair_section *s)
{
	if (s->put_off || !task_is_running(s->task))
		return false;
	return compat_on_cpu(s->task) || !lend_to_others();
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
		lend_watcher_activate();
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
			lend_watch_start(sem, &s->watch);
		/* the caller is the watcher */
		lend_watch_now(sem, &(struct wakes){ });
		count_event(sem, EV_ACTIVATED);
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		lend_watcher_pause();
	}
}

/*
 * Removes a section from the new ones. Called and returns under expedite_lock, which it may drop.
 * Returns whether the section is active.
 */
static bool remove_section(struct unfair_section *s, unsigned long *irqflags)
	__fsc_must_hold(&expedite_lock)
{
	/* the watcher has interrupts off, and waits for wait_lock only */
	while (activating == s) {
		raw_spin_unlock_irqrestore(&expedite_lock, *irqflags);
		cpu_relax();
		raw_spin_lock_irqsave(&expedite_lock, *irqflags);
	}
	list_del(&s->entry);
	return !RB_EMPTY_NODE(&s->node);
}

/* Ends the loan of the section's task. The loans to readers end as leases. */
static void deactivate_section(struct unfair_section *s)
{
	struct unfair_rwsem *sem = s->sem;
	struct wakes wakes = { };
	unsigned long irqflags;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	raw_spin_lock(&expedite_lock);
	rb_erase(&s->node, &active_sections);
	sem->expedited = !!first_section(sem);
	raw_spin_unlock(&expedite_lock);
	wakes.loan = lend_end(sem, true);
	__unfair_rwsem_end_section(sem, &s->watch);
	__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
}

/**
 * unfair_rwsem_expedite() - lend to the readers of a semaphore without waiting for it
 * @sem: the semaphore; the caller does not hold it, or holds it for reading
 * @section: storage for the section, until unfair_rwsem_unexpedite() has returned
 *
 * For a commit that may wait for a folio or a mutex that a reader of @sem owns. The section takes
 * effect one to six times lend_period_us later. If the caller is not blocked when it is first due,
 * it takes effect up to twelve times lend_period_us after it began; either is later if the watcher
 * is busy. From then on until unfair_rwsem_unexpedite(), each task that holds @sem for reading and
 * is not on a CPU is lent the caller's level, again each time it is preempted. Not a reader of
 * the caller's cgroup with the same or a better nice value, unless the caller is a real-time task:
 * it competes for the CPU as the caller does. While any task is lent to, the caller is lent its own
 * level, too, so that it can run beside that. A section that ends earlier lends nothing. Sections
 * nest, and any number of tasks may expedite the same semaphore.
 *
 * Context: process context; may sleep. The same task must end the section, before it exits.
 */
void unfair_rwsem_expedite(struct unfair_rwsem *sem, struct unfair_section *section)
{
	unsigned long irqflags;

	might_sleep();
	*section = (struct unfair_section) {
		.sem = sem,
		.task = current,
		.level = lend_own_level(current),
		.real_time = READ_ONCE(current->normal_prio) < MAX_RT_PRIO,
		.since = ktime_get_ns(),
	};
	INIT_LIST_HEAD(&section->entry);
	RB_CLEAR_NODE(&section->node);
	count_event(sem, EV_EXPEDITED);
	if (!section->level)
		return;
	raw_spin_lock_irqsave(&expedite_lock, irqflags);
	list_add_tail(&section->entry, &new_sections);
	if (!section_timer_armed) {
		section_timer_armed = true;
		start_section_timer(lend_period_ns());
	}
	raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_expedite);

/**
 * unfair_rwsem_unexpedite() - end an expedited section
 * @section: of unfair_rwsem_expedite(), by the same task; its semaphore may be freed when this
 *	returns
 *
 * A call for a section that has not begun, and is all zero, or that has ended already, warns once
 * and does nothing.
 *
 * Context: process context; may sleep.
 */
void unfair_rwsem_unexpedite(struct unfair_section *section)
{
	unsigned long irqflags;
	bool active;

	might_sleep();
	if (WARN_ONCE(!section->sem, "fscommit: %s() by %s[%d] of a section that has not begun\n",
		      __func__, current->comm, task_pid_nr(current)))
		return;
	raw_spin_lock_irqsave(&expedite_lock, irqflags);
	active = remove_section(section, &irqflags);
	raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
	if (active)
		deactivate_section(section);
	section->sem = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_unexpedite);

void expedite_init(void)
{
	compat_hrtimer_setup(&section_timer, section_timeout, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_HARD);
}

/* No section is open. */
void expedite_exit(void)
{
	hrtimer_cancel(&section_timer);
}
