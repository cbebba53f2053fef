# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The checkers. lint_NAME prints its findings in $TREE as FILE:LINE: ..., and returns 0 if it ran
# to its end; 4, with the reason on the last line, if its tool is not available. Sourced, never run.

# known NAME FILE... -- COMMAND...: prints the output of COMMAND, cached by the content of the
# FILEs, which may be files, folders or words. With $FRESH, ignores the cache.
known()
{
	local name=$1 key=() file
	shift
	while [ "$1" != -- ]; do
		key+=("$1")
		shift
	done
	shift
	file=$CACHE/lint/known-$name-$(for k in "${key[@]}"; do
		if [ -e "$k" ]; then
			(cd "$k/.." && find "${k##*/}" -type f \
				\( -name '*.[ch]' -o -name '*.cocci' -o -name Kbuild \) \
				! -name '*.mod.c' -print0 | sort -z | xargs -0 -r sha256sum)
		else
			echo "$k"
		fi
	done | sha256sum | cut -c 1-32)
	find "$CACHE/lint" -maxdepth 1 -name "known-$name-*" -mtime +30 -delete
	if [ -n "${FRESH:-}" ] || [ ! -e "$file" ]; then
		"$@" >"$OUT/$name.said" || { cat "$OUT/$name.said"; return 1; }
		cp "$OUT/$name.said" "$file"
	fi
	cat "$file"
}

# The files of the tree, without build products and files with a licence of their own.
tree_files()
{
	(cd "$TREE" && find . \( -name .git -o -path ./out -o -path ./docs/_build \
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
		*) head -c 100 "$TREE/$f" | head -n 1 | tr -d '\0' |
			grep -qE "^#!.*(/| )$2" && echo "$f" ;;
		esac
	done
}

# in_tree COMMAND...: runs it on the files named on stdin, 12 at a time, two commands at once
in_tree()
{
	(cd "$TREE" && xargs -r -d '\n' -n 12 -P 2 "$@")
}

# Caches the findings by the content of each file; with $FRESH, ignores the cache.
lint_checkpatch()
{
	local source script known sum file tmp=$OUT/checkpatch.new
	source=$("$HARNESS/kernel.sh" source 7.3) || return 1
	script=$source/scripts/checkpatch.pl
	known=$CACHE/lint/checkpatch-$(cksum <"$script" | cut -d ' ' -f 1)
	mkdir -p "$known"
	find "$known" -type f -mtime +60 -delete
	# checkpatch leaves a file in the working directory
	rm -rf "$tmp"
	mkdir "$tmp"
	ln -s "$TREE"/{docs,module,ports,selftests,tools} "$tmp/"
	(cd "$TREE" && c_files | xargs -r -d '\n' sha256sum) >"$tmp/sums"
	while read -r sum file; do
		if [ -n "${FRESH:-}" ] || [ ! -e "$known/$sum-${file//\//_}" ]; then
			echo "$file"
		fi
	done <"$tmp/sums" >"$tmp/files"
	TREE=$tmp in_tree perl "$script" --no-tree --strict --show-types --terse \
		--max-line-length=100 -f <"$tmp/files" >"$tmp/said" 2>"$tmp/err"
	# these two messages are harmless: there is no kernel tree
	if grep -vE '/include.: No such file|value \$root in concatenation' "$tmp/err"; then
		return 1
	fi
	while read -r file; do
		sum=$(awk -v f="$file" '$2 == f { print $1 }' "$tmp/sums")
		awk -v f="$file:" 'index($0, f) == 1' "$tmp/said" >"$known/$sum-${file//\//_}"
	done <"$tmp/files"
	while read -r sum file; do
		cat "$known/$sum-${file//\//_}"
	done <"$tmp/sums"
}

# The sparse of Debian 12 cannot read Linux 7.3.
sparse_program()
{
	later_tool sparse forky sparse libc6 >&2 || return 1
	echo "$CACHE/toolchain/sparse/bin/sparse"
}

lint_sparse()
{
	local sparse
	sparse=$(sparse_program) || return 1
	known sparse "$TREE/module" "$TREE/selftests" "$("$sparse" --version)" \
		"$(cksum <"$CACHE/kernels/uml/kdir/.config")" -- run_sparse "$sparse"
}

# Runs in a copy, so that the objects of other builds do not change.
run_sparse()
{
	local sparse=$1 copy=$CACHE/lint/sparse log=$CACHE/lint/sparse/log
	mkdir -p "$copy/selftests"
	copy_product "$TREE" "$copy"
	TOP=$TREE copy_test_modules "$copy"
	FSCOMMIT_BUILD_ROOT=$copy "$HARNESS/kernel.sh" build uml "$copy" \
		C=2 CHECK="$sparse" modules >"$log" 2>&1 || { tail -n 5 "$log"; return 1; }
	FSCOMMIT_BUILD_ROOT=$copy "$HARNESS/kernel.sh" build uml \
		"$copy/selftests" KBUILD_EXTRA_SYMBOLS="$copy/Module.symvers" \
		C=2 CHECK="$sparse" modules >>"$log" 2>&1 || { tail -n 5 "$log"; return 1; }
	# for test modules, sparse names files relative to selftests/
	grep -E '^[^ ]+:[0-9]+.*: (warning|error):' "$log" | sort -u |
		while IFS= read -r line; do
			[ -e "$TREE/${line%%:*}" ] || line=selftests/$line
			printf '%s\n' "${line#"$copy"/}"
		done
	grep -q '^  CHECK ' "$log"
}

lint_smatch()
{
	local copy=$CACHE/lint/smatch log
	if ! command -v smatch >/dev/null; then
		echo "Debian has no package of smatch, and smatch is not in PATH"
		return 4
	fi
	mkdir -p "$copy"
	log=$copy/log
	rsync -a --delete --exclude '*.o' "$TREE/module" "$TREE/Kbuild" "$copy/"
	FSCOMMIT_BUILD_ROOT=$copy "$HARNESS/kernel.sh" build uml "$copy" \
		C=2 CHECK="$(command -v smatch) -p=kernel" modules >"$log" 2>&1 || return 1
	grep -E '^[^ ]+:[0-9]+.* (warn|error|warning):' "$log" | sort -u
	return 0
}

# The kernel's semantic patches, in report mode. Leaves out those in OCaml, because its compiler
# takes 300 MB, and those that must be selected by name.
lint_coccicheck()
{
	local source
	source=$("$HARNESS/kernel.sh" source 7.3) || return 1
	known coccicheck "$TREE/module" "$source/scripts/coccinelle" \
		"$(spatch --version | head -n 1)" -- run_coccicheck "$source"
}

run_coccicheck()
{
	local source=$1
	one_rule() {
		local options
		options=$(sed -n 's|^/// *Options: *||p;s|^// *Options: *||p' "$1" | tr '\n' ' ')
		# shellcheck disable=SC2086 # options are words
		(cd "$TREE" && timeout 1200 spatch -D report --very-quiet --no-show-diff \
			--cocci-file "$1" $options --patch "$TREE" -I "$2/include" \
			-I module/include --dir module 2>/dev/null) ||
			echo "$1:1: spatch failed with it ($?)"
	}
	export -f one_rule
	grep -rl --include='*.cocci' '^virtual report' "$source/scripts/coccinelle" |
		grep -E "${RULES:-.}" | xargs grep -L 'script:ocaml' | sort |
		TREE=$TREE xargs -P 2 -I RULE bash -c 'one_rule "$@"' - RULE "$source" |
		sed -E "s|^(\./)?||;s|^$TREE/||" | grep -E '^[^ ]+:[0-9]+' |
		sort -u >"$OUT/cocci.said"
	cat "$OUT/cocci.said"
	# do not cache a failure
	! grep -q 'spatch failed' "$OUT/cocci.said"
}

lint_kernel_doc()
{
	local source
	source=$("$HARNESS/kernel.sh" source 7.3) || return 1
	(
		cd "$TREE" || exit 1
		files=$(c_files | grep '^module/')
		# shellcheck disable=SC2086 # a list
		python3 "$source/scripts/kernel-doc" -none -Wall -Werror $files 2>&1 |
			sed -E 's/^(Warning|Error): ([^ ]+) /\2: /' | grep -E '^module' | sort -u
		# shellcheck disable=SC2086
		python3 "$source/scripts/kernel-doc" -rst $files 2>/dev/null |
			python3 "$LINT/documented.py" $files
	)
}

lint_shellcheck()
{
	scripts sh '(ba|da|a)?sh' | in_tree shellcheck -x -f gcc --source-path=SCRIPTDIR:selftests/harness \
		--severity=info
	return 0
}

lint_codespell()
{
	tree_files | in_tree codespell
	return 0
}

lint_pyflakes()
{
	scripts py python3 | in_tree pyflakes3
	return 0
}

# Each mutant must still change the source. `make test-meta` tests that it is caught.
lint_mutants()
{
	local part m n files
	mapfile -t files < <(product_files "$TREE")
	cat "${files[@]}" >"$OUT/mutants.source"
	grep -d skip -lx '\[[a-z0-9-]*\]' "$TREE"/selftests/mutants/* | while read -r part; do
		mutant_names "$part" | while read -r m; do
			mutant_script "$part" "$m" >"$OUT/mutants.sed"
			sed -E -s -f "$OUT/mutants.sed" "${files[@]}" >"$OUT/mutants.out" &&
				! cmp -s "$OUT/mutants.out" "$OUT/mutants.source" && continue
			n=$(grep -nxF "[$m]" "$part")
			echo "${part#"$TREE/"}:${n%%:*}: [$m] changes nothing: its line is gone"
		done
	done
}

# The rules of this tree that no other tool checks.
lint_house()
{
	local f
	tree_files | while read -r f; do
		case $f in
		.gitignore|.editorconfig|COPYING) continue ;;
		esac
		head -n 4 "$TREE/$f" | grep 'SPDX-License-Identifier: GPL-2.0' >/dev/null ||
			echo "$f:1: no SPDX line at the top"
	done
	tree_files | in_tree grep -nHE '[ 	]$' |
		sed 's/:\([0-9]*\):.*/:\1: trailing whitespace/'
	# grep -q exits at the first match, and SIGPIPE may make the writer fail
	tree_files | grep -vE '\.([ch]|rst)$' | in_tree grep -nHE '[^|]\| *grep -[a-zA-Z]*q' |
		sed 's/:\([0-9]*\):.*/:\1: a pipe into grep -q: use >\/dev\/null/'
	c_files | grep -vE '(^|/)(compat|import_fscommit)\.h$|fuzz/userspace\.h$' |
		in_tree grep -nHE 'KERNEL_VERSION|LINUX_VERSION_CODE' |
		sed 's/$/: a kernel version outside of compat.h/'
	tree_files | grep -E '\.([ch]|sh|py|pml)$' | (cd "$TREE" && xargs -r -d '\n' wc -l) |
		awk '$2 != "total" && $1 > 1300 { print $2 ":1: " $1 " lines, 1300 at most" }'
	"$TOP/packaging/versions.sh" "$TREE"
	(cd "$TREE" && grep -noE '\]\([^):]+' ./*.md) | while IFS=: read -r f n link; do
		link=${link#*\(}
		[ -e "$TREE/${link%%#*}" ] || echo "${f#./}:$n: no file ${link%%#*}"
	done
	python3 "$LINT/parameters.py" "$TREE"
}
