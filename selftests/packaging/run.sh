#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make test-package`: what users install, and what becomes of it.
#
#   run.sh quick                for `make test`: install and an example driver, on uml
#   run.sh [all]                that on several kernels, the packages, DKMS, signatures
#   run.sh installed KERNEL...  make install, make install-headers, and the example
#   run.sh deb                  the packages are built, and lintian has nothing to say
#   run.sh dkms SUITE...        their life in a chroot of Debian's bookworm, trixie
#   run.sh sign KERNEL...       signed and unsigned, on a kernel that wants signatures
#
# Prints lines `KERNEL TEST VERDICT SECONDS PASSED FAILED SKIPPED`; the exit status is 0
# if nothing failed.

. "$(dirname "$0")/lib.sh"
for part in installed packages sign; do
	# shellcheck source=/dev/null
	[ ! -e "$PACKAGING/$part.sh" ] || . "$PACKAGING/$part.sh"
done

need_packages rsync make kmod xz-utils
case ${1:-all} in
quick) installed uml ;;
all)
	for k in uml uml-debug 6.1 6.12-rt 7.3; do
		installed "$k"
	done
	deb
	dkms bookworm
	dkms trixie
	sign 6.1
	sign 7.3 ;;
installed|dkms|sign)
	for k in "${@:2}"; do
		"$1" "$k"
	done ;;
deb) deb ;;
*)	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit 2 ;;
esac
printf '%s\n' "${RESULTS[@]}"
[ ${#FAILURES[@]} -eq 0 ]
