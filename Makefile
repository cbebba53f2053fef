# SPDX-License-Identifier: GPL-2.0
# The front door. `make help` says what there is; Kbuild is for the kernel's build.

KDIR ?= /lib/modules/$(shell uname -r)/build
H := selftests/harness
PORTS := $(patsubst ports/%/options,%,$(wildcard ports/*/options))

# where `make install-headers` puts things; DESTDIR= goes before it
PREFIX ?= /usr/local
INSTALL_MOD_DIR ?= updates
DEPMOD ?= $(or $(shell PATH=$$PATH:/sbin:/usr/sbin command -v depmod),true)

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
	@echo '  make install          the module, into /lib/modules/.../updates (INSTALL_MOD_PATH=,'
	@echo '                        INSTALL_MOD_DIR=, INSTALL_MOD_STRIP= honoured)'
	@echo '  make install-headers  for drivers: headers, and the symbols for KDIR, into'
	@echo '                        $$(DESTDIR)PREFIX=$(PREFIX)'
	@echo '  make uninstall        both of it, as it was installed'
	@echo '  make deb              Debian packages for DKMS and for drivers, into out/'
	@echo 'For filesystems'
	@echo '  make FS KERNEL=K      that kernel'"'"'s own driver on fscommit, by semantic patch; FS is one'
	@echo '                        of: $(PORTS); or with KSRC= and KDIR= for a source and a'
	@echo '                        build folder of yours; ports/port.sh FS'
	@echo '                        lists the options'
	@echo '  make crash-FS         f2fs, btrfs: crashes at POINTS=100 of a workload, nothing is lost'
	@echo '  make stress-FS        fio, fsx, stress-ng, freeze, remount, shutdown on KERNEL=uml-debug'
	@echo 'For developers'
	@echo '  make test-arch        32-bit x86 and arm64: builds, and the tests under emulation; 8 min'
	@echo '  make coverage         which lines of module/ the tests run (HTML=1: with pages)'
	@echo '  make fuzz             the test devices, parameters and debugfs, for DURATION=600 s'
	@echo '  make torture          unfair_torture for DURATION=600 s on KERNEL=uml-debug'
	@echo '  make test-debug       all tests, and DURATION=600 s of torture, on x86-64 kernels with KASAN,'
	@echo '                        lockdep, kmemleak; with KCSAN; with PREEMPT_RT and lockdep (KERNEL=)'
	@echo '  make test-faults      allocations that fail, signals, freezer, OOM, load and unload'
	@echo '  make test-scale       2, 16 and 64 CPUs, 1,000 readers, 100,000 locks, against rw_semaphore;'
	@echo '                        40 min; GUEST=uml or GUEST=6.12:16 is one guest, in 2 to 4'
	@echo '  make bench            the figures of the lock, the parts and f2fs, with plots and a report'
	@echo '  make bench-PART       of these: locks, csum, diff, share, reuse, f2fs, btrfs (see bench.sh)'
	@echo '  make test-meta        every mutant of the product must fail its test'
	@echo '  make test-points      the lock with random delays: torture, its tests, and mutants of one'
	@echo '                        line; named, or those of FUNCTION=, or FUNCTION=all (3 h)'
	@echo '  make verify           models of the module, and litmus tests of its barriers; 15 min'
	@echo '  make verify-quick     those that make test runs; under a minute'
	@echo '  make test-package     the packages, installed, upgraded and removed in a Debian chroot;'
	@echo '                        drivers built from what is installed; signing'
	@echo '  make lint             checkpatch, sparse, coccicheck, kernel-doc, shellcheck and more'
	@echo '  make docs             the documents as a site, in docs/_build/html'
	@echo '  make upstream KSRC=D  puts the parts into the kernel tree D; UNDO=1 takes them out'
	@echo '  make test-upstream    that, built in and booted, on Linux 7.3 as User-Mode Linux'
	@echo '  make test-clang       built by clang for each kernel, and its context analysis'
	@echo '  make kernels          fetch and build all kernels of the matrix'
	@echo '  make clean            what a build leaves in this folder'
	@echo 'Kernels, compilers and logs are in $${XDG_CACHE_HOME:-~/.cache}/fscommit;'
	@echo 'FSCOMMIT_CACHE= puts them elsewhere, DEBIAN_MIRROR= overrides apt'"'"'s mirror.'

check-kdir:
	@[ -e '$(KDIR)/Makefile' ] || { \
		echo 'error: no kernel to build for in KDIR=$(KDIR)' >&2; \
		echo 'It wants the folder of a configured kernel: the headers of the running one,' >&2; \
		echo 'as the package linux-headers-$(shell uname -r) has them, or a build folder.' >&2; \
		exit 1; }

module: check-kdir
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

# As the modules of that kernel name it. Not what include/config/kernel.release says, nor its
# target kernelrelease: with Debian's headers of 6.1 that is the upstream version.
release = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' '$(KDIR)/include/generated/utsrelease.h')
modules = $(INSTALL_MOD_PATH)/lib/modules/$(release)

# The kernel's own modules_install leaves depmod out where the headers have no System.map.
install: modules_install

modules_install: module
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) modules_install
	$(DEPMOD) $(if $(INSTALL_MOD_PATH),-b '$(INSTALL_MOD_PATH)') $(release)

install-headers: module
	@packaging/headers.sh install '$(release)' '$(DESTDIR)' '$(PREFIX)'

uninstall: check-kdir
	rm -f $(modules)/$(INSTALL_MOD_DIR)/module/fscommit.ko*
	@rmdir $(modules)/$(INSTALL_MOD_DIR)/module $(modules)/$(INSTALL_MOD_DIR) 2>/dev/null || :
	[ ! -d $(modules) ] || $(DEPMOD) $(if $(INSTALL_MOD_PATH),-b '$(INSTALL_MOD_PATH)') $(release)
	@packaging/headers.sh uninstall '$(release)' '$(DESTDIR)' '$(PREFIX)'

deb:
	@packaging/deb.sh out

demo:
	@$(H)/demo.sh

test:
	@$(H)/run.sh $(KERNEL)

test-arch:
	@$(H)/run.sh $$(awk '!/^#/ && $$8 != "" { print $$1 }' $(H)/matrix)

coverage:
	@selftests/coverage/coverage.sh $(if $(HTML),--html)

fuzz:
	@selftests/robust/fuzz/fuzz.sh $(or $(DURATION),600)

torture:
	@$(H)/torture.sh $(or $(KERNEL),uml-debug) $(or $(DURATION),600) $(TORTURE_ARGS)

test-debug:
	@DURATION=$(or $(DURATION),600) $(H)/run.sh $(or $(KERNEL),x86-debug x86-kcsan x86-rt-debug)

test-faults:
	@selftests/robust/run.sh all $(KERNEL)

test-scale:
	@selftests/scale/run.sh $(GUEST)

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

test-package:
	@selftests/packaging/run.sh all

test-meta:
	@selftests/mutants/run.sh all

test-points:
	@selftests/mutants/one_line.sh torture $(or $(DURATION),120)
	@selftests/mutants/one_line.sh tests
	@selftests/mutants/one_line.sh $(or $(FUNCTION),named)

verify:
	@selftests/models/run.sh all

verify-quick:
	@selftests/models/run.sh quick

lint:
	@FRESH=1 selftests/lint/run.sh all

docs:
	@docs/build.sh

upstream:
	@upstream/upstream.sh $(if $(UNDO),undo) $(KSRC)

test-upstream:
	@selftests/upstream/run.sh

test-clang:
	@selftests/clang/run.sh $(if $(KERNEL),build $(KERNEL),all)

kernels:
	@for k in $$(awk '!/^#/ && NF && $$7 != "-" { print $$1 }' $(H)/matrix); do $(H)/kernel.sh get $$k || exit 1; done

# a folder with patches each: the variables of the command line are the options
$(PORTS):
	@ports/port.sh $@ $(MAKEOVERRIDES)

clean:
	@find module selftests ports . -maxdepth 3 \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name 'modules.order' -o -name 'Module.symvers' \
		-o -name '.module-common*' \) -delete
	@rm -rf out docs/_build

.PHONY: all help module check-kdir install modules_install install-headers uninstall deb \
	test-package demo test torture bench bench-btrfs test-meta verify verify-quick lint docs \
	kernels clean test-arch $(PORTS) coverage fuzz test-debug test-points test-faults test-clang upstream \
	test-upstream test-scale
endif
