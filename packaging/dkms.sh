#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Copy what DKMS builds to PREFIX/src, and the headers for drivers, for PKGBUILD and fscommit.spec.
#
#   dkms.sh DESTDIR PREFIX

set -euo pipefail

cd "$(dirname "$0")/.."
root=${1:?DESTDIR}${2:?PREFIX}
src=$root/src/fscommit-$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' module/main.c)
umask 022
install -d "$src" "$root/include/fscommit/linux" "$root/share/fscommit"
find Kbuild dkms.conf module packaging/dkms_symvers -type f ! -name '*.mod.c' \( -name '*.[ch]' -o \
	-name Kbuild -o -name kernels -o -name 'dkms*' \) -exec cp --parents -t "$src" {} +
install -m 644 module/include/linux/*.h "$root/include/fscommit/linux/"
install -m 644 packaging/fscommit.mk "$root/share/fscommit/"
