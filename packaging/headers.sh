#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make install-headers`, `make uninstall`: the files to build drivers.
#
#   headers.sh install|uninstall RELEASE DESTDIR PREFIX
#
#   PREFIX/include/fscommit/linux/*.h               only the public headers
#   PREFIX/share/fscommit/fscommit.mk               for a driver's Kbuild file
#   PREFIX/share/fscommit/RELEASE/Module.symvers    the symbols of the build in this folder,
#                                                   for one kernel
#
# uninstall removes the symbols for that kernel; with the last symbols, everything else.

set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ $# -eq 4 ] || die "headers.sh install|uninstall RELEASE DESTDIR PREFIX"
what=$1 release=$2 root=$3$4
[ -n "$release" ] || die "KDIR does not name its kernel release"
include=$root/include/fscommit share=$root/share/fscommit

case $what in
install)
	[ -s "$TOP/Module.symvers" ] || die "no Module.symvers: build the module first"
	install -d "$include/linux" "$share/$release"
	install -m 644 "$TOP"/module/include/linux/*.h "$include/linux/"
	install -m 644 "$TOP/packaging/fscommit.mk" "$share/"
	install -m 644 "$TOP/Module.symvers" "$share/$release/"
	echo "installed headers in $include, symbols for $release in $share/$release" ;;
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
