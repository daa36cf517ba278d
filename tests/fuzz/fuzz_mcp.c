/* Whatever lines a server of the Model Context Protocol sends, and whenever: each is an event, what is to be sent are
 * whole lines, and an answer has a kind and, unless it is fine, a message. The first byte says whether it is asked
 * what it offers; a line that is but "!" stands for a call of ours. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/tool/target_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct subject tool = {.name = (char *)"tool", .kind = SUBJECT_TOOL};

static void check_out(struct talk *talk)
{
	assert(talk->out.len == 0 || talk->out.data[talk->out.len - 1] == '\n');
	talk->out.len = 0;
}

/* False: the session would be over. */
static bool check_event(struct talk *talk, enum talk_event event, bool *ready)
{
	if (event == TALK_READY) {
		assert(!*ready);
		*ready = true;
	}
	if (event != TALK_ANSWERED)
		return true;
	assert(talk->answer.kind == REPLY_OK || talk->answer.kind == REPLY_REJECTED || talk->answer.kind == REPLY_FAILED ||
		talk->answer.kind == REPLY_BROKEN);
	assert(talk->answer.kind != REPLY_BROKEN || talk->answer.message.len > 0);
	bool lost = talk->answer.lost || !*ready;
	answer_done(&talk->answer);
	return !lost;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct target_options options = {.mode = TARGET_MCP};
	struct subjects subjects = {0};
	struct strings remarks = {0};
	char *about = NULL;
	struct talk talk = {.options = &options, .remarks = &remarks, .about = &about,
		.subjects = size && data[0] % 2 ? &subjects : NULL};
	const char *at = (const char *)data + (size > 0), *end = (const char *)data + size;
	bool ready = false, going = check_event(&talk, mcp_start(&talk), &ready);

	while (going && at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);
		check_out(&talk);
		if (len == 1 && *at == '!' && ready && !talk.asked)
			mcp_call(&talk, &tool, "{}", 2);
		else if (!ready || talk.asked)
			going = check_event(&talk, mcp_message(&talk, at, len), &ready);
		else
			mcp_unasked(&talk, at, len);
		at = line_end ? line_end + 1 : end;
	}
	check_out(&talk);
	assert(subjects.count <= TARGET_SUBJECTS_MAX);
	for (size_t i = 0; i < subjects.count; i++)
		assert(subjects.list[i].name[0]);
	talk_done(&talk);
	subjects_done(&subjects);
	strings_done(&remarks);
	free(about);
	return 0;
}
