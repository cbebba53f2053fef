#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make verify`: exhaustive searches of the module's models, and litmus tests of its barriers.
#
#   run.sh quick            for `make test-all`: litmus tests, small models, some mutants
#   run.sh [all]            everything
#   run.sh litmus|NAME...   the litmus tests; configurations and mutants by name
#
# Prints a line `NAME ok|FAIL SECONDS WHAT` for each; the last line is `N passed, N failed, N
# skipped`. Exit status 0 if none failed. FSCOMMIT_VERIFY_MB: memory for a search, default 8000.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../mutants/lib.sh"

passed=0
failed=0
# small searches spend most of their time in the compiler, so they use -O1
optimize=-O2
what=${1:-all}

# verdict NAME START STATUS [TEXT...]
verdict()
{
	local name=$1 start=$2 status=$3 word=ok
	shift 3
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		word=FAIL
	fi
	printf '%-38s %-4s %4d  %s\n' "$name" "$word" $((SECONDS - start)) "$*"
}

# --- litmus ------------------------------------------------------------------

# letters_of PART: prints the letters that mark barriers in its source, like A in `A: pairs with`
letters_of()
{
	case $1 in
	lock) set -- {unfair_rwsem,visible_readers,lend,watcher}.c include/linux/unfair_rwsem.h ;;
	commit_root) set -- commit_root.c include/linux/commit_root.h ;;
	rcu_reuse) set -- rcu_reuse.c include/linux/rcu_reuse.h ;;
	share_gate) set -- share_gate.c include/linux/share_gate.h ;;
	esac
	(cd "$TOP/module" && grep -ohE '(\*|\.|^|	) *[A-Z]: [a-z]' "$@") | grep -oE '[A-Z]:' |
		tr -d : | sort -u | tr -d '\n'
}

# tested_letters PART: prints the letters in the names of its litmus tests
tested_letters()
{
	(cd "$TOP/selftests" && ls ./*/model/"$1"-*.litmus) | sed -E "s,.*/$1-([A-Z]+).*,\1," |
		grep -o . | sort -u | tr -d '\n'
}

# Compares the letters in the source and in the tests, and finds barriers in other files.
check_letters()
{
	local part start=$SECONDS in tested
	for part in lock commit_root rcu_reuse share_gate; do
		in=$(letters_of "$part")
		tested=$(tested_letters "$part")
		[ -n "$in" ] && [ "$in" = "$tested" ]
		verdict "letters:$part" "$start" $? "in the source: $in, tested: $tested"
	done
	# files outside of letters_of(); chain.c and stats.c have one pair each
	in=$(cd "$TOP/module" && grep -rlE --include='*.[ch]' \
		-e 'smp_(mb|rmb|wmb|store_release|load_acquire)\(' \
		-e '(atomic[a-z0-9_]*|cmpxchg)_(acquire|release)\(' . |
		grep -vE '/(unfair_rwsem|visible_readers|lend|watcher)\.[ch]$' |
		grep -vE '/(commit_root|share_gate|chain|stats)\.[ch]$' | tr '\n' ' ') || true
	[ -z "$in" ]
	verdict letters:elsewhere "$start" $? "${in:-no barrier in other files}"
}

litmus()
{
	local model f name script start n weak=$WORK/weak.litmus said
	locked herd unpack_herd
	model=$(memory_model)
	mkdir -p "$WORK"
	for f in "$TOP"/selftests/*/model/*.litmus; do
		name=$(basename "$f" .litmus)
		start=$SECONDS
		said=$(herd "$model" "$f" | awk '/^Observation/ { print $3 }')
		[ "$said" = Never ]
		verdict "litmus:$name" "$start" $? "${said:-herd7 failed}"
		n=0
		while read -r script; do
			n=$((n + 1))
			sed -E "$script" "$f" >"$weak"
			said=$(herd "$model" "$weak" | awk '/^Observation/ { print $3 }')
			[ "$said" = Sometimes ] && ! cmp -s "$f" "$weak"
			verdict "litmus:$name:weaker-$n" "$start" $? \
				"${said:-herd7 failed}: $script"
		done < <(awk -v n="$name" '$1 == n { sub(/^[^ ]+ +/, ""); print }' "$MODELS/weaker")
		[ "$n" -gt 0 ] ||
			verdict "litmus:$name:weaker" "$start" 1 "no script in models/weaker"
	done
}

# --- models ------------------------------------------------------------------

model_file() { echo "$TOP"/selftests/*/model/"$1.pml"; }

# config NAME MODEL DEFINES...
config()
{
	local name=$1 model=$2 start=$SECONDS out=$WORK/$1 n mb
	shift 2
	search "$(model_file "$model")" "$*" "$out" "$optimize"
	if n=$(states "$out"); then
		mb=$(awk '/total actual memory usage/ { print int($1) }' "$out/pan")
		verdict "model:$name" "$start" 0 "$n states, $mb MB, $model $*"
	else
		verdict "model:$name" "$start" 1 "$(broken "$out" 2>/dev/null ||
			grep -m 1 -hE 'rror|memory|depth' "$out/pan" "$out"/*.log); see $out"
	fi
}

# mutant FILE NAME: must break its property. Its keys are `model: MODEL DEFINES`,
# `breaks: PROPERTY` (a regular expression), and `quick: yes` for `make test-all`.
mutant()
{
	local file=$1 name=$2 start=$SECONDS model defines property out said source
	out=$WORK/mutant-$name
	read -r model defines < <(mutant_values "$file" "$name" model)
	property=$(mutant_values "$file" "$name" breaks)
	source=$(model_file "$model")
	mkdir -p "$WORK"
	sed -E -f <(mutant_script "$file" "$name") "$source" >"$WORK/$name.pml"
	if cmp -s "$WORK/$name.pml" "$source"; then
		verdict "mutant:$name" "$start" 1 "changes nothing"
		return
	fi
	search "$WORK/$name.pml" "$defines" "$out" -O1
	if said=$(broken "$out" 2>/dev/null) && [[ ${said% *} =~ ^($property)$ ]]; then
		verdict "mutant:$name" "$start" 0 "breaks ${said% *} in ${said##* } steps"
	else
		verdict "mutant:$name" "$start" 1 "'${said:-nothing}', not '$property'; see $out"
	fi
}

# mutants [quick]: runs all mutants, or those for `make test-all`
mutants()
{
	local f n
	for f in "$TOP"/selftests/*/model/mutants; do
		for n in $(mutant_names "$f"); do
			[ "${1:-}" != quick ] || [ -n "$(mutant_values "$f" "$n" quick)" ] ||
				continue
			mutant "$f" "$n"
		done
	done
}

# configs WHEN...: runs the configurations of the table
configs()
{
	local name when model defines
	while read -r name when model defines; do
		case $name in '#'*|'') continue ;; esac
		[[ " $* " = *" $when "* ]] || continue
		# shellcheck disable=SC2086
		config "$name" "$model" $defines
	done <"$MODELS/configs"
}

need_packages spin gcc libc6-dev
mkdir -p "$WORK"
set +e
case $what in
quick)
	check_letters
	litmus
	optimize=-O1 configs quick
	mutants quick ;;
all)
	say "litmus tests (20 s), small models (1 min), mutants (3 min), large models (10 min)"
	check_letters
	litmus
	optimize=-O1 configs quick
	mutants
	configs all ;;
litmus)
	check_letters
	litmus ;;
*)
	for n in "$@"; do
		if file=$(grep -lxF "[$n]" "$TOP"/selftests/*/model/mutants); then
			mutant "$file" "$n"
		elif line=$(grep "^${n}[[:space:]]" "$MODELS/configs"); then
			read -r _ _ model defines <<<"$line"
			# shellcheck disable=SC2086 # $defines is words
			config "$n" "$model" $defines
		else
			die "no configuration or mutant '$n' in $MODELS"
		fi
	done ;;
esac
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
