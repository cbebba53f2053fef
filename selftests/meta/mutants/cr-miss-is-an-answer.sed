# SPDX-License-Identifier: GPL-2.0
# fails: commit_root miss_is_no_answer
# What is not in the committed tree is nowhere.
/^int commit_root_search/,/^}/ s/if \(ret != -ENOENT \|\|/if (ret != -ENOENT || s->committed ||/
