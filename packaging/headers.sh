#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make install-headers`, `make uninstall`: what a driver is built from.
#
#   headers.sh install|uninstall RELEASE DESTDIR PREFIX
#
#   PREFIX/include/fscommit/linux/*.h               the public headers, and nothing else
#   PREFIX/share/fscommit/fscommit.mk               for a driver's Kbuild
#   PREFIX/share/fscommit/RELEASE/Module.symvers    the symbols, for each kernel; they are
#                                                   of the build in this folder
#
# uninstall takes away the symbols of that kernel, and the rest with the last of them.

set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ $# -eq 4 ] || die "headers.sh install|uninstall RELEASE DESTDIR PREFIX"
what=$1 release=$2 root=$3$4
[ -n "$release" ] || die "KDIR does not say which kernel it is for"
include=$root/include/fscommit share=$root/share/fscommit

case $what in
install)
	[ -s "$TOP/Module.symvers" ] || die "no Module.symvers: build the module first"
	install -d "$include/linux" "$share/$release"
	install -m 644 "$TOP"/module/include/linux/*.h "$include/linux/"
	install -m 644 "$TOP/packaging/fscommit.mk" "$share/"
	install -m 644 "$TOP/Module.symvers" "$share/$release/"
	echo "headers are in $include, symbols for $release in $share/$release" ;;
uninstall)
	rm -f "$share/$release/Module.symvers"
	rmdir "$share/$release" 2>/dev/null || true
	if [ -z "$(find "$share" -name Module.symvers 2>/dev/null)" ]; then
		rm -f "$share/fscommit.mk"
		for h in "$TOP"/module/include/linux/*.h; do
			rm -f "$include/linux/$(basename "$h")"
		done
		rmdir "$include/linux" "$include" "$share" 2>/dev/null || true
	fi ;;
*) die "headers.sh: install or uninstall, not '$what'" ;;
esac
