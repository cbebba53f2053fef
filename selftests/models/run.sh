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
. "$(dirname "$0")/../harness/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../mutants/lib.sh"
MODELS=$TOP/selftests/models WORK=$CACHE/verify

passed=0
failed=0

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

# --- herd7 -------------------------------------------------------------------

# herd MODEL FILE: runs herd7. Debian 12 has none: later_tool() fetches it.
herd()
{
	local tool=$CACHE/toolchain/herd7
	(cd "$1" && "$tool/bin/herd7" -set-libdir "$tool/root/usr/share/herdtools7/herd" \
		-conf linux-kernel.cfg "$2" 2>&1)
}

# --- spin --------------------------------------------------------------------

# search FILE DEFINES OUT: searches every reachable state; with -DLIVE also every endless
# run in which tasks run when they can. Writes the result to OUT/pan, a counterexample to OUT/trail.
search()
{
	local file=$1 defines out=$3
	read -ra defines <<<"$2"
	rm -rf "$out"
	mkdir -p "$out"
	cp "$file" "$out/m.pml"
	(
		cd "$out" || exit 2
		spin -a "${defines[@]}" m.pml >spin.log 2>&1 || exit 2
		explore -DSAFETY
		[[ $2 != *-DLIVE* ]] || [ -e m.pml.trail ] ||
			explore "-DNP -DNFAIR=4" -l -f
		rm -f pan.[cbhmpt]
		[ ! -e m.pml.trail ] || spin -t -p -g "${defines[@]}" m.pml >trail 2>&1 || true
	)
}

# explore KIND [OPTION...]: compiles and runs the program that spin has generated
explore()
{
	local kind=$1
	shift
	# shellcheck disable=SC2086 # $kind is words
	gcc -O1 -w -DCOLLAPSE $kind -DVECTORSZ=2048 \
		-DMEMLIM="${FSCOMMIT_VERIFY_MB:-8000}" -o pan.bin pan.c >gcc.log 2>&1 || exit 2
	timeout 3600 nice -n 10 ./pan.bin -m1000000 "$@" >pan 2>&1 || true
	rm -f pan.bin
}

# states OUT: prints the number of states if the search was complete and without an error
states()
{
	awk '/errors: 0$/ { ok = 1 } /states, stored/ { n = $1 }
		/max search depth too small|out of memory|reached -DMEMLIM|hash array/ { bad = 1 }
		/elapsed time/ { done = 1 }
		END { if (ok && done && !bad) printf "%.0f", n; else exit 1 }' "$1/pan"
}

# broken OUT: prints the property that broke, and after how many steps
broken()
{
	local line
	if grep -q '^pan:1: invalid end state' "$1/pan"; then
		printf 'end state'
	elif grep -q '^pan:1: non-progress cycle' "$1/pan"; then
		printf 'livelock'
	else
		line=$(sed -nE 's/^spin: m\.pml:([0-9]+), Error: assertion violated.*/\1/p' \
			"$1/trail" | head -n 1)
		[ -n "$line" ] || return 1
		sed -nE "${line}s/.*assert\(([a-z_]+).*/\1/p" "$1/m.pml" | tr -d '\n'
	fi
	printf ' %s' "$(sed -nE 's/.*\(at depth ([0-9]+)\).*/\1/p' "$1/pan" | head -n 1)"
}

# --- litmus ------------------------------------------------------------------

# letters_of PART: prints the letters that mark barriers in its source, like A in `A: pairs with`
letters_of()
{
	case $1 in
	lock) set -- {unfair_rwsem,visible_readers,lend,watcher}.c include/linux/unfair_rwsem.h ;;
	commit_root) set -- commit_root.c include/linux/commit_root.h ;;
	rcu_reuse) set -- rcu_reuse.c include/linux/rcu_reuse.h ;;
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

# Each barrier with a letter must have a litmus test, and each test its barrier.
check_letters()
{
	local part start=$SECONDS in tested
	for part in lock commit_root rcu_reuse; do
		in=$(letters_of "$part")
		tested=$(tested_letters "$part")
		[ -n "$in" ] && [ "$in" = "$tested" ]
		verdict "letters:$part" "$start" $? "in the source: $in, tested: $tested"
	done
}

litmus()
{
	local model f name script start n weak=$WORK/weak.litmus said
	later_tool herd7 forky herdtools7 libc6 libgmp10
	model=$("$SCRIPTS/kernel.sh" source 7.3)/tools/memory-model
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
	search "$(model_file "$model")" "$*" "$out"
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
	sed -E -f <(mutant_script "$file" "$name") "$source" >"$WORK/$name.pml"
	if cmp -s "$WORK/$name.pml" "$source"; then
		verdict "mutant:$name" "$start" 1 "changes nothing"
		return
	fi
	search "$WORK/$name.pml" "$defines" "$out"
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
			[ "${1:-}" = quick ] && [ -z "$(mutant_values "$f" "$n" quick)" ] ||
				mutant "$f" "$n"
		done
	done
}

# configs FIELD VALUE: runs the configurations with this value in this column of the table
configs()
{
	local name model defines
	while read -r name _ model defines; do
		# shellcheck disable=SC2086 # $defines is words
		config "$name" "$model" $defines
	done < <(awk -v f="$1" -v v="$2" '!/^#/ && $f == v' "$MODELS/configs")
}

need spin gcc libc.a
mkdir -p "$WORK"
set +e
what=${1:-all}
case $what in
quick|all|litmus)
	check_letters
	litmus ;;&
quick)
	configs 2 quick
	mutants quick ;;
all)
	say "small models (1 min), mutants (2 min), large models (10 min)"
	configs 2 quick
	mutants
	configs 2 all ;;
litmus) ;;
*)
	for n in "$@"; do
		if file=$(grep -lxF "[$n]" "$TOP"/selftests/*/model/mutants); then
			mutant "$file" "$n"
		else
			grep -q "^${n}[[:space:]]" "$MODELS/configs" ||
				die "no configuration or mutant '$n' in $MODELS"
			configs 1 "$n"
		fi
	done ;;
esac
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
