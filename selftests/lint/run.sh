#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make lint`: static checkers of the source.
#
#   run.sh [all]            every checker
#   run.sh quick            those that need no kernel but its source: for `make test`
#   run.sh rest             the others
#   run.sh CHECKER...       some of: checkpatch kernel-doc shellcheck codespell pyflakes mutants house
#                           man sparse docs
#
# Prints lines `any lint-CHECKER VERDICT SECONDS PASSED FAILED SKIPPED`, and the findings on
# stderr. The file `exceptions` lists findings to ignore, with the reasons. The exit status is
# 0 if there is no other finding.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../harness/lib.sh"
LINT=$TOP/selftests/lint
# shellcheck source-path=SCRIPTDIR
. "$TOP/selftests/mutants/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$LINT/checkers.sh"

QUICK='checkpatch kernel-doc shellcheck codespell pyflakes mutants house man'
REST='sparse docs'
OUT=$LOGS/lint

# heed CHECKER FILE: prints the findings in FILE that no exception covers
heed()
{
	awk -v checker="$1" '
		function pattern(glob) {
			gsub(/\./, "[.]", glob)
			gsub(/\*/, ".*", glob)
			gsub(/,/, "|", glob)
			return "^(" glob ")$"
		}
		FILENAME == ARGV[1] && $1 == "=" { name[$2] = $3 }
		FILENAME == ARGV[1] && $1 == checker {
			files[++n] = pattern($2 in name ? name[$2] : $2)
			finding[n] = $3
		}
		FILENAME == ARGV[1] { next }
		{
			file = $0
			sub(/:.*/, "", file)
			for (i = 1; i <= n; i++)
				if (file ~ files[i] && $0 ~ finding[i])
					next
			print
		}' "$LINT/exceptions" "$2"
}

# check CHECKER: prints its line; its findings go to stderr
check()
{
	local name=$1 start=$SECONDS rc=0
	(lint_"${name//-/_}") >"$OUT/$name.all" 2>"$OUT/$name.err" </dev/null || rc=$?
	heed "$name" "$OUT/$name.all" >"$OUT/$name"
	[ "$rc" -eq 0 ] ||
		{ echo "$name failed ($rc):"; tail -n 5 "$OUT/$name.err"; } >>"$OUT/$name"
	if [ ! -s "$OUT/$name" ]; then
		echo "any lint-$name ok $((SECONDS - start)) 1 0 0"
		return
	fi
	say "  $name:"
	head -n 40 "$OUT/$name" | sed 's/^/    /' >&2
	[ "$(wc -l <"$OUT/$name")" -le 40 ] || say "    ... more in $OUT/$name"
	echo "any lint-$name FAIL $((SECONDS - start)) 0 1 0"
	bad=1
}

# shellcheck disable=SC2086 # lists
case ${1:-all} in
all) set -- $QUICK $REST ;;
quick) set -- $QUICK ;;
rest) set -- $REST ;;
-*) exit_usage ;;
esac
mkdir -p "$OUT"
bad=0
for c in "$@"; do
	declare -F "lint_${c//-/_}" >/dev/null || die "no checker '$c'; there are: $QUICK $REST"
	check "$c"
done
exit "$bad"
