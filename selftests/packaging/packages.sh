# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Builds the Debian packages, checks them with lintian, and installs, upgrades and removes them in a
# chroot. Sourced by run.sh.
#
# Seen failing: deb_lintian, with an old priority in debian/control; deb_reproducible, with
# sources of another time in between; dkms_kernels, with "^[6-9]" as the expression.
# deb_versions_agree is a failure itself. Not yet: deb_tools.

# Builds the packages of the current version and of a later one.
build_packages()
{
	rm -rf "$debs"
	"$TOP/packaging/deb.sh" "$debs"
	"$TOP/packaging/deb.sh" "$debs" 99.1
	ls "$debs"/fscommit-{dkms,dev}_{99.1,[!9]*}_all.deb
	ls "$debs"/fscommit-tools_{99.1,[!9]*}_"$(dpkg --print-architecture)".deb
}

versions_agree()
{
	local tree=$CACHE/build/deb-other
	rm -rf "$tree"
	copy_product "$tree"
	cp -r "$TOP/selftests/harness" "$tree/selftests/"
	cp "$TOP/CHANGELOG.md" "$tree/"
	[ -z "$("$tree/packaging/versions.sh")" ]
	sed -i 's/^VERSION = .*/VERSION = "7.7"/' "$tree/tools/fscommit-check"
	refused "$tree/packaging/deb.sh" "$tree/out"
	cp "$TOP"/tools/fscommit-check "$tree/tools/"
	sed -i 's/^#define VERSION .*/#define VERSION "7.7"/' "$tree/tools/ckptlat.c"
	refused "$tree/packaging/deb.sh" "$tree/out"
	cp "$TOP"/tools/ckptlat.c "$tree/tools/"
	sed -i 's/^PACKAGE_VERSION=.*/PACKAGE_VERSION="7.7"/' "$tree/dkms.conf"
	refused "$tree/packaging/deb.sh" "$tree/out"
}

# The programs of the package run, and have its version and their manual pages.
tools_are_packaged()
{
	local root=$CACHE/build/deb-tools t
	rm -rf "$root"
	dpkg -x "$debs"/fscommit-tools_99.1_*.deb "$root"
	for t in $tools; do
		[ "$("$root/usr/sbin/$t" --version)" = "$t 99.1" ]
		zcat "$root/usr/share/man/man8/$t.8.gz" | grep "Nm $t"
	done
	ls "$root"/usr/share/fscommit/fscommit_test/{Makefile,fscommit_test_main.c}
	dpkg -f "$debs"/fscommit-tools_99.1_*.deb Depends | grep libc6
}

lintian_is_silent()
{
	# the maintainers have no mail address
	refused grep . < <(lintian --allow-root -I --fail-on none --suppress-tags \
		bogus-mail-host,bogus-mail-host-in-debian-changelog "$debs"/*.deb 2>&1)
}

builds_are_the_same()
{
	rm -rf "$debs.again"
	"$TOP/packaging/deb.sh" "$debs.again"
	local d
	for d in "$debs.again"/*.deb; do
		cmp "$d" "$debs/$(basename "$d")"
	done
}

# Checks the kernels that dkms.conf allows, by the expression for old versions of DKMS.
kernels_of_dkms()
{
	local regex k
	regex=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"$/\1/p' "$TOP/dkms.conf")
	for k in 6.1.0-50-cloud-amd64 6.5.1 6.12.95+deb12-rt-amd64 6.16-rc7-amd64 7.3.4+deb13-amd64 \
		7.0 10.2.1; do
		[[ $k =~ $regex ]] || { echo "excludes $k"; return 1; }
	done
	for k in 5.10.0-30-amd64 6.0.12 6.2.0 6.4.12-amd64 4.19.0 2.6.32; do
		[[ ! $k =~ $regex ]] || { echo "allows $k"; return 1; }
	done
}

deb()
{
	local debs=$CACHE/build/debs
	need_packages dpkg-dev debhelper dh-dkms lintian
	say "  packages"
	check debian deb_builds build_packages
	[ "$checked" -eq 0 ] || return 0
	check debian deb_versions_agree versions_agree
	check debian deb_tools tools_are_packaged
	check debian deb_lintian lintian_is_silent
	check debian deb_reproducible builds_are_the_same
	check debian dkms_kernels kernels_of_dkms
}

# --- DKMS --------------------------------------------------------------------

# chroot_headers SUITE: prints the oldest and the newest kernel release of one flavour. The chroot
# reads its own lists, so ours must be as new: a mirror drops old kernels.
chroot_headers()
{
	rm -f "$CACHE/apt/$1-backports/updated"
	suite_update "$1-backports"
	suite_apt "$1-backports" apt-cache pkgnames linux-headers- |
		sed -n 's/^linux-headers-\([0-9].*-cloud-amd64\)$/\1/p' | sort -V | sed -n '1p;$p'
}

# Runs dkms_life in a copy of the chroot, and fetches the modules that it built.
live()
{
	local out=$LOGS/dkms-$suite work=$CACHE/build/dkms-$suite rc=0
	rm -rf "$work" "$out"
	mkdir -p "$out" "$work"
	cp -a "$CACHE/chroot/$suite/root/." "$work/"
	mkdir -p "$work/debs" "$work/tmp/out"
	cp "$CACHE/build/debs"/*.deb "$PACKAGING/dkms_life" "$work/debs/"
	in_chroot "$work" bash /debs/dkms_life "$old" "$new" "$version" 99.1 \
		>"$out/tap" 2>"$out/log" || rc=$?
	cp -a "$work/tmp/out/." "$out/"
	rm -rf "$work"
	return $rc
}

# dkms SUITE
dkms()
{
	local suite=$1 old new start=$SECONDS version k tree
	if [ "$(id -u)" -ne 0 ]; then
		check "$suite" dkms skipped "a chroot with mounts needs root"
		return 0
	fi
	[ -e "$CACHE/build/debs" ] || deb
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
	locked "chroot-$suite" make_chroot "$suite" "$suite"
	{ read -r old; read -r new; } < <(chroot_headers "$suite") ||
		die "$suite has fewer than two kernels"
	step "DKMS in $suite: $old, then $new" "4 min" "$LOGS/dkms-$suite.log" live ||
		say "  $suite: dkms_life did not finish: see $LOGS/dkms-$suite/log"
	collect_life "$suite" "$LOGS/dkms-$suite" dkms_life $((SECONDS - start))
	# if the kernel is in the matrix, load the modules that DKMS built, and the driver
	for k in $(matrix_names); do
		[ "$(cat "$CACHE/kernels/$k/release" 2>/dev/null)" = "$new" ] || continue
		load_built "$k"
		return 0
	done
	check "$suite" dkms_module_loads skipped "$new is not a kernel of the matrix"
}

load_built()
{
	local kernel=$1 out=$LOGS/dkms-$suite/$1 built=$LOGS/dkms-$suite start=$SECONDS
	mkdir -p "$out"
	{
		echo "load fscommit"
		echo "test dkms_module 300 ckpt_cache_guest $kernel"
		echo "unload fscommit"
	} >"$out.plan"
	step "its modules on $kernel" "30 s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout 400 "$kernel" "$out.plan" "$built/fscommit.ko" "$built/ckpt_cache.ko" \
		"$PACKAGING/ckpt_cache_guest" || true
	collect "$kernel" "$out" $((SECONDS - start))
}
