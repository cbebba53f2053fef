// SPDX-License-Identifier: GPL-2.0
/*
 * crash_chain - print the chain of node blocks from which f2fs recovers fsyncs, and its hole
 *
 *	crash_chain DEVICE
 *
 * Each node block names the address allocated after its own. Recovery begins at the next free
 * address of the checkpoint and ends at the first block that does not belong to it. Blocks
 * allocated after this hole are lost, although they are on the disk: the program counts them in
 * the segment where the chain ends. Run it before the mount, which recovers and writes a new
 * checkpoint.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "crash_chain"
#include "options.h"

#define BLOCK		4096
#define F2FS_MAGIC	0xf2f52010u
#define WARM_NODE	1		/* log of the files' node blocks */
#define CRC_RECOVERY	0x40
#define NOCRC_RECOVERY	0x200
#define FSYNC_MARK	(1u << 1)

/* The beginning of the superblock and of a checkpoint, little endian as on the disk. */
struct super {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t log_sector, log_sectors, log_block, log_segment, unused[5];
	uint32_t counts[7];
	uint32_t segment0, checkpoint, sit, nat, ssa, main;
} __attribute__((packed));

struct checkpoint {
	uint64_t version, user_blocks, valid_blocks;
	uint32_t reserved, overprovision, free;
	uint32_t node_segment[8];
	uint16_t node_offset[8];
	uint32_t data_segment[8];
	uint16_t data_offset[8];
	uint32_t flags, blocks, summary, valid_nodes, valid_inodes, next_nid, sit_size, nat_size;
	uint32_t crc_offset;
} __attribute__((packed));

/* The end of each node block. */
struct footer {
	uint32_t nid, inode, flags;
	uint64_t version;
	uint32_t next;
} __attribute__((packed));

static int fd;
static unsigned char block[BLOCK];

static void get(uint64_t address)
{
	if (pread(fd, block, BLOCK, address * BLOCK) != BLOCK)
		fatal("cannot read block %llu", (unsigned long long)address);
}

/* Returns the version, or 0 if the last block of the pack is not a copy of the first. */
static uint64_t read_pack(uint64_t address, struct checkpoint *cp, uint32_t *crc)
{
	uint32_t offset;

	get(address);
	memcpy(cp, block, sizeof(*cp));
	offset = le32toh(cp->crc_offset);
	if (offset > BLOCK - sizeof(*crc) || le32toh(cp->blocks) < 2 || le32toh(cp->blocks) > 512)
		return 0;
	memcpy(crc, block + offset, sizeof(*crc));
	get(address + le32toh(cp->blocks) - 1);
	return memcmp(cp, block, sizeof(*cp)) ? 0 : le64toh(cp->version);
}

static bool recoverable(const struct footer *f, uint64_t version, bool with_crc)
{
	uint64_t v = le64toh(f->version);

	return with_crc ? v == version : (uint32_t)v == (uint32_t)version;
}

int main(int argc, char **argv)
{
	uint64_t version[2], cp_version, at, begin, hole, end, main_area, segment;
	uint32_t crc[2], chain = 0, fsynced = 0, behind = 0;
	struct checkpoint cp[2], *c;
	struct footer f;
	struct super s;
	bool with_crc;
	int n;

	if (argc != 2)
		fatal("usage: crash_chain DEVICE");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		fatal("%s: %s", argv[1], strerror(errno));
	get(0);
	memcpy(&s, block + 1024, sizeof(s));
	if (le32toh(s.magic) != F2FS_MAGIC)
		fatal("%s: no f2fs", argv[1]);
	segment = 1ull << le32toh(s.log_segment);
	main_area = le32toh(s.main);
	for (n = 0; n < 2; n++)
		version[n] = read_pack(le32toh(s.checkpoint) + n * segment, &cp[n], &crc[n]);
	n = version[1] > version[0];
	if (!version[n])
		fatal("%s: no checkpoint", argv[1]);
	c = &cp[n];
	with_crc = le32toh(c->flags) & CRC_RECOVERY && !(le32toh(c->flags) & NOCRC_RECOVERY);
	cp_version = version[n] | (with_crc ? (uint64_t)le32toh(crc[n]) << 32 : 0);
	begin = main_area + le32toh(c->node_segment[WARM_NODE]) * segment +
		le16toh(c->node_offset[WARM_NODE]);
	for (at = begin;; at = le32toh(f.next)) {
		get(at);
		memcpy(&f, block + BLOCK - sizeof(f), sizeof(f));
		/* Stop in a loop, too. */
		if (!recoverable(&f, cp_version, with_crc) || chain > 100000)
			break;
		chain++;
		fsynced += !!(le32toh(f.flags) & FSYNC_MARK);
	}
	printf("# checkpoint %llx: a chain of %u node blocks from %llu on, %u of an fsync; ",
	       (unsigned long long)version[n], chain, (unsigned long long)begin, fsynced);
	hole = at;
	end = main_area + ((at - main_area) / segment + 1) * segment;
	for (at++; at < end; at++) {
		get(at);
		memcpy(&f, block + BLOCK - sizeof(f), sizeof(f));
		behind += recoverable(&f, cp_version, with_crc);
	}
	printf("ends at %llu; %u behind this hole\n", (unsigned long long)hole, behind);
	return 0;
}
