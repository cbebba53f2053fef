# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2034 # variables of bench.sh
# The part apps of bench.sh: measure applications of Debian 12 that sync, on f2fs or btrfs, beside
# low-priority tasks that create, rename, link and delete. These are stress-ng's stressors: a
# quarter of them rename, a quarter dir, one link, the others dentry. Sourced, never run.
#
# One boot for each application and round. The programs are on a disk of their own. An application
# of which Debian has no package is skipped; one that fails does not stop the others.

# the Debian release of the applications, and the image with their programs
suite=bookworm
image=$CACHE/apps/$suite

# Print lines `APP PACKAGE...`. The last three are for regressions: nothing runs in the background.
app_packages()
{
	cat <<-END
		fio fio
		fs_mark fsmark
		sqlite sqlite3
		fillsync rocksdb-tools
		pgbench postgresql-15
		etcd etcd-server etcd-client
		fio-64 fio
		dbench dbench
		untar tar
	END
}

app_names() { app_packages | cut -d' ' -f1 | tr '\n' ' '; }

# loads_of APP: print the loads for it
loads_of()
{
	case $1 in
	fio-64|dbench|untar) echo none ;;
	# it takes longer than DURATION
	etcd) echo "${LOADS:-none 32:idle}" ;;
	*) echo "$loads" ;;
	esac
}

# unpack PACKAGE...: add the packages and what they need to the image's root, or fail
unpack()
{
	local list d dir=$CACHE/apps/debs
	list=$(closure "$suite" "$@") || return 1
	mkdir -p "$dir"
	# shellcheck disable=SC2086 # words
	(cd "$dir" && suite_apt "$suite" apt-get download $list) || return 1
	for d in "$dir"/*.deb; do
		dpkg -x "$d" "$image.root" || return 1
	done
	rm -rf "$dir"
}

# fill_image: unpack all packages that are missing in the root, and make an ext4 of it, for the
# guest to mount. Set apps to those that it has.
fill_image()
{
	local app packages has='' changed='' d=$image.root src
	mkdir -p "$d"/{dev,mnt,proc,sys,tmp,packages}
	while read -r app packages; do
		[[ " $apps base " = *" $app "* ]] || continue
		# shellcheck disable=SC2086 # words
		if [ ! -e "$d/packages/$app" ]; then
			step "fetching $packages of Debian $suite" "30 s" "$LOGS/bench.log" \
				unpack $packages ||
				{ say "  skipping $app: cannot get $packages from $suite"; continue; }
			touch "$d/packages/$app"
			changed=1
		fi
		has+=" $app"
	done < <(echo 'base stress-ng util-linux coreutils dash'; app_packages)
	if [ ! -e "$d/linux.tar" ]; then
		src=$("$SCRIPTS/kernel.sh" source 7.3)
		tar -C "$src" --transform 's:^:linux/:' -cf "$d/linux.tar" fs kernel mm
		changed=1
	fi
	# PostgreSQL runs programs by the shell, and refuses to run as root
	ln -sf dash "$d/bin/sh"
	echo 127.0.0.1 localhost >"$d/etc/hosts"
	printf '%s\n' root:x:0:0::/tmp:/bin/sh postgres:x:1000:1000::/tmp:/bin/sh >"$d/etc/passwd"
	if [ "$changed" ] || [ ! -e "$image" ]; then
		truncate -s 2G "$image.tmp"
		mkfs.ext4 -q -F -O ^has_journal -d "$d" "$image.tmp"
		mv "$image.tmp" "$image"
	fi
	apps=${has/ base/}
}

part_apps()
{
	local app load runs failed='' apps all
	choose 5 'none 8:nice:19 32:idle 8:weight:1 8:quota:20' 3
	apps=${APPS:-$(app_names)}
	for app in $apps; do
		[[ " $(app_names)" = *" $app "* ]] ||
			die "APPS: no application '$app'; there are: $(app_names)"
	done
	prepare apps
	need mkfs.ext4
	mkdir -p "$CACHE/apps"
	suite_update "$suite"
	fill_image
	# the image is the first disk
	disk=${disk/\$DISK/\$DISK2}
	options+=(--disk "$image" "${store[@]}")
	environment="IMAGE=\$DISK $environment LIMIT=${LIMIT:-100} NICE=${NICE:--10}"
	limit=$((${LIMIT:-100} + 500))
	all=$dir
	for app in $apps; do
		runs=()
		for load in $(loads_of "$app"); do
			runs+=("$app,$load")
		done
		first=("test prepare 600 $environment DISK=$disk sh /fscommit/apps_guest.sh prepare $app")
		# the others go on
		dir=$all/$app
		(in_rounds apps_guest.sh "${runs[@]}") || failed+=" $app"
	done
	dir=$all
	table "$dir"/*/round-*/
	[ -z "$failed" ] || die "runs failed:$failed"
}
