# SPDX-License-Identifier: GPL-2.0
# fails: commit_root the_oracle_finds_a_broken_rule
# A difference is not reported.
/^static void ask_oracle/,/^}/ s/if \(!s->ops->compare \|\|/if (true || !s->ops->compare ||/
