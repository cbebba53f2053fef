#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Loads the test modules for the test programs.

if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP root only"
	exit 4
fi
echo "TAP version 13"
echo "1..1"
for m in fscommit_test cow_tree_test commit_root_test share_gate_test cow_diff_test \
	rcu_reuse_test; do
	if ! modprobe -q "$m"; then
		echo "ok 1 # SKIP no module $m: needs CONFIG_FSCOMMIT_TEST=m and modules_install"
		exit 4
	fi
done
echo "ok 1 the test modules are loaded"
