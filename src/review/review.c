#include "review/review.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/term.h"
#include "cell/cell.h"
#include "redact/redact.h"
#include "review/observe/scene.h"

#define REASON_KEPT 800 /* bytes */
#define EXIT_REFUSED 2 /* hotcell's, for what it was asked */

const struct review_group review_groups[] = {
	{"files", "Files and paths", review_files},
	{"proc", "Processes, descriptors, terminals, signals", review_proc},
	{"kernel", "The kernel's surface", review_kernel},
	{"exhaustion", "Exhaustion", review_exhaustion},
	{"output", "Output back to the host", review_output},
	{"doors", "Doors", review_doors},
	{"bypass", "Bypasses", review_bypass},
	{0},
};

static const char *const verdict_names[] = {
	[REVIEW_HELD] = "held",
	[REVIEW_ESCAPED] = "ESCAPED",
	[REVIEW_DEGRADED] = "degraded",
	[REVIEW_NOT_APPLICABLE] = "not applicable",
	[REVIEW_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(verdict_names) == REVIEW_VERDICT_COUNT, "a verdict has no name");

const char *review_verdict_name(enum review_verdict verdict)
{
	return verdict_names[verdict];
}

bool review_names(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at && *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == len && memcmp(at, word, len) == 0)
			return true;
	return false;
}

/* ---- which ---- */

static bool is_wanted(const struct review_options *options, const struct review_group *group, const struct review_attack *attack)
{
	if (!options->only)
		return true;
	for (const char *const *only = options->only; *only; only++)
		if (strcmp(*only, group->name) == 0 || fnmatch(*only, attack->id, 0) == 0)
			return true;
	return false;
}

static int choose(struct review *review, const struct review_options *options, struct err *err)
{
	for (const struct review_group *group = review_groups; group->name; group++) {
		for (const struct review_attack *attack = group->attacks; attack->id; attack++) {
			if (!is_wanted(options, group, attack))
				continue;
			review->rows = xrealloc(review->rows, review->count + 1, sizeof(*review->rows));
			review->rows[review->count++] = (struct review_row){.group = group, .attack = attack};
		}
	}
	return review->count ? 0 : err_set(err, ERR_USAGE, "--only names no group and no attack; 'hotcell review --list' has them all");
}

/* The row that is tried before all others; NULL: it was not asked for. */
static struct review_row *first_of(const struct review *review)
{
	for (size_t i = 0; i < review->count; i++)
		if (strcmp(review->rows[i].attack->id, REVIEW_FIRST) == 0)
			return &review->rows[i];
	return NULL;
}

/* The row whose turn it is; NULL: that was all. */
static struct review_row *row_at(const struct review *review, size_t turn)
{
	struct review_row *first = first_of(review);
	size_t at = first ? (size_t)(first - review->rows) : 0;

	if (turn >= review->count)
		return NULL;
	return first && turn == 0 ? first : &review->rows[turn <= at && first ? turn - 1 : turn];
}

/* ---- one ---- */

static void mark_make(char *ret, size_t size)
{
	uint64_t number = 0;

	while (getrandom(&number, sizeof(number), 0) != sizeof(number))
		;
	(void)snprintf(ret, size, "@review-%016llx", (unsigned long long)number);
}

/* Which of the protections that would have held it this very cell lacked, by its receipt: their names, and why, without
 * those that are there already. `cause` NULL: any that the row names. False: none. */
static bool find_lacking(const struct review_try *try, const char *cause, struct buf *names, struct buf *why)
{
	const struct review_attack *attack = try->attack;
	own(freep) char *copy = xfmt("%s %s", attack->without ? attack->without : "", attack->wants ? attack->wants : "");
	char *rest = copy;
	bool found = false;

	for (char *name; (name = strsep(&rest, " "));) {
		char path[160];
		(void)snprintf(path, sizeof(path), "receipt.protections.%s.state", name);
		const char *state = *name && (!cause || review_names(cause, name)) ? try_result(try, path) : NULL;
		if (!state || strcmp(state, "on") == 0)
			continue;
		found = true;
		if (review_names(buf_text(names), name))
			continue;
		(void)snprintf(path, sizeof(path), "receipt.protections.%s.note", name);
		const char *note = try_result(try, path);
		buf_fmt(names, "%s%s", names->len ? " " : "", name);
		buf_fmt(why, "%s%s is %s here%s%s", why->len ? "; " : "", name, state, note && *note ? ": " : "", note ? note : "");
	}
	return found;
}

static void set_reason(struct review_try *try, char *reason)
{
	free(try->reason);
	try->reason = reason;
}

/* What got through for want of something this machine cannot give is told apart. A weakened cell could have had it; one
 * without a sandbox is no cell. */
char *review_degrade(struct review_try *try)
{
	own(buf_done) struct buf names = {0}, why = {0}, line = {0};
	size_t count = try->held.escape_count;

	if (try->verdict != REVIEW_ESCAPED || try->gentle || count > ARRAY_LEN(try->held.escapes))
		return xstrdup("");
	for (size_t i = 0; i < count; i++) {
		const char *reason = try->held.escapes[i].reason;
		if (find_lacking(try, try->held.escapes[i].cause, &names, &why))
			continue;
		term_line(reason, strlen(reason), REASON_KEPT, &line);
		set_reason(try, xstrdup(buf_text(&line)));
		return xstrdup("");
	}
	set_reason(try, xfmt("%s (%s)", buf_text(&why), try->reason));
	try->verdict = REVIEW_DEGRADED;
	return buf_take(&names);
}

static void try_begin(struct review_try *try, const struct review_attack *attack, const struct review_options *options,
	struct scene *scene)
{
	*try = (struct review_try){.attack = attack, .options = options, .scene = scene};
	try->outside = !cell_backend_can(options->backend, CELL_ISOLATES);
	try->gentle = try->outside || options->weaken;
	mark_make(try->mark, sizeof(try->mark));
}

/* A reason, or the name of an image, is shown to others than who made the review: without this machine's secrets. */
static char *cleaned(const char *text)
{
	const struct redact_known known = {.home = getenv("HOME"), .user = getenv("USER")};
	own(redactor_freep) struct redactor *redactor = redactor_make(&known);
	own(buf_done) struct buf clean = {0}, line = {0};

	(void)redact_text(redactor, REDACT_NAMED, text, strlen(text), &clean);
	term_line(buf_text(&clean), clean.len, REASON_KEPT, &line);
	return xstrdup(buf_text(&line));
}

/* What is not a whole cell's own namespaces leaves a harsh attack nothing to be held by. */
static bool is_open(const struct review *review)
{
	const struct review_row *first = first_of(review);

	return first && first->reason && (first->verdict == REVIEW_ESCAPED || first->verdict == REVIEW_FAILED);
}

/* Whether it was done to its end. */
static bool attack(struct review *review, struct review_row *row, const struct review_options *options, struct scene *scene)
{
	own(try_done) struct review_try try;

	try_begin(&try, row->attack, options, scene);
	if (row->attack->harsh && !try.gentle && is_open(review))
		try_not_applicable(&try, REVIEW_FIRST " was not held: in such a cell it could harm this machine");
	try_attack(&try);
	if (try.stopped)
		return false;
	row->lacking = review_degrade(&try);
	row->verdict = try.verdict;
	row->reason = cleaned(try.reason ? try.reason : "");
	row->tries = try.tries;
	row->wall_ns = try.wall_ns;
	review->counts[row->verdict]++;
	return true;
}

/* ---- before all ---- */

/* Nothing can be said of cells where not even an ordinary one runs an ordinary program. Keeps its receipt. */
static int look_first(struct review *review, const struct review_options *options, struct scene *scene, struct err *err)
{
	static const struct review_attack ordinary = {.id = "an ordinary cell"};
	static const struct try_command command = {.program = "paths read /nowhere"};
	own(try_done) struct review_try try;
	own(buf_done) struct buf said = {0};

	try_begin(&try, &ordinary, options, scene);
	try.until = clock_now() + TRY_TIMEOUT_MS * NS_PER_MS;
	int ran = try_run(&try, &command);
	if (try.stopped)
		return err_set(err, ECANCELED, "stopped");
	bool works = ran == 0 && try_outcome_is(&try, "exited") && try_result_number(&try, "exit_code") == 0;
	if (!works && options->weaken)
		return 0; /* that it does not may be what is to be seen */
	if (!works) {
		const char *text = ran < 0 ? try.reason : buf_text(&try.err);
		text += strncmp(text, "hotcell: ", 9) == 0 ? 9 : 0;
		term_line(text, strcspn(text, "\n"), 240, &said);
		if (ran == 0 && try.status == EXIT_REFUSED) /* the image, say */
			return err_set(err, ERR_USAGE, "%s", buf_text(&said));
		return err_set(err, ERR_MISSING, "no program runs in a cell here, so nothing can be said of cells; 'hotcell doctor' tells why: %s",
			buf_text(&said));
	}
	const struct value *receipt = value_get(&try.result, "receipt");
	if (!receipt)
		return err_set(err, EPROTO, "an ordinary cell gave no receipt");
	review->receipt = *receipt;
	try.result.items[receipt - try.result.items] = (struct value){0}; /* it is ours now */
	return 0;
}

/* ---- all ---- */

static void describe(struct review *review, const struct review_options *options)
{
	struct utsname names = {0};
	time_t now = time(NULL);
	struct tm tm = {0};

	*review = (struct review){.backend = options->backend, .image = options->image ? cleaned(options->image) : NULL, .weakened = options->weaken,
		.root = geteuid() == 0};
	(void)uname(&names);
	(void)snprintf(review->kernel, sizeof(review->kernel), "%s", names.release);
	(void)snprintf(review->machine, sizeof(review->machine), "%s", names.machine);
	(void)gmtime_r(&now, &tm);
	(void)strftime(review->time, sizeof(review->time), "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static bool is_stopped(const struct review_options *options)
{
	struct pollfd polled = {.fd = options->stop ? *options->stop : -1, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

int review_run(struct review *ret, const struct review_options *options, struct err *err)
{
	uint64_t begun = clock_now();

	describe(ret, options);
	if (choose(ret, options, err) < 0)
		return -1;
	own(scene_freep) struct scene *scene = scene_open(options, err);
	if (!scene)
		return err_wrap(err, "set the scene");
	if (look_first(ret, options, scene, err) < 0)
		return -1;
	if (options->progress)
		options->progress(options->data, 0, ret->count, row_at(ret, 0));
	for (size_t i = 0; i < ret->count; i++) {
		if (is_stopped(options) || !attack(ret, row_at(ret, i), options, scene))
			return err_set(err, ECANCELED, "stopped");
		if (options->progress)
			options->progress(options->data, i + 1, ret->count, row_at(ret, i + 1));
	}
	ret->wall_ns = clock_now() - begun;
	return 0;
}

void review_done(struct review *review)
{
	for (size_t i = 0; i < review->count; i++) {
		free(review->rows[i].reason);
		free(review->rows[i].lacking);
	}
	free(review->rows);
	free(review->image);
	value_done(&review->receipt);
	*review = (struct review){0};
}
