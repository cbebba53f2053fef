# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The checkers: lint_NAME prints what it finds in $TREE, FILE:LINE: ..., and returns 0 if it came
# to its end, 4 with the reason on the last line if it cannot be had. $ONLY is one file of $TREE,
# or empty for all of them. Sourced, never run.

# known NAME FILE... -- COMMAND...: what COMMAND has said with this content of the FILEs, folders
# and words among them. With $FRESH, or for one file of the tree, nothing is known.
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
			(cd "$k/.." && find "${k##*/}" -type f \( -name '*.[ch]' -o -name '*.cocci' -o \
				-name Kbuild \) ! -name '*.mod.c' -print0 | sort -z | xargs -0 -r sha256sum)
		else
			echo "$k"
		fi
	done | sha256sum | cut -c 1-32)
	find "$CACHE/lint" -maxdepth 1 -name "known-$name-*" -mtime +30 -delete
	if [ -n "${FRESH:-}$ONLY" ] || [ ! -e "$file" ]; then
		"$@" >"$OUT/$name.said" || { cat "$OUT/$name.said"; return 1; }
		[ -n "$ONLY" ] || cp "$OUT/$name.said" "$file"
		cat "$OUT/$name.said"
	else
		cat "$file"
	fi
}

# What the tree is made of: no build product, and not what has its own licence.
tree_files()
{
	if [ -n "$ONLY" ]; then
		printf '%s\n' "$ONLY"
		return
	fi
	(cd "$TREE" && find . \( -name .git -o -path ./out -o -path ./docs/_build -o -name __pycache__ \) \
		-prune -o -type f ! -name '*.mod.c' ! -name '.*.cmd' ! -name COPYING \
		! -name 'Module.symvers' ! -name modules.order ! -name '*.[oa]' ! -name '*.ko' \
		! -name '*.mod' ! -path ./tools/ckptlat -printf '%P\n' | sort)
}

c_files() { tree_files | grep -E '\.[ch]$'; }

# by the first line: guests have scripts without a suffix
scripts()
{
	tree_files | while read -r f; do
		case $f in
		*.sh) echo "$f" ;;
		*) head -c 100 "$TREE/$f" | head -n 1 | tr -d '\0' |
			grep -qE '^#!.*(/| )(ba|da|a)?sh' && echo "$f" ;;
		esac
	done
}

# in_tree COMMAND...: with the files that are read from stdin, some at a time, two at once
in_tree()
{
	(cd "$TREE" && xargs -r -d '\n' -n 12 -P 2 "$@")
}

# What it has said of a file with this content is known; with $FRESH nothing is.
lint_checkpatch()
{
	local source script known sum file tmp=$OUT/checkpatch.new
	source=$("$HARNESS/kernel.sh" source 7.3) || return 1
	script=$source/scripts/checkpatch.pl
	known=$CACHE/lint/checkpatch-$(cksum <"$script" | cut -d ' ' -f 1)
	mkdir -p "$known"
	find "$known" -type f -mtime +60 -delete
	# it leaves a file where it is started
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
	# it looks for the names of a kernel's headers, where there is none
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

# Debian 12 has one that cannot read 7.3.
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

# In a copy, so that objects of other builds stay what they are.
run_sparse()
{
	local sparse=$1 copy=$CACHE/lint/sparse goal=modules log
	if [ -n "$ONLY" ]; then
		copy=$CACHE/lint/sparse-one
		goal=${ONLY%.c}.o
	fi
	mkdir -p "$copy/selftests"
	log=$copy/log
	rsync -a --no-times --checksum --delete --exclude '*.o' --exclude '*.ko' --exclude '*.mod*' \
		--exclude '.*' --exclude Module.symvers --exclude modules.order \
		"$TREE/module" "$TREE/Kbuild" "$copy/"
	TOP=$TREE copy_test_modules "$copy"
	FSCOMMIT_BUILD_ROOT=$copy "$HARNESS/kernel.sh" build uml "$copy" \
		C=2 CHECK="$sparse" "$goal" >"$log" 2>&1 || { tail -n 5 "$log"; return 1; }
	[ -n "$ONLY" ] || FSCOMMIT_BUILD_ROOT=$copy "$HARNESS/kernel.sh" build uml \
		"$copy/selftests" KBUILD_EXTRA_SYMBOLS="$copy/Module.symvers" \
		C=2 CHECK="$sparse" modules >>"$log" 2>&1 || { tail -n 5 "$log"; return 1; }
	# a file of the test modules is named from their own folder
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
		echo "no package of Debian has smatch; it is used where it is in PATH"
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

# The kernel's semantic patches, in the mode in which they report. Those in OCaml are left out,
# a compiler for it is 300 MB; so is what must be asked for by name.
lint_coccicheck()
{
	local source
	source=$("$HARNESS/kernel.sh" source 7.3) || return 1
	known coccicheck "$TREE/module" "$source/scripts/coccinelle" "$(spatch --version | head -n 1)" \
		-- run_coccicheck "$source"
}

run_coccicheck()
{
	local source=$1
	one_rule() {
		local options
		options=$(sed -n 's|^/// *Options: *||p;s|^// *Options: *||p' "$1" | tr '\n' ' ')
		# shellcheck disable=SC2086 # options are words
		(cd "$TREE" && timeout 120 spatch -D report --very-quiet --no-show-diff --cocci-file "$1" \
			$options --patch "$TREE" -I "$2/include" -I module/include \
			${3:---dir module} 2>/dev/null) || echo "$1:1: spatch failed with it ($?)"
	}
	export -f one_rule
	grep -rl --include='*.cocci' '^virtual report' "$source/scripts/coccinelle" |
		grep -E "${RULES:-.}" | xargs grep -L 'script:ocaml' | sort | TREE=$TREE xargs -P 2 -I RULE \
		bash -c 'one_rule "$@"' - RULE "$source" ${ONLY:+"$ONLY"} |
		sed -E "s|^(\./)?||;s|^$TREE/||" | grep -E '^[^ ]+:[0-9]+' | sort -u >"$OUT/cocci.said"
	cat "$OUT/cocci.said"
	# that is not known for next time
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
	scripts | in_tree shellcheck -x -f gcc --source-path=SCRIPTDIR:selftests/harness \
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
	tree_files | grep '\.py$' | in_tree pyflakes3
	return 0
}

# What no tool knows of: the rules of this tree.
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
	tree_files | in_tree grep -nHE '[ 	]$' | sed 's/:\([0-9]*\):.*/:\1: a blank at the end/'
	# grep ends at the first match, and whoever writes to it by SIGPIPE: a failure, at times
	tree_files | grep -vE '\.([ch]|rst)$' | in_tree grep -nHE '[^|]\| *grep -[a-zA-Z]*q' |
		sed 's/:\([0-9]*\):.*/:\1: a pipe into grep -q: >\/dev\/null instead/'
	c_files | grep -vE '(^|/)(compat|import_fscommit)\.h$|/shim/' |
		in_tree grep -nHE 'KERNEL_VERSION|LINUX_VERSION_CODE' | sed 's/$/: a version outside of compat.h/'
	tree_files | grep -E '\.([ch]|sh|py|pml)$' | (cd "$TREE" && xargs -r -d '\n' wc -l) |
		awk '$2 != "total" && $1 > 1300 { print $2 ":1: " $1 " lines: two jobs" }'
	return 0
}
