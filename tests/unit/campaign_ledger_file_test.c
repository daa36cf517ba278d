/* The file in other hands: other processes, a full disk, damage, no rights. */
#include "ledger_world.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NOBODY 65534

static void assert_not_opened(struct world *world, enum ledger_how how, int code, const char *part)
{
	world->err = (struct err){0};
	assert_null(ledger_open(world->path, how, &world->err));
	assert_says(world, code, part);
	assert_non_null(strstr(world->err.text, world->path));
}

static void write_file(const struct world *world, const void *bytes, size_t len)
{
	own(fd_closep) int fd = open(world->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, bytes, len), len);
}

/* ---- children: what must not happen to us, or as somebody else ---- */

typedef int child_fn(struct world *world); /* 0, or the line that failed */

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return __LINE__;                                                           \
	} while (0)

static void in_child(struct world *world, child_fn *fn)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int line = fn(world);
		if (line != 0)
			(void)fprintf(stderr, "line %d: %s\n", line, world->err.text);
		_exit(line != 0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Root may write anything: become somebody who may not. */
static bool drop_rights(void)
{
	if (geteuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* ---- batches, and others at the same time ---- */

static void others_see_a_batch_when_it_is_committed_and_all_of_it(void **state)
{
	struct world *world = *state;
	int64_t campaign = add_campaign(world, "night");
	own(ledger_freep) struct ledger *reader =
		ledger_open(world->path, LEDGER_READ, &world->err);

	assert_non_null(reader);
	assert_done(world, ledger_begin(world->ledger, &world->err));
	end_run(world, campaign, 1, RUN_SUCCESS, 1);
	end_run(world, campaign, 2, RUN_SUCCESS, 2);
	assert_int_equal(run_count(world, reader, campaign), 0);
	assert_done(world, ledger_commit(world->ledger, &world->err));
	assert_int_equal(run_count(world, reader, campaign), 2);

	assert_done(world, ledger_begin(reader, &world->err));
	assert_int_equal(run_count(world, reader, campaign), 2);
	end_run(world, campaign, 3, RUN_SUCCESS, 3);
	assert_int_equal(run_count(world, reader, campaign), 2);
	assert_done(world, ledger_commit(reader, &world->err));
	assert_int_equal(run_count(world, reader, campaign), 3);
}

static void what_is_not_committed_when_freed_has_not_been(void **state)
{
	struct world *world = *state;
	int64_t campaign = add_campaign(world, "night");

	end_run(world, campaign, 1, RUN_SUCCESS, 1);
	assert_done(world, ledger_begin(world->ledger, &world->err));
	end_run(world, campaign, 2, RUN_SUCCESS, 2);
	close_ledger(world);
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_int_equal(run_count(world, world->ledger, campaign), 1);
}

static void beginning_again_drops_what_was_not_committed(void **state)
{
	struct world *world = *state;
	int64_t campaign = add_campaign(world, "night");

	assert_done(world, ledger_begin(world->ledger, &world->err));
	end_run(world, campaign, 1, RUN_SUCCESS, 1);
	assert_done(world, ledger_begin(world->ledger, &world->err));
	end_run(world, campaign, 2, RUN_SUCCESS, 1);
	assert_done(world, ledger_commit(world->ledger, &world->err));
	assert_int_equal(run_count(world, world->ledger, campaign), 1);
}

static int64_t child_campaign;

static int write_and_die(struct world *world)
{
	own(ledger_freep) struct ledger *ledger =
		ledger_open(world->path, LEDGER_WRITE, &world->err);
	struct run_record run = run_sample(1, RUN_SUCCESS);

	CHECK(ledger != NULL);
	CHECK(ledger_begin(ledger, &world->err) == 0);
	CHECK(ledger_run_end(ledger, child_campaign, &run, 1, &world->err) == 0);
	CHECK(ledger_commit(ledger, &world->err) == 0);
	run.number = 2;
	CHECK(ledger_begin(ledger, &world->err) == 0);
	CHECK(ledger_run_end(ledger, child_campaign, &run, 2, &world->err) == 0);
	_exit(0);
}

static void a_killed_writer_leaves_what_it_committed(void **state)
{
	struct world *world = *state;

	child_campaign = add_campaign(world, "night");
	close_ledger(world);
	in_child(world, write_and_die);
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_int_equal(run_count(world, world->ledger, child_campaign), 1);
}

static void another_writer_is_waited_for_but_not_for_ever(void **state)
{
	struct world *world = *state;
	own(ledger_freep) struct ledger *other =
		ledger_open(world->path, LEDGER_WRITE, &world->err);

	assert_non_null(other);
	assert_int_equal(sqlite3_busy_timeout(world->ledger->db, 20), SQLITE_OK);
	assert_done(world, ledger_begin(other, &world->err));
	assert_int_equal(ledger_begin(world->ledger, &world->err), -1);
	assert_says(world, EBUSY, "try again");
	assert_done(world, ledger_commit(other, &world->err));
	assert_done(world, ledger_begin(world->ledger, &world->err));
	assert_done(world, ledger_commit(world->ledger, &world->err));
}

static int write_fifty_batches(struct world *world)
{
	own(ledger_freep) struct ledger *ledger =
		ledger_open(world->path, LEDGER_CREATE, &world->err);
	char name[32];

	CHECK(ledger != NULL);
	(void)snprintf(name, sizeof(name), "c%d", (int)getpid());
	own(campaign_record_done) struct campaign_record campaign = {.name = xstrdup(name)};
	CHECK(ledger_campaign_add(ledger, &campaign, &world->err) == 0);
	for (uint64_t i = 1; i <= 50; i++) {
		struct run_record run = run_sample(i, RUN_SUCCESS);
		CHECK(ledger_begin(ledger, &world->err) == 0);
		CHECK(ledger_run_end(ledger, campaign.id, &run, i, &world->err) == 0);
		CHECK(ledger_commit(ledger, &world->err) == 0);
	}
	return 0;
}

static int add_up_runs(void *data, const struct campaign_record *campaign)
{
	struct listing *listing = data;

	listing->seen += run_count(listing->world, listing->world->ledger, campaign->id);
	return 0;
}

static void many_processes_may_make_it_and_write_at_once(void **state)
{
	struct world *world = *state;
	struct listing sum = {.world = world};
	pid_t pids[6];

	close_ledger(world);
	assert_int_equal(unlink(world->path), 0);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			int line = write_fifty_batches(world);
			if (line != 0)
				(void)fprintf(stderr, "line %d: %s\n", line, world->err.text);
			_exit(line != 0);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		int status = -1;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_done(world, ledger_campaigns(world->ledger, add_up_runs, &sum, &world->err));
	assert_int_equal(sum.seen, 50 * ARRAY_LEN(pids));
}

/* ---- a full disk ---- */

static int fill(struct world *world, int64_t campaign, uint64_t count)
{
	int result = 0;

	for (uint64_t i = 1; i <= count && result == 0; i++) {
		struct run_record run = run_sample(i, RUN_SUCCESS);
		result = ledger_run_end(world->ledger, campaign, &run, i, &world->err);
	}
	return result;
}

static void a_batch_that_met_a_full_disk_can_be_done_again_when_there_is_space(void **state)
{
	struct world *world = *state;
	int64_t campaign = add_campaign(world, "night");

	end_run(world, campaign, 999, RUN_ERROR, 1);
	assert_done(world, ledger_limit_pages(world->ledger, 1, &world->err));
	assert_done(world, ledger_begin(world->ledger, &world->err));
	assert_int_equal(fill(world, campaign, 1000), -1);
	assert_says(world, ENOSPC, "free some space");
	/* Nothing of it may slip in alone, and the commit says what happened. */
	assert_int_equal(ledger_event(world->ledger, campaign, "late", 0, "", &world->err), -1);
	assert_int_equal(world->err.code, ENOSPC);
	assert_int_equal(ledger_campaign_remove(world->ledger, campaign, &world->err), -1);
	assert_int_equal(run_count(world, world->ledger, campaign), 1);
	world->err = (struct err){0};
	assert_int_equal(ledger_commit(world->ledger, &world->err), -1);
	assert_says(world, ENOSPC, world->path);

	assert_done(world, ledger_limit_pages(world->ledger, 0, &world->err));
	assert_done(world, ledger_begin(world->ledger, &world->err));
	assert_done(world, fill(world, campaign, 1000));
	assert_done(world, ledger_commit(world->ledger, &world->err));
	assert_int_equal(run_count(world, world->ledger, campaign), 1000);
}

/* The commit itself meets it, when it writes the log. */
static int commit_without_space(struct world *world)
{
	struct rlimit limit;
	own(ledger_freep) struct ledger *ledger =
		ledger_open(world->path, LEDGER_WRITE, &world->err);

	CHECK(ledger != NULL);
	world->ledger = ledger;
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	rlim_t usual = limit.rlim_cur;
	limit.rlim_cur = 64 << 10;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(ledger_begin(ledger, &world->err) == 0);
	CHECK(fill(world, child_campaign, 2000) == 0);
	CHECK(ledger_commit(ledger, &world->err) == -1);
	CHECK(world->err.code == ENOSPC);
	CHECK(run_count(world, ledger, child_campaign) == 0);
	/* Many times over, as long as the disk stays full, and in the middle of a batch that
	 * outgrows the cache. */
	for (int i = 0; i < 3; i++) {
		CHECK(ledger_begin(ledger, &world->err) == 0);
		(void)fill(world, child_campaign, 100000);
		CHECK(ledger_commit(ledger, &world->err) == -1);
		CHECK(world->err.code == ENOSPC);
	}
	limit.rlim_cur = usual;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(ledger_begin(ledger, &world->err) == 0);
	CHECK(fill(world, child_campaign, 2000) == 0);
	CHECK(ledger_commit(ledger, &world->err) == 0);
	CHECK(run_count(world, ledger, child_campaign) == 2000);
	return 0;
}

static void a_commit_that_met_a_full_disk_can_be_done_again_when_there_is_space(void **state)
{
	struct world *world = *state;

	child_campaign = add_campaign(world, "night");
	close_ledger(world);
	in_child(world, commit_without_space);
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_int_equal(run_count(world, world->ledger, child_campaign), 2000);
}

static int read_without_space(struct world *world)
{
	static const struct rlimit none = {0};

	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	CHECK(ledger_open(world->path, LEDGER_WRITE, &world->err) == NULL);
	CHECK(world->err.code == ENOSPC);
	own(ledger_freep) struct ledger *ledger =
		ledger_open(world->path, LEDGER_READ, &world->err);
	CHECK(ledger != NULL);
	CHECK(run_count(world, ledger, child_campaign) == 6);
	return 0;
}

static void it_can_be_read_when_the_disk_is_full(void **state)
{
	struct world *world = *state;

	child_campaign = six_runs(world);
	close_ledger(world);
	in_child(world, read_without_space);
}

/* ---- files that are not as they should be ---- */

static void a_new_ledger_is_its_owners_alone(void **state)
{
	struct world *world = *state;
	struct stat status;
	char log[112];

	assert_int_equal(stat(world->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	(void)add_campaign(world, "night");
	(void)snprintf(log, sizeof(log), "%s-wal", world->path);
	assert_int_equal(stat(log, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_string_equal(ledger_path(world->ledger), world->path);
}

static void a_missing_ledger_is_made_only_when_asked_for(void **state)
{
	struct world *world = *state;

	close_ledger(world);
	assert_int_equal(unlink(world->path), 0);
	assert_not_opened(world, LEDGER_READ, ERR_USAGE, "there is no ledger at");
	assert_not_opened(world, LEDGER_WRITE, ERR_USAGE, "there is no ledger at");
	assert_int_equal(access(world->path, F_OK), -1);
	/* Made, and its maker killed before it wrote anything. */
	write_file(world, "", 0);
	assert_not_opened(world, LEDGER_READ, ERR_USAGE, "there is no ledger at");
	assert_not_opened(world, LEDGER_WRITE, ERR_USAGE, "there is no ledger at");
	world->ledger = ledger_open(world->path, LEDGER_CREATE, &world->err);
	assert_non_null(world->ledger);
	(void)add_campaign(world, "night");
	(void)snprintf(world->path, sizeof(world->path), "%s/none/ledger.db", world->folder);
	assert_not_opened(world, LEDGER_READ, ERR_USAGE, "there is no ledger at");
	assert_not_opened(world, LEDGER_CREATE, ENOENT, "the folder of the ledger");
}

static void a_newer_ledger_is_refused_and_left_as_it_is(void **state)
{
	static const enum ledger_how hows[] = {LEDGER_CREATE, LEDGER_WRITE, LEDGER_READ};
	struct world *world = *state;

	close_ledger(world);
	tamper(world, "PRAGMA user_version = 7");
	for (size_t i = 0; i < ARRAY_LEN(hows); i++)
		assert_not_opened(world, hows[i], ERR_USAGE,
			"was written by a newer hotcell (format 7, this one knows 3): update hotcell or give --state");
	tamper(world, "PRAGMA user_version = 0");
	assert_not_opened(world, LEDGER_WRITE, EUCLEAN, "is damaged");
}

/* As the first format had it. */
static void make_old(const struct world *world)
{
	static const struct ledger_table *const tables[] = {&campaigns_table, &runs_table};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (size_t j = 0; j < tables[i]->count; j++) {
			own(freep) char *sql = xfmt("ALTER TABLE %s DROP COLUMN %s", tables[i]->name, tables[i]->fields[j].name);
			if (tables[i]->fields[j].since > 0)
				tamper(world, sql);
		}
	tamper(world, "PRAGMA user_version = 1");
}

static void assert_old(struct world *world, int64_t format)
{
	own(campaign_record_done) struct campaign_record campaign = {0};
	own(run_record_done) struct run_record run = {0};
	int64_t now = 0;

	assert_done(world, ledger_campaign_get(world->ledger, "night", &campaign, &world->err));
	assert_string_equal(campaign.budget, "");
	assert_string_equal(campaign.note, "by the user");
	assert_int_equal(campaign.sums.network.count[COUNT_SENT], 0);
	assert_done(world, ledger_run_get(world->ledger, campaign.id, 3, &run, &world->err));
	assert_int_equal(run.refused, 11);
	assert_int_equal(run.network.count[COUNT_SENT], 0);
	assert_int_equal(run_count(world, world->ledger, campaign.id), 6);
	assert_done(world, ledger_number(world->ledger, "PRAGMA user_version", &now, &world->err));
	assert_int_equal(now, format);
}

static void an_older_ledger_is_read_as_it_is_and_brought_up_to_date_by_who_writes(void **state)
{
	struct world *world = *state;
	struct run_record run = run_sample(7, RUN_SUCCESS);
	own(run_record_done) struct run_record read = {0};
	int64_t campaign = six_runs(world);

	close_ledger(world);
	make_old(world);
	world->ledger = ledger_open(world->path, LEDGER_READ, &world->err);
	assert_non_null(world->ledger);
	assert_old(world, 1);
	close_ledger(world);
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_old(world, LEDGER_FORMAT);
	run.network.count[COUNT_SENT] = 1234;
	assert_done(world, ledger_run_end(world->ledger, campaign, &run, 5, &world->err));
	assert_done(world, ledger_run_get(world->ledger, campaign, 7, &read, &world->err));
	assert_int_equal(read.network.count[COUNT_SENT], 1234);
}

static void another_programs_database_is_left_alone(void **state)
{
	struct world *world = *state;
	struct stat before, after;

	close_ledger(world);
	assert_int_equal(unlink(world->path), 0);
	tamper(world, "CREATE TABLE cookies (x)");
	assert_int_equal(stat(world->path, &before), 0);
	assert_not_opened(world, LEDGER_CREATE, ERR_USAGE, "another program's database");
	assert_not_opened(world, LEDGER_READ, ERR_USAGE, "another program's database");
	assert_int_equal(stat(world->path, &after), 0);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void what_is_no_database_is_said_to_be_damaged(void **state)
{
	struct world *world = *state;
	char noise[8192];

	close_ledger(world);
	memset(noise, 'x', sizeof(noise));
	write_file(world, noise, sizeof(noise));
	assert_not_opened(world, LEDGER_CREATE, EUCLEAN, "the session folders are untouched");
	assert_not_opened(world, LEDGER_WRITE, EUCLEAN, "move it and its -wal file away");
	assert_not_opened(world, LEDGER_READ, EUCLEAN, "is damaged");
}

/* Each page in turn filled with noise, as a bad disk would: some of it is seen at opening, some
 * when read. What may not happen is a crash, or an error without a sentence. */
static void a_damaged_page_is_an_error_and_no_crash(void **state)
{
	struct world *world = *state;
	int64_t campaign = six_runs(world);
	own(buf_done) struct buf good = {0};
	unsigned damaged = 0;

	assert_done(world, fill(world, campaign, 500));
	close_ledger(world);
	assert_done(world, fs_read_small(AT_FDCWD, world->path, 1 << 20, &good, &world->err));
	assert_true(good.len > 12 * 4096);
	for (size_t at = 0; at < good.len; at += 2048) {
		own(buf_done) struct buf bad = {0};
		buf_add(&bad, good.data, good.len);
		memset(bad.data + at, 0xa5, 1024);
		write_file(world, bad.data, bad.len);
		own(ledger_freep) struct ledger *ledger =
			ledger_open(world->path, LEDGER_WRITE, &world->err);
		struct listing listing = {0};
		struct ledger_query all = {0}, latest = {.order = LEDGER_LATEST};
		if (ledger && ledger_campaigns(ledger, list_campaign, &listing, &world->err) == 0 &&
			ledger_runs(ledger, campaign, &all, list_run, &listing, &world->err) == 0 &&
			ledger_runs(ledger, campaign, &latest, list_run, &listing, &world->err) ==
				0)
			continue;
		damaged++;
		if (world->err.code != EUCLEAN && world->err.code != ERR_USAGE)
			fail_msg("at %zu: %d: %s", at, world->err.code, world->err.text);
	}
	assert_true(damaged > 5);
}

static void a_link_is_not_followed_and_a_folder_is_no_ledger(void **state)
{
	struct world *world = *state;
	char real[112];

	close_ledger(world);
	(void)snprintf(real, sizeof(real), "%s.real", world->path);
	assert_int_equal(rename(world->path, real), 0);
	assert_int_equal(symlink(real, world->path), 0);
	assert_not_opened(world, LEDGER_CREATE, ERR_USAGE, "is a symbolic link");
	assert_not_opened(world, LEDGER_READ, ERR_USAGE, "is a symbolic link");
	assert_int_equal(unlink(world->path), 0);
	assert_int_equal(symlink("/nowhere/at/all", world->path), 0);
	assert_not_opened(world, LEDGER_CREATE, ERR_USAGE, "is a symbolic link");
	assert_int_equal(unlink(world->path), 0);
	assert_int_equal(mkdir(world->path, 0755), 0);
	assert_not_opened(world, LEDGER_CREATE, ERR_USAGE, "is not a file");
	assert_int_equal(rmdir(world->path), 0);
	assert_int_equal(mkfifo(world->path, 0644), 0);
	assert_not_opened(world, LEDGER_READ, ERR_USAGE, "is not a file");
}

static void its_folder_may_be_behind_a_link_and_have_an_odd_name(void **state)
{
	struct world *world = *state;
	char odd[96], link[96], path[128];

	(void)snprintf(odd, sizeof(odd), "%s/a?b#c%%20 d", world->folder);
	(void)snprintf(link, sizeof(link), "%s/link", world->folder);
	(void)snprintf(path, sizeof(path), "%s/link/ledger.db", world->folder);
	assert_int_equal(mkdir(odd, 0755), 0);
	assert_int_equal(symlink(odd, link), 0);
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_CREATE, &world->err);
	assert_non_null(ledger);
	(void)snprintf(path, sizeof(path), "%s/ledger.db", odd);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_name_without_a_folder_is_here(void **state)
{
	struct world *world = *state;
	own(freep) char *here = getcwd(NULL, 0);

	assert_int_equal(chdir(world->folder), 0);
	own(ledger_freep) struct ledger *ledger =
		ledger_open("ledger.db", LEDGER_READ, &world->err);
	assert_int_equal(chdir(here), 0);
	assert_non_null(ledger);
}

static void values_that_make_no_sense_are_damage(void **state)
{
	static const char *const rows[] = {
		"UPDATE campaigns SET state = 'dancing'",
		"UPDATE campaigns SET name = '../../etc' WHERE id = 1",
		"UPDATE campaigns SET name = CAST(x'610062' AS TEXT) WHERE id = 1",
		"UPDATE campaigns SET note = CAST(x'610062' AS TEXT)",
		"UPDATE campaigns SET runs = 1000000001",
		"UPDATE campaigns SET runs = -1",
		"UPDATE campaigns SET workers = 5000",
		"UPDATE campaigns SET workers = 'many'",
		"UPDATE campaigns SET retries = 4294967296",
		"UPDATE campaigns SET holder = 99999999999",
		"UPDATE campaigns SET next = 2000000000",
		"UPDATE campaigns SET marked_seq = last_seq + 1",
		"UPDATE campaigns SET cells_oom = 1.5",
		"UPDATE runs SET state = 'RUNNING'",
		"UPDATE runs SET state = ''",
		"UPDATE runs SET outcome = 'fine'",
		"UPDATE runs SET exit_code = 3000000000",
		"UPDATE runs SET wall_ns = -5",
		"UPDATE runs SET number = 0 WHERE number = 1",
		"UPDATE runs SET number = 1000000001 WHERE number = 1",
		"UPDATE runs SET cause = CAST(x'00' AS TEXT)",
		"UPDATE live SET done = x'00'",
		"UPDATE live SET done = zeroblob(484)",
		"UPDATE live SET workers = zeroblob(27)",
		"UPDATE live SET workers = zeroblob(28 * 4097)",
		"UPDATE live SET alerts = x'00'",
		"UPDATE events SET text = x'6100'",
		"UPDATE events SET run = -1",
		"ALTER TABLE runs DROP COLUMN cause",
		"DROP TABLE live",
		"DROP INDEX runs_by_seq",
	};
	struct world *world = *state;
	int64_t campaign = six_runs(world);
	struct ledger_live live = {.at_ms = 1};
	own(buf_done) struct buf good = {0};

	assert_done(world, ledger_live_put(world->ledger, campaign, &live, &world->err));
	assert_done(world, ledger_event(world->ledger, campaign, "a", 0, "", &world->err));
	close_ledger(world);
	assert_done(world, fs_read_small(AT_FDCWD, world->path, 1 << 20, &good, &world->err));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct listing listing = {0};
		struct ledger_query all = {0}, latest = {.order = LEDGER_LATEST};
		own(ledger_live_done) struct ledger_live back = {0};
		write_file(world, good.data, good.len);
		tamper(world, rows[i]);
		own(ledger_freep) struct ledger *ledger =
			ledger_open(world->path, LEDGER_READ, &world->err);
		assert_non_null(ledger);
		world->err = (struct err){0};
		if (ledger_campaigns(ledger, list_campaign, &listing, &world->err) == 0 &&
			ledger_runs(ledger, campaign, &all, list_run, &listing, &world->err) == 0 &&
			ledger_runs(ledger, campaign, &latest, list_run, &listing, &world->err) ==
				0 &&
			ledger_live_get(ledger, campaign, &back, &world->err) == 0 &&
			ledger_events(ledger, campaign, 0, list_event, &listing, &world->err) == 0)
			fail_msg("%s went unnoticed", rows[i]);
		if (world->err.code != EUCLEAN)
			fail_msg("%s: %d: %s", rows[i], world->err.code, world->err.text);
	}
}

static void what_a_sentence_quotes_from_the_file_is_safe_to_print(void **state)
{
	struct world *world = *state;

	close_ledger(world);
	tamper(world,
		"PRAGMA writable_schema = ON;"
		"UPDATE sqlite_schema SET name = 'a' || char(27) || '[2J', sql = 'x' WHERE name = 'live'");
	assert_not_opened(world, LEDGER_WRITE, EUCLEAN, "a\\x1b[2J");
	assert_null(strchr(world->err.text, '\x1b'));
}

static void a_trigger_that_somebody_planted_does_nothing(void **state)
{
	struct world *world = *state;
	int64_t campaign = six_runs(world);

	close_ledger(world);
	tamper(world, "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM runs; END");
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_done(world, ledger_event(world->ledger, campaign, "a", 0, "", &world->err));
	assert_int_equal(run_count(world, world->ledger, campaign), 6);
}

static void more_than_a_row_may_hold_is_refused(void **state)
{
	struct world *world = *state;
	own(freep) char *much = xcalloc(LEDGER_MAX_VALUE + 2, 1);

	memset(much, 'a', LEDGER_MAX_VALUE + 1);
	assert_int_equal(ledger_event(world->ledger, 1, "a", 0, much, &world->err), -1);
	assert_int_equal(world->err.code, ERR_LIMIT);
}

static void a_ledger_that_was_removed_while_in_use_is_not_written_to(void **state)
{
	struct world *world = *state;

	(void)add_campaign(world, "night");
	assert_int_equal(unlink(world->path), 0);
	assert_int_equal(ledger_begin(world->ledger, &world->err), -1);
	assert_says(world, ENOENT, "was moved or removed");
}

/* ---- what may not be written ---- */

static int read_what_may_not_be_written(struct world *world)
{
	CHECK(drop_rights());
	own(ledger_freep) struct ledger *reader =
		ledger_open(world->path, LEDGER_READ, &world->err);
	CHECK(reader != NULL);
	own(campaign_record_done) struct campaign_record campaign = {0};
	CHECK(ledger_campaign_get(reader, "night", &campaign, &world->err) == 0);
	CHECK(run_count(world, reader, campaign.id) > 0);
	CHECK(ledger_event(reader, campaign.id, "a", 0, "", &world->err) == -1);
	CHECK(ledger_campaign_put(reader, &campaign, &world->err) == -1);
	CHECK(ledger_begin(reader, &world->err) == 0);
	CHECK(run_count(world, reader, campaign.id) > 0);
	CHECK(ledger_commit(reader, &world->err) == 0);
	CHECK(ledger_open(world->path, LEDGER_WRITE, &world->err) == NULL);
	CHECK(strstr(world->err.text, world->path) && strstr(world->err.text, "--state"));
	CHECK(world->err.code == EACCES || world->err.code == EROFS);
	CHECK(ledger_open(world->path, LEDGER_CREATE, &world->err) == NULL);
	CHECK(strstr(world->err.text, "--state"));
	return 0;
}

static void a_read_only_file_can_be_read_and_is_refused_for_writing(void **state)
{
	struct world *world = *state;

	(void)six_runs(world);
	close_ledger(world);
	assert_int_equal(chmod(world->path, 0444), 0);
	assert_int_equal(chmod(world->folder, 0777), 0);
	in_child(world, read_what_may_not_be_written);
}

static void a_ledger_in_a_read_only_folder_can_be_read(void **state)
{
	struct world *world = *state;

	(void)six_runs(world);
	close_ledger(world);
	assert_int_equal(chmod(world->path, 0444), 0);
	assert_int_equal(chmod(world->folder, 0555), 0);
	in_child(world, read_what_may_not_be_written);
	/* The file alone does not suffice for writing. */
	assert_int_equal(chmod(world->path, 0666), 0);
	in_child(world, read_what_may_not_be_written);
}

static void chmod_beside(const struct world *world, const char *suffix, mode_t mode)
{
	char path[112];

	(void)snprintf(path, sizeof(path), "%s%s", world->path, suffix);
	assert_int_equal(mode ? chmod(path, mode) : unlink(path), 0);
}

static int refuse_to_pass_over_the_log(struct world *world)
{
	CHECK(drop_rights());
	CHECK(ledger_open(world->path, LEDGER_READ, &world->err) == NULL);
	CHECK(world->err.code == EROFS);
	CHECK(strstr(world->err.text, "-wal"));
	return 0;
}

static void what_a_killed_writer_left_in_a_read_only_folder_is_read_or_refused(void **state)
{
	struct world *world = *state;

	child_campaign = add_campaign(world, "night");
	close_ledger(world);
	in_child(world, write_and_die);
	chmod_beside(world, "", 0444);
	chmod_beside(world, "-wal", 0444);
	chmod_beside(world, "-shm", 0444);
	assert_int_equal(chmod(world->folder, 0555), 0);
	in_child(world, read_what_may_not_be_written);
	assert_int_equal(chmod(world->folder, 0755), 0);
	chmod_beside(world, "-shm", 0);
	assert_int_equal(chmod(world->folder, 0555), 0);
	in_child(world, refuse_to_pass_over_the_log);
}

static int make_where_nothing_can_be_made(struct world *world)
{
	CHECK(drop_rights());
	CHECK(ledger_open(world->path, LEDGER_CREATE, &world->err) == NULL);
	CHECK(world->err.code == EACCES);
	CHECK(strstr(world->err.text, "cannot be made") && strstr(world->err.text, "--state"));
	return 0;
}

static void where_none_can_be_made_the_sentence_says_so(void **state)
{
	struct world *world = *state;

	close_ledger(world);
	assert_int_equal(unlink(world->path), 0);
	assert_int_equal(chmod(world->folder, 0555), 0);
	in_child(world, make_where_nothing_can_be_made);
}

/* Whether another connection of ours finds the campaigns at the ledger's path. */
static int look_by_path(const struct world *world)
{
	sqlite3 *db = NULL;
	int code = sqlite3_open_v2(world->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_exec(db, "SELECT count(*) FROM campaigns", NULL, NULL, NULL);
	(void)sqlite3_close(db);
	return code;
}

static void its_files_are_those_of_the_folder_that_is_held(void **state)
{
	struct world *world = *state;
	own(freep) char *moved = xfmt("%s-moved", world->folder);

	assert_int_equal(rename(world->folder, moved), 0);
	assert_int_equal(mkdir(world->folder, 0700), 0);
	assert_int_equal(look_by_path(world), SQLITE_OK);
	assert_int_equal(rmdir(world->folder), 0); /* nothing was made in it */
	assert_int_equal(rename(moved, world->folder), 0);
}

static void a_link_that_is_put_beside_it_meanwhile_is_not_followed(void **state)
{
	struct world *world = *state;
	own(freep) char *log = xfmt("%s-wal", world->path), *kept = xfmt("%s/kept", world->folder);
	struct stat st;

	assert_int_equal(unlink(log), 0);
	assert_int_equal(symlink(kept, log), 0);
	assert_int_equal(look_by_path(world), SQLITE_CANTOPEN);
	assert_int_equal(lstat(kept, &st), -1);
}

static void it_keeps_no_temporary_files(void **state)
{
	struct world *world = *state;
	own(ledger_freep) struct ledger *reader = ledger_open(world->path, LEDGER_READ, &world->err);
	struct ledger *both[] = {world->ledger, reader};

	assert_non_null(reader);
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		int64_t store = 0;
		assert_done(world, ledger_number(both[i], "PRAGMA temp_store", &store, &world->err));
		assert_int_equal(store, 2); /* memory */
	}
}

static int open_elsewhere(const char *path)
{
	sqlite3 *db = NULL;
	int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t (x)", NULL, NULL, NULL);
	(void)sqlite3_close(db);
	return code;
}

static void nothing_outside_of_its_folder_is_opened_or_removed(void **state)
{
	struct world *world = *state;
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	own(freep) char *below = xfmt("%s/below", world->folder), *path = xfmt("%s/other.db", below);
	struct stat st;

	assert_int_equal(mkdir(below, 0700), 0);
	assert_int_equal(open_elsewhere(path), SQLITE_CANTOPEN);
	assert_int_equal(lstat(path, &st), -1);
	(void)add_campaign(world, "night");
	close_ledger(world);
	assert_int_equal(open_elsewhere(path), SQLITE_OK); /* others, while none is open */

	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	assert_int_not_equal(vfs->xDelete(vfs, path, 0), SQLITE_OK);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(open_elsewhere(path), SQLITE_CANTOPEN);
}

/* SQLite opens the folder to write its names to the disk; of a FIFO it would wait for a writer. */
static void a_fifo_in_the_place_of_its_folder_holds_nothing_up(void **state)
{
	struct world *world = *state;
	own(freep) char *moved = xfmt("%s-moved", world->folder);
	sqlite3 *db = NULL;

	(void)add_campaign(world, "night");
	assert_int_equal(sqlite3_open_v2(world->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM campaigns", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(rename(world->folder, moved), 0);
	assert_int_equal(mkfifo(world->folder, 0600), 0);
	(void)alarm(30);
	assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL), SQLITE_OK);
	(void)alarm(0);
	assert_int_equal(unlink(world->folder), 0);
	assert_int_equal(rename(moved, world->folder), 0);
	(void)sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(others_see_a_batch_when_it_is_committed_and_all_of_it),
		test(what_is_not_committed_when_freed_has_not_been),
		test(beginning_again_drops_what_was_not_committed),
		test(a_killed_writer_leaves_what_it_committed),
		test(another_writer_is_waited_for_but_not_for_ever),
		test(many_processes_may_make_it_and_write_at_once),
		test(a_batch_that_met_a_full_disk_can_be_done_again_when_there_is_space),
		test(a_commit_that_met_a_full_disk_can_be_done_again_when_there_is_space),
		test(it_can_be_read_when_the_disk_is_full),
		test(a_new_ledger_is_its_owners_alone),
		test(a_missing_ledger_is_made_only_when_asked_for),
		test(a_newer_ledger_is_refused_and_left_as_it_is),
		test(an_older_ledger_is_read_as_it_is_and_brought_up_to_date_by_who_writes),
		test(another_programs_database_is_left_alone),
		test(what_is_no_database_is_said_to_be_damaged),
		test(a_damaged_page_is_an_error_and_no_crash),
		test(a_link_is_not_followed_and_a_folder_is_no_ledger),
		test(its_folder_may_be_behind_a_link_and_have_an_odd_name),
		test(a_name_without_a_folder_is_here),
		test(values_that_make_no_sense_are_damage),
		test(what_a_sentence_quotes_from_the_file_is_safe_to_print),
		test(a_trigger_that_somebody_planted_does_nothing),
		test(more_than_a_row_may_hold_is_refused),
		test(a_ledger_that_was_removed_while_in_use_is_not_written_to),
		test(a_read_only_file_can_be_read_and_is_refused_for_writing),
		test(a_ledger_in_a_read_only_folder_can_be_read),
		test(what_a_killed_writer_left_in_a_read_only_folder_is_read_or_refused),
		test(where_none_can_be_made_the_sentence_says_so),
		test(its_files_are_those_of_the_folder_that_is_held),
		test(a_fifo_in_the_place_of_its_folder_holds_nothing_up),
		test(a_link_that_is_put_beside_it_meanwhile_is_not_followed),
		test(it_keeps_no_temporary_files),
		test(nothing_outside_of_its_folder_is_opened_or_removed),
	};
	return cmocka_run_group_tests_name("campaign ledger file", tests, NULL, NULL);
}
