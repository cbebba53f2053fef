#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make deb`: builds the packages fscommit-module, -f2fs, -dev and -tools with debhelper.
#
#   deb.sh FOLDER [VERSION]
#
# VERSION replaces the version of the module in module/main.c, to test upgrades. Prints the
# names of the packages.

. "$(dirname "$0")/../scripts/lib.sh"

[ $# -ge 1 ] || exit_usage
need_debian
need dpkg-buildpackage dh rsync gcc libc.a
umask 022
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$TOP/module/main.c")
other=$("$TOP/packaging/versions.sh")
[ -z "$other" ] || die "all versions must be the same: $other"
new=${2:-$version}

work=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/fscommit-$new
mkdir -p "$tree"/{docs,ports,scripts}
sources=(rsync -a --exclude '*.o' --exclude '*.ko' --exclude '*.mod*' --exclude '.*'
	--exclude modules.order --exclude Module.symvers)
"${sources[@]}" "$TOP"/{Kbuild,COPYING,README.md,module,packaging} "$tree/"
"${sources[@]}" "$TOP"/docs/{examples,*.rst} "$tree/docs/"
"${sources[@]}" "$TOP"/ports/{port.sh,sites.sh,import_fscommit.c,f2fs} "$tree/ports/"
cp "$TOP"/scripts/{lib.sh,programs} "$tree/scripts/"
"$TOP/packaging/tools.sh" sources | "${sources[@]}" --files-from=- "$TOP/" "$tree/"
mv "$tree/packaging/debian" "$tree/debian"
sed -i "s/^MODULE_VERSION(.*/MODULE_VERSION(\"$new\");/" "$tree/module/main.c"
sed -Ei "s/^(VERSION ?= ?|#define VERSION ).*/\1\"$new\"/" \
	"$tree"/tools/{fscommit-{top,check,bug-report},ckptlat.c}
# all files get the time of the commit, so that builds are reproducible
SOURCE_DATE_EPOCH=$(git -C "$TOP" log -1 --format=%ct 2>/dev/null ||
	stat -c %Y "$TOP/module/main.c")
export SOURCE_DATE_EPOCH
changes=$(awk -v v="$version" '/^## / { on = $2 == v; next }
	on && NF { print sub(/^- /, "  * ") ? $0 : "  " $0 }' "$TOP/CHANGELOG.md" |
	fold -s -w 76 | sed 's/^[^ ]/    &/; s/ *$//')
cat >"$tree/debian/changelog" <<EOF
fscommit ($new) unstable; urgency=medium

$changes

 -- fscommit developers <fscommit@localhost>  $(date -uR -d "@$SOURCE_DATE_EPOCH")
EOF
find "$tree" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
step "building fscommit $new as packages" "10 s" "$LOGS/deb-$new.log" \
	env -C "$tree" dpkg-buildpackage -b -us -uc -d --no-sign || die "cannot build the packages"
for d in "$work"/*.deb; do
	mv "$d" "$out/"
	printf '%s\n' "$out/$(basename "$d")"
done
mv "$work"/*.changes "$work"/*.buildinfo "$out/"
