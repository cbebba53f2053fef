# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $work is the test's
# TAP output for the tests of the site check. Sourced, never run. The test writes the messages of
# each check to $work/said and exits with $failed.

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
		# shellcheck disable=SC2034 # for the test
		failed=1
	fi
}
