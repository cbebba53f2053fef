# SPDX-License-Identifier: GPL-2.0
# Needs root, and the modules of CONFIG_FSCOMMIT_TEST loaded; see load.sh.

CFLAGS += -O2 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -I.. -pthread \
	  -Ilib $(patsubst %,-I%,$(wildcard */module))

SUITES := commit_root cow_diff rcu_reuse share_gate
TEST_PROGS := load.sh
TEST_GEN_PROGS := $(filter-out unfair_rwsem/misuse, \
	$(patsubst %.c,%,$(wildcard unfair_rwsem/*.c))) $(foreach s,$(SUITES),$(s)/$(s))
TEST_GEN_PROGS_EXTENDED := unfair_rwsem/misuse

include ../lib.mk

$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED): $(OUTPUT)/%: %.c $(wildcard */*.h */*/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<
