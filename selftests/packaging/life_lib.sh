# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For dkms_life and driver_life, which run in a chroot. They print TAP; the output of the tools goes
# to stderr.

set -u
n=0

# t NAME COMMAND...: run a test, which ends at its first failing line; errexit has no effect in a
# condition
t()
{
	local name=$1 rc
	shift
	n=$((n + 1))
	echo "== $name" >&2
	(set -ex; "$@") >&2 </dev/null
	rc=$?
	[ $rc -eq 0 ] || printf 'not '
	echo "ok $n $name"
}

refused() { if "$@"; then return 1; fi; }
get() { apt-get install -y --no-install-recommends "$@"; }

# says TEXT COMMAND...: the command fails, and says TEXT
says()
{
	local text=$1
	shift
	refused "$@" >/tmp/said 2>&1
	cat /tmp/said
	grep -F "$text" /tmp/said
	rm -f /tmp/said
}
