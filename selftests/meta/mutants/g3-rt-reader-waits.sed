# SPDX-License-Identifier: GPL-2.0
# fails: g3_writer_first real_time_reader_passes_lower_writer
# Real-time readers are readers like others.
/^static bool outranks_writers/,/^}/ s/return w->prio < PRIO_FAIR &&/return false \&\& writer \&\&/
