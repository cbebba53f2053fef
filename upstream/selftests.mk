# SPDX-License-Identifier: GPL-2.0
# Each program loads the modules of CONFIG_FSCOMMIT_TEST that it needs, and needs root for it.

CFLAGS += -O2 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-clobbered -I.. -pthread \
	  -Ilib $(patsubst %,-I%,$(wildcard */module))

SUITES := commit_root cow_diff rcu_reuse share_gate
TEST_GEN_PROGS := $(patsubst %.c,%,$(wildcard unfair_rwsem/*.c)) $(foreach s,$(SUITES),$(s)/$(s))

include ../lib.mk

$(TEST_GEN_PROGS): $(OUTPUT)/%: %.c $(wildcard */*.h */*/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<
