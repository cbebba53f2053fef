#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make figures`: measure the tables in docs/figures, as docs/figures/plan says.
#
#   publish.sh [NAME...]     default: all
#   QUICK=1                  write nothing: one round, one load; does each table still hold? A row
#                            holds if ours comes before and after the same drivers, and
#                            its ratio to each is within a factor of 1.5 of the table's rounds
#
# Results are in out/figures/CODE, where CODE stands for the code that was measured. Stop it by
# Ctrl-C at any time: a boot that was measured with the same code is not measured again. A table is
# written when all of it is there. The exit status is not 0 if a table could not be measured, or with
# QUICK=1 if one does not hold.

. "$(dirname "$0")/../harness/lib.sh"

plan=$TOP/docs/figures/plan
quick=${QUICK:-0}
# only the plan sets these
unset FS KERNEL ROUNDS DURATION APPS LOADS VARIANTS BUSY MEDIUM SCHEDULER NICE LIMIT PREEMPT ICOUNT

names() { awk '!/^#/ && NF && !seen[$1]++ { print $1 }' "$plan"; }

# measure MINUTES ARGUMENTS: run a benchmark, unless its figures are there; set `figures` to them
measure()
{
	local minutes=$1 arguments=$2 dir a part
	dir=$out/$(sha1sum <<<"$arguments" | cut -c1-12)
	eval "set -- $arguments"
	if [ "$quick" != 0 ]; then
		rm -rf "$dir"
		for a; do
			[[ $a = LOADS=* || $a,$arguments = APPS=*ICOUNT=1* ]] || continue
			set -- "$@" "${a%%=*}=$(sed 's/.*[= ]//' <<<"$a")"
		done
		# a second takes a minute
		[[ $arguments != *ICOUNT=1* ]] || set -- "$@" DURATION=1
		set -- "$@" ROUNDS=1
	fi
	if [ ! -e "$dir/done" ]; then
		say "$name: make bench-$arguments (usually $minutes min)"
		part=$1
		shift
		env OUT="$dir" "$@" "$TOP/selftests/bench/bench.sh" "$part" </dev/null >&2 ||
			return 1
		touch "$dir/done"
	fi
	figures=$(echo "$dir"/*/figures.tsv)
}

# publish NAME: measure its lines of the plan, and print its tables
publish()
{
	local name=$1 minutes rows arguments figures row
	while read -r _ minutes rows arguments; do
		measure "$minutes" "$arguments" || { say "$name: failed"; return 1; }
		grep '^#' "$figures"
		grep '^figure	' "$figures"
		for row in ${rows//,/ }; do
			grep "^$row, " "$figures" || { say "$name: no figure $row"; return 1; }
		done
		echo
	done < <(grep "^$name " "$plan") | sed '$d'
}

run()
{
	local name published result rc=0
	for name; do
		grep -q "^$name " "$plan" ||
			die "no table '$name'; there are: $(names | tr '\n' ' ')"
	done
	for name; do
		published=$TOP/docs/figures/$name.tsv result=$out/$name.tsv
		if [ "$quick" != 0 ] && ! grep -q '^figure	run	' "$published"; then
			echo "$name.tsv: not made by make figures; run make figures TABLE=$name"
			rc=1
		elif ! publish "$name" >"$result"; then
			rc=1
		elif [ "$quick" != 0 ]; then
			/usr/bin/python3 "$TOP/selftests/bench/figures.py" compare \
				"$published" "$result" || rc=1
		else
			mv "$result" "$published"
			echo "docs/figures/$name.tsv"
		fi
	done
	return "$rc"
}

cd "$TOP"
need git
code=$(git ls-tree -r HEAD module ports selftests/lib selftests/bench selftests/*/bench | sha1sum)
out=$TOP/out/figures/${code:0:12}
if [ "$quick" != 0 ]; then
	out=$TOP/out/figures/quick
else
	git diff --quiet HEAD -- module ports scripts selftests ||
		die "a table names its commit: commit your changes first"
fi
mkdir -p "$out"
# shellcheck disable=SC2046 # a list
[ $# -gt 0 ] || set -- $(names)
locked figures run "$@"
