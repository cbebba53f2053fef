// SPDX-License-Identifier: GPL-2.0
/*
 * stress_ioctl - freeze, thaw or shut down a filesystem
 *
 *	stress_ioctl freeze|thaw DIR
 *	stress_ioctl shutdown DIR MODE	0: sync first, 1: sync only metadata, 2: no sync,
 *					3: flush metadata, f2fs only
 *
 * Exit status 4: the filesystem lacks the ioctl.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#define PROGRAM "stress_ioctl"
#include "options.h"

/* The same number in ext4, xfs and f2fs; not every <linux/fs.h> has it. */
#define SHUTDOWN	_IOR('X', 125, uint32_t)

int main(int argc, char **argv)
{
	uint32_t mode = argc > 3 ? number("MODE", argv[3], 0, 4) : 0;
	const char *what = argc > 2 ? argv[1] : "";
	int fd, rc;

	if (argc < 3)
		fatal("usage: stress_ioctl freeze|thaw DIR | stress_ioctl shutdown DIR MODE");
	fd = open(argv[2], O_RDONLY);
	if (fd < 0)
		fatal("%s: %s", argv[2], strerror(errno));
	if (!strcmp(what, "freeze"))
		rc = ioctl(fd, FIFREEZE, 0);
	else if (!strcmp(what, "thaw"))
		rc = ioctl(fd, FITHAW, 0);
	else if (!strcmp(what, "shutdown"))
		rc = ioctl(fd, SHUTDOWN, &mode);
	else
		fatal("%s: must be freeze, thaw or shutdown", what);
	if (rc && (errno == ENOTTY || errno == EOPNOTSUPP))
		return 4;
	if (rc)
		fatal("%s %s: %s", what, argv[2], strerror(errno));
	return 0;
}
