# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Builds the packages of Debian, Fedora and Arch, checks the first with lintian, and
# installs, upgrades and removes them in a chroot. Sourced by run.sh.
#
# Seen failing: deb_lintian, with an old priority in debian/control; rpm_builds and
# pkgbuild_builds, without the headers in dkms.sh.

# Builds the packages of the current version and of a later one.
build_packages()
{
	rm -rf "$debs"
	"$TOP/packaging/deb.sh" "$debs"
	"$TOP/packaging/deb.sh" "$debs" 99.1
	ls "$debs"/fscommit-{dkms,dev,f2fs-dkms}_{99.1,[!9]*}_all.deb
}

lintian_is_silent()
{
	# the maintainers have no mail address
	refused grep . < <(lintian --allow-root -I --fail-on none --suppress-tags \
		bogus-mail-host,bogus-mail-host-in-debian-changelog "$debs"/*.deb 2>&1)
}

deb()
{
	local debs=$CACHE/build/debs
	need dpkg-buildpackage dh dh_dkms lintian
	say "  packages"
	check debian deb_builds build_packages
	[ "$checked" -eq 0 ] || return 0
	check debian deb_lintian lintian_is_silent
}

# package_builds SBIN COMMAND...: it builds into $work/built; the packages have the source of the
# module, the headers and the tools
package_builds()
{
	local t root=$work/$1
	mkdir -m 777 "$work/built" "$root"
	"${@:2}"
	find "$work/built" -name "fscommit-*-$version-*" -exec bsdtar -C "$root" -xf {} \;
	rm -r "$work/built"
	diff -r "$copy/module" "$root/usr/src/fscommit-$version/module"
	diff -r "$copy/module/include/linux" "$root/usr/include/fscommit/linux"
	ls "$root/usr/src/fscommit-$version"/{Kbuild,dkms.conf,packaging/dkms_symvers}
	for t in $tools; do
		[ "$("$root/usr/$1/$t" --version)" = "$t $version" ]
	done
}

# The packages of Fedora and Arch. Debian's rpm knows no installed package; makepkg refuses root.
foreign_packages()
{
	local work copy version as=()
	need rpmbuild makepkg pacman bsdtar fakeroot
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
	work=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-packages.XXXXXX")
	copy=$work/fscommit-$version
	copy_product "$copy"
	if [ "$(id -u)" -eq 0 ]; then
		chown -R nobody "$work"
		as=(setpriv --reuid=nobody --clear-groups)
	fi
	check fedora rpm_builds package_builds sbin env -C "$copy" "${as[@]}" rpmbuild -bb --nodeps \
		--build-in-place -D "_topdir $work/rpm" -D "_rpmdir $work/built" packaging/fscommit.spec
	check arch pkgbuild_builds package_builds bin env -C "$copy/packaging" HOME="$work" \
		BUILDDIR="$work/build" PKGDEST="$work/built" "${as[@]}" makepkg --nodeps
	rm -rf "$work"
}

# chroot_headers SUITE: print the oldest and the newest kernel release of one flavour. The chroot
# reads its own lists, so ours must be as new: a mirror drops old kernels.
chroot_headers()
{
	rm -f "$CACHE/apt/$1-backports/updated"
	suite_update "$1-backports"
	suite_apt "$1-backports" apt-cache pkgnames linux-headers- |
		sed -n 's/^linux-headers-\([0-9].*-cloud-amd64\)$/\1/p' | sort -V | sed -n '1p;$p'
}

# dkms SUITE
dkms()
{
	local suite=$1 old new version k
	need_chroot "$suite" "$suite" || return 0
	[ -e "$CACHE/build/debs" ] || deb
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
	{ read -r old; read -r new; } < <(chroot_headers "$suite") ||
		die "$suite has fewer than two kernels"
	run_life "$suite" dkms_life "$CACHE/build/debs" "$old" "$new" "$version" 99.1
	# if the kernel is in the matrix, load the modules that DKMS built, and the driver
	for k in $(matrix_names); do
		[ "$(cat "$CACHE/kernels/$k/release" 2>/dev/null)" = "$new" ] || continue
		load_built "$k"
		return 0
	done
	say "  $suite: $new is not a kernel of the matrix"
	result "$suite" dkms_module skip 0
}

load_built()
{
	local kernel=$1 built=$LOGS/life-$suite out=$LOGS/life-$suite/$1 start=$SECONDS
	mkdir -p "$out"
	printf '%s\n' "load fscommit" "test dkms_module 300 ckpt_cache_guest" "unload fscommit" \
		>"$out.plan"
	step "its modules on $kernel" "30 s" "$out.log" "$SCRIPTS/boot.sh" --out "$out" \
		--timeout 400 "$kernel" "$out.plan" "$built/fscommit.ko" "$built/ckpt_cache.ko" \
		"$PACKAGING/ckpt_cache_guest" || true
	collect "$kernel" "$out" $((SECONDS - start))
}
