# SPDX-License-Identifier: GPL-2.0
# Targets for users and developers, see `make help`. The kernel's build uses Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build
H := selftests/harness
PORTS := $(patsubst ports/%/options,%,$(wildcard ports/*/options))

# the destination of `make install-headers` and `install-tools`, below DESTDIR
PREFIX ?= /usr/local
INSTALL_MOD_DIR ?= updates
DEPMOD ?= $(or $(shell PATH=$$PATH:/sbin:/usr/sbin command -v depmod),true)

# A kernel build that includes this folder sets KERNELRELEASE.
ifneq ($(KERNELRELEASE),)
obj-m := module/
else

# for messages
export FSCOMMIT_GOAL := $(MAKECMDGOALS)

all: module

help:
	@echo 'make demo             a stock kernel in a VM: readers against a checkpoint writer  1-3 min'
	@echo 'make test             the module on stock 6.12 and 7.3, static checks                3 min'
	@echo 'make test TEST=T      one test, like g4_bounded_bypass or model:lock-2r2w       20-80 s'
	@echo 'make kselftest        the tests on the running kernel, as root; TARGETS=, TEST=       4 min'
	@echo 'make                  fscommit.ko for KDIR=$(KDIR)'
	@echo 'make f2fs KERNEL=K    the f2fs of a kernel on fscommit; also: $(PORTS)'
	@echo 'make help-all         everything else, with the time that it takes'

# Times are for two cores with the kernels in the cache. The first use fetches or builds them.
help-all: help
	@echo
	@echo 'Installing'
	@echo '  make install          the module, into /lib/modules/.../updates (INSTALL_MOD_PATH=,'
	@echo '                        INSTALL_MOD_DIR=, INSTALL_MOD_STRIP= are honoured)'
	@echo '  make install-headers  headers, and the symbols for KDIR, into $$(DESTDIR)PREFIX=$(PREFIX)'
	@echo '  make install-tools    fscommit-top, -check, -bug-report and ckptlat, with manuals; the same'
	@echo '  make uninstall        removes all of it; uninstall-tools only these, and needs no KDIR'
	@echo '  make deb              Debian packages: module, f2fs, headers, tools; into out/    1 min'
	@echo '  make dist             source tarball of a commit and its SBOM; into out/           10 s'
	@echo '  make dist-FS KERNEL=K that of a ported driver, to build without spatch           2 min'
	@echo '  make upstream KSRC=D  the parts as code of the kernel tree D; UNDO=1 removes them  5 s'
	@echo 'Filesystems (FS: $(PORTS))'
	@echo '  make FS KSRC= KDIR=   the driver of your own kernel; ports/port.sh FS lists options'
	@echo '  make install-FS       that driver for each boot of this kernel; uninstall-FS        1 min'
	@echo '  make crash-FS         f2fs, btrfs, nilfs2, xfs: crashes at POINTS=100 of a load  10 min'
	@echo '  make stress-FS        f2fs, btrfs, xfs: fio, stress-ng, freeze, full disk     10 min'
	@echo 'Tests'
	@echo '  make test KERNEL=K    one of the kernels of scripts/matrix                         2-5 min'
	@echo '  make test-all         on seven kernels, the filesystems, models, mutants          25 min'
	@echo '  make test-rest        what test-all has beyond make test                          20 min'
	@echo '  make test-arch        32-bit x86 and arm64, under emulation                        8 min'
	@echo '  make test-debug       KASAN, lockdep, kmemleak; KCSAN; PREEMPT_RT with lockdep    45 min'
	@echo '  make test-faults      failing allocations, signals, freezer, OOM, load and unload 20 min'
	@echo '  make test-scale       2, 16 and 64 CPUs, 1,000 readers; GUEST=uml or 6.12:16      40 min'
	@echo '  make test-meta        every mutant of the module must fail its tests                1 h'
	@echo '  make test-package     packages in Debian chroots, root on f2fs, power cuts        30 min'
	@echo '  make test-upstream    the parts built into Linux 7.3, booted                       5 min'
	@echo '  make test-clang       built by clang: context analysis; CFI of a kernel and f2fs  15 min'
	@echo '  make test-newest      builds for the newest kernels in Debian, to experimental    20 min'
	@echo '  make verify           models and litmus tests; verify-quick: some of them    15 / 3 min'
	@echo '  make coverage         which lines of module/ the tests run                        5 min'
	@echo '  make torture          the lock under random loads for DURATION=600 s'
	@echo '  make lint             checkpatch, sparse, kernel-doc, shellcheck and more          5 min'
	@echo 'Figures and documents'
	@echo '  make bench-PART       locks, csum, diff, share, f2fs, btrfs, xfs, harm: tables 5-30 min'
	@echo '  make bench-apps       databases, fio, ... on FS=f2fs or btrfs                          2 h'
	@echo '  make figures          measure the tables of the documents anew; TABLE= some of them   13 h'
	@echo '  make figures QUICK=1  which of the tables no longer hold?                              1 h'
	@echo '  make docs             the documents as a site, in docs/_build/html                30 s'
	@echo '  make container        TARGET=test in Debian 12, by podman or docker: for other distributions'
	@echo '  make kernels, clean   fetch and build all kernels; remove what builds leave here'
	@echo 'Kernels, compilers and logs are in $${XDG_CACHE_HOME:-~/.cache}/fscommit;'
	@echo 'FSCOMMIT_CACHE= puts them elsewhere, DEBIAN_MIRROR= overrides the mirror of apt.'

check-kdir:
	@[ -e '$(KDIR)/Makefile' ] || { \
		echo 'error: no kernel to build for in KDIR=$(KDIR)' >&2; \
		echo 'It wants the folder of a configured kernel: a build folder, or the headers of the' >&2; \
		echo 'running one: the package linux-headers-$(shell uname -r) of Debian, kernel-devel of' >&2; \
		echo 'Fedora, linux-headers of Arch, kernel-default-devel of openSUSE.' >&2; \
		exit 1; }

# a kernel that clang built needs clang
llvm = $(if $(LLVM)$(filter command,$(origin CC)),,$(shell \
	grep -qs '^CONFIG_CC_IS_CLANG=y' '$(KDIR)/include/config/auto.conf' && echo LLVM=1))

module: check-kdir
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(llvm) modules

# The release that the kernel's modules use. With Debian's headers of 6.1,
# include/config/kernel.release and `make kernelrelease` give the upstream version instead.
release = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' '$(KDIR)/include/generated/utsrelease.h')
modules = $(INSTALL_MOD_PATH)/lib/modules/$(release)

# The kernel's modules_install skips depmod if the headers have no System.map.
install: modules_install

# modprobe uses one of two modules of the same name, in Debian 12 that of install-FS, so that a new
# one would have no effect; and a driver only loads with the fscommit that it was built with.
check-other: check-kdir
	@other=$$(find '$(modules)' -name 'fscommit.ko*' 2>/dev/null | \
		grep -vF '$(modules)/$(INSTALL_MOD_DIR)/module/' | head -n 1); \
	[ -n "$$other" ] || exit 0; \
	echo "error: $$other is another fscommit, and a kernel can have one." >&2; \
	case $$other in \
	*/updates/fscommit/*) \
		for f in $$(cd "$${other%/*}" && ls | sed -n 's/\.ko.*//p' | grep -vx fscommit); do \
			echo "It came with $$f. To replace both, run: make install-$$f;" \
				"to remove both: make uninstall-$$f" >&2; \
		done ;; \
	esac; \
	echo "If it is of a package, like fscommit-module, remove that first" >&2; exit 1

modules_install: check-other module
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(llvm) INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) modules_install
	$(DEPMOD) $(if $(INSTALL_MOD_PATH),-b '$(INSTALL_MOD_PATH)') $(release)

install-headers: module
	@packaging/headers.sh install '$(release)' '$(DESTDIR)' '$(PREFIX)'

# The compiler is that of the machine, not that of the kernel.
install-tools:
	@packaging/tools.sh build
	@packaging/tools.sh install '$(DESTDIR)' '$(PREFIX)'

uninstall-tools:
	@packaging/tools.sh uninstall '$(DESTDIR)' '$(PREFIX)'

uninstall: check-kdir uninstall-tools
	rm -f $(modules)/$(INSTALL_MOD_DIR)/module/fscommit.ko*
	@rmdir $(modules)/$(INSTALL_MOD_DIR)/module $(modules)/$(INSTALL_MOD_DIR) 2>/dev/null || :
	[ ! -d $(modules) ] || $(DEPMOD) $(if $(INSTALL_MOD_PATH),-b '$(INSTALL_MOD_PATH)') $(release)
	@packaging/headers.sh uninstall '$(release)' '$(DESTDIR)' '$(PREFIX)'

deb:
	@packaging/deb.sh out

dist:
	@packaging/dist.sh out

$(PORTS:%=dist-%): dist-%:
	@packaging/dist.sh out $* $(MAKEOVERRIDES)

demo:
	@$(H)/demo.sh

test check:
	@$(if $(TEST),$(H)/one.sh '$(TEST)' $(KERNEL),$(H)/run.sh $(or $(KERNEL),first))

kselftest:
	@selftests/kselftest.sh run

test-all:
	@$(H)/run.sh all

test-rest:
	@$(H)/run.sh rest

test-arch:
	@$(H)/run.sh $$(awk '!/^#/ && $$8 != "" { print $$1 }' scripts/matrix)

coverage:
	@selftests/coverage/coverage.sh

torture:
	@$(H)/torture.sh $(or $(KERNEL),uml-debug) $(or $(DURATION),600) $(TORTURE_ARGS)

test-debug:
	@DURATION=$(or $(DURATION),600) $(H)/run.sh $(or $(KERNEL),x86-debug x86-kcsan x86-rt-debug)

test-faults:
	@selftests/faults/run.sh all $(KERNEL)

test-scale:
	@selftests/scale/run.sh $(GUEST)

bench-%:
	@selftests/bench/bench.sh $*

figures:
	@selftests/bench/publish.sh $(TABLE)

crash-%:
	@selftests/filesystems/crash/crash.sh $* $(or $(KERNEL),uml)

stress-%:
	@selftests/filesystems/stress/stress.sh $* $(or $(KERNEL),uml-debug)

test-package:
	@selftests/packaging/run.sh all

test-meta:
	@selftests/mutants/run.sh all

verify:
	@selftests/models/run.sh all

verify-quick:
	@selftests/models/run.sh quick

lint:
	@selftests/lint/run.sh all

docs:
	@docs/build.sh

upstream:
	@upstream/upstream.sh $(if $(UNDO),undo) $(KSRC)

test-upstream:
	@selftests/upstream/run.sh

test-clang:
	@selftests/clang/run.sh all

# The container has a cache of its own in the user's, because its files may be root's.
ENGINE ?= $(firstword $(foreach e,podman docker,$(if $(shell command -v $e),$e)))
CACHE = $(or $(FSCOMMIT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fscommit)/container
container:
	@[ -n '$(ENGINE)' ] || { echo 'error: make container needs podman or docker' >&2; exit 1; }
	$(ENGINE) build -t fscommit -f packaging/Containerfile packaging
	mkdir -p '$(CACHE)'
	$(ENGINE) run --rm --privileged --tmpfs /dev/shm:rw,exec -e FSCOMMIT_CACHE='$(CACHE)' \
		-v '$(CACHE):$(CACHE)' -v '$(CURDIR):$(CURDIR)' -w '$(CURDIR)' fscommit \
		make $(or $(TARGET),test) $(filter-out TARGET=% ENGINE=% FSCOMMIT_CACHE=%,$(MAKEOVERRIDES))

test-newest:
	@$(H)/newest.sh

kernels:
	@for k in $$(awk '!/^#/ && NF && $$7 != "-" { print $$1 }' scripts/matrix); do scripts/kernel.sh get $$k || exit 1; done

# one folder of patches each; the variables on the command line are the options
$(PORTS):
	@ports/port.sh $@ $(MAKEOVERRIDES)

$(PORTS:%=install-%): install-%:
	@packaging/driver.sh install $* $(MAKEOVERRIDES)

$(PORTS:%=uninstall-%): uninstall-%:
	@packaging/driver.sh uninstall $* $(MAKEOVERRIDES)

clean:
	@find module selftests ports . -maxdepth 3 \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name 'modules.order' -o -name 'Module.symvers' \
		-o -name '.module-common*' \) -delete
	@rm -rf out docs/_build

.PHONY: kselftest check all help help-all module check-kdir check-other install modules_install install-headers install-tools \
	uninstall uninstall-tools deb dist $(PORTS:%=dist-%) \
	test-package demo test test-all test-rest torture figures \
	test-meta verify verify-quick lint docs \
	container kernels clean test-arch $(PORTS) coverage test-debug test-faults test-clang test-newest upstream \
	test-upstream test-scale $(PORTS:%=install-%) $(PORTS:%=uninstall-%)
endif
