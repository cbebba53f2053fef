# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions to read files of mutants. A mutant breaks the source in one way:
#
#	[NAME]
#	# What is wrong in this source.
#	KEY: VALUE
#	in FUNCTION: SED COMMAND
#	SED COMMAND
#
# The commands are a script for sed -E. `in FUNCTION:` limits a command to the body of a function,
# so that the mutant survives code that moves. The program that runs a file defines the keys.
# Sourced, never run.

# mutant_names FILE
mutant_names() { sed -n 's/^\[\(.*\)\]$/\1/p' "$1"; }

# mutant_lines FILE NAME: its lines without the [NAME] line
mutant_lines() { awk -v name="[$2]" '/^\[/ { on = $0 == name; next } on && NF' "$1"; }

# mutant_values FILE NAME KEY: one value per line
mutant_values() { mutant_lines "$1" "$2" | sed -n "s/^$3: //p"; }

# mutant_script FILE NAME: its sed script
mutant_script()
{
	mutant_lines "$1" "$2" | sed -E -e '/^# /d' -e '/^[a-z]+: /d' \
		-e 's,^in (\w+): ,/^[a-z].*\\b\1\\(/\,/^\\}/ ,'
}
