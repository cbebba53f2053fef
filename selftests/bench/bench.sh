#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# `make bench`: measure the lock, the other parts and f2fs. Boot User-Mode Linux (native speed, two
# CPUs) and a stock 6.12 in QEMU (a real distribution kernel) in turn. Then draw the plots and write
# the report.
#
#   bench.sh            everything, about two hours with a warm cache
#   QUICK=1 bench.sh    short rounds, to check that everything works
#   bench.sh diff       only the COW diff against a full walk, 1 minute
#   bench.sh csum       only commits against readers of checksums, 9 minutes
#   bench.sh f2fs       only fsync on real f2fs, 30 minutes; see f2fs.sh
#
# Results: out/bench/report.html and its SVG plots, and for each boot a folder with the JSON, the
# output of each program and the guest's log.
#
# The figures are ratios within one run. Keep the machine idle otherwise.

. "$(dirname "$0")/../harness/lib.sh"

bench=$TOP/selftests/bench
. "$bench/drivers.sh"
. "$bench/f2fs.sh"
out=$TOP/out/bench

# D: duration of a ckptlat or mix round; R: number of rounds
if [ "${QUICK:-0}" != 0 ]; then
	D=1s R=1 pairs_rounds=10 scaling='-r 2 -D 0.2s' bound='-r 2 -D 0.5s'
	usually_uml='50 s' usually_612='60 s' usually_full='30 s'
	csum='-r 1 -D 1s -e 4096' usually_csum='2 min'
	diff='-k 10000' usually_diff='15 s'
	share='-r 1 -D 0.2s' usually_share='1 min' reuse='-r 1 -D 0.3s' usually_reuse='20 s'
else
	D=2s R=5 pairs_rounds=100 scaling='-r 7 -D 0.5s' bound='-r 5 -D 3s'
	usually_uml='8 min' usually_612='7 min' usually_full='3 min'
	csum='-r 2 -D 4s' usually_csum='8 min'
	diff='-k 1000000' usually_diff='1 min'
	share='-r 5 -D 0.5s' usually_share='5 min' reuse='-r 3 -D 1s' usually_reuse='3 min'
fi
ckptlat="ckptlat -r $R -D $D"
idle="--reader-policy=idle --title='SCHED_IDLE readers'"
weight="--reader-nice=0 --reader-cpu-weight=1 --title='readers in a cgroup of cpu.weight 1'"
holders="--reader-policy=idle --reader-section=2000 --reader-interval=5000"
holders+=" --title='SCHED_IDLE readers that hold it for 2 ms'"

# plan NAME: write the plan of a boot; stdin has its tests as lines `NAME SECONDS COMMAND`
plan()
{
	{
		echo 'load fscommit'
		echo 'load fscommit_test'
		echo 'load cow_tree_test'
		echo 'load commit_root_test'
		echo 'load share_gate_test'
		echo 'load cow_diff_test'
		echo 'load rcu_reuse_test'
		echo 'test prepare 10 mkdir -p /tmp/out'
		while read -r name seconds cmd; do
			case $cmd in
			csumbench*|diffbench*|sharebench*|reusebench*) ;;
			*) cmd+=" --json=/tmp/out/$name.json" ;;
			esac
			echo "test $name $seconds $cmd"
		done
		echo 'unload share_gate_test'
		echo 'unload cow_diff_test'
		echo 'unload rcu_reuse_test'
		echo 'unload commit_root_test'
		echo 'unload cow_tree_test'
		echo 'unload fscommit_test'
		echo 'unload fscommit'
	} >"$CACHE/build/bench-$1.plan"
}

# boot NAME KERNEL TIMEOUT USUALLY [OPTION...]: boot a guest with the plan NAME
boot()
{
	local name=$1 kernel=$2 limit=$3 usually=$4 dir=$out/$1 tree test rc
	shift 4
	tree=$("$HARNESS/stage.sh" "$kernel")
	mkdir -p "$dir"
	: >"$LOGS/bench-$name.log"
	step "$name: $(grep -c '^test' "$CACHE/build/bench-$name.plan") programs in the guest" \
		"$usually" "$LOGS/bench-$name.log" boot_and_follow "$dir" --timeout "$limit" "$@" \
		"$kernel" "$CACHE/build/bench-$name.plan" "$tree/module/fscommit.ko" \
		"$tree"/selftests/*_test.ko "$CACHE"/build/bench/* ||
		die "$name: $(guest_verdict "$dir"); see $dir"
	# save the output of each program, and check its exit status
	awk -v dir="$dir" '
		/^FILE / { file = 1 } /^END$/ { file = 0 } file { next }
		/^TEST / { to = dir "/" $2 ".txt" }
		/^TAP / && to != "" { sub(/^TAP /, ""); print >to }
		/^DONE / { close(to); to = "" }' "$dir/result.txt"
	while read -r _ test rc _; do
		[ "$rc" -eq 0 ] || die "$name: $test failed ($rc): $(tail -n 1 "$dir/$test.txt")"
		sed '/^round /d' "$dir/$test.txt" 2>/dev/null || true
	done < <(grep '^DONE ' "$dir/result.txt")
}

# the lock and its peers
locks()
{
	local sections
	plan uml <<-END
		nice19 200 $ckptlat --title='readers at nice 19'
		idle 200 $ckptlat $idle
		weight 200 $ckptlat $weight
		holders 200 $ckptlat $holders
		fifo 200 $ckptlat -p 1 --title='readers at nice 19, the writer SCHED_FIFO'
		pairs 60 lockbench pairs -r $pairs_rounds
		scaling 120 lockbench scaling $scaling
		mix 200 lockbench mix -r $R -D $D
		bound 200 lockbench bound $bound
		bound-apart 200 lockbench bound $bound --apart --title='a reader on a CPU of its own under back-to-back writers'
	END
	sections=$(
		echo "nice19 250 $ckptlat --title='readers at nice 19'"
		echo "section200 250 $ckptlat --reader-section=200 --title='readers at nice 19, sections of 200 us'"
		echo "section2000 250 $ckptlat --reader-section=2000 --title='readers at nice 19, sections of 2 ms'"
	)
	plan 6.12 <<-END
		$sections
		idle 250 $ckptlat $idle
		weight 250 $ckptlat $weight
		throttled 250 $ckptlat --reader-nice=0 --reader-cpu-max=20 --title='readers in a cgroup with 20 % of a CPU'
		holders 250 $ckptlat $holders
		mix 250 lockbench mix -r $R -D $D
	END
	plan 6.12-full <<-END
		$sections
	END
	# a round is shorter than a tick, so the minimum contains no tick
	plan 6.12-icount <<-END
		pairs 200 lockbench pairs -r 20 -n 10000 --unit=instructions
	END
	boot 6.12-icount 6.12 300 '20 s' --icount
	boot uml uml 900 "$usually_uml"
	boot 6.12 6.12 1200 "$usually_612"
	boot 6.12-full 6.12 600 "$usually_full" --append preempt=full
	files+=("$out"/uml/{nice19,idle,weight,holders,fifo}.json
		"$out"/6.12/{nice19,section200,section2000,idle,weight,throttled,holders}.json
		"$out"/6.12-full/{nice19,section200,section2000}.json
		"$out"/uml/mix.json "$out"/6.12/mix.json
		"$out"/uml/{bound,bound-apart,pairs,scaling}.json "$out/6.12-icount/pairs.json")
}

# commits against readers of checksums; no part of the report
csum()
{
	plan csum <<-END
		csum 1500 csumbench $csum
	END
	# not on User-Mode Linux, where a per-CPU counter costs more than a search
	boot csum 6.12 1700 "$usually_csum"
}

# COW diff: the number of blocks that it reads, against a full walk; no part of the report
diff()
{
	plan diff <<-END
		diff 100 diffbench $diff
	END
	boot diff uml 200 "$usually_diff"
}

# share gate: fsyncs by 1 to 1,024 jobs, without and with shared extents; no part of the report
share()
{
	plan share <<-END
		share 900 sharebench $share
		shared 300 sharebench --min-jobs=16 --max-jobs=128 -s 10 $share
	END
	boot share 6.12 1300 "$usually_share"
}

# reuse queue: alone, and beside tasks that look up paths; no part of the report
reuse()
{
	plan reuse-uml <<-END
		reuse 600 reusebench $reuse
		nowork 600 reusebench $reuse --work=0
	END
	plan reuse-6.12 <<-END
		reuse 600 reusebench $reuse
	END
	boot reuse-uml uml 900 "$usually_reuse"
	boot reuse-6.12 6.12 900 "$usually_reuse"
}

run()
{
	local p files=()
	need_packages gcc make libc6-dev python3-matplotlib
	mkdir -p "$CACHE/build/bench" "$LOGS"
	[ $# -eq 1 ] || rm -rf "$out"
	mkdir -p "$out"
	programs=$("$HARNESS/programs.sh") || die "cannot build the programs"
	cp "$programs"/*/bench/* "$programs/tools/ckptlat" "$CACHE/build/bench/"
	say "several guests, one after the other; keep the machine idle otherwise"
	for p in "$@"; do
		"$p"
	done
	# a run with TRACE=1 has no report
	[ ${#files[@]} -eq 0 ] || /usr/bin/python3 "$bench/report.py" --out "$out" "${files[@]}"
}

[ $# -gt 0 ] || set -- locks csum diff share reuse f2fs
for p in "$@"; do
	case $p in
	locks|csum|diff|share|reuse|f2fs) ;;
	*) die "bench.sh: '$p': must be locks, csum, diff, share, reuse or f2fs" ;;
	esac
done
locked bench run "$@"
