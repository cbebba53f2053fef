# SPDX-License-Identifier: GPL-2.0
# The front door. `make help` says what there is; Kbuild is for the kernel's build.

KDIR ?= /lib/modules/$(shell uname -r)/build
H := selftests/harness
PORTS := $(patsubst selftests/filesystems/%/options,%,$(wildcard selftests/filesystems/*/options))

# A product built as part of a kernel build comes here with KERNELRELEASE set.
ifneq ($(KERNELRELEASE),)
obj-m := module/
else

all: module

help:
	@echo 'For users'
	@echo '  make demo             stock kernel in a VM, readers against a checkpoint writer'
	@echo '  make test             build and test on every kernel of the matrix'
	@echo '  make test KERNEL=K    on one: $(shell awk '!/^#/ && NF { printf "%s ", $$1 }' $(H)/matrix)'
	@echo '  make                  build fscommit.ko for KDIR=$(KDIR)'
	@echo '  make install          into /lib/modules/.../updates (INSTALL_MOD_PATH= honoured)'
	@echo 'For filesystems'
	@echo '  make FS KERNEL=K      that kernel'"'"'s own driver on fscommit, by semantic patch; FS is one'
	@echo '                        of: $(PORTS); or with KSRC= and KDIR= for a source and a'
	@echo '                        build folder of yours; selftests/filesystems/port.sh FS'
	@echo '                        lists the options'
	@echo '  make crash-FS         f2fs, btrfs: crashes at POINTS=100 of a workload, nothing is lost'
	@echo '  make stress-FS        fio, fsx, stress-ng, freeze, remount, shutdown on KERNEL=uml-debug'
	@echo 'For developers'
	@echo '  make torture          unfair_torture for DURATION=600 s on KERNEL=uml-debug'
	@echo '  make bench            every figure of the documents, with plots and a report'
	@echo '  make bench-PART       of these: locks, csum, diff, share, reuse, f2fs, btrfs (see bench.sh)'
	@echo '  make test-meta        every mutant of the product must fail its test'
	@echo '  make verify           models of the module, and litmus tests of its barriers; 10 min'
	@echo '  make verify-quick     those that make test runs; under a minute'
	@echo '  make lint             checkpatch, sparse, coccicheck, kernel-doc, shellcheck and more'
	@echo '  make docs             the documents as a site, in docs/_build/html'
	@echo '  make kernels          fetch and build all kernels of the matrix'
	@echo '  make clean            what a build leaves in this folder'
	@echo 'Kernels, compilers and logs are in $${XDG_CACHE_HOME:-~/.cache}/fscommit;'
	@echo 'FSCOMMIT_CACHE= puts them elsewhere, DEBIAN_MIRROR= overrides apt'"'"'s mirror.'

module:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

install: module
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=updates modules_install

demo:
	@$(H)/demo.sh

test:
	@$(H)/run.sh $(KERNEL)

torture:
	@$(H)/torture.sh $(or $(KERNEL),uml-debug) $(or $(DURATION),600) $(TORTURE_ARGS)

bench:
	@selftests/bench/bench.sh

bench-btrfs:
	@selftests/bench/btrfs.sh

bench-%:
	@selftests/bench/bench.sh $*

crash-%:
	@selftests/filesystems/crash/crash.sh $* $(or $(KERNEL),uml)

stress-%:
	@selftests/filesystems/stress/stress.sh $* $(or $(KERNEL),uml-debug)

test-meta:
	@selftests/meta/run.sh all

verify:
	@selftests/models/run.sh all

verify-quick:
	@selftests/models/run.sh quick

lint:
	@FRESH=1 selftests/lint/run.sh all

docs:
	@docs/build.sh

kernels:
	@for k in $$(awk '!/^#/ && NF && $$7 != "-" { print $$1 }' $(H)/matrix); do $(H)/kernel.sh get $$k || exit 1; done

# a folder with patches each: the variables of the command line are the options
$(PORTS):
	@selftests/filesystems/port.sh $@ $(MAKEOVERRIDES)

clean:
	@find module selftests/test_modules . -maxdepth 1 \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name 'modules.order' -o -name 'Module.symvers' \
		-o -name '.module-common*' \) -delete
	@rm -rf out docs/_build

.PHONY: all help module install demo test torture bench bench-btrfs test-meta verify verify-quick lint docs kernels clean $(PORTS)
endif
