// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>

#include "misuse.h"

int fct_misuse(unsigned int what)
{
	return -EINVAL;
}
