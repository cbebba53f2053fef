#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make soak HOURS=`: endurance in pieces, each in a boot of its own. The guest samples its memory.
# A piece fails if its test fails, the kernel prints a report, or memory grows.
#
#   soak.sh HOURS          run pieces until HOURS are done; 2 or 0.5, for example
#   soak.sh report         print the table of what is done
#   soak.sh test           test this script
#
#   PIECE=300              seconds of a piece, approximately; of less than 150, the stress tests may
#                          complain of too few operations
#   PIECES=                names, see piece(); default: all in turn
#
# The state is in the cache, below soak/, in a folder for this state of the sources. After an
# interruption the same command goes on with the piece that was interrupted, whose guest may still
# run until its time limit. A failed piece counts, and the exit status is 1 as long as there is one;
# remove the folder to begin again.

. "$(dirname "$0")/../filesystems/drivers.sh"

seconds=${PIECE:-300}
pieces=${PIECES:-torture:uml-debug stress:f2fs torture:7.3-rt crash:f2fs torture:x86-debug
	stress:btrfs torture:x86-kcsan crash:btrfs}
[[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || die "PIECE=$seconds: must be a number of seconds"

# a folder for the sources of the module and of the ports, without what a build leaves there
state=${SOAK_STATE:-$CACHE/soak/$(find "$TOP/module" "$TOP/ports" -type f \
	\( -name '*.[chs]*' -o -name options \) ! -name '.*' ! -name '*.mod.c' -print0 |
	sort -z | xargs -0 cat | cksum | cut -d' ' -f1)}
done_file=$state/done

# turn LIST N: print word N of the list, which starts again at its end
# shellcheck disable=SC2086 # a list
turn() { printf '%s\n' $1 | awk -v n="$2" '{ w[NR - 1] = $1 } END { print w[n % NR] }'; }

# piece NAME NUMBER: run a piece. The guest samples memory every SAMPLE seconds.
piece()
{
	local what=${1#*:}
	export FSCOMMIT_LOGS=$state/$2-${1/:/-} SAMPLE=$((seconds / 60 + 1))
	rm -rf "$FSCOMMIT_LOGS"
	mkdir -p "$FSCOMMIT_LOGS"
	case $1 in
	torture:*) "$HARNESS/torture.sh" "$what" "$seconds" ;;
	# twice DURATION; a new driver in each turn
	stress:*) DURATION=$((seconds / 2 + 1)) \
		DRIVERS=$(turn "$(our_drivers "$what")" $(($2 / $(wc -w <<<"$pieces")))) \
		"$FILESYSTEMS/stress/stress.sh" "$what" uml-debug ;;
	crash:*) DURATION=$((seconds / 5 + 1)) POINTS=$((seconds / 3 + 1)) \
		DRIVERS=$(our_drivers "$what" | cut -d' ' -f1) \
		"$FILESYSTEMS/crash/crash.sh" "$what" uml ;;
	# for the test of this script
	fake:*) fake_piece "$what" ;;
	*) die "no piece '$1'" ;;
	esac >"$FSCOMMIT_LOGS/log" 2>&1
}

# growth FILE: a line of FILE is `SECONDS AVAILABLE SLAB PERCPU VMALLOC TASKS`, memory in KiB.
# Print, for all but the first, the median at the beginning and at the end. Fail if a value rises
# from each fifth of the time to the next by more than its bound in total; the first fifth, when
# the load starts, does not count.
growth()
{
	awk '
		function median(c, part,  i, j, t, n, v) {
			for (i = 1; i <= NR; i++)
				if (int((i - 1) * 5 / NR) == part)
					v[++n] = value[i, c]
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j] < v[j - 1]; j--) {
					t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
				}
			return v[int((n + 1) / 2)]
		}
		{ for (c = 2; c <= 6; c++) value[NR, c] = c == 2 ? -$c : $c + 0 }
		END {
			if (NR < 10) {
				print NR " samples"
				exit 1
			}
			split("- available slab percpu vmalloc tasks", name, " ")
			split("- 262144 65536 4096 16384 64", bound, " ")
			for (c = 2; c <= 6; c++) {
				rises = 1
				for (p = 1; p < 4; p++)
					if (median(c, p + 1) <= median(c, p))
						rises = 0
				first = median(c, 1); last = median(c, 4)
				grows = rises && last - first > bound[c]
				sign = c == 2 ? -1 : 1
				printf("%s%s %d %d%s", (c > 2) ? ", " : "", name[c], sign * first,
					sign * last, grows ? " GROWS" : "")
				bad += grows
			}
			print ""
			exit bad > 0
		}' "$1"
}

# judge NAME NUMBER STATUS SECONDS: print the verdict, and what memory did
judge()
{
	local dir=$state/$2-${1/:/-} samples verdict=ok said clock
	samples=$(find "$dir" -name samples | head -n 1)
	[ "$3" -eq 0 ] || verdict=FAIL
	if [ -z "$samples" ]; then
		verdict=FAIL said='no samples'
	else
		said=$(growth "$samples") || verdict=FAIL
		# a guest that calibrates its clock on a busy host ends too early
		clock=$(tail -n 1 "$samples" | cut -d' ' -f1)
		[ "${clock:-0}" -le $(($4 * 2 + 60)) ] ||
			verdict=FAIL said="the guest's clock ran $clock s in $4 s"
	fi
	echo "$verdict $said"
}

report()
{
	[ -e "$done_file" ] || die "nothing is done in $state"
	printf '%4s %-18s %6s %s\n' '' piece s \
		'verdict, and memory in KiB at the beginning and the end'
	awk '{ n = $1; p = $2; s = $3; $1 = $2 = $3 = ""; printf "%4d %-18s %6d%s\n", n, p, s, $0
	       total += s; bad += $4 != "ok" }
	     END { printf "%d pieces, %.2f hours, %d failed\n", NR, total / 3600, bad
		   exit bad > 0 }' \
		<(sed 's/  */ /g' "$done_file")
}

soak()
{
	local want n name rc total start
	want=$(awk -v h="$1" 'BEGIN { print h ~ /^[0-9.]+$/ ? int(h * 3600) : 0 }')
	[ "$want" -gt 0 ] || die "HOURS=$1: must be a number of hours"
	mkdir -p "$state"
	touch "$done_file"
	exec 8>"$state/lock"
	flock -n 8 || die "another soak runs in $state"
	while
		total=$(awk '{ s += $3 } END { print s + 0 }' "$done_file")
		[ "$total" -lt "$want" ]
	do
		n=$(wc -l <"$done_file")
		name=$(turn "$pieces" "$n")
		say "piece $n: $name, $seconds s; $total of $want s are done; see $state"
		rc=0 start=$SECONDS
		(piece "$name" "$n") 8>&- || rc=$?
		echo "$n $name $seconds $(judge "$name" "$n" $rc $((SECONDS - start)))" >>"$done_file"
		tail -n 1 "$done_file" >&2
	done
	report
}

# --- the test of this script ----------------------------------------------------

# fake_piece KIND
fake_piece()
{
	local i
	for i in $(seq 40); do
		case $1 in
		grows) echo "$i $((900000 - i * 10000)) $((50000 + i * 3000)) 900 9000 70" ;;
		fast) echo "$((i * 9)) 900000 50000 900 9000 70" ;;
		*) echo "$i $((900000 - i % 7 * 9000)) $((50000 + i % 5 * 20000)) 900 9000" \
			$((70 + i % 3)) ;;
		esac
	done >"$FSCOMMIT_LOGS/samples"
	case $1 in
	fails) return 1 ;;
	silent) rm "$FSCOMMIT_LOGS/samples" ;;
	killed)	# only the first time
		[ -e "$state/was-killed" ] && return 0
		touch "$state/was-killed"
		kill -KILL $$ ;;
	esac
}

# Seen failing: with a report() that ignores the verdicts, and with a `done` that is written before
# the piece; `fast` without the comparison.
test_soak()
{
	local dir said
	dir=$(mktemp -d "${TMPDIR:-/tmp}/fscommit-soak.XXXXXX")
	# shellcheck disable=SC2064 # the current value
	trap "rm -rf '$dir'" EXIT
	export SOAK_STATE=$dir/state PIECE=36
	# 0.04 hours are 4 pieces; the second is killed
	! PIECES='fake:ok fake:killed' "$0" 0.04 >/dev/null 2>&1 || die "a killed run succeeded"
	[ "$(wc -l <"$dir/state/done")" -eq 1 ] || die "a piece that was killed counts as done"
	PIECES='fake:ok fake:killed' "$0" 0.04 >"$dir/said" 2>&1 ||
		die "it does not go on after a kill"
	[ "$(cut -d' ' -f1-2 "$dir/state/done" | tr '\n' ' ')" = \
		'0 fake:ok 1 fake:killed 2 fake:ok 3 fake:killed ' ] || die "it did not resume"
	for said in fails:FAIL 'grows:slab .* GROWS' 'silent:no samples' \
		"fast:clock ran 360 s"; do
		rm -rf "$dir/state"
		! PIECES="fake:ok fake:${said%%:*}" "$0" 0.02 >"$dir/said" 2>/dev/null ||
			die "a piece that ${said%%:*} was not reported"
		grep -E " fake:${said%%:*} .*${said#*:}" "$dir/said" >/dev/null ||
			die "${said%%:*}: $(cat "$dir/said")"
	done
	echo "ok - it goes on after a kill; it reports pieces that fail, grow, or have a fast clock"
}

case ${1:?HOURS, report or test} in
report) report ;;
test) test_soak ;;
*) soak "$1" ;;
esac
