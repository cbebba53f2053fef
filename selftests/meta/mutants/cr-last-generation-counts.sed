# SPDX-License-Identifier: GPL-2.0
# fails: commit_root by_the_maximum
# A request goes by the first generation that was added.
/^static inline void commit_gen_add/,/^}/ s/!gen->max \|\| fs_generation_after\(generation, gen->max\)/!gen->max/
