# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the tests of what users install. Sourced, never run.

. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
. "$HARNESS/results.sh"
# shellcheck disable=SC2034 # for the scripts that source this
PACKAGING=$TOP/selftests/packaging
checked=0

# check WHERE NAME COMMAND...: one result; what it says goes into the log, and to the reader
# if it fails. The command stops at the first line that fails: so this is never to be part of
# a condition, which is why it returns 0, and leaves the status in $checked.
check()
{
	local where=$1 name=$2 start=$SECONDS said=$LOGS/packaging-$1-$2.log
	shift 2
	mkdir -p "$LOGS"
	set +e
	(set -e; "$@") >"$said" 2>&1 </dev/null
	checked=$?
	set -e
	case $checked in
	0) result "$where" "$name" ok $((SECONDS - start)) ;;
	4)	result "$where" "$name" skip $((SECONDS - start))
		say "  $where: $name is skipped: $(tail -n 1 "$said")" ;;
	*)	result "$where" "$name" FAIL $((SECONDS - start))
		say "  $where: $name failed; the end of $said:"
		tail -n 15 "$said" | sed 's/^/    | /' >&2 ;;
	esac
}

# refused COMMAND...: `! command` does not end a check
refused()
{
	"$@" || return 0
	echo "this was to fail: $*"
	return 1
}

# skipped REASON...: for a command of check()
skipped()
{
	echo "$*"
	exit 4
}

# in_kernel KERNEL FOLDER SCRIPT: where the compiler of that kernel is; it sees FOLDER
in_kernel()
{
	printf 'set -e\n%s\n' "$3" | FSCOMMIT_BUILD_ROOT=$2 "$HARNESS/kernel.sh" shell "$1"
}

# kernel_arch KERNEL: for make
kernel_arch()
{
	[ "$(cat "$CACHE/kernels/$1/arch")" != um ] || echo ARCH=um
}

# copy_product FOLDER: what is needed to build and to install it, and nothing of the tests
copy_product()
{
	mkdir -p "$1"
	rsync -a --no-times --checksum --delete --exclude '*.o' --exclude '*.ko' --exclude '*.mod*' \
		--exclude '.*' --exclude Module.symvers --exclude modules.order --exclude '*.a' \
		"$TOP"/{Makefile,Kbuild,COPYING,dkms.conf,module,packaging} "$1/"
}
