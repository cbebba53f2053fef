#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make dist`, `make dist-FS`: tarballs of one commit, each with an SBOM (SPDX 2.3) beside it.
#
#   dist.sh FOLDER                     fscommit-VERSION.tar.xz: this tree
#   dist.sh FOLDER FS OPTION=VALUE...  fscommit-VERSION-FS-VARIANT-LINUX.tar.xz: the source of the
#                                      driver that ports/port.sh makes with these options, and of
#                                      fscommit. It builds with the headers of a kernel of the
#                                      version LINUX, without spatch and the kernel's source
#
# One commit, or one unpacked tarball, always gives the same bytes. Prints the names of the files.

. "$(dirname "$0")/../scripts/lib.sh"

[ $# -ge 1 ] || exit_usage
need tar xz rsync sha256sum make
mkdir -p "$1"
out=$(cd "$1" && pwd) fs=${2:-}
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$TOP/module/main.c")
other=$("$TOP/packaging/versions.sh")
[ -z "$other" ] || die "all versions must be the same: $other"
name=fscommit-$version
work=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-dist.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Set $tree, a copy of this tree's sources, and $epoch, the time of all files.
copy=(rsync -a --exclude /.git --exclude-from "$TOP/.gitignore")
tree=$work/$name
mkdir "$tree"
# git would also find a repository in which a tarball was unpacked
if [ -e "$TOP/.git" ]; then
	[ -z "$(git -C "$TOP" status --porcelain -uno)" ] ||
		die "git status shows changes; a tarball has those of a commit only"
	git -C "$TOP" archive HEAD | tar -C "$tree" -x
	epoch=$(git -C "$TOP" log -1 --format=%ct)
else
	"${copy[@]}" "$TOP/" "$tree/"
	epoch=$(stat -c %Y "$TOP/module/main.c")
fi

# Make the driver's folder, and set $name, $linux, and $origin, the package and its version.
driver()
{
	local ko ksrc args flags
	ko=$("$TOP/ports/port.sh" "$@") || exit 1
	[ -e "${ko%/*}/fscommit.ko" ] || die "$(basename "${ko%/*}") does not use fscommit"
	{ read -r ksrc; read -r args; read -r flags; } <"${ko%/*}/made-of"
	linux=$(make -s --no-print-directory -C "$ksrc" kernelversion)
	# scripts/kernel.sh writes .complete; another source may be that of an installed package
	read -r -a origin < <(cat "$ksrc/.complete" 2>/dev/null || dpkg-query -W \
		-f '${Package} ${Version}\n' "$(basename "$ksrc")" 2>/dev/null) || true
	[ ${#origin[@]} -eq 2 ] || origin=(linux "$linux")
	name+=-$(basename "${ko%/*}")-$linux
	mkdir -p "$work/$name/fscommit"
	"${copy[@]}" "${ko%/*}/src/" "$work/$name/$fs/"
	mv "$tree"/{module,Kbuild} "$work/$name/fscommit/"
	mv "$tree/COPYING" "$work/$name/"
	cat >"$work/$name/Makefile" <<-END
		# SPDX-License-Identifier: GPL-2.0
		# $fs of ${origin[*]} on fscommit $version, for Linux $linux.
		# After \`make modules_install\`, run depmod, and build an initramfs that has $fs again.
		KDIR ?= /lib/modules/\$(shell uname -r)/build
		kernel := \$(shell \$(MAKE) -s --no-print-directory -C '\$(KDIR)' kernelversion 2>/dev/null)
		ifneq (\$(kernel),$linux)
		\$(error this is $fs of Linux $linux, but KDIR=\$(KDIR) is \$(or \$(kernel),no kernel))
		endif

		modules modules_install:; \$(MAKE) -C '\$(KDIR)' M=\$(CURDIR)/fscommit \$@ && \\
			\$(MAKE) -C '\$(KDIR)' M=\$(CURDIR)/$fs $args \\
			KCFLAGS='-I\$(CURDIR)/fscommit/module/include $flags' \\
			KBUILD_EXTRA_SYMBOLS=\$(CURDIR)/fscommit/Module.symvers \$@
	END
}

# component ID NAME VERSION: a package of the SBOM
component()
{
	printf '\n%s\n' "PackageName: $2"
	printf '%s\n' "SPDXID: SPDXRef-$1" "PackageVersion: $3" "FilesAnalyzed: false" \
		"PackageDownloadLocation: NOASSERTION" "PackageLicenseConcluded: NOASSERTION" \
		"PackageLicenseDeclared: GPL-2.0-only" "PackageCopyrightText: NOASSERTION"
}

[ -z "$fs" ] || driver "${@:2}"
file=$out/$name.tar.xz
tar -C "$work" --format=gnu --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
	--mode=u+rwX,go=rX -c "$name" | xz -T1 >"$file"
sum=$(sha256sum <"$file")
{
	printf '%s\n' "SPDXVersion: SPDX-2.3" "DataLicense: CC0-1.0" "SPDXID: SPDXRef-DOCUMENT" \
		"DocumentName: $name" \
		"DocumentNamespace: https://spdx.org/spdxdocs/$name-${sum%% *}" \
		"Creator: Tool: fscommit-dist-$version" \
		"Created: $(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" \
		"Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-tarball"
	component tarball "fscommit${fs:+-$fs}" "$version"
	echo "PackageFileName: $name.tar.xz"
	echo "PackageChecksum: SHA256: ${sum%% *}"
	[ -z "$fs" ] || {
		component origin "${origin[@]}"
		echo "Relationship: SPDXRef-tarball GENERATED_FROM SPDXRef-origin"
	}
} >"$out/$name.spdx"
printf '%s\n' "$file" "$out/$name.spdx"
