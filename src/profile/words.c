/* From a profile to a cell: options where there are some, the spec's own fields where there are none. */
#include "profile/profile.h"

#include <inttypes.h>
#include <string.h>

static void word_add(char ***words, size_t *count, char *word)
{
	*words = xrealloc(*words, *count + 2, sizeof(**words));
	(*words)[(*count)++] = word;
	(*words)[*count] = NULL;
}

char **profile_words(const struct profile *profile, size_t *ret_count)
{
	char **words = xcalloc(1, sizeof(*words));
	size_t count = 0;

	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		const struct profile_limit *limit = &profile_limits[i];
		uint64_t value = 0;
		if (!profile->limit_set[i])
			continue;
		if (limit->kind == PROFILE_CPUS) {
			uint32_t milli = profile->limits.cpus_milli;
			word_add(&words, &count, xfmt("--cpus=%u.%03u", milli / 1000, milli % 1000));
			continue;
		}
		memcpy(&value, (const char *)&profile->limits + limit->offset, sizeof(value));
		word_add(&words, &count,
			xfmt("--%s=%" PRIu64 "%s", limit->name, value, limit->kind == PROFILE_DURATION ? "ms" : ""));
	}
	if (profile->tmp_exec)
		word_add(&words, &count, xstrdup("--tmp-exec"));
	for (size_t i = 0; i < PROFILE_LISTS; i++)
		for (size_t k = 0; k < profile->lists[i].count; k++)
			word_add(&words, &count, xfmt("--%s=%s", profile_list_names[i], profile->lists[i].items[k].text));
	*ret_count = count;
	return words;
}

void profile_words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

/* NULL for none: then the cells are of the same kind as those without a profile. */
static const char **names_of(const bool set[CELL_MAX_CALLS])
{
	const struct cell_call *call;
	const char **names = xcalloc(CELL_MAX_CALLS + 1, sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (set[i])
			names[count++] = call->name;
	if (count > 0)
		return names;
	free(names);
	return NULL;
}

void profile_apply(struct profile *profile, struct cell_spec *spec)
{
	free(profile->deny);
	free(profile->allow);
	free(profile->label);
	profile->deny = names_of(profile->denied);
	profile->allow = names_of(profile->opened);
	profile->label = xfmt("%s@sha256:%s", profile->name, profile->sum);
	spec->calls_deny = profile->deny;
	spec->calls_allow = profile->allow;
	spec->paths = profile->paths;
	spec->path_count = profile->path_count;
	spec->no_exec = profile->no_exec;
	spec->profile = profile->label;
}
