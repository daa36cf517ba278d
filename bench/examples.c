/* Values made from a schema, for each second of processor time:
 *
 *	examples SCHEMA [SECONDS [SEED]]	prints "VALUES-PER-SECOND BYTES-PER-VALUE"
 *	examples --print N SCHEMA [SEED]	prints N values, one a line
 *
 * Each value is made, checked and written as JSON. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "schema/generate.h"

/* Not the clock on the wall: others may be using the machine. */
static uint64_t cpu_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct schema *schema_load(const char *path)
{
	own(buf_done) struct buf text = {0};
	char part[65536];
	struct err err;
	FILE *file = fopen(path, "re");
	size_t got;

	while (file && (got = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(&text, part, got);
	if (file)
		(void)fclose(file);
	struct schema *schema = schema_read(buf_text(&text), text.len, path, NULL, &err);
	if (!schema)
		(void)fprintf(stderr, "%s\n", err.text);
	return schema;
}

static int make(struct generator *generator, struct draw *draw, struct made *made)
{
	struct err err;

	if (generator_make(generator, draw, made, &err) == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", err.text);
	return -1;
}

int main(int argc, char **argv)
{
	bool print = argc > 3 && strcmp(argv[1], "--print") == 0;
	const char *path = print ? argv[3] : argc > 1 ? argv[1] : "";
	double seconds = !print && argc > 2 ? strtod(argv[2], NULL) : 1;
	uint64_t seed = strtoull(print && argc > 4 ? argv[4] : !print && argc > 3 ? argv[3] : "1", NULL, 10);
	unsigned long count = 0, bytes = 0, wanted = print ? strtoul(argv[2], NULL, 10) : 0;
	struct err err;
	struct draw draw;
	struct made made;
	own(schema_freep) struct schema *schema = schema_load(path);
	own(generator_freep) struct generator *generator = schema ? generator_open(schema, NULL, &err) : NULL;

	if (!generator)
		return 1;
	draw_init(&draw, seed);
	uint64_t begun = cpu_now(), now = begun;
	for (; print ? count < wanted : (double)(now - begun) < seconds * 1e9; count++) {
		if (make(generator, &draw, &made) < 0)
			return 1;
		bytes += made.len;
		if (print)
			(void)printf("%s\n", made.text);
		if (!print && count % 256 == 0)
			now = cpu_now();
	}
	if (!print)
		(void)printf("%.0f %.0f\n", (double)count / ((double)(cpu_now() - begun) / 1e9), (double)bytes / (double)count);
	draw_done(&draw);
	return 0;
}
