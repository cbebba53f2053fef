# SPDX-License-Identifier: GPL-2.0
# Six of eight allocations for a commit fail, also those with __GFP_NOFAIL; the other two follow each
# other. Mount, which may fail, uses GFP_KERNEL: its allocations succeed. The parameter
# failed_allocations counts.
/^static struct commit_roots \*new_roots\(/i\
static unsigned int failed_allocations;\
module_param(failed_allocations, uint, 0400);\
\
static bool fails(gfp_t gfp)\
{\
	static atomic_t nr;\
\
	if (gfp \& __GFP_FS || atomic_inc_return(\&nr) % 8 >= 6)\
		return false;\
	failed_allocations++;\
	return true;\
}\

/^static struct commit_roots \*new_roots\(/,/^}/ {
	s/= kzalloc\(/= fails(gfp) ? NULL : kzalloc(/
	s/= kvcalloc\(/= fails(gfp) ? NULL : kvcalloc(/
}
