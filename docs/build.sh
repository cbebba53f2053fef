#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make docs`: the documents as a site, by Sphinx, with what kernel-doc finds in the source. A
# warning is an error. Nothing is fetched but the kernel's source, which has kernel-doc.
#
#   build.sh [DOCS [OUT]]      default: this folder, docs/_build/html

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../selftests/harness/lib.sh"

docs=$(cd "${1:-$TOP/docs}" && pwd)
out=${2:-$docs/_build/html}
need_packages python3-sphinx python3
KERNEL_SOURCE=$("$HARNESS/kernel.sh" source 7.3) || die "no source of a kernel"
export KERNEL_SOURCE
mkdir -p "$out"
# the system's, which has Sphinx, whatever comes first in PATH
/usr/bin/python3 -m sphinx -q -W --keep-going -b html -d "$out/.doctrees" "$docs" "$out" ||
	die "the documents give warnings"
mandoc=$(command -v mandoc) || mandoc=
for page in "$TOP"/tools/*.[1-8]; do
	[ -z "$mandoc" ] || "$mandoc" -T html -O style=_static/alabaster.css "$page" \
		>"$out/$(basename "$page").html"
done
printf '%s\n' "$out/index.html"
