# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The tools of run.sh: herd7 and spin.  Sourced, never run.

. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
# shellcheck disable=SC2034 # for run.sh
MODELS=$TOP/selftests/models WORK=$CACHE/verify

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
