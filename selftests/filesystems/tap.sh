# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $work is the test's
# For the tests of the site check: TAP, one line for each verdict. Sourced, never run; the
# test has a folder $work, with what was said in $work/said, and ends with $failed.

n=0
# shellcheck disable=SC2034 # for the test
failed=0

# verdict STATUS NAME
verdict()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		sed 's/^/# /' "$work/said"
		# shellcheck disable=SC2034 # for who sources this
		failed=1
	fi
}
