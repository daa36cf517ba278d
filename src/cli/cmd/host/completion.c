/* hotcell completion: what a shell needs to complete our words. */
#include <string.h>

#include "cli/cmd/verbs.h"

static int run(void *options, const struct cli_args *args)
{
	own(buf_done) struct buf out = {0};

	(void)options;
	if (strcmp(args->words[0], "bash") == 0) {
		cli_completion_bash(&out);
	} else if (strcmp(args->words[0], "zsh") == 0) {
		cli_completion_zsh(&out);
	} else {
		cli_say("there is completion for bash and zsh only; 'hotcell help completion' tells how to use it");
		return EXIT_USAGE;
	}
	return cli_print(&out);
}

const struct cli_verb verb_completion = {
	.name = "completion",
	.summary = "print the completion for a shell",
	.usage = "bash|zsh",
	.details = "In ~/.bashrc:  source <(hotcell completion bash)\n"
		   "In ~/.zshrc:   source <(hotcell completion zsh)   (after compinit)\n",
	.words_min = 1,
	.words_max = 1,
	.word = "SHELL",
	.word_hint = CLI_HINT_CHOICE,
	.word_choices = "bash zsh",
	.run = run,
};
