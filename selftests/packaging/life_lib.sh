# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for the programs
# For the programs *_life, which run in a chroot. TAP goes to stdout, the rest to stderr.

set -u
n=0
ours=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' /fscommit/dkms.conf)

# t NAME [COMMAND...]: run a test up to its first failing line. errexit has no effect in a condition
t()
{
	local name=$1 rc
	[ $# -eq 1 ] || shift
	n=$((n + 1))
	echo "== $name" >&2
	(set -exo pipefail; "$@") >&2 </dev/null
	rc=$?
	[ $rc -eq 0 ] || printf 'not '
	echo "ok $n $name"
}

# errexit ignores `! command`
refused() { if "$@"; then return 1; fi; }
apt_install() { apt-get install -y --no-install-recommends "$@"; }

# fails_with TEXT COMMAND...: passes if the command fails and prints TEXT. Also in a condition
fails_with()
{
	refused "${@:2}" >/tmp/said 2>&1 && cat /tmp/said && grep -F -e "$1" /tmp/said
}
