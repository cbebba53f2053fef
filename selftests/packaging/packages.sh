# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Builds the packages of Debian, Fedora and Arch, and checks the first with lintian. Sourced by
# run.sh.
#
# Seen failing: deb_lintian, with an old priority in debian/control; rpm_builds, with
# another Source0; it and pkgbuild_builds, without the headers in dkms.sh.

# Builds the packages of the current version and of a later one.
build_packages()
{
	rm -rf "$debs"
	"$TOP/packaging/deb.sh" "$debs"
	"$TOP/packaging/deb.sh" "$debs" 99.1
	ls "$debs"/fscommit-{module,dev,f2fs}_{99.1,[!9]*}_all.deb
}

lintian_is_silent()
{
	# the maintainers have no mail address; a function of awk is none of the shell
	refused grep . < <(lintian --allow-root -I --fail-on none --suppress-tags \
		bogus-mail-host,bogus-mail-host-in-debian-changelog,bash-term-in-posix-shell \
		"$debs"/*.deb 2>&1)
}

deb()
{
	local debs=$CACHE/build/debs
	need dpkg-buildpackage dh lintian
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
	local work copy as=()
	need rpmbuild makepkg pacman bsdtar fakeroot
	work=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-packages.XXXXXX")
	copy=$work/fscommit-$version
	copy_installable "$copy"
	if [ "$(id -u)" -eq 0 ]; then
		chown -R nobody "$work"
		as=(setpriv --reuid=nobody --clear-groups)
	fi
	tar -C "$work" -cJf "$copy.tar.xz" "${copy##*/}"
	check fedora rpm_builds package_builds sbin env -C "$work" "${as[@]}" rpmbuild -tb --nodeps \
		-D "_topdir $work/rpm" -D "_rpmdir $work/built" "$copy.tar.xz"
	check arch pkgbuild_builds package_builds bin env -C "$copy/packaging" HOME="$work" \
		BUILDDIR="$work/build" PKGDEST="$work/built" "${as[@]}" makepkg --nodeps
	rm -rf "$work"
}
