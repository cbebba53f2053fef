# SPDX-License-Identifier: GPL-2.0
# fails: commit_root unknown_is_not_eligible
# A generation that is not known is taken for an old one.
/^static inline void commit_gen_add/,/^}/ s/gen->unknown = true/gen->unknown = false/
