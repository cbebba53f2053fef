# SPDX-License-Identifier: GPL-2.0
# fails: observability who_holds_up_the_writer
# No wait is long.
/^bool __unfair_rwsem_watch/,/^}/ s/if \(after && w && .*\) \{/if (false) {/
