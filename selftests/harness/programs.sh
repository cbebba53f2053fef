#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#   programs.sh [ARCH]      see build_programs()

. "$(dirname "$0")/lib.sh"
. "$HARNESS/plan.sh"

build_programs "$@"
