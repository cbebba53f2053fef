# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC3043,SC2329 # busybox has `local`
# For lib.sh and for the tests in guests. Sourced, never run.

# refused COMMAND...: fails if COMMAND succeeds; errexit ignores `! command`
refused()
{
	"$@" || return 0
	echo "must fail, but succeeded: $*"
	return 1
}

# run_tests NAME...: run tests, each of which ends at its first failing line. Print TAP
run_tests()
{
	local name rc n=0
	for name; do
		n=$((n + 1))
		(set -e; "$name") >/tmp/said 2>&1
		rc=$?
		[ $rc -eq 0 ] || printf 'not '
		echo "ok $n $name"
		sed 's/^/# /' /tmp/said
	done
	echo "1..$n"
}
