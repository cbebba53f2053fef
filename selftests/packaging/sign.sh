# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $checked is lib.sh's
# Tests modules signed with the kernel's sign-file: with a throw-away key that no kernel knows, and
# with a key in the firmware of a guest. Sourced by run.sh.

# sign_with KEY CERT IN OUT: uses the toolchain, because sign-file is from another Debian release
sign_with()
{
	in_kernel "$kernel" "$work" "$kdir/scripts/sign-file sha256 $1 $2 $3 $4"
}

sign_module()
{
	local tree
	tree=$("$HARNESS/stage.sh" "$kernel")
	mkdir -p "$work"
	cp "$tree/module/fscommit.ko" "$work/unsigned.ko"
	openssl req -new -x509 -newkey rsa:2048 -nodes -days 1 \
		-subj "/CN=fscommit throw-away key/" -keyout "$work/key.pem" -out "$work/cert.pem"
	sign_with "$work/key.pem" "$work/cert.pem" "$work/unsigned.ko" "$work/stranger.ko"
	[ "$(modinfo -F signer "$work/stranger.ko")" = "fscommit throw-away key" ]
	[ -z "$(modinfo -F signer "$work/unsigned.ko")" ]
	[ "$(modinfo -F sig_hashalgo "$work/stranger.ko")" = sha256 ]
	# the key enrolled in the variables of Debian's firmware, see boot.sh
	openssl rsa -in /usr/share/ovmf/PkKek-1-snakeoil.key -passin pass:snakeoil \
		-out "$work/enrolled.pem"
	cp /usr/share/ovmf/PkKek-1-snakeoil.pem "$work/enrolled-cert.pem"
	sign_with "$work/enrolled.pem" "$work/enrolled-cert.pem" \
		"$work/unsigned.ko" "$work/signed.ko"
	modinfo -F signer "$work/signed.ko" | grep .
}

# Stripping a signed module removes the signature.
strip_unsigns()
{
	strip --strip-debug -o "$work/stripped.ko" "$work/stranger.ko"
	[ -z "$(modinfo -F signer "$work/stripped.ko")" ]
}

# in_guest NAME MODE ARG...
in_guest()
{
	local name=$1 mode=$2 out=$LOGS/$1-$kernel start=$SECONDS
	shift 2
	mkdir -p "$out"
	echo "test $name 120 sign_guest $mode" >"$out.plan"
	step "$name on $kernel" "30-90 s" "$out.log" "$HARNESS/boot.sh" --out "$out" \
		--timeout 400 "$@" "$kernel" "$out.plan" \
		"$work"/{unsigned,stranger,signed}.ko "$PACKAGING/sign_guest" || true
	collect "$kernel" "$out" $((SECONDS - start))
}

# sign KERNEL
sign()
{
	local kernel=$1 kdir work=$CACHE/build/sign-$1
	kdir=$("$HARNESS/kernel.sh" get "$kernel")/kdir || exit 1
	need_packages openssl ovmf binutils
	say "  signatures, on $kernel"
	if [ ! -x "$kdir/scripts/sign-file" ]; then
		check "$kernel" sign skipped "no sign-file in its headers: built without MODULE_SIG"
		return 0
	fi
	check "$kernel" sign sign_module
	[ "$checked" -eq 0 ] || return 0
	check "$kernel" strip_unsigns strip_unsigns
	in_guest sig_enforce enforce --append module.sig_enforce=1
	in_guest secure_boot secure-boot --secure-boot
}
