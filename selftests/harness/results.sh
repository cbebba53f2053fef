# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Collect results as lines `KERNEL TEST VERDICT SECONDS PASS FAIL SKIP`, and print them as a table.
# Sourced, never run.

RESULTS=()
FAILURES=()

# result KERNEL TEST ok|FAIL|skip SECONDS [PASS FAIL SKIP]
result()
{
	local pass=${5:-0} fail=${6:-0} skip=${7:-0}
	if [ $# -lt 5 ]; then
		case $3 in
		ok) pass=1 ;;
		skip) skip=1 ;;
		*) fail=1 ;;
		esac
	fi
	RESULTS+=("$1 $2 $3 $4 $pass $fail $skip")
	[ "$fail" -eq 0 ] || FAILURES+=("$1: $2 $3")
}

# collect KERNEL OUT SECONDS: collect the results of a guest (see init)
collect()
{
	local name=$1 out=$2 seconds=$3 test verdict s pass fail skip
	while read -r test verdict s pass fail skip; do
		result "$name" "$test" "$verdict" "$s" "$pass" "$fail" "$skip"
	done < <(awk '
		function done_test(rc, secs) {
			if (!pass && !fail && !skip) {		# no TAP: the exit status decides
				if (rc == 0) pass = 1
				else if (rc == 4) skip = 1
				else fail = 1
			} else if (rc != 0 && rc != 4 && !fail) {
				fail = 1
			}
			verdict = fail ? "FAIL" : pass ? "ok" : "skip"
			print test, verdict, secs, pass, fail, skip
			test = ""
		}
		/^FILE / { file = 1 } /^END$/ { file = 0 } file { next }
		/^TEST / { if (test != "") done_test(1, 0)
			   test = $2; pass = fail = skip = 0 }
		/^TAP ok / { if (/# SKIP/) skip++; else pass++ }
		/^TAP not ok / { fail++ }
		/^DONE / { done_test($3, $4) }
		END { if (test != "") done_test(1, 0) }' "$out/result.txt")
	# the messages of each failed test; print_sum() repeats them
	awk '
		/^TEST / { t = $2; n = 0 }
		!/^TAP / { next }
		{ sub(/^TAP /, "") }
		/^#  RUN / { n = 0 }
		/^# .*(\.c:[0-9]+:|left with)/ && n < 10 { said[n++] = $0 }
		/^not ok / { for (i = 0; i < n; i++) print "    " t ": " said[i]
			     print "    " t ": " $0 }
		/^(not )?ok / { n = 0 }' "$out/result.txt" | tee "$out/failed" >&2
	if [ "$(cat "$out/verdict" 2>/dev/null)" = PASS ]; then
		result "$name" clean ok "$seconds"
	else
		say "  $name: $(cat "$out/verdict" 2>/dev/null || echo 'no verdict')"
		result "$name" clean FAIL "$seconds"
	fi
}

# Print the sums for each kernel or part.
print_table()
{
	printf '%s\n' "${RESULTS[@]}" | awk '
		!($1 in seconds) { name[++n] = $1 }
		{ seconds[$1] += $4; p[$1] += $5; f[$1] += $6; s[$1] += $7 }
		END {
			printf "\n%-14s %7s %7s %7s %7s\n", "", "passed", "failed", "skipped", "s"
			for (i = 1; i <= n; i++)
				printf "%-14s %7d %7d %7d %7d\n", name[i], p[name[i]],
					f[name[i]], s[name[i]], seconds[name[i]]
		}'
}

print_sum()
{
	local f
	if [ ${#FAILURES[@]} -gt 0 ]; then
		printf 'failed: %s\n' "${FAILURES[@]}"
		for f in "$LOGS"/*/failed; do
			[ ! -s "$f" ] || { echo "$(basename "$(dirname "$f")"):"; head -n 20 "$f"; }
		done
	fi
	printf '%s\n' "${RESULTS[@]}" |
		awk '{ p += $5; f += $6; s += $7 }
		     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }'
}
