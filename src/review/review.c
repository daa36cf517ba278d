#include "review/review.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "review/scene.h"

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
			review->rows[review->count++] = (struct review_row){.attack = attack};
		}
	}
	return review->count ? 0 : err_set(err, ERR_USAGE, "--only names no group and no attack; 'hotcell review --list' has them all");
}

/* ---- one ---- */

static void mark_make(char *ret, size_t size)
{
	uint64_t number = 0;

	while (getrandom(&number, sizeof(number), 0) != sizeof(number))
		;
	(void)snprintf(ret, size, "@review-%016llx", (unsigned long long)number);
}

/* What got through for want of something this machine cannot give is told apart, by the receipt of that very cell. A
 * weakened cell could have had it; one without a sandbox is no cell. */
static void degrade(struct review_try *try)
{
	own(freep) char *names = xstrdup(try->attack->without ? try->attack->without : "");
	own(buf_done) struct buf lacking = {0};
	char *rest = names;

	if (try->verdict != REVIEW_ESCAPED || try->gentle)
		return;
	for (char *name; (name = strsep(&rest, " "));) {
		char path[160];
		(void)snprintf(path, sizeof(path), "receipt.protections.%s.state", name);
		const char *state = *name ? try_result(try, path) : NULL;
		if (!state || strcmp(state, "on") == 0)
			continue;
		(void)snprintf(path, sizeof(path), "receipt.protections.%s.note", name);
		const char *note = try_result(try, path);
		buf_fmt(&lacking, "%s%s is %s here%s%s", lacking.len ? "; " : "", name, state, note && *note ? ": " : "",
			note ? note : "");
	}
	if (!lacking.len)
		return;
	char *reason = xfmt("%s (%s)", buf_text(&lacking), try->reason);
	free(try->reason);
	try->reason = reason;
	try->verdict = REVIEW_DEGRADED;
}

static void attack(struct review *review, struct review_row *row, const struct review_options *options, struct scene *scene)
{
	own(try_done) struct review_try try = {
		.attack = row->attack,
		.options = options,
		.scene = scene,
		.outside = strcmp(options->backend, "none") == 0,
	};

	try.gentle = try.outside || options->weaken;
	mark_make(try.mark, sizeof(try.mark));
	try_attack(&try);
	degrade(&try);
	row->verdict = try.verdict;
	row->reason = try.reason ? ptr_take(&try.reason) : xstrdup("");
	row->tries = try.tries;
	row->wall_ns = try.wall_ns;
	review->counts[row->verdict]++;
}

/* ---- all ---- */

int review_run(struct review *ret, const struct review_options *options, struct err *err)
{
	uint64_t begun = clock_now();

	*ret = (struct review){.backend = options->backend, .image = options->image, .weakened = options->weaken,
		.root = geteuid() == 0};
	if (choose(ret, options, err) < 0)
		return -1;
	own(scene_freep) struct scene *scene = scene_open(err);
	if (!scene)
		return err_wrap(err, "set the scene");
	if (options->progress)
		options->progress(options->data, 0, ret->count, NULL);
	for (size_t i = 0; i < ret->count; i++) {
		attack(ret, &ret->rows[i], options, scene);
		if (options->progress)
			options->progress(options->data, i + 1, ret->count, &ret->rows[i]);
	}
	ret->wall_ns = clock_now() - begun;
	return 0;
}

void review_done(struct review *review)
{
	for (size_t i = 0; i < review->count; i++)
		free(review->rows[i].reason);
	free(review->rows);
	free(review->receipt);
	*review = (struct review){0};
}

/* ---- as JSON ---- */

static void put_row(const struct review_row *row, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "id", row->attack->id);
	json_put_string(json, "technique", row->attack->technique);
	json_put_string(json, "cve", row->attack->cve);
	json_put_string(json, "safe", row->attack->safe);
	json_put_string(json, "verdict", review_verdict_name(row->verdict));
	json_put_string(json, "reason", row->reason);
	json_put_uint(json, "tries", row->tries);
	json_put_real(json, "wall_ms", (double)row->wall_ns / 1e6, 3);
	json_close(json, '}');
}

void review_json(const struct review *review, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "version", HOTCELL_VERSION);
	json_put_string(json, "backend", review->backend);
	json_put_string(json, "image", review->image);
	json_put_string(json, "weakened", review->weakened);
	json_put_string(json, "user", review->root ? "root" : "ordinary");
	json_put_real(json, "wall_ms", (double)review->wall_ns / 1e6, 3);
	json_key(json, "counts");
	json_open(json, '{');
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++)
		json_put_uint(json, verdict_names[i], review->counts[i]);
	json_close(json, '}');
	json_key(json, "attacks");
	json_open(json, '[');
	for (size_t i = 0; i < review->count; i++)
		put_row(&review->rows[i], json);
	json_close(json, ']');
	json_close(json, '}');
}
