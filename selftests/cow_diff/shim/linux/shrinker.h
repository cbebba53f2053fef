/* SPDX-License-Identifier: GPL-2.0 */
/* For module/compat.h in userspace, where nothing has a shrinker: see userspace.h. */
#ifndef SHIM_SHRINKER_H
#define SHIM_SHRINKER_H

struct shrink_control;

struct shrinker {
	unsigned long (*count_objects)(struct shrinker *s, struct shrink_control *sc);
	unsigned long (*scan_objects)(struct shrinker *s, struct shrink_control *sc);
	void *private_data;
};

#define typeof_member(type, member)	__typeof__(((type *)0)->member)

static inline struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...)
{
	return 0;
}

static inline void shrinker_register(struct shrinker *s) { }
static inline void shrinker_free(struct shrinker *s) { }

#endif /* SHIM_SHRINKER_H */
