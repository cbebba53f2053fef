# SPDX-License-Identifier: GPL-2.0
# fails: commit_root refused_before_the_first_commit
# What is written in the running generation is said to be committed.
s/__commit_gen_within\(gen, atomic64_read\(&set->running\) - 1\)/__commit_gen_within(gen, atomic64_read(\&set->running))/
