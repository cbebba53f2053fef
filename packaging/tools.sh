#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make install-tools`, `make uninstall`, and the package fscommit-tools: the programs in tools/.
#
#   tools.sh build                       compile ckptlat, with CC, CPPFLAGS, CFLAGS and LDFLAGS
#   tools.sh install|uninstall DESTDIR PREFIX
#   tools.sh list                        print the names of the programs
#   tools.sh sources                     print the files, below the tree, that the others need
#
#   PREFIX/sbin/*, PREFIX/share/man/man8/*.8   the programs and their manuals

set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

scripts=(fscommit-{top,check,bug-report})

sources()
{
	local t
	for t in "${scripts[@]}" ckptlat.c; do
		printf 'tools/%s\n' "$t" "${t%.c}.8"
	done
}

build()
{
	# shellcheck disable=SC2086 # flags are words
	${CC:-cc} ${CPPFLAGS:-} ${CFLAGS:--O2 -Wall} ${LDFLAGS:-} \
		-o "$TOP/tools/ckptlat" "$TOP/tools/ckptlat.c"
}

[ $# -eq 3 ] || [[ $# -eq 1 && $1 =~ ^(build|list|sources)$ ]] ||
	die "tools.sh build|list|sources, or install|uninstall DESTDIR PREFIX"
root=${2:-}${3:-}

case $1 in
build) build ;;
list) printf '%s\n' "${scripts[@]}" ckptlat ;;
sources) sources ;;
install)
	[ -x "$TOP/tools/ckptlat" ] || die "no tools/ckptlat: build it first"
	install -d "$root/sbin" "$root/share/man/man8"
	for t in "${scripts[@]}" ckptlat; do
		install "$TOP/tools/$t" "$root/sbin/"
		install -m 644 "$TOP/tools/$t.8" "$root/share/man/man8/"
	done
	echo "installed the tools in $root/sbin" ;;
uninstall)
	for t in "${scripts[@]}" ckptlat; do
		rm -f "$root/sbin/$t" "$root/share/man/man8/$t.8"
	done ;;
*) die "tools.sh: install or uninstall, not '$1'" ;;
esac
