# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The site check: spatch sees neither macros nor what it cannot parse, and says nothing
# about it. So each patch is followed by a look at the whole source, as text without
# comments and strings. What should be there is taken from the source before the patch,
# not written down here, so it holds for a kernel that nobody has tried.  Sourced, never
# run; each function prints an error for each site, and fails.

# code FOLDER: every line as FILE:LINE:TEXT, without comments and the insides of strings
code()
{
	# shellcheck disable=SC2016 # perl's
	(cd "$1" && find . -name '*.[ch]' -printf '%P\n' | sort | xargs perl -0777 -ne '
		s{(/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])+\x27}{
			(defined $1 ? " " : q("")) . ($& =~ s/[^\n]//gr)
		}gse;
		my $n = 0;
		print "$ARGV:", ++$n, ":$_\n" for split /\n/;
	')
}

# none_left FOLDER REGEX WHAT: no line matches any more
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
	if [ "$before" -eq 0 ]; then
		say "error: $5: the source has none, so the patch does not know this source"
		return 1
	fi
	if [ "$before" -ne "$after" ]; then
		say "error: $5: $before before the patch, $after after it"
		return 1
	fi
}

# places FOLDER FIELD: the expressions that name the field, in order, but for the guards
# that patches add
places()
{
	# shellcheck disable=SC2016 # perl's
	code "$1" | FIELD=$2 perl -ne '
		my ($file, $line, $text) = split /:/, $_, 3;
		$text =~ s/guard\(\w+\)\([^;]*\);//g;
		print "$file: $1\n" while $text =~ /&([\w()\[\].>-]*?(?:->|\.)$ENV{FIELD})\b/g;'
}

# converted BEFORE AFTER TYPE FIELD [ALSO]: FIELD is declared as struct TYPE, all that
# names it is a function of that type (or matches ALSO, a regular expression for what
# stands before it), and names the same lock as before
converted()
{
	local left lost
	# shellcheck disable=SC2016 # perl's
	left=$(code "$2" | TYPE=$3 FIELD=$4 ALSO=${5:-'(?!)'} perl -ne '
		my ($file, $line, $text) = split /:/, $_, 3;
		my ($type, $field, $also) = @ENV{qw(TYPE FIELD ALSO)};
		my $family = $type =~ s/_rwsem$//r;
		my $calls = qr/\b(?:__)?(?:init_)?${family}_\w+\(|guard\(${family}_\w+\)\(/;
		$text =~ s/\bstruct $type $field;//g;
		$text =~ s/(?:$calls|$also)\s*&[\w()\[\].>-]*(?:->|\.)$field\b//g;
		$text =~ s/^\s+//;
		print "error: $file:$line: $field is not converted here: $text"
			if $text =~ /(?:->|\.)$field\b|\bstruct \w+ $field;/;')
	if [ -n "$left" ]; then
		printf '%s\n' "$left" >&2
		return 1
	fi
	if [ "$(count "$2" "struct $3 $4;")" -eq 0 ]; then
		say "error: no struct $3 $4: the patch does not know this source"
		return 1
	fi
	lost=$(diff <(places "$1" "$4") <(places "$2" "$4") | sed -n "s/^[<>] /error: $4 before and after the patch: &/p")
	if [ -n "$lost" ]; then
		printf '%s\n' "$lost" >&2
		return 1
	fi
}
