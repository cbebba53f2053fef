# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The site check: spatch sees neither macros nor what it cannot parse, and says nothing
# about it. So each patch is followed by a look at the whole source, as text without
# its comments. What should be there is counted in the source before the patch, not
# written down here: it holds for a kernel that nobody has tried.  Sourced, never run.

# code FOLDER: every line as FILE:LINE:TEXT, comments and strings blanked
code()
{
	# shellcheck disable=SC2016 # perl's
	(cd "$1" && find . -name '*.[ch]' -printf '%P\n' | sort | xargs perl -0777 -ne '
		s{(/\*.*?\*/)|(//[^\n]*)|("(?:\\.|[^"\\\n])*")}{
			my $t = $&;
			if (defined $3) { q("") } else { $t =~ s/[^\n]//g; $t }
		}gse;
		my $n = 0;
		print "$ARGV:", ++$n, ":$_\n" for split /\n/;
	')
}

# none_left FOLDER REGEX WHAT: an error for each line that still matches
none_left()
{
	local left
	left=$(code "$1" | grep -E "^[^:]*:[0-9]*:.*($2)") || return 0
	printf '%s\n' "$left" | sed "s|^\([^:]*:[0-9]*\):[[:space:]]*|error: \1: $3: |" >&2
	return 1
}

# count FOLDER REGEX: how often it occurs
count() { code "$1" | cut -d: -f3- | grep -oE "$2" | wc -l; }

# as_many BEFORE REGEX AFTER REGEX WHAT: what was there must have become the other
as_many()
{
	local before after
	before=$(count "$1" "$2")
	after=$(count "$3" "$4")
	[ "$before" -gt 0 ] || { say "error: $5: the source has none: it is not known yet"; return 1; }
	[ "$before" -eq "$after" ] || { say "error: $5: $before before the patch, $after after it"; return 1; }
}
