# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Tests the programs in tools/: on made events, and in a guest with Python. Sourced by run.sh.

# python_folder DIR: copy what Debian's python3-minimal has, for guests
python_folder()
{
	local version lib
	version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	lib=lib/python$version
	rm -rf "$1"
	mkdir -p "$1/$lib"
	dpkg -L "libpython$version-minimal" | sed -n "s,^/usr/$lib/\(.*\.py\)$,\1,p" |
		rsync -a --files-from=- "/usr/$lib/" "$1/$lib/"
	# a quarter of the time that an emulated guest needs is compilation
	/usr/bin/python3 -m compileall -q "$1"
}

# tools KERNEL
tools()
{
	local kernel=$1 out=$LOGS/tools-$1 tree programs lockdown=''
	need /usr/bin/python3
	say "  tools, on $kernel"
	check any tools_events /usr/bin/python3 "$PACKAGING/tools_events.py"
	tree=$("$HARNESS/stage.sh" "$kernel") || exit 1
	programs=$(build_programs) || exit 1
	locked python python_folder "$CACHE/build/python"
	# User-Mode Linux has none
	[ "$(matrix_field "$kernel" kind)" = uml ] ||
		lockdown='test tools-lockdown 300 tools_guest lockdown'
	run_guest "$kernel" "tools on $kernel" "30-90 s" "$out" \
		--timeout 3600 --append rcupdate.rcu_cpu_stall_timeout=300 \
		--with /usr/bin/python3 "$kernel" "$out.plan" \
		"$tree"/{module/fscommit,selftests/fscommit_test}.ko "$CACHE/build/python" \
		"$PACKAGING"/{tools_guest,test_lib.sh} "$programs/tools/ckptlat" \
		"$TOP"/tools/fscommit-{top,check,bug-report} <<-END
			test tools-unloaded 300 tools_guest unloaded
			load fscommit
			load fscommit_test
			test tools-loaded 900 tools_guest loaded
			$lockdown
			unload fscommit_test
			unload fscommit
		END
}
