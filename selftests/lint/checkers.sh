# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The checkers. lint_NAME prints its findings as FILE:LINE: ..., and returns 0 if it ran to its end.
# Sourced, never run.

# The files of the tree, without build products and files with a licence of their own.
tree_files()
{
	(cd "$TOP" && find . \( -name .git -o -path ./out -o -path ./docs/_build \
		-o -name __pycache__ \) -prune -o -type f ! -name '*.mod.c' ! -name '.*.cmd' \
		! -name COPYING ! -name 'Module.symvers' ! -name modules.order ! -name '*.[oa]' \
		! -name '*.ko' ! -name '*.mod' ! -path ./tools/ckptlat -printf '%P\n' | sort)
}

c_files() { tree_files | grep -E '\.[ch]$'; }

# scripts SUFFIX INTERPRETER: finds scripts by their first line, too: those of the guests and the
# tools have no suffix. INTERPRETER is a regular expression.
scripts()
{
	tree_files | while read -r f; do
		case $f in
		*."$1") echo "$f" ;;
		*) head -c 100 "$TOP/$f" | head -n 1 | tr -d '\0' |
			grep -qE "^#!.*(/| )$2" && echo "$f" ;;
		esac
	done
}

# in_tree COMMAND...: runs it on the files named on stdin, 12 at a time, two commands at once
in_tree() { (cd "$TOP" && xargs -r -d '\n' -n 12 -P 2 "$@"); }

lint_checkpatch()
{
	local source
	need perl
	source=$("$SCRIPTS/kernel.sh" source 7.3) || return 1
	# outside of the tree: checkpatch leaves a file in the working directory
	rm -rf "$OUT/tree"
	mkdir "$OUT/tree"
	ln -s "$TOP"/{docs,module,ports,scripts,selftests,tools} "$OUT/tree/"
	c_files | TOP=$OUT/tree in_tree perl "$source/scripts/checkpatch.pl" --no-tree --strict \
		--show-types --terse --max-line-length=100 -f | grep -v '^total: '
	return 0
}

# Runs in a copy, so that the objects of other builds do not change. The sparse of Debian 12
# cannot read Linux 7.3.
lint_sparse()
{
	local sparse copy=$CACHE/lint/sparse log=$OUT/sparse.log
	need rsync
	later_tool sparse forky sparse libc6 >&2 || return 1
	sparse=$CACHE/toolchain/sparse/bin/sparse
	"$SCRIPTS/kernel.sh" get uml >/dev/null || return 1
	mkdir -p "$copy/selftests"
	copy_product "$TOP" "$copy"
	copy_test_modules "$copy"
	# make -s would hide what was checked
	export FSCOMMIT_BUILD_ROOT=$copy MAKEFLAGS=
	"$SCRIPTS/kernel.sh" build uml "$copy" C=2 CHECK="$sparse" modules >"$log" 2>&1 &&
		"$SCRIPTS/kernel.sh" build uml "$copy/selftests" C=2 CHECK="$sparse" \
			KBUILD_EXTRA_SYMBOLS="$copy/Module.symvers" modules >>"$log" 2>&1 ||
		{ tail -n 5 "$log"; return 1; }
	# for test modules, sparse names files relative to selftests/
	grep -E '^[^ ]+:[0-9]+.*: (warning|error):' "$log" | sort -u | while IFS= read -r line; do
		[ -e "$TOP/${line%%:*}" ] || line=selftests/$line
		printf '%s\n' "${line#"$copy"/}"
	done
	grep -q '^  CHECK ' "$log"
}

# Each comment must be well-formed, and each exported function must have one.
lint_kernel_doc()
{
	local source name
	need python3
	source=$("$SCRIPTS/kernel.sh" source 7.3) || return 1
	cd "$TOP" || return 1
	c_files | grep '^module/' | xargs python3 "$source/scripts/kernel-doc" -none -Wall -Werror \
		2>&1 | sed -E 's/^(Warning|Error): ([^ ]+) /\2: /' | grep -E '^module' | sort -u
	grep -nE '^EXPORT_SYMBOL' module/*.c | while IFS=: read -r file line name; do
		name=${name#*\(} name=${name%%)*}
		grep -rqE "^ \* ($name\(\)|struct $name) - " module ||
			echo "$file:$line: no kernel-doc: exported $name"
	done
}

lint_shellcheck()
{
	need shellcheck
	scripts sh '(ba|da|a)?sh' | in_tree shellcheck -x -f gcc --severity=info \
		--source-path=SCRIPTDIR:selftests/harness
	return 0
}

lint_codespell()
{
	need codespell
	tree_files | in_tree codespell
	return 0
}

lint_pyflakes()
{
	need pyflakes3
	scripts py python3 | in_tree pyflakes3
	return 0
}

# Each mutant must still change the source, and the tests and names that mutants and comments
# give must exist. `make test-meta` tests that a mutant is caught.
lint_mutants()
{
	local part m files
	mapfile -t files < <(product_files "$TOP")
	cat "${files[@]}" >"$OUT/mutants.source"
	grep -d skip -lx '\[[a-z0-9-]*\]' "$TOP"/selftests/mutants/* | while read -r part; do
		mutant_names "$part" | while read -r m; do
			mutant_script "$part" "$m" >"$OUT/mutants.sed"
			sed -E -s -f "$OUT/mutants.sed" "${files[@]}" >"$OUT/mutants.out" &&
				! cmp -s "$OUT/mutants.out" "$OUT/mutants.source" && continue
			echo "${part#"$TOP/"}:1: [$m] changes nothing: its line is gone"
		done
	done
	python3 "$LINT/seen_failing.py" "$TOP"
}

# Each published table has lines in the plan, says where it is from, and is of a commit of this
# history, if all of that is here.
check_figures()
{
	local f key line commit
	cd "$TOP/docs/figures" || return 1
	diff <(awk '!/^#/ && NF { print $1 ".tsv" }' plan | sort -u) <(ls -- *.tsv) |
		sed -nE -e 's|^< (.*)|docs/figures/plan:1: no file \1|p' \
			-e 's|^> (.*)|docs/figures/\1:1: not in the plan|p'
	for f in *.tsv; do
		for key in rounds kernel machine command commit; do
			grep "^# $key: " "$f" >/dev/null || echo "docs/figures/$f:1: no $key"
		done
	done
	[ "$(git rev-parse --show-toplevel --is-shallow-repository 2>/dev/null)" = \
		"$TOP"$'\nfalse' ] || return 0
	grep -n '^# commit: ' -- *.tsv | while IFS=: read -r f line key commit; do
		for commit in $(grep -oE '\b[0-9a-f]{7,40}\b' <<<"$commit" || echo none); do
			git merge-base --is-ancestor "$commit" HEAD 2>/dev/null ||
				echo "docs/figures/$f:$line: commit $commit is not of this history"
		done
	done
}

# The rules of this tree that no other tool checks.
lint_house()
{
	local f
	tree_files | while read -r f; do
		case $f in
		.gitignore|.editorconfig) continue ;;
		esac
		head -n 4 "$TOP/$f" | grep 'SPDX-License-Identifier: GPL-2.0' >/dev/null ||
			echo "$f:1: no SPDX line at the top"
	done
	tree_files | in_tree grep -nHE '[ 	]$' |
		sed 's/:\([0-9]*\):.*/:\1: trailing whitespace/'
	# grep -q exits at the first match, and SIGPIPE may make the writer fail
	tree_files | grep -vE '\.([ch]|rst)$' | in_tree grep -nHE '[^|]\| *grep -[a-zA-Z]*q' |
		sed 's/:\([0-9]*\):.*/:\1: a pipe into grep -q: use >\/dev\/null/'
	# only upstream/, which copies the selftests into a kernel's, and make's targets need them
	tree_files | grep -E '^(module|ports|packaging|scripts|tools|docs)/|^Kbuild$' |
		{ grep -vE '\.(rst|8)$' || true; } | in_tree grep -nH 'selftests/' |
		sed -E 's/^([^:]*:[0-9]+:).*/\1 needs selftests\//'
	"$TOP/packaging/versions.sh" "$TOP"
	grep -F "Linux $("$TOP/module/kernels" fscommit)]" "$TOP/README.md" >/dev/null ||
		echo "README.md:1: the range of kernels is not that of module/kernels"
	(cd "$TOP" && grep -noE '\]\([^):]+' ./*.md) | while IFS=: read -r f n link; do
		link=${link#*\(}
		[ -e "$TOP/${link%%#*}" ] || echo "${f#./}:$n: no file ${link%%#*}"
	done
	python3 "$LINT/parameters.py" "$TOP"
	(check_figures)
	# names and members that the script for drgn uses
	grep -oE '"(struct )?[a-z_]{4,}"|\b(sem|slot|watch|w)\.[a-z_]*[a-z]\b' "$TOP/tools/drgn_locks.py" |
		sed 's/"//g; s/.*\.//' | while read -r name; do
		grep -rqwF "$name" "$TOP/module" || echo "tools/drgn_locks.py:1: no $name in module/"
	done
}

# options_in FILE: prints each option with the name of its argument, one per line
options_in()
{
	grep -oE '(^|[ ,[])(-[A-Za-z]|--[a-z][a-z-]*)(=[A-Z]+)?' "$1" | tr -d ' ,[' | sort -u
}

# Manual pages must be clean, and list the options of --help with their arguments.
lint_man()
{
	local page name program
	need mandoc gcc libc.a
	for page in "$TOP"/tools/*.[1-8]; do
		name=$(basename "$page") program=${page%.*}
		# the other installed manuals depend on this machine
		mandoc -T lint -W all "$page" 2>/dev/null | sed -E "s|^mandoc: $TOP/||" |
			{ grep -v 'STYLE: referenced manual not found:' || true; }
		if [ -e "$program.c" ]; then
			gcc -O0 -w -static -o "$OUT/program" "$program.c" || return 1
			program=$OUT/program
		fi
		"$program" --help >"$OUT/help" || echo "tools/$name:1: --help fails"
		mandoc -T ascii "$page" | col -bx | grep -E '^     -' >"$OUT/tags"
		diff <(grep -E "^ +-" "$OUT/help" | options_in -) <(options_in "$OUT/tags") |
			sed -nE -e "s|^< |tools/$name:1: not in the manual: |p" \
				-e "s|^> |tools/$name:1: not in --help: |p"
	done
	return 0
}

# Builds the documents as a site; a warning is a finding.
lint_docs()
{
	"$TOP/docs/build.sh" "$TOP/docs" "$CACHE/lint/site" >"$OUT/docs.log" 2>&1 && return 0
	grep -E '(WARNING|ERROR)' "$OUT/docs.log" | sed "s|^$TOP/||" | grep . ||
		tail -n 5 "$OUT/docs.log"
	return 0
}
