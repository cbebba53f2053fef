#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Print a line FILE:1: ... for each file whose version is not that of module/main.c, and if the
# name of the symbol FSCOMMIT_ABI is not the checksum of the public headers' code.
#
#   versions.sh [TREE]

cd "${1:-$(dirname "$0")/..}" || exit 1
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' module/main.c)

# must_have FILE REGEX: the first match of REGEX in FILE must capture the version
must_have()
{
	local found
	found=$(sed -nE "s/$2/\\1/p" "$1" | head -n 1)
	[ "${found:-none}" = "$version" ] ||
		echo "$1:1: version ${found:-none}, module/main.c has ${version:-none}"
}

must_have dkms.conf '^PACKAGE_VERSION="(.*)"$'
must_have packaging/fscommit.spec '^Version:\t(.*)$'
must_have packaging/PKGBUILD '^pkgver=(.*)$'
must_have CHANGELOG.md '^## (.*)$'
for f in tools/fscommit-*; do
	case $f in *.8) continue ;; esac
	must_have "$f" '^VERSION ?= ?"(.*)"$'
done
must_have tools/ckptlat.c '^#define VERSION "(.*)"$'

# drivers compile this code; comments and the name itself do not count
headers=module/include/linux
LC_ALL=C
abi=fscommit_abi_$(cat $headers/*.h | sed -Ez -e 's:/\*([^*]|\*+[^*/])*\*+/::g' \
	-e 's/fscommit_abi_[0-9a-f]+//' -e 's/[[:space:]]+/ /g' | sha256sum | cut -c1-12)
grep -qw "$abi" $headers/fscommit_abi.h ||
	echo "$headers/fscommit_abi.h:1: the code of the public headers has changed, so that drivers" \
		"must be built again: FSCOMMIT_ABI must be $abi"
grep -L '<linux/fscommit_abi.h>' $headers/[!f]*.h | sed 's/$/:1: must include fscommit_abi.h/'
