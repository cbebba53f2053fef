# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Each checker is shown a fault of its kind, at the end of a file in a copy of the tree, and must
# report it. Sourced by run.sh.

# fault CHECKER FILE FINDING: the text on stdin is added; the finding is a regular expression
fault()
{
	local name=$1 file=$2 finding=$3 start=$SECONDS verdict=FAIL out
	out=$OUT/fault-$name
	ONLY=$file
	if [ ! -e "$TREE/$file" ]; then
		: >"$TREE/$file"
	fi
	cp "$TREE/$file" "$out.before"
	cat >>"$TREE/$file"
	(lint_"${name//-/_}") >"$out.all" 2>"$out.err" </dev/null || true
	heed "$name" "$out.all" >"$out"
	cp "$out.before" "$TREE/$file"
	if grep -qE "^(.*/)?$(basename "$file"):[0-9]+:.*($finding)" "$out"; then
		verdict=ok
	else
		say "  a fault for $name in $file was not reported; see $out"
		bad=1
	fi
	ONLY=
	faults_of[$name]=$((${faults_of[$name]:-0} + 1))
	counted "finds-$name-${faults_of[$name]}" "$verdict" $((SECONDS - start))
}

# counted NAME ok|FAIL SECONDS
counted()
{
	case $2 in
	ok) echo "any lint-$1 ok $3 1 0 0" ;;
	*) echo "any lint-$1 FAIL $3 0 1 0" ;;
	esac
}

# A finding that an exception is for is dropped, and no other; one that nothing needs is told.
heeds_exceptions()
{
	local out=$OUT/fault-exceptions verdict=FAIL n
	mkdir -p "$out"
	cat >"$out/exceptions" <<-'END'
		= user selftests/*/bench/*
		house module/*.c a.reason.*x needed here
		house user never.said not needed
	END
	printf '%s\n' 'module/main.c:1: a reason for x' 'selftests/unfair_rwsem/bench/lockbench.c:1: a reason for x' \
		>"$out/findings"
	n=$(LINT=$out heed house "$out/findings" | tee "$out/left" | wc -l)
	[ "$n" -eq 2 ] && grep -q '^selftests/unfair_rwsem/bench/lockbench.c:1: a reason' "$out/left" &&
		grep -q 'exceptions:3: nothing needs it' "$out/left" && verdict=ok
	[ "$verdict" = ok ] || bad=1
	counted exceptions "$verdict" 0
}

# Words that are wrong are put together here: this file is looked at, too.
faults()
{
	local blank=' '
	declare -A faults_of
	TREE=$CACHE/lint/faulty
	mkdir -p "$TREE"
	rsync -a --delete --exclude .git --exclude _build --exclude '*.o' --exclude '*.ko' \
		--exclude '*.mod*' --exclude '.*.cmd' "$TOP/" "$TREE/"
	prepare checkpatch coccicheck sparse kernel-doc shellcheck codespell pyflakes snippets man docs
	fault checkpatch module/main.c POINTER_LOCATION <<-'END'
		char* planted;
	END
	RULES=free/ifnullfree fault coccicheck module/main.c 'NULL check before' <<-'END'
		static void planted(void *p)
		{
			if (p)
				kfree(p);
		}
	END
	fault sparse module/main.c 'dereference of noderef' <<-'END'
		unsigned long planted(unsigned long __user *p);
		unsigned long planted(unsigned long __user *p)
		{
			return *p;
		}
	END
	fault kernel-doc module/share_gate.c "'there' not described" <<-'END'

		/**
		 * planted() - of two arguments, one is not told of
		 * @here: the first one
		 */
		void planted(int here, int there)
		{
		}
	END
	fault kernel-doc module/share_gate.c 'no kernel-doc: exported planted' <<-'END'
		EXPORT_SYMBOL_FSCOMMIT(planted);
	END
	# a script without a suffix is one, too
	fault shellcheck selftests/harness/init SC2154 <<-'END'
		echo "$planted"
	END
	fault codespell docs/why.rst '==> The' <<-END
		T${blank# }eh lock.
	END
	fault pyflakes selftests/bench/report.py 'imported but unused' <<-'END'
		import planted
	END
	fault house selftests/lib/stats.h 'a blank at the end' <<-END
		/* planted */$blank
	END
	fault house selftests/planted.h 'no SPDX line' <<-'END'
		/* planted */
	END
	fault house module/main.c 'a version outside' <<-'END'
		#if LINUX_VERSION_CODE < 1
	END
	# the compiler names the document: of a template it is the line that is wrong
	fault snippets selftests/lint/snippets/README.c 'planted' <<-'END'
		static void __used planted(void)
		{
			planted_too();
		}
	END
	fault snippets docs/share_gate.rst 'of block 1 is not in share_gate.c' <<-'END'

		Planted::

		    share_gate_planted(1);
	END
	fault man tools/ckptlat.8 'not in --help: --planted' <<-'END'
		.Bl -tag -width Ds
		.It Fl \-planted
		is not there.
		.El
	END
	fault docs docs/why.rst 'WARNING.*|ERROR.*' <<-'END'

		=======  ==
		planted  table
	END
	heeds_exceptions
	TREE=$TOP
}
