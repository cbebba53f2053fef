# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Makes the tarballs of `make dist` and `make dist-f2fs` from a copy of the tree, and builds what is
# in them. Sourced by run.sh.
#
# Seen failing: dist_is_reproducible, without --mtime in dist.sh; dist_installs, without headers.sh
# in the tarball; driver_builds, without $args and $flags, and without the check of the kernel.

dist_is_reproducible()
{
	git -C "$work/tree" init -q
	git -C "$work/tree" add -A
	git -C "$work/tree" -c user.name=test -c user.email=test commit -qm tree
	make -C "$work/tree" dist
	touch "$work/tree/README.md" "$work/tree/out/unused"
	"$work/tree/packaging/dist.sh" "$work/again"
	tar -C "$work" -xf "$work/again/$product.tar.xz"
	# here from the files, since it is no repository
	make -C "$work/$product" dist
	for f in "$product".{tar.xz,spdx}; do
		cmp "$work/tree/out/$f" "$work/again/$f"
		cmp "$work/tree/out/$f" "$work/$product/out/$f"
	done
	grep "^PackageChecksum: SHA256: $(sha256sum <"$work/again/$product.tar.xz" | cut -d' ' -f1)$" \
		"$work/again/$product.spdx"
	refused grep -E '/(\.git|out)/|\.k?o$' <(tar -tf "$work/again/$product.tar.xz")
	echo >>"$work/tree/README.md"
	refused "$work/tree/packaging/dist.sh" "$work/again" 2>&1 | grep "a commit only"
	git -C "$work/tree" checkout -q README.md
}

dist_installs()
{
	local example=$work/$product/docs/examples/ckpt_cache
	in_kernel "$kernel" "$work" "make -C $work/$product KDIR=$kdir $arch PREFIX=/usr \
		INSTALL_MOD_PATH=$work/root DESTDIR=$work/root install install-headers
		make -C $example KDIR=$kdir $arch FSCOMMIT_MK=$work/root/usr/share/fscommit/fscommit.mk"
	modinfo -F depends "$example/ckpt_cache.ko" | grep -x fscommit
}

driver_builds()
{
	local f driver
	make -C "$work/tree" dist-f2fs KERNEL="$kernel"
	tar -C "$work" -xf "$work"/tree/out/*-f2fs-*.tar.xz
	driver=$(echo "$work"/*-f2fs-*)
	in_kernel "$kernel" "$work" "make -C $driver KDIR=$kdir $arch
		make -C $driver KDIR=$kdir $arch INSTALL_MOD_PATH=$driver/root modules_install"
	for f in fscommit/module/fscommit f2fs/f2fs; do
		modinfo -F vermagic "$driver/$f.ko" | grep "^$release "
	done
	modinfo -F depends "$driver/f2fs/f2fs.ko" | tr , '\n' | grep -x fscommit
	[ "$(find "$driver/root" -name '*.ko*' | wc -l)" -eq 2 ]
	mkdir "$work/other"
	printf 'kernelversion:\n\t@echo 5.4.3\n' >"$work/other/Makefile"
	refused make -C "$driver" KDIR="$work/other" 2>&1 |
		grep "this is f2fs of Linux ${driver##*-}, but KDIR=$work/other is 5.4.3"
	refused make -C "$driver" KDIR=/nowhere 2>&1 | grep "KDIR=/nowhere is no kernel"
}

# dist KERNEL
dist()
{
	local kernel=$1 kdir release arch work=$CACHE/build/dist-$1 product=fscommit-$version
	use_kernel "$kernel"
	say "  tarballs, on $kernel"
	rm -rf "$work"
	mkdir -p "$work"
	rsync -a --exclude /.git --exclude-from "$TOP/.gitignore" "$TOP/" "$work/tree/"
	check "$kernel" dist_is_reproducible dist_is_reproducible
	[ "$checked" -eq 0 ] || return 0
	check "$kernel" dist_installs dist_installs
	check "$kernel" driver_builds driver_builds
}
