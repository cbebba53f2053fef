# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Runs `make install` and `make install-headers` into a folder. Then builds the example outside of
# the tree, only from the installed files, loads it and uses it. Sourced by run.sh.
#
# Seen failing: driver_sources, with the tree's own headers in fscommit.mk; no_symbols_no_driver,
# without the $(error) of fscommit.mk; tools_install, without a manual, and without an object of the
# module; ckptlat, with a wrong name of the device; uninstall, with an additional header.
# ckpt_cache_guest has the tests in the guest.

install_product()
{
	rm -rf "$work/root"
	copy_product "$work/product"
	: >"$work/build.log"
	in_kernel "$kernel" "$work" "make -C $work/product KDIR=$kdir $arch W=1 PREFIX=/usr \
		INSTALL_MOD_PATH=$work/root DESTDIR=$work/root install install-headers" \
		>>"$work/build.log" 2>&1 || { cat "$work/build.log"; return 1; }
	make -C "$work/product" PREFIX=/usr DESTDIR="$work/root" CFLAGS='-O2 -Wall -Werror' \
		install-tools
	# depmod does not find the kernel's own modules in that folder
	if grep -E 'warning:|WARNING:' "$work/build.log" |
	   grep -vE '^depmod:.*could not open|pahole version'; then
		return 1
	fi
}

is_installed()
{
	local m=$work/root/lib/modules/$release
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
	grep -q 'unfair_rwsem_expedite.*FSCOMMIT' \
		"$work/root/usr/share/fscommit/$release/Module.symvers"
}

# Each program runs and has a manual. Builds the module that ckptlat measures, in its own folder
# and from the installed files only.
tools_are_installed()
{
	local t version
	version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$TOP/module/main.c")
	for t in $tools; do
		[ "$("$work/root/usr/sbin/$t" --version)" = "$t $version" ]
		grep "Nm $t" "$work/root/usr/share/man/man8/$t.8"
	done
	rm -rf "$work/fscommit_test"
	cp -r "$work/root/usr/share/fscommit/fscommit_test" "$work/"
	in_kernel "$kernel" "$work" "make -C $work/fscommit_test KDIR=$kdir $arch W=1 \
		FSCOMMIT_MK=$work/root/usr/share/fscommit/fscommit.mk"
	modinfo -F depends "$work/fscommit_test/fscommit_test.ko" | grep -x fscommit
}

# Builds the example in its own folder, from the installed files only.
build_example()
{
	rm -rf "$work/example"
	cp -r "$TOP/docs/examples/ckpt_cache" "$work/example"
	find "$work/example" ! -name '*.[ch]' ! -name Kbuild ! -name Makefile ! -name '*.rst' \
		-type f -delete
	in_kernel "$kernel" "$work" "make -C $work/example KDIR=$kdir $arch W=1 \
		FSCOMMIT_MK=$work/root/usr/share/fscommit/fscommit.mk" >"$work/example.log" 2>&1 ||
		{ cat "$work/example.log"; return 1; }
	if grep -E 'warning:|WARNING:' "$work/example.log" | grep -v 'pahole version'; then
		return 1
	fi
	modinfo -F depends "$work/example/ckpt_cache.ko" | grep -x fscommit
}

# The example must use the installed headers, not those of the tree.
sources_are_installed()
{
	local used
	used=$(cat "$work"/example/.*.o.cmd |
		grep -oE '[^ ]*/linux/(unfair_rwsem|commit_root)\.h' | sort -u)
	echo "$used"
	[ "$(printf '%s\n' "$used" | grep -c .)" -eq 2 ]
	[ "$(printf '%s\n' "$used" | grep -c "^$work/root/usr/include/fscommit/linux/")" -eq 2 ]
}

# Without installed symbols for its kernel, the driver must not build.
no_symbols_no_driver()
{
	local rc=0
	mv "$work/root/usr/share/fscommit/$release" "$work/root/usr/share/fscommit/other"
	in_kernel "$kernel" "$work" "make -C $work/example KDIR=$kdir $arch \
		FSCOMMIT_MK=$work/root/usr/share/fscommit/fscommit.mk" \
		>"$work/no-symbols.log" 2>&1 || rc=$?
	mv "$work/root/usr/share/fscommit/other" "$work/root/usr/share/fscommit/$release"
	[ $rc -ne 0 ]
	grep "fscommit is not installed for Linux $release" "$work/no-symbols.log"
}

uninstall_product()
{
	local left
	in_kernel "$kernel" "$work" "make -C $work/product KDIR=$kdir $arch \
		INSTALL_MOD_PATH=$work/root DESTDIR=$work/root PREFIX=/usr uninstall"
	left=$(find "$work/root" -type f ! -name 'modules.*')
	echo "${left:-nothing is left}"
	[ -z "$left" ]
	[ ! -e "$work/root/usr/include/fscommit" ]
	refused grep fscommit "$work/root/lib/modules/$release/modules.dep"
}

# Every target must report an empty KDIR before it does anything.
no_kdir_is_told()
{
	local t said
	for t in module install modules_install install-headers uninstall; do
		if said=$(make -C "$work/product" "$t" KDIR="$work/nowhere" DESTDIR="$work/root" \
			INSTALL_MOD_PATH="$work/root" 2>&1); then
			echo "make $t: no error"
			return 1
		fi
		printf '%s\n' "$said" | grep "error: no kernel to build for in KDIR=$work/nowhere"
	done
}

run_example()
{
	local out=$LOGS/ckpt_cache-$kernel start=$SECONDS
	mkdir -p "$out"
	{
		echo "load fscommit"
		echo "test ckpt_cache 900 ckpt_cache_guest $kernel"
		echo "load fscommit_test"
		# each lock is measured, or it fails
		echo "test ckptlat 300 ckptlat -r 1 -D 0.2s -t 2 -B 1"
		echo "unload fscommit_test"
		echo "unload fscommit"
	} >"$out.plan"
	step "the example on $kernel" "20 s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout 1500 --with "$work/root/usr/sbin/ckptlat" "$kernel" "$out.plan" \
		"$work/fscommit.ko" "$work/fscommit_test/fscommit_test.ko" \
		"$work/example/ckpt_cache.ko" "$PACKAGING/ckpt_cache_guest" || true
	collect "$kernel" "$out" $((SECONDS - start))
}

# installed KERNEL
installed()
{
	local kernel=$1 kdir release arch work=$CACHE/build/installed-$1
	kdir=$("$HARNESS/kernel.sh" get "$kernel")/kdir || exit 1
	release=$(cat "$CACHE/kernels/$kernel/release")
	arch=$(kernel_arch "$kernel")
	mkdir -p "$work"
	say "  installation, on $kernel"
	check "$kernel" install install_product
	[ "$checked" -eq 0 ] || return 0
	check "$kernel" is_installed is_installed
	[ "$checked" -eq 0 ] || return 0
	check "$kernel" driver_builds build_example
	[ "$checked" -eq 0 ] || return 0
	check "$kernel" driver_sources sources_are_installed
	check "$kernel" tools_install tools_are_installed
	[ "$checked" -eq 0 ] || return 0
	run_example
	check "$kernel" no_symbols_no_driver no_symbols_no_driver
	check "$kernel" no_kdir_is_told no_kdir_is_told
	check "$kernel" uninstall uninstall_product
}
