// SPDX-License-Identifier: GPL-2.0
/* The trace events of trace.h. */
#include "lend.h"
#include "stats.h"
#include "watcher.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
