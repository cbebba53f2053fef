#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Keep kernels, and the compilers that build modules for them, in the cache.
#
#   kernel.sh get NAME           fetch or build a kernel, and print its folder: image, kdir/,
#                                release, arch, and for a foreign architecture busybox
#   kernel.sh build NAME DIR [ARG...]
#                                make -C kdir M=DIR ARG..., with the kernel's own compiler
#   kernel.sh source VERSION     unpack the kernel source, and print its folder
#   kernel.sh modules NAME       fetch the modules of a stock kernel, and print their folder
#   kernel.sh shell NAME         start a shell in the toolchain of that kernel
#   kernel.sh run COMMAND...     run a command in the toolchain FSCOMMIT_TOOLCHAIN, a Debian
#                                release: trixie has gcc, sid has the newest clang
#
# A folder is created under a temporary name and renamed when complete, so an interrupted run
# leaves no broken cache. A kernel that is built here is complete once the file `complete` exists.

. "$(dirname "$0")/lib.sh"
need_debian

host_release() { . /etc/os-release && printf '%s\n' "${VERSION_CODENAME:-unknown}"; }

# download SUITE DIR PACKAGE...: download the packages, and unpack them into DIR/root
download()
{
	local suite=$1 dir=$2
	shift 2
	mkdir -p "$dir/debs" "$dir/root"
	# a caller that tests the result switches `set -e` off here
	(cd "$dir/debs" && suite_apt "$suite" apt-get download "$@") || return 1
	local d
	for d in "$dir"/debs/*.deb; do
		dpkg -x "$d" "$dir/root" || return 1
	done
	rm -rf "$dir/debs"
}

# --- the compiler -----------------------------------------------------------

# Create a root folder with the compiler of another Debian release. The packages are only
# unpacked, and a user namespace enters the folder, so this does not need root.
make_toolchain()
{
	local rel=$1 root=$CACHE/toolchain/$1 tmp d
	# flex: a sid from before it built kernels
	[ -e "$root/.complete" ] && [[ $rel != sid || -e $root/usr/bin/flex ]] && return 0
	suite_update "$rel"
	tmp=$root.tmp.$$
	rm -rf "$CACHE/toolchain/$rel".tmp.*
	mkdir -p "$tmp"
	case $rel in
	trixie) set -- gcc-14 libelf1t64 ;;
	sid)	# the newest clang, which is not the default one
		d=$(suite_apt "$rel" apt-cache pkgnames clang- | sed -n 's/^clang-\([0-9]*\)$/\1/p' |
			sort -n | tail -n 1)
		set -- libelf-dev bc bison flex gcc "clang-$d" "lld-$d" "llvm-$d" ;;
	*) set -- gcc-12 libelf1 ;;
	esac
	fill_toolchain() {
		suite_apt "$rel" apt-get install -y --download-only --no-install-recommends \
			-o Dir::Cache::archives="$tmp/debs" \
			"$@" base-files bash coreutils dash sed grep gawk findutils diffutils \
			perl-base make kmod pahole xz-utils zstd tar gzip libc6-dev ||
			return 1
		for d in "$tmp"/debs/*.deb; do
			dpkg -x "$d" "$tmp" || return 1
		done
		rm -rf "$tmp/debs"
		ln -sf gawk "$tmp/usr/bin/awk"
		[ -e "$tmp/usr/bin/sh" ] || ln -s dash "$tmp/usr/bin/sh"
		if [ "$rel" = sid ]; then
			# the names that LLVM=1 expects
			for d in "$tmp"/usr/lib/llvm-[0-9]*/bin/{clang,ld.lld,llvm-*}; do
				ln -sf "${d/#"$tmp"\/usr/..}" "$tmp/usr/bin/"
			done
		else
			ln -sf "$(basename "$(ls "$tmp"/usr/bin/gcc-1[0-9])")" "$tmp/usr/bin/gcc"
		fi
		mkdir -p "$tmp/proc" "$tmp/dev" "$tmp/tmp"
	}
	mkdir -p "$tmp/debs/partial"
	step "unpacking the compiler of Debian $rel" "30 s" "$LOGS/toolchain-$rel.log" \
		fill_toolchain "$@" || die "no compiler for Debian $rel"
	touch "$tmp/.complete"
	rm -rf "$root"
	mv "$tmp" "$root"
}

# in_toolchain RELEASE COMMAND...: run a command with another compiler but the same paths
in_toolchain()
{
	local rel=$1 root=$CACHE/toolchain/$1 ns
	shift
	if [ "$rel" = "$(host_release)" ]; then
		"$@"
		return
	fi
	[ "$(id -u)" -eq 0 ] && ns=(unshare -m) || ns=(unshare -rm)
	# shellcheck disable=SC2016 # expanded inside
	"${ns[@]}" sh -c '
		set -e
		root=$1; shift
		for d in /proc /dev "$FSCOMMIT_BIND_A" "$FSCOMMIT_BIND_B" "$FSCOMMIT_BIND_C"; do
			mkdir -p "$root$d"
			mount --rbind "$d" "$root$d"
		done
		exec chroot "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/usr/sbin LC_ALL=C \
			PWD="$PWD" "$@"' sh "$root" "$@"
}

# release_for NAME: print the Debian release of the compiler; FSCOMMIT_TOOLCHAIN overrides it
release_for()
{
	if [ -n "${FSCOMMIT_TOOLCHAIN:-}" ]; then
		printf '%s\n' "$FSCOMMIT_TOOLCHAIN"
	else
		matrix_field "$1" toolchain
	fi
}

toolchain_for()
{
	local rel cross
	rel=$(release_for "$1")
	if [ "$rel" = "$(host_release)" ]; then
		cross=$(cross "$(kernel_arch "$1")") || exit 1
		need gcc make libelf.h modinfo pahole "${cross}gcc"
	else
		locked "toolchain-$rel" make_toolchain "$rel"
	fi
}

# --- Debian's own kernels ---------------------------------------------------

# Print the suffix of a stock kernel's release, as in 6.1.0-50-cloud-amd64. Names of i386 kernels
# do not contain the architecture.
stock_end()
{
	local arch
	arch=$(kernel_arch "$1") || exit 1
	matrix_field "$1" flavour | sed "s/\$/-$arch/; s/-i386\$//"
}

# Print the suite, followed by :ARCH if that is not this machine's architecture.
stock_suite()
{
	local arch
	arch=$(kernel_arch "$1") || exit 1
	matrix_field "$1" suite | sed "s/\$/:$arch/; s/:amd64\$//"
}

# Print the newest release that has both an image and a header package, and its image package.
stock_packages()
{
	local suite=$1 version=$2 end=$3 major=${2%%.*} v img rel all
	all=$(suite_apt "$suite" apt-cache pkgnames linux- | sort -V)
	for v in "$version" "$major"; do
		for rel in $(printf '%s\n' "$all" |
			sed -n "s/^linux-headers-\($v\.[0-9][^-]*\(-[0-9]*\)\?\)-$end\$/\1/p" | sort -rV); do
			for img in "linux-image-$rel-$end-unsigned" "linux-image-$rel-$end" \
				   "linux-binary-unsigned-$rel-$end" "linux-binary-$rel-$end"; do
				# from 6.17 on linux-binary-* contains the kernel, not linux-image-*
				case $img in linux-image-*)
					grep -qx "linux-base-$rel-$end" <<<"$all" && continue ;;
				esac
				if grep -qx "$img" <<<"$all"; then
					printf '%s\n' "$rel" "$img"
					return 0
				fi
			done
		done
	done
	return 1
}

make_stock()
{
	local name=$1 suite version end arch dir tmp rel img image pkgs kbuild
	suite=$(stock_suite "$name")
	version=$(matrix_field "$name" version)
	end=$(stock_end "$name")
	arch=$(kernel_arch "$name")
	dir=$CACHE/kernels/$name
	[ -e "$dir/complete" ] && return 0
	suite_update "$suite"
	{ read -r rel; read -r img; } < <(stock_packages "$suite" "$version" "$end") ||
		die "$suite has no kernel $version with its headers (*-$end)"
	tmp=$dir.tmp.$$
	rm -rf "$CACHE/kernels/$name".tmp.*
	mkdir -p "$tmp"
	# the dependencies of the flavour's header package
	pkgs=$(suite_apt "$suite" apt-cache depends "linux-headers-$rel-$end" |
		sed -n 's/.*Depends: \(linux-\(headers\|kbuild\)-[^ <>:]*\).*/\1/p' | sort -u)
	# kbuild's programs must run on this machine
	if [ "$arch" != amd64 ]; then
		kbuild=$(printf '%s\n' "$pkgs" | grep kbuild)
		pkgs=$(printf '%s\n' "$pkgs" | grep -v kbuild)
		suite_update "${suite%:*}"
		suite_update "bookworm:$arch"
		step "downloading a busybox for $arch" "5 s" "$LOGS/kernel-$name.log" \
			download "bookworm:$arch" "$tmp" busybox-static || die "no busybox for $arch"
		mv "$tmp/root/bin/busybox" "$tmp/busybox"
		rm -rf "$tmp/root"
		# shellcheck disable=SC2086 # a list
		step "downloading the build programs" "5 s" "$LOGS/kernel-$name.log" \
			download "${suite%:*}" "$tmp" $kbuild || die "cannot download $kbuild"
	fi
	# shellcheck disable=SC2086 # a list
	step "downloading Linux $rel-$end" "5 s" "$LOGS/kernel-$name.log" \
		download "$suite" "$tmp" "$img" "linux-headers-$rel-$end" $pkgs ||
		die "cannot download $img from $suite"
	# boot/vmlinuz-RELEASE, and from 6.17 on usr/lib/modules/RELEASE/vmlinuz*
	image=$(find "$tmp/root" -name 'vmlinuz*' -type f | sort | sed -n 1p)
	[ "$image" ] || die "no kernel image in $img"
	mv "$image" "$tmp/image"
	rm -rf "$tmp/root/boot" "$tmp/root/lib/modules" "$tmp/root/usr/lib/modules"
	# The flavour's Makefile and some links contain absolute paths: point them into the cache.
	sed -i "s:\([= ]\)/usr/src/linux-headers:\1$dir/root/usr/src/linux-headers:" \
		"$tmp/root/usr/src/linux-headers-$rel-$end/Makefile"
	find "$tmp/root/usr/src" -type l -lname '/usr/*' | while read -r l; do
		ln -sfn "$dir/root$(readlink "$l")" "$l"
	done
	ln -s "root/usr/src/linux-headers-$rel-$end" "$tmp/kdir"
	echo "$rel-$end" >"$tmp/release"
	echo "$arch" | sed 's/amd64/x86_64/' >"$tmp/arch"
	touch "$tmp/complete"
	rm -rf "$dir"
	mv "$tmp" "$dir"
}

# A stock kernel has about 100 MB of modules; only the filesystem tests need them.
make_stock_modules()
{
	local name=$1 suite end dir=$CACHE/kernels/$1 tmp rel img
	[ -e "$dir/modules/complete" ] && return 0
	suite=$(stock_suite "$name")
	end=$(stock_end "$name")
	suite_update "$suite"
	rel=$(cat "$dir/release")
	rel=${rel%-"$end"}
	img=$(suite_apt "$suite" apt-cache pkgnames linux- |
		grep -xF -e "linux-modules-$rel-$end" -e "linux-image-$rel-$end" \
			-e "linux-image-$rel-$end-unsigned" | sort -r | head -n 1) || true
	[ -n "$img" ] || die "$suite no longer has the modules of $rel-$end: remove $dir"
	tmp=$dir/modules.tmp.$$
	rm -rf "$dir"/modules.tmp.*
	mkdir -p "$tmp"
	step "downloading the modules of Linux $rel-$end" "5 s" "$LOGS/kernel-$name.log" \
		download "$suite" "$tmp" "$img" || die "cannot download $img from $suite"
	mv "$(find "$tmp/root" -path '*/lib/modules/*' -prune -type d |
		head -n 1)/kernel" "$tmp/kernel"
	rm -rf "$tmp/root"
	touch "$tmp/complete"
	mv "$tmp" "$dir/modules"
}

# --- kernels built here -----------------------------------------------------

make_source()
{
	local version=$1 suite=$2 dir=$CACHE/src/$1 tmp pkg
	[ -e "$dir/.complete" ] && return 0
	suite_update "$suite"
	pkg=linux-source-$version
	suite_apt "$suite" apt-cache show "$pkg" >/dev/null 2>&1 ||
		pkg=$(suite_apt "$suite" apt-cache pkgnames "linux-source-${version%%.*}." |
			sort -V | tail -n 1)
	[ -n "$pkg" ] || die "$suite has no linux-source of the ${version%%.*}.x series"
	tmp=$dir.tmp.$$
	rm -rf "$dir".tmp.*
	fill_source() {
		download "$suite" "$tmp" "$pkg" &&
		tar -C "$tmp" --strip-components=1 -xf "$tmp"/root/usr/src/linux-source-*.tar.xz &&
		rm -rf "$tmp/root"
	}
	step "unpacking $pkg" "20 s" "$LOGS/source-$version.log" fill_source ||
		die "cannot download or unpack $pkg from $suite"
	echo "$pkg $(LC_ALL=C suite_apt "$suite" apt-cache policy "$pkg" | sed -n 's/^ *Candidate: //p')" \
		>"$tmp/.complete"
	rm -rf "$dir"
	mv "$tmp" "$dir"
}

# Build a kernel from linux-source. Kind `uml` starts from User-Mode Linux's defconfig, kind
# `built` from the allnoconfig of x86-64. With KASAN, uml's stacktrace.c includes uml-kasan.h first.
make_built()
{
	local name=$1 version dir src frags=() trace='' f arch base image target by llvm=''
	case $(matrix_field "$name" kind) in
	uml) arch=um base=defconfig target=all image=linux ;;
	*) arch=x86_64 base=allnoconfig target='bzImage modules' image=arch/x86/boot/bzImage ;;
	esac
	version=$(matrix_field "$name" version)
	by=$(host_release)
	[ "$(matrix_field "$name" toolchain)" != sid ] || by=sid llvm=LLVM=1
	dir=$CACHE/kernels/$name
	for f in $(matrix_field "$name" flavour | tr + ' '); do
		frags+=("$SCRIPTS/config/$f")
	done
	if [ "$arch" = um ] && grep -qs '^CONFIG_KASAN=y' "${frags[@]}"; then
		trace=$SCRIPTS/config/uml-kasan.h
	fi
	if [ -e "$dir/complete" ] &&
	   cat "${frags[@]}" ${trace:+"$trace"} | cmp -s - "$dir/fragments"; then
		return 0
	fi
	need gcc make flex bison bc libelf.h openssl/opensslv.h modinfo pahole xz
	[ "$by" != sid ] || locked toolchain-sid make_toolchain sid
	locked "source-$version" make_source "$version" "$(matrix_field "$name" suite)"
	src=$CACHE/src/$version
	# kdir contains absolute paths, so it cannot be renamed: create `complete` last
	rm -f "$dir/complete"
	mkdir -p "$dir/kdir"
	kmake() { enter "$by" make -C "$src" ARCH="$arch" O="$dir/kdir" ${llvm:+"$llvm"} "$@"; }
	configure() {
		local tmp=$dir/kdir
		# options that the fragments make visible must default to `n`, too
		if [ "$base" = allnoconfig ]; then
			cat "${frags[@]}" >"$tmp/fragments"
			kmake KCONFIG_ALLCONFIG="$tmp/fragments" "$base"
			return
		fi
		kmake "$base" &&
		(cd "$src" && scripts/kconfig/merge_config.sh -m -O "$tmp" "$tmp/.config" \
			"${frags[@]}") &&
		kmake olddefconfig
	}
	step "configuring $name" "10 s" "$LOGS/kernel-$name.log" configure ||
		die "cannot configure $name"
	grep -hE '^CONFIG_.*=[^n]' "${frags[@]}" | while read -r f; do
		grep -qxF "$f" "$dir/kdir/.config" || say "    note: $name lacks $f"
	done
	# shellcheck disable=SC2086 # targets are words
	step "building $name" "5-8 min on 2 cores" "$LOGS/kernel-$name.log" \
		kmake -j"$(nproc)" ${trace:+"CFLAGS_stacktrace.o=-include $trace"} $target ||
		die "cannot build $name"
	# rename: a guest may still run the old image
	cp "$dir/kdir/$image" "$dir/image.tmp"
	mv "$dir/image.tmp" "$dir/image"
	kmake -s kernelrelease >"$dir/release"
	echo "$arch" >"$dir/arch"
	cat "${frags[@]}" ${trace:+"$trace"} >"$dir/fragments"
	touch "$dir/complete"
}

get()
{
	local name=$1 kind
	kind=$(matrix_field "$name" kind) || exit 1
	case $kind in
	stock) locked "kernel-$name" make_stock "$name" ;;
	uml|built) locked "kernel-$name" make_built "$name" ;;
	*) die "matrix: unknown kind of kernel '$name'" ;;
	esac
	printf '%s\n' "$CACHE/kernels/$name"
}

build()
{
	local name=$1 dir=$2 k arch=()
	shift 2
	k=$(get "$name")
	toolchain_for "$name"
	case $(cat "$k/arch") in
	um) arch=(ARCH=um) ;;
	x86_64) ;;
	# Debian's Makefile sets ARCH
	*) arch=("CROSS_COMPILE=$(cross "$(kernel_arch "$name")")") ;;
	esac
	! grep -qs '^CONFIG_CC_IS_CLANG=y' "$k/kdir/include/config/auto.conf" || arch+=(LLVM=1)
	# the kernel's folder may be a link into another cache, which then has the source
	FSCOMMIT_BIND_A=$CACHE FSCOMMIT_BIND_B=$dir_root \
		FSCOMMIT_BIND_C=$(realpath "$CACHE/kernels/$name" | sed 's:/[^/]*/[^/]*$::') \
		in_toolchain "$(release_for "$name")" \
		make -C "$k/kdir" M="$dir" "${arch[@]}" "$@"
}

# enter RELEASE COMMAND...: run a command in a toolchain, outside of a build
enter()
{
	FSCOMMIT_BIND_A=$CACHE FSCOMMIT_BIND_B=$dir_root \
		FSCOMMIT_BIND_C=$(realpath "$CACHE/kernels/..") in_toolchain "$@"
}

cmd=${1:-help}
[ $# -gt 0 ] && shift
# the folder that a build sees besides the cache
dir_root=${FSCOMMIT_BUILD_ROOT:-$TOP}
case $cmd in
get) get "${1:?name of a kernel}" ;;
build) build "${1:?name of a kernel}" "$(cd "${2:?folder}" && pwd)" "${@:3}" ;;
source)
	v=${1:?version}
	suite=$(awk -v v="$v" '!/^#/ && $3 == v { print $5; exit }' "$MATRIX")
	[ -n "$suite" ] || die "no kernel of version $v in the matrix"
	need xz
	locked "source-$v" make_source "$v" "$suite"
	printf '%s\n' "$CACHE/src/$v" ;;
shell)
	toolchain_for "$1"
	enter "$(release_for "$1")" bash ;;
run)
	toolchain_for "${1:?command}"
	enter "${FSCOMMIT_TOOLCHAIN:?release}" "$@" ;;
modules)
	get "${1:?name of a kernel}" >/dev/null
	[ "$(matrix_field "$1" kind)" = stock ] || die "only stock kernels have a modules package"
	locked "modules-$1" make_stock_modules "$1"
	printf '%s\n' "$CACHE/kernels/$1/modules" ;;
*) exit_usage ;;
esac
