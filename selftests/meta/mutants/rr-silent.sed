# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse traced
# A batch is closed without a trace.
s/^	trace_rcu_reuse_batch\(.*\);//
