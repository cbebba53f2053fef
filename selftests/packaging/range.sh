# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Which kernels are refused, and by what message; and that the headers count, not the version.
# Sourced by run.sh.
#
# Seen failing: all, with the module and port.sh of a tree without module/kernels.

# build VARIABLE=VALUE...: build the module against the headers in $work
build()
{
	in_kernel 6.12 "$work" "make -C $work/root/usr/src/*-amd64 M=$work/tree W=1 $* modules" 2>&1
}

# says REGEX VARIABLE=VALUE...: the build fails and says why
says()
{
	refused build "${@:2}" >"$work/said"
	cat "$work/said"
	grep -E "$1" "$work/said"
}

kernel_refused()
{
	says 'for Linux 6\.1, .*, not for 6\.0\.19' KERNELVERSION=6.0.19
	says 'for Linux 6\.1, .*, not for 6\.3\.2' KERNELVERSION=6.3.2 UNTRIED=1
	says 'for Linux .*, not for 7\.99\.0; UNTRIED=1' KERNELVERSION=7.99.0
	says 'needs CONFIG_SMP' CONFIG_SMP=
	says 'needs CONFIG_RT_MUTEXES' CONFIG_RT_MUTEXES=
	says 'run make LLVM=1' CONFIG_CC_IS_CLANG=y
}

# Builds with headers with later interfaces; and from a kernel that none has tried.
backports()
{
	build KERNELVERSION=7.99.0 UNTRIED=1
	grep -P '\tunfair_rwsem_expedite\t.*\tFSCOMMIT$' "$work/tree/Module.symvers"
	rm "$work"/root/usr/src/*-common/include/linux/cleanup.h
	says 'needs <linux/cleanup.h>: upgrade Linux 6\.12'
}

# port.sh looks at the version first
port_range()
{
	refused "$TOP/ports/port.sh" btrfs 6.1 >"$work/said" 2>&1
	cat "$work/said"
	grep 'btrfs is for Linux 6\.12-.*, not for 6\.1\.' "$work/said"
}

range()
{
	local work=$CACHE/build/range src name
	"$SCRIPTS/kernel.sh" get 6.12 >/dev/null
	rm -rf "$work"
	mkdir -p "$work"
	copy_installable "$work/tree"
	cp -r "$CACHE/kernels/6.12/root" "$work/"
	src=$work/root/usr/src
	sed -i "s:^include .*\(/linux-headers-\):include $src\1:" "$src"/*-amd64/Makefile
	# namespaces become strings, and hrtimer_setup() replaces hrtimer_init()
	sed -i 's/__stringify(ns))$/ns)/' "$src"/*-common/include/linux/{export,module}.h
	# shellcheck disable=SC2016 # $ is the last line
	sed -i -e '$i static inline void hrtimer_setup(struct hrtimer *t, void *f, int clock, int mode)' \
		-e '$i { hrtimer_init(t, clock, mode); t->function = f; }' \
		-e '$i #define hrtimer_init(...) this_kernel_has_none' \
		"$src"/*-common/include/linux/hrtimer.h
	for name in kernel_refused backports port_range; do
		check 6.12 "$name" "$name"
	done
}
