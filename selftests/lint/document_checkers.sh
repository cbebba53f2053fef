# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Checkers of the documents, like those in checkers.sh. Sourced, never run.

# Compiles the C code in the documents for a kernel.
lint_snippets()
{
	local d=$CACHE/lint/snippets rc=0
	rm -rf "$d"
	mkdir -p "$d"
	python3 "$LINT/snippets.py" "$TREE" "$TREE/selftests/lint/snippets" "$d" || return 1
	FSCOMMIT_BUILD_ROOT=$d "$HARNESS/kernel.sh" build uml "$d" \
		-k snippets.o >"$d/log" 2>&1 || rc=$?
	grep -E '^[^ ]+:[0-9]+.*: (warning|error):' "$d/log" | sed "s|^$TREE/||" | sort -u
	# no error in a document: show the log
	if [ "$rc" -ne 0 ] && ! grep -q ': error:' "$d/log"; then
		tail -n 5 "$d/log"
		return 1
	fi
	[ -e "$d/snippets.o" ] || grep -q ': error:' "$d/log"
}

# options_in FILE: prints each option with the name of its argument, one per line
options_in()
{
	grep -oE '(^|[ ,[])(-[A-Za-z]|--[a-z][a-z-]*)(=[A-Z]+)?' "$1" | tr -d ' ,[' | sort -u
}

# Manual pages must be clean and list the options of --help with their arguments; --help must list
# all options of the program.
lint_man()
{
	local d=$CACHE/lint/programs page name p source kselftest devices=()
	kselftest=$("$HARNESS/kernel.sh" source 7.3)/tools/testing/selftests
	mkdir -p "$d"
	for p in "$TREE"/selftests/*/module; do
		devices+=("-I$p")
	done
	for page in "$TREE"/tools/*.[1-8]; do
		name=$(basename "$page")
		# the other installed manuals depend on this machine
		mandoc -T lint -W all "$page" 2>/dev/null | sed -E "s|^mandoc: $TREE/||" |
			{ grep -v 'STYLE: referenced manual not found:' || true; }
		if [ -e "$TREE/tools/${name%.*}.c" ]; then
			gcc -O0 -w -static -o "$d/${name%.*}" "$TREE/tools/${name%.*}.c" || return 1
		else
			cp "$TREE/tools/${name%.*}" "$d/"
		fi
		"$d/${name%.*}" --help >"$d/help" || echo "tools/$name:1: --help fails"
		mandoc -T ascii "$page" | col -bx | grep -E '^     -' >"$d/tags"
		diff <(grep -E "^ +-" "$d/help" | options_in -) <(options_in "$d/tags") |
			sed -nE -e "s|^< |tools/$name:1: not in the manual: |p" \
				-e "s|^> |tools/$name:1: not in --help: |p"
	done
	for p in "$TREE"/selftests/*/bench/*.c; do
		source=$p
		name=$(basename "$p" .c)
		[ -e "$d/$name" ] && [ "$d/$name" -nt "$p" ] ||
			gcc -O0 -w -static -pthread -I"$TREE/selftests/lib" "-I$kselftest" \
				"${devices[@]}" -o "$d/$name" "$p" || return 1
		"$d/$name" --help >"$d/help" || echo "${p#"$TREE"/}:1: --help fails"
		grep -oE '\{ "[a-z-]+", [01], NULL' "$p" | cut -d '"' -f 2 | while read -r p; do
			grep -qE -- "--$p([^a-z-]|$)" "$d/help" ||
				echo "${source#"$TREE"/}:1: --help does not list --$p"
		done
	done
	return 0
}

# Builds the documents as a site; a warning is a finding.
lint_docs()
{
	"$TOP/docs/build.sh" "$TREE/docs" "$CACHE/lint/site" >"$OUT/docs.log" 2>&1 && return 0
	grep -E '(WARNING|ERROR)' "$OUT/docs.log" | sed "s|^$TREE/||" | grep . ||
		tail -n 5 "$OUT/docs.log"
	return 0
}
