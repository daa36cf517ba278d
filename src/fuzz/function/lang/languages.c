/* The table of languages, and what all of them need. */
#include "fuzz/function/lang/language.h"

#include <string.h>

#include "base/json.h"

const struct language *const function_languages[] = {
	&language_python, &language_c, &language_cxx, &language_javascript, &language_go, &language_rust, &language_java,
	NULL,
};

const char *const function_language_names[] = {"python", "c", "c++", "javascript", "go", "rust", "java", NULL};

const char *function_language(const char *name)
{
	for (size_t i = 0; function_language_names[i]; i++)
		if (strcmp(function_language_names[i], name) == 0)
			return function_language_names[i];
	return NULL;
}

const struct language *language_find(const char *name)
{
	for (size_t i = 0; function_languages[i]; i++)
		if (strcmp(function_languages[i]->name, name) == 0)
			return function_languages[i];
	return NULL;
}

const char *function_engine(const struct function_engine *engines, const char *language)
{
	for (; engines && engines->language; engines++)
		if (strcmp(engines->language, language) == 0)
			return engines->folder;
	return NULL;
}

unsigned cover_seconds(const struct function_options *options)
{
	return options->coverage == COVER_WHOLE ? COVER_WHOLE_S : COVER_BRIEF_S;
}

bool path_has_suffix(const char *path, const char *suffix)
{
	size_t len = strlen(path), end = strlen(suffix);

	return len > end && strcmp(path + len - end, suffix) == 0 && path[len - end - 1] != '/';
}

const struct language *language_of_file(const char *path)
{
	for (size_t i = 0; function_languages[i]; i++)
		for (size_t k = 0; function_languages[i]->suffixes[k]; k++)
			if (path_has_suffix(path, function_languages[i]->suffixes[k]))
				return function_languages[i];
	return NULL;
}

bool path_is_harness(const char *path)
{
	static const char *const words[] = {"fuzz", "fuzzer"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	size_t len = dot ? (size_t)(dot - name) : strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t word = strlen(words[i]);
		if (len < word)
			continue;
		if (strncmp(name, words[i], word) == 0 && (len == word || strchr("_-", name[word])))
			return true;
		if (memcmp(name + len - word, words[i], word) == 0 && strchr("_-", name[len - word - 1]))
			return true;
	}
	return false;
}

void plan_file_add(struct function_plan *plan, const char *name, char *text)
{
	plan->files = xrealloc(plan->files, plan->file_count + 1, sizeof(*plan->files));
	plan->files[plan->file_count++] = (struct plan_file){.name = xstrdup(name), .text = text};
}

void config_open(struct json *json, const struct function_target *target, const struct function_options *options)
{
	json_open(json, '{');
	json_put_string(json, "root", FUNCTION_ROOT);
	json_put_string(json, "file", target->file);
	json_put_string(json, "function", target->function);
	json_put_bool(json, "harness", target->harness);
	json_put_uint(json, "cover_seconds", cover_seconds(options));
	json_key(json, "expect");
	json_open(json, '[');
	for (const char *const *each = options->expect; each && *each; each++)
		json_string(json, *each);
	json_close(json, ']');
}

void function_plan_done(struct function_plan *plan)
{
	for (size_t i = 0; i < plan->file_count; i++) {
		free(plan->files[i].name);
		free(plan->files[i].text);
	}
	free(plan->files);
	strings_done(&plan->build);
	strings_done(&plan->run);
	strings_done(&plan->run_skipping);
	strings_done(&plan->replay);
	strings_done(&plan->minimise);
	strings_done(&plan->merge);
	strings_done(&plan->cover);
	strings_done(&plan->serve);
	strings_done(&plan->environment);
	free(plan->engine);
	free(plan->cache);
	parts_done(&plan->parts);
	*plan = (struct function_plan){0};
}
