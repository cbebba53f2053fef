// SPDX-License-Identifier: GPL-2.0
/* Linked into each ported driver: it may use the symbols of fscommit. */
#include "import_fscommit.h"
