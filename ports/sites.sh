# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The site check: spatch silently skips macros and code that it cannot parse. So after the
# patches, these functions search the whole source as text, without comments and strings.
# They compare it with the source before the patches, so they also hold for kernels that
# were never tested.  Sourced, never run; each function prints an error for each site, and fails.

# code FOLDER: every line as FILE:LINE:TEXT, without comments and the contents of strings
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

# none_left FOLDER REGEX WHAT: no line matches
none_left()
{
	local left
	left=$(code "$1" | grep -E "^[^:]*:[0-9]*:.*($2)") || return 0
	printf '%s\n' "$left" | sed "s|^\([^:]*:[0-9]*\):[[:space:]]*|error: \1: $3: |" >&2
	return 1
}

# count FOLDER REGEX: the number of matches
count() { code "$1" | cut -d: -f3- | grep -oE "$2" | wc -l; }

# as_many BEFORE REGEX AFTER REGEX WHAT: both folders have equally many matches, at least one
as_many()
{
	local before after
	before=$(count "$1" "$2")
	after=$(count "$3" "$4")
	if [ "$before" -eq 0 ]; then
		say "error: $5: no site before the patch: the patch does not know this source"
		return 1
	fi
	if [ "$before" -ne "$after" ]; then
		say "error: $5: $before before the patch, $after after it"
		return 1
	fi
}

# places FOLDER FIELD: the expressions that name the field, in order, except in guards,
# which the patches add
places()
{
	# shellcheck disable=SC2016 # perl's
	code "$1" | FIELD=$2 perl -ne '
		my ($file, $line, $text) = split /:/, $_, 3;
		$text =~ s/guard\(\w+\)\([^;]*\);//g;
		$text =~ s/is_contended\([^()]*\)//g;
		print "$file: $1\n" while $text =~ /&([\w()\[\].>-]*?(?:->|\.)$ENV{FIELD})\b/g;'
}

# converted BEFORE AFTER TYPE FIELD [ALSO]: FIELD is declared as struct TYPE, only functions of
# that type use it (or code that matches the regular expression ALSO, up to the &), and each
# use names the same lock as before
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
	lost=$(diff <(places "$1" "$4") <(places "$2" "$4") |
		sed -n "s/^[<>] /error: $4 before and after the patch: &/p")
	if [ -n "$lost" ]; then
		printf '%s\n' "$lost" >&2
		return 1
	fi
}
