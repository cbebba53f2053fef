# SPDX-License-Identifier: GPL-2.0
# For the Kbuild file of a driver that uses fscommit; it needs this line and no other:
#
#	include /usr/share/fscommit/fscommit.mk
#
# The headers of the kernel come first: where it has one of ours, its own is taken. The
# symbols are those of the module for the very kernel that the driver is built for; they
# come from `make install-headers`, or from DKMS (/var/lib/fscommit), and FSCOMMIT_SYMVERS=
# names others.

fscommit-prefix := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
FSCOMMIT_SYMVERS ?= $(firstword $(wildcard \
	$(fscommit-prefix)/share/fscommit/$(KERNELRELEASE)/Module.symvers \
	/var/lib/fscommit/$(KERNELRELEASE)/Module.symvers))

# without symbols, modpost would let the driver be built and the kernel refuse it
ifeq ($(FSCOMMIT_SYMVERS),)
$(error fscommit is not installed for Linux $(KERNELRELEASE): no Module.symvers in \
$(fscommit-prefix)/share/fscommit or /var/lib/fscommit)
endif

subdir-ccflags-y += -I$(fscommit-prefix)/include/fscommit
KBUILD_EXTRA_SYMBOLS += $(FSCOMMIT_SYMVERS)
