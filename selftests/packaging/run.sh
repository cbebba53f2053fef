#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-package`: tests of what users install.
#
#   run.sh quick                for `make test-all`: installation, an example driver, tools, on uml
#   run.sh all                  the same on more kernels, and all below
#   run.sh kselftest KERNEL...  the folder that `make -C selftests install` makes, in a guest
#   run.sh installed KERNEL...  make install, install-headers and install-tools, and the example
#   run.sh range                the kernels that are refused, and headers with backports
#   run.sh dist KERNEL...       make dist and dist-f2fs, and builds of what is in the tarballs
#   run.sh deb                  the packages build, and lintian reports nothing
#   run.sh root SUITE...        make install-f2fs and the packages in a chroot of Debian bookworm or
#                               trixie, with power cuts and kernels for which they cannot build;
#                               and boots from f2fs
#   run.sh foreign              packages of Fedora and Arch; what runs without dpkg and apt
#   run.sh tools KERNEL...      the programs in tools/: made-up events, and a guest
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed.

. "$(dirname "$0")/lib.sh"
for part in dist installed packages range root tools; do
	# shellcheck source=/dev/null
	. "$PACKAGING/$part.sh"
done

need rsync make modinfo xz
case ${1:-} in
quick)
	kselftest 6.1
	installed uml
	range
	tools uml ;;
all)
	kselftest 7.3
	for k in uml 6.1 7.3; do
		installed "$k"
	done
	range
	dist 6.12
	deb
	root bookworm
	root trixie
	foreign
	tools uml
	tools 7.3 ;;
dist|installed|kselftest|root|tools)
	for k in "${@:2}"; do
		"$1" "$k"
	done ;;
deb|foreign|range) "$1" ;;
*) exit_usage ;;
esac
print_results
