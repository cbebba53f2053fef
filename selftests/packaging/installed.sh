# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Runs `make install`, `make install-headers` and `make install-tools` into a folder. Then builds
# the example outside of the tree, only from the installed files, and uses it in a guest. Sourced by
# run.sh.
#
# Seen failing: example_builds, with the tree's own headers in fscommit.mk, and without a line that
# docs/convert.rst adds; no_symbols_no_driver, without the $(error) of fscommit.mk; tools_install,
# without a manual; ckptlat, with a wrong name of the device; uninstall, with an additional header;
# unloaded, without the atexit() of modules.h; other_headers_are_refused, without the reference in
# fscommit_abi.h; kselftest_folder, with Debian 12's compiler for 7.3.
# ckpt_cache_guest has the tests in the guest.

install_product()
{
	local m=$work/root/lib/modules/$release
	rm -rf "$work/root"
	copy_installable "$work/product"
	in_kernel "$kernel" "$work" "make -C $work/product KDIR=$kdir $arch W=1 PREFIX=/usr \
		INSTALL_MOD_PATH=$work/root DESTDIR=$work/root install install-headers" \
		>"$work/build.log" 2>&1 || { cat "$work/build.log"; return 1; }
	make -C "$work/product" PREFIX=/usr DESTDIR="$work/root" CFLAGS='-O2 -Wall -Werror' \
		install-tools
	# depmod does not find the kernel's own modules in that folder
	refused grep -P '(warning|WARNING):(?!.*pahole version)' \
		<(grep -v '^depmod:.*could not open' "$work/build.log")
	# some kernels compress modules; the guest needs plain ones
	case $(ls "$m/updates/module") in
	fscommit.ko) cp "$m/updates/module/fscommit.ko" "$work/" ;;
	fscommit.ko.xz) xz -dc "$m/updates/module/fscommit.ko.xz" >"$work/fscommit.ko" ;;
	*) find "$work/root"; return 1 ;;
	esac
	grep '^updates/module/fscommit.ko.*:' "$m/modules.dep"
	modinfo -F vermagic "$work/fscommit.ko" | grep "^$release "
	diff <(cd "$TOP/module/include/linux" && ls) \
		<(cd "$work/root/usr/include/fscommit/linux" && ls)
	grep -q 'unfair_rwsem_expedite.*FSCOMMIT' "$share/$release/Module.symvers"
}

# Builds the example in its own folder. It must use the installed headers, not those of the tree.
build_example()
{
	local used line
	rm -rf "$work/example"
	mkdir -p "$work/example"
	cp "$TOP"/docs/examples/ckpt_cache/{*.[ch],Kbuild,Makefile} "$work/example/"
	in_kernel "$kernel" "$work" \
		"make -C $work/example KDIR=$kdir $arch W=1 FSCOMMIT_MK=$share/fscommit.mk" \
		>"$work/example.log" 2>&1 || { cat "$work/example.log"; return 1; }
	refused grep -P '(warning|WARNING):(?!.*pahole version)' "$work/example.log"
	modinfo -F depends "$work/example/ckpt_cache.ko" | grep -x fscommit
	used=$(grep -ohE '[^ ]*/linux/(unfair_rwsem|commit_root)\.h' "$work"/example/.*.o.cmd |
		sort -u)
	echo "$used"
	[ "$used" ]
	refused grep -v "^$work/root/usr/include/fscommit/linux/" <<<"$used"
	# docs/convert.rst shows lines of the example
	sed -n 's/^\t+\t\?//p' "$TOP/docs/convert.rst" | while read -r line; do
		grep -F -e "$line" "$work"/example/{*.[ch],Kbuild} || { echo "no $line"; exit 1; }
	done
}

# Each program runs and has a manual.
tools_are_installed()
{
	local t
	for t in $tools; do
		[ "$("$work/root/usr/sbin/$t" --version)" = "$t $version" ]
		grep "Nm $t" "$work/root/usr/share/man/man8/$t.8"
	done
}

# Installs the product with an inline function changed, and builds the example from it, which must
# not link with what the first product installed.
other_headers()
{
	local first=$work symvers=$share/$release/Module.symvers work=$work/other h abi
	local share=$work/root/usr/share/fscommit
	rm -rf "$work"
	mkdir "$work"
	cp -a "$first/product" "$work/"
	h=$work/product/module/include/linux
	sed -i 's/__UNFAIR_ID_SHIFT ^ pid;/__UNFAIR_ID_SHIFT ^ ~pid;/' "$h/unfair_rwsem.h"
	abi=$("$TOP/packaging/versions.sh" "$work/product" | sed -n 's/.*FSCOMMIT_ABI must be //p')
	[ "$abi" ]
	sed -i "s/fscommit_abi_[0-9a-f]*/$abi/" "$h/fscommit_abi.h"
	in_kernel "$kernel" "$work" "make -C $work/product KDIR=$kdir $arch PREFIX=/usr \
		DESTDIR=$work/root install-headers"
	build_example
	refused in_kernel "$kernel" "$first" "make -C $work/example KDIR=$kdir $arch \
		FSCOMMIT_MK=$share/fscommit.mk FSCOMMIT_SYMVERS=$symvers" >"$work/said" 2>&1
	grep "$abi.*undefined" "$work/said"
	cp "$first/fscommit.ko" "$work/a-fscommit.ko"
	cp "$first/example/ckpt_cache.ko" "$work/a-ckpt_cache.ko"
	cp "$work/product/module/fscommit.ko" "$work/b-fscommit.ko"
	cp "$work/example/ckpt_cache.ko" "$work/b-ckpt_cache.ko"
}

run_example()
{
	local out=$LOGS/ckpt_cache-$kernel tree
	tree=$("$HARNESS/stage.sh" "$kernel") || exit 1
	# ckptlat fails unless it measures each lock
	run_guest "$kernel" "the example on $kernel" "20 s" "$out" \
		--timeout 1500 --with "$work/root/usr/sbin/ckptlat" "$kernel" "$out.plan" \
		"$work/fscommit.ko" "$tree/selftests/fscommit_test.ko" \
		"$work/example/ckpt_cache.ko" "$PACKAGING"/{ckpt_cache_guest,test_lib.sh} \
		"$work"/other/?-*.ko <<-END
		load fscommit
		test ckpt_cache 900 ckpt_cache_guest
		load fscommit_test
		test ckptlat 300 ckptlat -r 1 -D 0.2s -t 2 -B 1
		unload fscommit_test
		unload fscommit
		test other_headers_are_refused 60 cd /fscommit && for m in a b; do insmod \$m-fscommit.ko && for d in a b; do insmod \$d-ckpt_cache.ko path=/tmp/\$m && rmmod ckpt_cache && echo \$m\$d; done; rmmod fscommit; done >/tmp/pairs; [ "\$(echo \$(cat /tmp/pairs))" = "aa bb" ]
	END
}

# Without installed symbols for its kernel, the driver must not build.
no_symbols_no_driver()
{
	local rc=0
	mv "$share/$release" "$share/other"
	in_kernel "$kernel" "$work" \
		"make -C $work/example KDIR=$kdir $arch FSCOMMIT_MK=$share/fscommit.mk" \
		>"$work/no-symbols.log" 2>&1 || rc=$?
	mv "$share/other" "$share/$release"
	[ $rc -ne 0 ]
	grep "fscommit is not installed for Linux $release" "$work/no-symbols.log"
}

# Each target must report an empty KDIR before it does anything.
no_kdir_is_reported()
{
	local t
	for t in module install modules_install install-headers uninstall; do
		refused make -C "$work/product" "$t" KDIR="$work/nowhere" DESTDIR="$work/root" \
			INSTALL_MOD_PATH="$work/root" >"$work/said" 2>&1
		grep "error: no kernel to build for in KDIR=$work/nowhere" "$work/said"
	done
}

uninstall_product()
{
	in_kernel "$kernel" "$work" "make -C $work/product KDIR=$kdir $arch \
		INSTALL_MOD_PATH=$work/root DESTDIR=$work/root PREFIX=/usr uninstall"
	refused grep . <(find "$work/root" -type f ! -name 'modules.*')
	refused grep fscommit "$work/root/lib/modules/$release/modules.dep"
}

# installed KERNEL
installed()
{
	local kernel=$1 kdir release arch work=$CACHE/build/installed-$1 name
	local share=$work/root/usr/share/fscommit
	use_kernel "$kernel"
	mkdir -p "$work"
	say "  installation, on $kernel"
	for name in install:install_product example_builds:build_example \
			other_headers:other_headers tools_install:tools_are_installed; do
		check "$kernel" "${name%:*}" "${name#*:}"
		[ "$checked" -eq 0 ] || return 0
	done
	run_example
	check "$kernel" no_symbols_no_driver no_symbols_no_driver
	check "$kernel" no_kdir_is_reported no_kdir_is_reported
	check "$kernel" uninstall uninstall_product
}

kselftest_folder()
{
	# kselftest.sh calls a make with the kernel's own compiler
	mkdir -p "$out.bin"
	cat >"$out.bin/make" <<-END
		#!/bin/bash
		printf '%q ' CC=gcc LDFLAGS=-static /usr/bin/make "\$@" | "$SCRIPTS/kernel.sh" shell $kernel
	END
	chmod +x "$out.bin/make"
	PATH=$out.bin:$PATH "$(command -v make)" -C "$TOP/selftests" install KDIR="$kdir" \
		INSTALL_PATH="$out.folder"
	tar -C "$out.folder" -cf "$out.tar" .
}

# kselftest KERNEL: run the programs of the other parts in a guest without the kernel's source
kselftest()
{
	local kernel=$1 kdir out=$LOGS/kselftest-$1
	kdir=$("$SCRIPTS/kernel.sh" get "$kernel")/kdir || exit 1
	mkdir -p "$out"
	check "$kernel" kselftest_folder kselftest_folder
	[ "$checked" -eq 0 ] || return 0
	run_guest "$kernel" "kselftests on $kernel" "20 s" "$out" --timeout 1000 \
		"$kernel" "$out.plan" "$out.tar" <<-END
		test kselftest 900 ln -sf /proc/self/fd/1 /dev/stdout && tar xf /fscommit/kselftest-$kernel.tar -C /tmp && cd /tmp && FSCOMMIT_SLOWDOWN=16 ./run_kselftest.sh -c share_gate -c rcu_reuse -t unfair_rwsem:g1_exclusion
		test unloaded 5 ! grep . /proc/modules
	END
}
