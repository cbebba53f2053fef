#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make lint`: static checkers of the source.
#
#   run.sh [all]            every checker
#   run.sh quick            those that need no kernel but its source: for `make test`
#   run.sh rest             the others
#   run.sh CHECKER...       some of: checkpatch sparse smatch coccicheck kernel-doc shellcheck
#                           codespell pyflakes mutants house snippets man docs
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
# shellcheck source-path=SCRIPTDIR
. "$LINT/document_checkers.sh"

QUICK='checkpatch kernel-doc shellcheck codespell pyflakes mutants house man'
REST='coccicheck sparse smatch snippets docs'
CHECKERS="$QUICK $REST"
OUT=$LOGS/lint
TREE=$TOP

# heed CHECKER FILE: prints the findings in FILE that no exception covers, and the exceptions that
# no finding needs
heed()
{
	awk -v checker="$1" '
		function pattern(glob) {
			gsub(/\./, "[.]", glob)
			gsub(/\*/, ".*", glob)
			gsub(/,/, "|", glob)
			return "^(" glob ")$"
		}
		FILENAME != ARGV[1] { exit }
		/^#/ || !NF { next }
		$1 == "=" { name[$2] = $3; next }
		$1 == checker {
			n++
			files[n] = pattern($2 in name ? name[$2] : $2)
			finding[n] = $3
			at[n] = FNR
		}
		END {
			while ((getline line <ARGV[2]) > 0) {
				file = line
				sub(/:.*/, "", file)
				drop = 0
				for (i = 1; i <= n; i++)
					if (file ~ files[i] && line ~ finding[i])
						drop = used[i] = 1
				if (!drop)
					print line
			}
			for (i = 1; i <= n; i++)
				if (!used[i])
					printf "%s:%d: no finding needs it\n", \
						"selftests/lint/exceptions", at[i]
		}' "$LINT/exceptions" "$2"
}

# check CHECKER: writes findings to OUT/CHECKER, verdict and seconds to OUT/CHECKER.verdict
check()
{
	local name=$1 start=$SECONDS rc=0 verdict=ok
	(lint_"${name//-/_}") >"$OUT/$name.all" 2>"$OUT/$name.err" </dev/null || rc=$?
	if [ "$rc" -eq 4 ]; then
		verdict=skip
		cp "$OUT/$name.all" "$OUT/$name"
	else
		heed "$name" "$OUT/$name.all" >"$OUT/$name"
		[ "$rc" -eq 0 ] ||
			{ echo "$name failed ($rc):"; tail -n 5 "$OUT/$name.err"; } >>"$OUT/$name"
		[ ! -s "$OUT/$name" ] || verdict=FAIL
	fi
	echo "$verdict $((SECONDS - start))" >"$OUT/$name.verdict"
}

# show CHECKER: prints its line; its findings go to stderr
show()
{
	local name=$1 verdict seconds
	read -r verdict seconds <"$OUT/$name.verdict"
	case $verdict in
	ok) echo "any lint-$name ok $seconds 1 0 0" ;;
	skip)
		say "  $name skipped: $(tail -n 1 "$OUT/$name")"
		echo "any lint-$name skip $seconds 0 0 1" ;;
	*)
		say "  $name:"
		head -n 40 "$OUT/$name" | sed 's/^/    /' >&2
		[ "$(wc -l <"$OUT/$name")" -le 40 ] || say "    ... more in $OUT/$name"
		echo "any lint-$name FAIL $seconds 0 1 0"
		bad=1 ;;
	esac
}

run()
{
	local c
	# get what they need before they run in parallel
	for c in "$@"; do
		declare -F "lint_${c//-/_}" >/dev/null ||
			die "no checker '$c'; there are: $CHECKERS"
	done
	prepare "$@"
	for c in "$@"; do
		check "$c" &
		while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
			wait -n
		done
	done
	wait
	for c in "$@"; do
		show "$c"
	done
}

# Installs packages and sources, one at a time.
prepare()
{
	case " $* " in *' checkpatch '*|*' coccicheck '*|*' kernel-doc '*)
		"$HARNESS/kernel.sh" source 7.3 >/dev/null || die "no source of a kernel" ;;
	esac
	case " $* " in *' sparse '*|*' smatch '*|*' snippets '*)
		need_packages rsync
		"$HARNESS/kernel.sh" get uml >/dev/null || die "no kernel to build for" ;;
	esac
	case " $* " in *' sparse '*) sparse_program >/dev/null || die "no sparse" ;; esac
	case " $* " in *' checkpatch '*) need_packages perl ;; esac
	case " $* " in *' kernel-doc '*|*' house '*|*' snippets '*) need_packages python3 ;; esac
	case " $* " in *' coccicheck '*) need_packages coccinelle ;; esac
	case " $* " in *' shellcheck '*) need_packages shellcheck ;; esac
	case " $* " in *' codespell '*) need_packages codespell ;; esac
	case " $* " in *' pyflakes '*) need_packages pyflakes3 ;; esac
	case " $* " in *' man '*) need_packages mandoc gcc libc6-dev ;; esac
}

mkdir -p "$OUT"
bad=0
# shellcheck disable=SC2086 # lists
case ${1:-all} in
all) run $CHECKERS ;;
quick) run $QUICK ;;
rest) run $REST ;;
-*)	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit 2 ;;
*) run "$@" ;;
esac
exit "$bad"
