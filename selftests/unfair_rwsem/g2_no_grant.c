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

#define WRITES 200

LOCK_FIXTURE(g2_no_grant)

/*
 * Counts the writes that complete, within @patience seconds, while a woken reader is kept off
 * its CPU.
 */
static int writes_past_absent_reader(int fd, struct job reader_job, struct job writer_job,
				     double patience)
{
	struct task *holder, *reader, *writer;
	struct hog hog;
	double end;
	int done;

	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	reader_job.mode = LOCK_TEST_READ;
	reader_job.cpu = 2;
	reader = start(fd, reader_job);
	CHECK(reached(state(fd).acquiring_readers == 1 && is_asleep(reader)));
	hog = hog_start(1);
	go(fd, 0);
	finish(holder);
	writer_job.mode = LOCK_TEST_WRITE;
	writer_job.cpu = 1;
	writer_job.repeat = WRITES;
	writer = start(fd, writer_job);
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

#define PAST(fd, reader, writer, patience)				\
	CONCLUSIVE(writes_past_absent_reader(fd, (struct job)reader, (struct job)writer, patience))

TEST_F_TIMEOUT(g2_no_grant, nice_19_reader_nice_minus_20_writer, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(WRITES, PAST(self->fd, { .nice = 19 }, { .nice = -20 }, 5));
}

TEST_F_TIMEOUT(g2_no_grant, idle_reader_fifo_writer, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(WRITES, CONCLUSIVE(writes_past_absent_reader(self->fd,
		(struct job){ .policy = SCHED_IDLE },
		(struct job){ .policy = SCHED_FIFO, .prio = 10 }, 5)));
}

TEST_F_TIMEOUT(g2_no_grant, reader_in_a_throttled_cgroup, 60)
{
	const char *dir = "/sys/fs/cgroup/g2";

	SKIP_ON_ONE_CPU();
	make_cgroup(dir);
	if (!put("/sys/fs/cgroup/g2/cpu.max", "5000 200000")) {
		rmdir(dir);
		SKIP(return, "no cpu.max: needs cgroup v2 and CONFIG_CFS_BANDWIDTH");
	}
	EXPECT_EQ(WRITES, PAST(self->fd, { .cgroup = "/sys/fs/cgroup/g2/cgroup.procs" },
			       { .nice = -20 }, 5));
	rmdir(dir);
}

/* An overdue reader costs one window and no more. */
TEST_F_TIMEOUT(g2_no_grant, overdue_reader_costs_one_window, 60)
{
	SKIP_ON_ONE_CPU();
	set_bound(self->fd, 1);
	EXPECT_EQ(WRITES, PAST(self->fd, { .nice = 19 }, { .nice = -20 }, 5));
}

/* The control: on an rw_semaphore, the writer waits for the absent reader. */
TEST_F_TIMEOUT(g2_no_grant, rw_semaphore_grants, 60)
{
	int fd = lock_open(LOCK_TEST_RWSEM);

	SKIP_ON_ONE_CPU();
	if (kernel_is_rt())
		SKIP(return, "rw_semaphore of PREEMPT_RT does not grant");
	EXPECT_EQ(0, PAST(fd, { .nice = 19 }, { .nice = -20 }, 0.4));
	close(fd);
}

TEST_HARNESS_MAIN
