# SPDX-License-Identifier: GPL-2.0
# fails: g3_writer_first new_reader_waits_behind_waiting_writer
# A reader on the fast path does not care for waiting writers.
s/\(word & \(UNFAIR_RWSEM_WRITER \| UNFAIR_RWSEM_WWAIT\)\)/(word \& UNFAIR_RWSEM_WRITER)/
