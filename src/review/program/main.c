/* The program that attacks, from inside a cell.
 *
 *	attack [@TOKEN] SECTION ATTACK [ARGUMENT...]
 *
 * A token is for the observer, who finds our processes by it. Called by the name of a section (a link), that word is left
 * out. */
#include "review/program/hostile.h"

static const struct {
	const char *name;
	const struct attack *attacks;
} sections[] = {
	{ "bypass", bypass_attacks },
	{ "doors", doors_attacks },
	{ "exhaust", exhaust_attacks },
	{ "gain", gain_attacks },
	{ "kernel", kernel_attacks },
	{ "knock", knock_attacks },
	{ "leave", leave_attacks },
	{ "neighbour", neighbour_attacks },
	{ "pack", pack_attacks },
	{ "paths", paths_attacks },
	{ "procs", procs_attacks },
	{ "pry", pry_attacks },
	{ "reach", reach_attacks },
	{ "share", share_attacks },
	{ "shown", shown_attacks },
	{ "sweep", sweep_attacks },
	{ "traces", traces_attacks },
	{ "tunnel", tunnel_attacks },
};

/* A cell is named "cell". Anywhere else these programs would do what they try. */
static bool in_a_cell(void)
{
	char name[65] = "";

	return gethostname(name, sizeof(name) - 1) == 0 && strcmp(name, "cell") == 0;
}

static const struct attack *section(const char *name)
{
	for (size_t i = 0; i < COUNT(sections); i++)
		if (strcmp(sections[i].name, name) == 0)
			return sections[i].attacks;
	return NULL;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const struct attack *attacks = section(slash ? slash + 1 : argv[0]);

	if (!in_a_cell() && !gentle()) {
		fprintf(stderr, "refusing to attack anything but a cell\n");
		return 99;
	}
	if (argc > 1 && argv[1][0] == '@')
		argc--, argv++;
	if (!attacks && argc > 1) {
		attacks = section(argv[1]);
		argc--, argv++;
	}
	for (; attacks && argc > 1 && attacks->name; attacks++)
		if (strcmp(attacks->name, argv[1]) == 0)
			return attacks->run(argc - 2, argv + 2);
	fprintf(stderr, "there is no such attack\n");
	return 99;
}
