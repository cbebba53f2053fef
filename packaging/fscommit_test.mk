# SPDX-License-Identifier: GPL-2.0
# Installed as the Makefile of fscommit_test, the module that ckptlat(8) measures. Copy the folder,
# and run make there. KDIR= names another kernel than the running one.

ifneq ($(KERNELRELEASE),)
obj-m := fscommit_test.o
fscommit_test-y := fscommit_test_main.o misuse.o

include $(or $(FSCOMMIT_MK),/usr/share/fscommit/fscommit.mk)
else
KDIR ?= /lib/modules/$(shell uname -r)/build

all modules modules_install clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(if $(filter all,$@),modules,$@)

.PHONY: all modules modules_install clean
endif
