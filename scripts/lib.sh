# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common paths and functions of all scripts: progress, packages, downloads, the matrix, copies.
# Sourced, never run.

set -euo pipefail

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for the scripts that source this
TOP=$(cd "$SCRIPTS/.." && pwd)
# a service may have no HOME, and a user's PATH on Debian has no mkfs and no modinfo
CACHE=${FSCOMMIT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fscommit}
PATH=$PATH:/usr/sbin:/sbin
LOGS=${FSCOMMIT_LOGS:-$CACHE/logs}
MATRIX=${FSCOMMIT_MATRIX:-$SCRIPTS/matrix}

say() { printf '%s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
# exit_usage: print the comment at the head of the script
exit_usage() { sed -n '3,/^$/s/^# \{0,1\}//p' "$0"; exit 2; }

# step WHAT USUALLY LOG COMMAND...: run a long command with its output in LOG. Print WHAT and its
# usual duration, then every 15 s the time, and the last line of the log if it is new.
step()
{
	local what=$1 usually=$2 log=$3 start=$SECONDS pid rc=0 line last
	shift 3
	mkdir -p "$(dirname "$log")"
	printf '  %s (usually %s)\n' "$what" "$usually" >&2
	last=$(tail -n 1 "$log" 2>/dev/null) || true
	"$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		for _ in $(seq 75); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.2
		done
		kill -0 "$pid" 2>/dev/null || break
		line=$(tail -n 1 "$log" 2>/dev/null) || true
		[ "$line" != "$last" ] || line=''
		printf '    ... %d s%.102s\n' $((SECONDS - start)) "${line:+: ${line//$'\r'/}}" >&2
		last=${line:-$last}
	done
	wait "$pid" || rc=$?
	if [ "$rc" -ne 0 ]; then
		say "    failed after $((SECONDS - start)) s; the end of $log:"
		tail -n 15 "$log" | sed 's/^/    | /' >&2
		return "$rc"
	fi
}

# is_debian: DEBIAN_MIRROR says that apt may use Debian's packages elsewhere.
is_debian() { [ -n "${DEBIAN_MIRROR:-}" ] || grep -qsx 'ID=debian' /etc/os-release; }

need_debian()
{
	is_debian || die "this uses kernels and packages of Debian 12 or later. Run it in a container," \
		"by podman or docker: make container TARGET=${FSCOMMIT_GOAL:-test}"
}

# has PROGRAM|HEADER.h|LIBRARY.a|/FILE|PROGRAM-static
has()
{
	case $1 in
	/*) [ -e "$1" ] ;;
	*.h) gcc -E -x c -include "$1" /dev/null >/dev/null 2>&1 ;;
	*.a) [[ $(gcc -print-file-name="$1" 2>/dev/null) = /* ]] ;;
	*-static) has "${1%-static}" && ! ldd "$(command -v "${1%-static}")" >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# missing PROGRAM...: print those that this machine does not have
missing()
{
	local p
	for p in "$@"; do
		has "$p" || printf '%s\n' "$p"
	done
}

# need PROGRAM...: let apt install what is missing, or print this machine's command for it and exit
need()
{
	[ -z "$(missing "$@")" ] || locked packages install_missing "$@" || exit 1
}

# package PROGRAM COLUMN: print its package, from a column of the file `programs`
package()
{
	awk -v p="$1" -v column="$2" '
		!/^#/ && index("," $1 ",", "," p ",") { print (column > NF ? $2 : $column); found = 1 }
		END { if (!found) { sub(/.*\//, "", p); print p } }' "$SCRIPTS/programs"
}

install_missing()
{
	local wanted column=1 cmd p packages aur
	# another run may have installed them meanwhile
	mapfile -t wanted < <(missing "$@")
	[ ${#wanted[@]} -gt 0 ] || return 0
	for cmd in 'apt-get install -y --no-install-recommends' 'dnf install' 'pacman -S' \
			'zypper install' "the packages that Debian calls"; do
		column=$((column + 1))
		! command -v "${cmd%% *}" >/dev/null || break
	done
	packages=$(for p in "${wanted[@]}"; do package "$p" $column; done | sort -u)
	aur=$(sed -n 's/^AUR://p' <<<"$packages" | xargs)
	packages=$(sed '/^AUR:/d' <<<"$packages" | xargs)
	cmd=${packages:+$cmd $packages}${packages:+${aur:+, and }}${aur:+from the AUR: $aur}
	# dpkg, which runs a package's script, has locked out apt
	[ $column -eq 2 ] && [ "$(id -u)" -eq 0 ] && [ -z "${DPKG_MAINTSCRIPT_PACKAGE:-}" ] ||
		die "${FSCOMMIT_GOAL:+make }${FSCOMMIT_GOAL:-${0##*/}} needs ${wanted[*]};" \
			"install $([ ${#wanted[@]} -gt 1 ] && echo them || echo it): $cmd"
	export DEBIAN_FRONTEND=noninteractive
	step "installing $packages" "30-90 s" "$LOGS/packages.log" \
		sh -c "$cmd || { apt-get update && $cmd; }" ||
		die "could not install: $packages (network down, or no such package?)"
}

# Print the Debian mirror of this machine's apt; DEBIAN_MIRROR overrides it.
mirror()
{
	local m=${DEBIAN_MIRROR:-}
	[ -n "$m" ] || m=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" \
		"Origin: Debian" "Label: Debian" 2>/dev/null | sort -u | head -n 1)
	# before the first `apt-get update` apt knows nothing but addresses
	[ -n "$m" ] || m=$(apt-get update --print-uris |
		sed -n "/security/d;s:^'\([^']*/debian\)/*/dists/.*:\1:p" | sort -u | head -n 1)
	[ -n "$m" ] || die "apt's configuration names no Debian mirror; set DEBIAN_MIRROR=URL"
	printf '%s\n' "${m%/}"
}

# suite_apt SUITE[:ARCH] apt-get|apt-cache ARG...: run an apt tool on one suite, with its own
# lists and cache. The system's configuration stays unchanged.
suite_apt()
{
	local suite=${1%:*} arch=${1#"${1%:*}"} tool=$2 d=$CACHE/apt/$1 base s
	local key=/usr/share/keyrings/debian-archive-keyring.gpg
	arch=${arch#:}
	shift 2
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial" "$d/none"
	base=${suite%-backports}
	for s in $(printf '%s\n' "$base" "$suite" | uniq); do
		echo "deb [signed-by=$key] $(mirror) $s main"
	done >"$d/sources.list.$$"
	mv "$d/sources.list.$$" "$d/sources.list"
	[ -e "$d/status" ] || : >"$d/status"
	"$tool" -o Dir::Etc::sourcelist="$d/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferencesparts="$d/none" -o Dir::Etc::preferences="$d/none/none" \
		-o Dir::State::lists="$d/lists" -o Dir::Cache="$d/cache" \
		-o Dir::State::status="$d/status" -o APT::Sandbox::User="$(id -un)" \
		-o APT::Architecture="${arch:-$(dpkg --print-architecture)}" \
		-o APT::Architectures="${arch:-$(dpkg --print-architecture)}" "$@"
}

suite_update() { locked "apt-$1" read_package_lists "$1" || exit 1; }

read_package_lists()
{
	local d=$CACHE/apt/$1
	# once a day is enough
	[ -n "$(find "$d/updated" -mmin -1440 2>/dev/null)" ] && return 0
	step "reading the package lists of $1" "5 s" "$LOGS/apt-$1.log" \
		suite_apt "$1" apt-get update ||
		die "cannot read the package lists of $1 (no network?)"
	touch "$d/updated"
}

# closure SUITE PACKAGE...: print the packages and their dependencies
closure()
{
	local suite=$1
	shift
	suite_apt "$suite" apt-get install -s --no-install-recommends "$@" 2>/dev/null |
		awk '/^Inst / { print $2; n++ } END { exit !n }'
}

# later_tool NAME SUITE PACKAGE...: unpack programs of a later Debian; the packages must include
# their C library. The scripts in $CACHE/toolchain/NAME/bin run them.
later_tool() { locked "tool-$1" unpack_later_tool "$@"; }

unpack_later_tool()
{
	local name=$1 suite=$2 d=$CACHE/toolchain/$1 tmp=$CACHE/toolchain/$1.$$ f libraries
	shift 2
	[ -e "$d/complete" ] && return 0
	suite_update "$suite"
	rm -rf "$d".[0-9]*
	mkdir -p "$tmp/bin"
	download() {
		cd "$tmp" && suite_apt "$suite" apt-get download "$@"
	}
	step "fetching $name of Debian $suite" "10 s" "$LOGS/$name.log" download "$@" ||
		die "cannot download $name from $suite (no network?)"
	for f in "$tmp"/*.deb; do
		dpkg -x "$f" "$tmp/root" || die "cannot unpack $f"
	done
	rm -f "$tmp"/*.deb
	libraries=$(uname -m)-linux-gnu
	for f in "$tmp"/root/usr/bin/*; do
		[ "$(head -c 4 "$f" 2>/dev/null | tail -c 3)" = ELF ] || continue
		f=${f##*/}
		cat >"$tmp/bin/$f" <<-END
			#!/bin/sh
			root=\$(dirname "\$0")/../root
			exec "\$root/usr/lib/$libraries"/ld-linux*.so* \\
				--library-path "\$root/usr/lib/$libraries" "\$root/usr/bin/$f" "\$@"
		END
		chmod +x "$tmp/bin/$f"
	done
	touch "$tmp/complete"
	rm -rf "$d"
	mv "$tmp" "$d"
}

# locked NAME COMMAND...: run a command under the lock NAME, so that only one process at a time
# creates a given part of the cache
locked()
{
	# not `name`: the command may use the caller's variable of that name
	local _locked=$1
	shift
	mkdir -p "$CACHE/locks"
	(
		flock -n 9 || { say "  waiting for another run, which creates $_locked"; flock 9; }
		"$@"
	) 9>"$CACHE/locks/$_locked"
}

# matrix_field NAME FIELD: print a field of a kernel
matrix_field()
{
	awk -v n="$1" -v f="$2" '
		/^#/ || !NF { next }
		$1 == n { split("name kind version flavour suite toolchain torture arch", k)
			  for (i in k) if (k[i] == f) { print $i; found = 1 } }
		END { exit !found }' "$MATRIX" ||
		die "no kernel '$1' in the matrix; there are: $(matrix_names | tr '\n' ' ')"
}

# kernel_arch NAME: print the Debian architecture of a kernel
kernel_arch()
{
	local arch
	arch=$(matrix_field "$1" arch) || exit 1
	printf '%s\n' "${arch:-amd64}"
}

# cross ARCH: print the program prefix of the cross compiler for ARCH; nothing for amd64
cross()
{
	case $1 in
	i386) echo i686-linux-gnu- ;;
	arm64) echo aarch64-linux-gnu- ;;
	amd64) ;;
	*) die "no compiler for the architecture '$1'" ;;
	esac
}

# the kernels of `make test-all`
matrix_names() { awk '!/^#/ && NF && $7 != "-" { print $1 }' "$MATRIX"; }

# --- sources -----------------------------------------------------------------

# Copy only files whose content differs, with the current time, so that make rebuilds only what
# has changed. Build products in the destination stay, unless the source no longer has their folder:
# the rules are perishable (-p).
copy_by_content()
{
	rsync -a --no-times --checksum --delete --filter='-p *.o' --filter='-p *.ko' \
		--filter='-p *.mod*' --filter='-p .*' --filter='-p Module.symvers' \
		--filter='-p modules.order' --filter='-p *.a' --filter='-p *.gcno' "$@" >&2
}

# copy_product FROM DIR
copy_product() { copy_by_content "$1/module" "$1/Kbuild" "$2/"; }
