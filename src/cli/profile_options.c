#include "cli/profile_options.h"

#include <string.h>

#include "base/term.h"
#include "base/yaml.h"
#include "cli/campaign_reach.h"
#include "cli/config.h"
#include "cli/file_schema.h"
#include "cli/cmd/verbs.h"

/* ---- reading one ---- */

static bool is_file(const char *text)
{
	size_t len = strlen(text);

	return strchr(text, '/') || (len > 5 && strcmp(text + len - 5, ".yaml") == 0) ||
		(len > 4 && strcmp(text + len - 4, ".yml") == 0);
}

/* By the option's own parser; its sentence begins with the flag, ours with the key. */
static int check_item(const struct profile *profile, size_t list, const struct profile_item *item, struct err *err)
{
	const struct cli_option *option = cli_option_find(&verb_run, profile_list_names[list]);
	const char *within = list <= PROFILE_SECRET ? "doors." : "";
	own(buf_done) struct buf name = {0};
	struct err why = {0};

	if (cli_option_check(&verb_run, option, item->text, &why) == 0)
		return 0;
	term_line(profile->name, strlen(profile->name), 160, &name);
	return err_set(err, ERR_USAGE, "%s:%u: %s%s: %s", buf_text(&name), item->line, within, option->name, why.text);
}

static int check_items(const struct profile *profile, struct err *err)
{
	for (size_t i = 0; i < PROFILE_LISTS; i++)
		for (size_t k = 0; k < profile->lists[i].count; k++)
			if (check_item(profile, i, &profile->lists[i].items[k], err) < 0)
				return -1;
	return 0;
}

/* By the schema that people are given; profile_parse has spoken first, since it knows more. */
static int check_shape(const struct buf *text, const char *name, struct err *err)
{
	own(value_done) struct value root = {0};
	own(json_done) struct json schema = {0};

	if (yaml_parse(buf_text(text), text->len, name, &root, err) < 0)
		return -1;
	profile_schema(&schema);
	return file_schema_check(&schema.out, &root, name, err);
}

static int read_one(struct profile *ret, const char *name, struct err *err)
{
	own(buf_done) struct buf text = {0};

	if (!is_file(name))
		return profile_builtin(ret, name, err);
	if (config_text(name, "a profile", &text, err) < 0)
		return -1;
	if (profile_parse(ret, buf_text(&text), text.len, name, err) < 0)
		return -1;
	if (check_shape(&text, name, err) == 0)
		return 0;
	profile_done(ret);
	return -1;
}

static int check_pin(const struct profile *profile, const char *pin, struct err *err)
{
	unsigned char sum[SHA256_SIZE];
	own(buf_done) struct buf name = {0};

	if (!pin || strcmp(profile->sum, pin) == 0)
		return 0;
	term_line(profile->name, strlen(profile->name), 160, &name);
	if (!sha256_parse(pin, sum))
		return err_set(err, ERR_USAGE, "--profile: after '%s" SHA256_PIN "' come 64 hexadecimal digits", buf_text(&name));
	return err_set(err, ERR_USAGE,
		"the profile '%s' is not the one that was meant: its sha256 is %s; look at what changed, and then give it without "
		"'" SHA256_PIN "...'",
		buf_text(&name), profile->sum);
}

int profile_load(struct profile *ret, const char *text, struct err *err)
{
	own(freep) char *name = xstrdup(text);
	const char *pin = sha256_pin_cut(name);

	*ret = (struct profile){0};
	if (read_one(ret, name, err) < 0)
		return -1;
	if (check_pin(ret, pin, err) == 0 && check_items(ret, err) == 0)
		return 0;
	profile_done(ret);
	return -1;
}

/* What is named may have come with a clone, and to name it is not to have read it. That it lets a
 * name on the network through is what everybody expects; that it speaks to a socket of this
 * machine, or sends a variable somewhere, is not; what runs from /tmp stays in the cell. Who gives its
 * sum has seen it. */
int profile_check_reach(const struct profile *profile, const char *text, struct err *err)
{
	own(freep) char *name = xstrdup(text);
	own(buf_done) struct buf shown = {0}, what = {0};
	size_t count;

	if (profile->builtin || sha256_pin_cut(name))
		return 0;
	char **words = profile_words(profile, &count);
	for (size_t i = 0; i < count && !what.len; i++)
		if (campaign_reach(words[i]) == REACH_OUT && strcmp(words[i], "--tmp-exec") != 0)
			term_line(words[i] + 2, strlen(words[i] + 2), 100, &what);
	profile_words_free(words);
	if (!what.len)
		return 0;
	term_line(name, strlen(name), 100, &shown);
	return err_set(err, ERR_USAGE,
		"the profile '%s' sets '%s', which reaches outside the sandbox: check it, then name it with its sum, '%s" SHA256_PIN
		"%s'",
		buf_text(&shown), buf_text(&what), buf_text(&shown), profile->sum);
}

const char *profile_chosen(const char *option)
{
	const char *text = option ? option : getenv("HOTCELL_PROFILE");

	return text && *text ? text : NULL;
}

void profile_say_opens(const struct profile *profile)
{
	own(buf_done) struct buf name = {0}, opens = {0};

	if (profile->builtin || !profile_opens(profile, &opens))
		return;
	term_line(profile->name, strlen(profile->name), 160, &name);
	cli_say("profile '%s' opens: %s", buf_text(&name), buf_text(&opens));
}

/* ---- a verb's options ---- */

static void word_add(struct profiled *it, const char *word)
{
	it->argv = xrealloc(it->argv, (size_t)it->argc + 2, sizeof(*it->argv));
	it->argv[it->argc++] = xstrdup(word);
	it->argv[it->argc] = NULL;
}

/* Whether a profile has words for this option ("--NAME=VALUE"), or names one. */
static bool is_covered(const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const char *const others[] = {"tmp-exec", "profile"};

	for (size_t i = 0; i < PROFILE_LIMITS; i++)
		if (strlen(profile_limits[i].name) == len && strncmp(profile_limits[i].name, word + 2, len) == 0)
			return true;
	for (size_t i = 0; i < PROFILE_LISTS; i++)
		if (strlen(profile_list_names[i]) == len && strncmp(profile_list_names[i], word + 2, len) == 0 && i != PROFILE_HIDE)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strlen(others[i]) == len && strncmp(others[i], word + 2, len) == 0)
			return true;
	return false;
}

static void words_build(struct profiled *it, const struct cli_args *args, bool covered)
{
	size_t count;
	char **words = profile_words(&it->profile, &count);

	for (size_t i = 0; i < count; i++)
		word_add(it, words[i]);
	profile_words_free(words);
	for (size_t i = 0; i < args->given.count; i++)
		if (covered || !is_covered(args->given.items[i]))
			word_add(it, args->given.items[i]);
	word_add(it, "--");
	for (char **word = args->command; word && *word; word++)
		word_add(it, *word);
}

static int options_parse(struct profiled *it, const struct cli_args *args, bool covered, struct err *err)
{
	bool help;

	words_build(it, args, covered);
	it->options = xcalloc(1, it->verb->options_size);
	it->verb->defaults(it->options);
	if (cli_parse(it->verb, it->argc, it->argv, it->options, &it->args, &help, err) < 0)
		return -1;
	struct run_options *run = it->options;
	run->used = &it->profile;
	return 0;
}

int profiled_build(struct profiled *ret, const struct cli_verb *verb, const struct run_options *typed,
	const struct cli_args *args, struct err *err)
{
	const char *chosen = profile_chosen(typed->profile);

	*ret = (struct profiled){.verb = verb};
	if (!chosen)
		return 0;
	if (profile_load(&ret->profile, chosen, err) < 0 ||
		profile_check_reach(&ret->profile, chosen, err) < 0 ||
		options_parse(ret, args, true, err) < 0)
		return -1;
	if (!typed->quiet)
		profile_say_opens(&ret->profile);
	return 0;
}

int profiled_text(struct profiled *ret, const struct cli_verb *verb, const struct buf *text, const struct cli_args *args,
	struct err *err)
{
	*ret = (struct profiled){.verb = verb};
	if (profile_parse(&ret->profile, buf_text(text), text->len, "proposal", err) < 0)
		return -1;
	return options_parse(ret, args, false, err);
}

void profiled_done(struct profiled *it)
{
	if (it->options)
		cli_parse_done(it->verb, it->options, &it->args);
	free(it->options);
	for (int i = 0; i < it->argc; i++) {
		explicit_bzero(it->argv[i], strlen(it->argv[i])); /* values of --env */
		free(it->argv[i]);
	}
	free(it->argv);
	profile_done(&it->profile);
	*it = (struct profiled){0};
}
