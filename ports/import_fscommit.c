// SPDX-License-Identifier: GPL-2.0
/* Linked into each ported driver, to import the namespace of fscommit. */
#include "import_fscommit.h"
