# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite exit_within_a_section
# The section of a task that has exited goes on.
s/if \(e->task->exit_state\)/if (false)/
