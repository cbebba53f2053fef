# SPDX-License-Identifier: GPL-2.0
# For the Kbuild file of a driver that uses fscommit. The file only needs this line:
#
#	include PREFIX/share/fscommit/fscommit.mk
#
# PREFIX is /usr for the package fscommit-dev, /usr/local for `make install-headers`.
# The kernel's own headers come first, so that a kernel that has fscommit uses its own copy.
# The symbols must be those of the module for the same kernel. `make install-headers` or DKMS
# (in /var/lib/fscommit) provides them; FSCOMMIT_SYMVERS= names another file.

fscommit-prefix := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
FSCOMMIT_SYMVERS ?= $(firstword $(wildcard \
	$(fscommit-prefix)/share/fscommit/$(KERNELRELEASE)/Module.symvers \
	/var/lib/fscommit/$(KERNELRELEASE)/Module.symvers))

# without symbols the build would succeed, but the kernel would refuse the driver
ifeq ($(FSCOMMIT_SYMVERS),)
$(error fscommit is not installed for Linux $(KERNELRELEASE): no Module.symvers in \
$(fscommit-prefix)/share/fscommit or /var/lib/fscommit)
endif

subdir-ccflags-y += -I$(fscommit-prefix)/include/fscommit
KBUILD_EXTRA_SYMBOLS += $(FSCOMMIT_SYMVERS)
