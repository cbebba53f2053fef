#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-newest`: build the module and the ports for the newest kernel of each Debian suite that
# may be ahead of the matrix. Boots nothing. Prints a line `RELEASE NAME ok|FAIL` for each build.
# The exit status is 0 if none failed.
#
#   newest.sh [SUITE...]

. "$(dirname "$0")/lib.sh"

newest='' failed=0
export UNTRIED=1 FSCOMMIT_MATRIX=$CACHE/newest.$$
trap 'rm -f "$FSCOMMIT_MATRIX"' EXIT
[ $# -gt 0 ] || set -- trixie-backports forky sid experimental
for suite; do
	suite_update "$suite"
	release=$(suite_apt "$suite" apt-cache pkgnames linux-headers- |
		sed -n 's/^linux-headers-\([0-9].*\)-cloud-amd64$/\1/p' | sort -V | tail -n 1)
	[ -n "$release" ] || continue
	newest+=" $release"
	# there is no series of that name, so kernel.sh takes the newest of the major version
	echo "$release stock $release-$suite cloud $suite $(
		[ "$suite" = trixie-backports ] && echo trixie || echo sid) -"
done >"$FSCOMMIT_MATRIX"

# builds NAME COMMAND...: print the result
builds()
{
	if "${@:2}" >/dev/null; then echo "$release $1 ok"; else echo "$release $1 FAIL"; failed=1; fi
}

for release in $newest; do
	builds module "$HARNESS/stage.sh" "$release"
	for fs in "$TOP"/ports/*/options; do
		fs=$(basename "$(dirname "$fs")")
		builds "$fs" "$TOP/ports/port.sh" "$fs" "$release"
	done
done
exit "$failed"
