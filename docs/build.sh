#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make docs`: builds the documents as a site, by Sphinx, with the kernel-doc comments of the
# source. A warning is an error. Fetches only the kernel's source, which has kernel-doc.
#
#   build.sh [DOCS [OUT]]      default: this folder, docs/_build/html

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../scripts/lib.sh"

docs=$(cd "${1:-$TOP/docs}" && pwd)
out=${2:-$docs/_build/html}
need /usr/bin/sphinx-build dot
KERNEL_SOURCE=$("$SCRIPTS/kernel.sh" source 7.3) || die "cannot get the source of a kernel"
export KERNEL_SOURCE
mkdir -p "$out"
# the system's python3 has Sphinx; PATH may have another
/usr/bin/python3 -m sphinx -q -W --keep-going -b html -d "$out/.doctrees" "$docs" "$out" ||
	die "Sphinx warns about the documents"
/usr/bin/python3 "$docs/source_map.py" "$docs/../module" | dot -Tsvg >"$out/source_map.svg"
mandoc=$(command -v mandoc) || mandoc=
for page in "$TOP"/tools/*.[1-8]; do
	[ -z "$mandoc" ] || "$mandoc" -T html -O style=_static/alabaster.css "$page" \
		>"$out/$(basename "$page").html"
done
printf '%s\n' "$out/index.html"
