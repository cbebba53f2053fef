// SPDX-License-Identifier: GPL-2.0
/*
 * G2: no grant to an absent reader. A reader holds the lock only through an instruction
 * that it executed itself, so a waiting reader costs a writer nothing.
 *
 * The reader is woken while a real-time task keeps it off its CPU. The test counts the writes
 * during that time.
 *
 * Seen failing: the mutant g2-grant-on-release, and on rw_semaphore. There the writer
 * must be stuck, or this test shows nothing; rw_semaphore_grants checks that.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

#define WRITES 200

LOCK_FIXTURE(g2_no_grant)

/*
 * Counts the writes that complete, within @patience seconds, while a woken reader is kept off
 * its CPU.
 */
static int writes_past_absent_reader(int fd, double patience)
{
	struct task *holder, *reader, *writer;
	struct hog hog;
	double end;
	int done;

	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	reader = start(fd, (struct job){ .mode = LOCK_TEST_READ, .nice = 19, .cpu = 2 });
	CHECK(reached(state(fd).acquiring_readers == 1 && is_asleep(reader)));
	hog = hog_start(1);
	go(fd, 0);
	finish(holder);
	writer = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -20, .cpu = 1,
					 .repeat = WRITES });
	end = seconds() + patience;
	while (atomic_load(&writer->done) < WRITES && seconds() < end)
		sleep_ms(1);
	done = atomic_load(&writer->done);
	/* the reader must still wait */
	if (!state(fd).acquiring_readers)
		done = AGAIN;
	hog_stop(&hog);
	finish(writer);
	CHECK(!finish(reader));
	return done;
}

TEST_F_TIMEOUT(g2_no_grant, absent_reader_stops_no_writer, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(WRITES, CONCLUSIVE(writes_past_absent_reader(self->fd, 20)));
}

/* The control: on an rw_semaphore, the writer waits for the absent reader. */
TEST_F_TIMEOUT(g2_no_grant, rw_semaphore_grants, 60)
{
	int fd = lock_open(LOCK_TEST_RWSEM);

	SKIP_ON_ONE_CPU();
	if (kernel_is_rt())
		SKIP(return, "rw_semaphore of PREEMPT_RT does not grant");
	EXPECT_EQ(0, CONCLUSIVE(writes_past_absent_reader(fd, 0.4)));
	close(fd);
}

TEST_HARNESS_MAIN
