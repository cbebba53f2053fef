# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers biased_reader_excludes_writers
# fails: visible_readers bias_comes_and_goes
# A revocation does not count the readers that it finds.
s/if \(READ_ONCE\(s->sem\) != v\)/if (true)/
