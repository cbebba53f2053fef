# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite exit_within_a_section
# What a task leaves open that dies within a section is not looked at.
s/if \(s->task->exit_state\)/if (false)/
