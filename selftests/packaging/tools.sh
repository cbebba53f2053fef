# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Tests the programs in tools/: on recorded events, and in a guest with Python. Sourced by run.sh.

# python_folder DIR: what Debian's python3-minimal has, and json, for guests
python_folder()
{
	local version lib
	version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	lib=/usr/lib/python$version
	rm -rf "$1"
	mkdir -p "$1$lib"
	dpkg -L "libpython$version-minimal" | grep "^$lib/.*\.py$" | grep -v '/email/' |
		sed "s,^$lib/,," | rsync -a --files-from=- "$lib/" "$1$lib/"
	cp -r "$lib/json" "$1$lib/"
	# a quarter of the time that an emulated guest needs is compilation
	/usr/bin/python3 -m compileall -q "$1"
	mkdir -p "$1/lib"
	mv "$1$lib" "$1/lib/"
	rm -rf "${1:?}/usr"
}

# sign_tools: signs the modules with the key of the guest's firmware, see sign.sh
sign_tools()
{
	local work=$CACHE/build/sign-$kernel kdir ko
	# shellcheck disable=SC2034 # sign_with uses it
	kdir=$("$HARNESS/kernel.sh" get "$kernel")/kdir
	mkdir -p "$work/tools"
	openssl rsa -in /usr/share/ovmf/PkKek-1-snakeoil.key -passin pass:snakeoil \
		-out "$work/enrolled.pem"
	cp /usr/share/ovmf/PkKek-1-snakeoil.pem "$work/enrolled-cert.pem"
	for ko in module/fscommit.ko selftests/fscommit_test.ko; do
		cp "$tree/$ko" "$work/unsigned-tool.ko"
		sign_with "$work/enrolled.pem" "$work/enrolled-cert.pem" \
			"$work/unsigned-tool.ko" "$work/tools/$(basename "$ko")"
	done
}

# stage NAME: a line of the plan that runs a stage of tools_guest.py
stage_line()
{
	echo "test tools-$1 900 PYTHONHOME=/fscommit/python python3" \
		"/fscommit/tools_guest.py $1"
}

# tools_in_guest NAME STAGE... -- OPTION...: load-MODULE and unload-MODULE are stages, too. The
# guest gets $modules
tools_in_guest()
{
	local out=$LOGS/$1-$kernel start=$SECONDS
	shift
	mkdir -p "$out"
	: >"$out.plan"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		case $1 in
		load-*|unload-*) echo "${1/-/ }" ;;
		*) stage_line "$1" ;;
		esac >>"$out.plan"
		shift
	done
	shift
	step "tools on $kernel" "30-90 s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout 3600 --append rcupdate.rcu_cpu_stall_timeout=300 "$@" \
		--with /usr/bin/python3 "$kernel" "$out.plan" "${modules[@]}" \
		"$work/python" "$PACKAGING/tools_guest.py" \
		"$TOP"/tools/fscommit-{top,check,bug-report} || true
	collect "$kernel" "$out" $((SECONDS - start))
}

# tools KERNEL
tools()
{
	local kernel=$1 tree work=$CACHE/build/tools stage stages modules
	need_packages python3
	say "  tools, on $kernel"
	for stage in top check; do
		check any "fscommit_${stage}_recorded" \
			/usr/bin/python3 "$PACKAGING/fscommit_${stage}_recorded.py"
	done
	tree=$("$HARNESS/stage.sh" "$kernel") || exit 1
	locked python python_folder "$work/python"
	modules=("$tree"/{module/fscommit,selftests/fscommit_test}.ko)
	stages=(no-module idle load-fscommit load-fscommit_test blocked starved report)
	# User-Mode Linux has no lockdown
	[ "$(cat "$CACHE/kernels/$kernel/arch")" = um ] || stages+=(integrity confidentiality)
	tools_in_guest tools "${stages[@]}" unload-fscommit_test unload-fscommit --
	[ "$(cat "$CACHE/kernels/$kernel/arch")" != um ] || return 0
	tools_in_guest tools_boot boot-confidentiality -- --append lockdown=confidentiality
	need_packages openssl ovmf
	check "$kernel" tools_sign sign_tools
	[ "$checked" -eq 0 ] || return 0
	modules=("$CACHE/build/sign-$kernel/tools"/fscommit{,_test}.ko)
	tools_in_guest tools_secure_boot load-fscommit load-fscommit_test secure-boot \
		unload-fscommit_test unload-fscommit -- --secure-boot
}

# tools_f2fs KERNEL: fscommit-check with the kernel's own f2fs
tools_f2fs()
{
	local kernel=$1 tree work=$CACHE/build/tools modules=() programs kmods=() name ko
	PATH=$PATH:/usr/sbin:/sbin
	need_packages python3 f2fs-tools
	say "  fscommit-check on f2fs, on $kernel"
	ko=$("$TOP/ports/port.sh" f2fs "$kernel" VARIANT=stock) || exit 1
	programs=$("$HARNESS/programs.sh") || exit 1
	locked python python_folder "$work/python"
	# shellcheck source=/dev/null
	for name in $(modinfo -F depends "$ko" | tr , ' ') \
			$(. "$TOP/ports/f2fs/options" && echo "${kmods[@]}"); do
		kmods+=(--kmod "$name")
	done
	strip -g -o "$work/f2fs.ko" "$ko"
	modules=("$work/f2fs.ko" "$programs/filesystems/bench/fsyncbench")
	tools_in_guest tools_f2fs load-f2fs f2fs unload-f2fs -- --mem 2G --disk 512M \
		--with mkfs.f2fs "${kmods[@]}"
}
