# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # failed is for the test, work is the test's
# TAP output for the two sites_test.sh, which test the site check of the ports. Sourced, never run.
# The test writes the messages of each check to $work/said and exits with $failed.

n=0
failed=0

# verdict STATUS NAME: prints the line of a test, and the messages of one that failed
verdict()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		sed 's/^/# /' "$work/said"
		failed=1
	fi
}
