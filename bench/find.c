/* How soon a planted bug is found and made small by src/schema alone, without a process to call:
 *
 *	find BUG SCHEMA [SEED [MOST]]	values until the first that has it, then the smallest, as one line of JSON
 *
 * The bugs are those of planted/bugs.py. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "bugs.h"
#include "schema/shrink.h"

#define MOST_DEFAULT 10000000ul

static uint64_t cpu_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- finding ---- */

static struct schema *schema_load(const char *path, struct err *err)
{
	own(buf_done) struct buf text = {0};
	char part[65536];
	FILE *file = fopen(path, "re");
	size_t got;

	while (file && (got = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(&text, part, got);
	if (file)
		(void)fclose(file);
	return schema_read(buf_text(&text), text.len, path, NULL, err);
}

static bool still(void *context, const struct made *made)
{
	const struct bug *bug = context;

	return bug->has(made->value);
}

/* Values until one has the bug; 0: none of so many. */
static unsigned long search(const struct bug *bug, struct generator *generator, struct draw *draw, unsigned long most)
{
	struct made made;
	struct err err;

	for (unsigned long count = 1; count <= most; count++) {
		if (generator_make(generator, draw, &made, &err) == 0 && bug->has(made.value))
			return count;
	}
	return 0;
}

static int find(const struct bug *bug, struct generator *generator, struct draw *draw, unsigned long most, struct err *err)
{
	struct shrink shrinking = {.generator = generator, .still = still, .context = (void *)(uintptr_t)bug};
	uint64_t begun = cpu_now(), *choices = NULL;
	struct made made;
	size_t count;
	unsigned long values = search(bug, generator, draw, most);
	uint64_t found = cpu_now();

	if (!values) {
		(void)printf("{\"bug\": \"%s\", \"values\": null, \"seconds\": %.6f}\n", bug->name, (double)(found - begun) / 1e9);
		return 0;
	}
	if (shrink(&shrinking, draw->choices, draw->count, &choices, &count, err) < 0)
		return -1;
	uint64_t shrunk = cpu_now();
	draw_replay(draw, choices, count);
	int made_again = generator_make(generator, draw, &made, err);
	if (made_again == 0)
		(void)printf("{\"bug\": \"%s\", \"values\": %lu, \"found\": %.6f, \"seconds\": %.6f, \"calls\": %u, "
			     "\"bytes\": %zu, \"example\": %s}\n", bug->name, values, (double)(found - begun) / 1e9,
			(double)(shrunk - begun) / 1e9, shrinking.calls, made.len, made.text);
	free(choices);
	return made_again;
}

int main(int argc, char **argv)
{
	uint64_t seed = strtoull(argc > 3 ? argv[3] : "1", NULL, 10);
	unsigned long most = argc > 4 ? strtoul(argv[4], NULL, 10) : MOST_DEFAULT;
	const struct bug *bug = argc > 2 ? bug_find(argv[1]) : NULL;
	struct draw draw;
	struct err err = {0};

	if (!bug) {
		(void)fprintf(stderr, "usage: find BUG SCHEMA [SEED [MOST]]\n");
		return 2;
	}
	own(schema_freep) struct schema *schema = schema_load(argv[2], &err);
	own(generator_freep) struct generator *generator = schema ? generator_open(schema, NULL, &err) : NULL;
	draw_init(&draw, seed);
	int status = generator ? find(bug, generator, &draw, most, &err) : -1;
	if (status < 0)
		(void)fprintf(stderr, "%s\n", err.text);
	draw_done(&draw);
	return status < 0;
}
