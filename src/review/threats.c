/* The catalogue as Markdown: what is covered, by what, and what is not. */
#include <string.h>

#include "cell/cell.h"
#include "review/review.h"

/* ---- what is covered ---- */

/* A cell of a table: a bar would end it. */
static void put_cell(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			buf_char(out, '\\');
		buf_char(out, *text);
	}
}

static void put_group(const struct review_group *group, struct buf *out)
{
	buf_fmt(out, "\n### %s\n\n| attack | what is tried | what must come of it | held by | judged by | CVE |\n"
		     "|---|---|---|---|---|---|\n", group->title);
	for (const struct review_attack *attack = group->attacks; attack->id; attack++) {
		own(buf_done) struct buf held_by = {0};
		review_held_by(attack, "`", &held_by);
		buf_fmt(out, "| `%s` | ", attack->id);
		put_cell(out, attack->technique);
		buf_str(out, " | ");
		put_cell(out, attack->safe);
		buf_str(out, " | ");
		put_cell(out, buf_text(&held_by));
		buf_fmt(out, " | %s | %s |\n", review_judged_by(attack), attack->cve ? attack->cve : "-");
	}
}

/* ---- by which mechanism ---- */

/* What a row names that is no protection of a receipt by itself: parts of one, and what stands outside of cells. */
static const struct {
	const char *name, *help;
} parts[] = {
	{"mount-nosuid", "nothing that is mounted gives rights by a set-id bit"},
	{"mount-nodev", "no device can be opened but those of its own /dev"},
	{"mounts-read-only", "what is mounted cannot be written"},
	{"tmp-noexec", "nothing can be run from /tmp"},
	{"tmp-size", "/tmp has a size"},
	{"shm-size", "/dev/shm has a size"},
	{"corpus-size", "what a fuzzed function writes to has a size, with a name or without"},
	{"core-limit", "a crash writes no core"},
	{"proc-read-only", "the kernel's knobs in /proc cannot be turned"},
	{"proc-covers", "what in /proc tells about the kernel is covered"},
	{"forbidden", "what a forbidden name leads to is covered, under all its names"},
	{"mount-links", "no link is followed where something is mounted from, where it is mounted, or in an image"},
	{"state-guard", "no cell is shown the record of state folders, nor, to write, a folder that is recorded"},
	{"state-record", "a state folder is used only if this user's hotcell made it there"},
	{"init-hidden", "a cell's first process cannot be looked into"},
	{"collect-links", "no link is followed when files are taken back"},
	{"collect-kinds", "only plain files and folders are taken back, with plain modes"},
	{"collect-names", "names that are taken back are plain text"},
	{"collect-sparse", "a file that is larger than all that may be taken back stays, whatever it holds"},
	{"collect-caps", "so many files are taken back, and no more"},
	{"output-folder", "the folder of the output is new or empty, and no link"},
	{"terminal-filter", "escapes that it prints are shown, not obeyed"},
	{"page-escapes", "what it printed is text in a page, and nothing else"},
	{"seccomp-namespaces", "no namespace can be made or entered"},
	{"seccomp-mounts", "nothing can be mounted"},
	{"seccomp-handles", "no file can be opened by its handle"},
	{"seccomp-setid", "no file can be given a set-id bit"},
	{"seccomp-io-uring", "there is no io_uring"},
	{"seccomp-bpf", "there is no bpf, perf or userfaultfd"},
	{"seccomp-keys", "there are no kernel keys"},
	{"seccomp-sockets", "only plain kinds of sockets can be had"},
	{"seccomp-foreign", "calls of another architecture end it"},
	{"seccomp-unknown", "calls that nobody knows do not exist"},
	{"seccomp-tiocsti", "nothing can be typed into a terminal"},
	{"seccomp-leases", "no lease makes others wait for a file"},
	{"seccomp-ptrace", "what has to do with other processes' memory is held"},
	{"door-rules", "only names that are allowed are reached"},
	{"door-names", "a name is its canonical form or none; one that looks like another is allowed only by itself"},
	{"door-addresses", "an allowed name leads to no address of this machine or its network"},
	{"door-sni", "TLS in a tunnel is for the tunnel's name"},
	{"door-syntax", "a request that can be read in two ways is refused"},
	{"door-one-request", "behind a plain request nothing more passes"},
	{"door-heads", "a request has so many fields, and no more"},
	{"door-deadlines", "who says nothing is sent away"},
	{"door-scrub", "a credential that a server says back does not reach the cell"},
	{"door-even", "in which pieces an answer comes says nothing of the credential"},
	{"runtime-folder", "the folder of control sockets is in no mount and no image"},
	{"control-peer", "a control socket answers nobody who lives in a cell"},
	{"per-user-limits", "what the kernel counts by the user is each cell's own, or capped"},
	{"door-budget", "requests at once cost no more than the budget, however little answers tell"},
};

static void put_tests(const char *name, struct buf *out)
{
	size_t count = 0;

	for (const struct review_group *group = review_groups; group->name; group++)
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			if (review_names(attack->without, name))
				buf_fmt(out, "%s`%s`", count++ ? ", " : "", attack->id);
}

static void put_mechanism(const char *name, const char *help, struct buf *out)
{
	own(buf_done) struct buf tests = {0};

	put_tests(name, &tests);
	buf_fmt(out, "| `%s` | ", name);
	put_cell(out, help);
	buf_fmt(out, " | %s |\n", tests.len ? buf_text(&tests) : "no attack of this catalogue");
}

static void put_mechanisms(struct buf *out)
{
	buf_str(out, "\n## By what mechanism\n\nWhat a receipt names, what it is for, and the attacks that name it.\n\n"
		     "| protection | what it does | tested by |\n|---|---|---|\n");
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		put_mechanism(cell_protection_name(i), cell_protection_help(i), out);
	buf_str(out, "\nParts of these, and what stands around cells, each of which is left out in turn by a test build too:\n\n"
		     "| part | what it does | tested by |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		put_mechanism(parts[i].name, parts[i].help, out);
}

/* ---- what is not ---- */

static const struct {
	const char *what, *why;
} gaps[] = {
	{"A bug in the kernel",
		"Every cell of the native backend shares the machine's kernel. The filter leaves about 270 ordinary system calls; a bug in one "
		"of them is a way out that nothing here stops. The attacks above try techniques and calls, not unknown bugs"},
	{"Side channels of the processor",
		"Caches, branch predictors, memory and bus timing, power. A cell that shares a core or a cache with something secret may learn "
		"of it. Nothing is tried here and nothing holds it but separate machines"},
	{"Timing and load",
		"A cell sees clocks, the machine's load and how long its own work takes, and so whether others are busy. Budgets of doors and "
		"limits can be felt from inside"},
	{"Facts about the machine", "The kernel's version and command line, processors, memory, uptime and partitions can be read"},
	{"What you mount",
		"A writable mount can be changed in every way, whatever is made of it later; a socket that is made in a mounted folder later "
		"can be reached. Hidden names go by name: a secret under another name is there to be read"},
	{"What you allow",
		"An allowed host can be told anything and may pass it on. What is asked of it, and names that an allowed server resolves, leave "
		"the machine: a door says where bytes may go, not which. Through an allowed name data can be carried out bit by bit"},
	{"What you give", "A variable given with --env, a file that is mounted, an argument: the program has it, and may print it"},
	{"Your own cells",
		"What is attacked are cells as `hotcell run` makes them by default, with what an attack needs besides. Your profile, mounts, "
		"doors, limits and image are not: a review says nothing of what you opened, except that `--image` attacks yours"},
	{"Other users, other machines",
		"A verdict holds for the user who ran the review, on that machine and kernel, at that time. Root and ordinary users get "
		"different cells, and an ordinary user cannot look at all of a cell from outside: review as who runs the cells"},
	{"What rests on the attack's word",
		"Of attacks that are *judged by* their own word no observer outside of the cell sees anything when what holds them is gone: that "
		"a call was refused, or how much could be had, is what the attack's program says. It is ours and says so if it gets through, "
		"but nobody else saw it"},
	{"Landlock by itself",
		"Of what the rulesets upon a cell forbid, mounts, namespaces and the filter forbid all but writing to FIFOs (`files.late-fifo`). "
		"That one is upon a cell is seen by counting how many more the kernel takes (`kernel.landlock`); how well it would hold "
		"alone is not tried. What a profile allows and forbids by its rights is tried by the tests of profiles"},
	{"Sizes", "Floods, bombs and crowds are as large as a review of minutes allows: thousands, not millions, and for seconds, not days"},
	{"Archives", "hotcell unpacks none. What you unpack of a cell's output outside of a cell may have links, paths and sizes that do harm"},
	{"Watching and locking what is shared",
		"By inotify a cell sees which files of the host's `/usr` and of its mounts are opened while it lives; `flock` on a file of a "
		"read-only mount holds on the host too"},
	{"An ordinary user's supplementary groups", "They stay with the program, and reach files of `/usr` and of mounts"},
	{"Names that come later",
		"What a mount hides is found when its template is built: a secret or a socket that is made in it after that is there"},
	{"Swap that is not accounted for", "On a machine with swap and `swapaccount=0` the memory limit holds memory only"},
	{"The audit log, redaction and manifests",
		"No attack here is on them. Their own tests change, cut and forge them; what is redacted is what is known and what has the shape "
		"of a secret, not every secret"},
	{"Logical bugs of an agent or tool",
		"One that calls the wrong tool, or the right one with the wrong arguments, does so inside the cell as it would outside. A cell "
		"bounds what that reaches, not what it means"},
	{"What a tool is supposed to return",
		"A lookup returns what was stored; if that was poisoned, it is passed on. Output is made safe to show and to store, not to "
		"believe or to run"},
	{"The model", "What a language model makes up, follows or repeats. The cell is around the programs, not around the model"},
	{"Compromise of hotcell itself",
		"The binary, the user who runs it, his command line and the files of its state folder are trusted. Who can change those needs no "
		"way out of a cell. An audit log and a manifest show changes only to those who keep their sums elsewhere"},
	{"What this machine cannot give",
		"Where cgroups, Landlock or user namespaces are missing, cells are weaker and their receipts say so. A review calls what then "
		"gets through degraded: it did get through"},
	{"Availability beyond the limits",
		"Bandwidth of disk and memory, the kernel's own locks and tables, quotas the kernel keeps for each user and that his cells share "
		"with him"},
	{"`--backend none`", "It is no sandbox. The review shows that: its attacks get through"},
	{"What nobody tried",
		"A review is a list of attacks that somebody thought of, tried once, on one machine, at one time. That all were held is "
		"evidence, not proof"},
};

static void put_gaps(struct buf *out)
{
	buf_str(out, "\n## What is not covered\n\nNo attack above says anything of these, and a cell does not protect from them.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(gaps); i++)
		buf_fmt(out, "- **%s.** %s.\n", gaps[i].what, gaps[i].why);
}

void review_threats(struct buf *out)
{
	buf_str(out,
		"# Threats\n\n"
		"Printed by `hotcell review --threats` from the catalogue of attacks that `hotcell review` runs; not written by hand. What is\n"
		"promised in general, and by which tests of hotcell itself it is proved, is in [SECURITY.md](SECURITY.md).\n\n"
		"## What is covered\n\n"
		"Each attack is a program that really tries, in a cell, with observers outside of it. *Held by* names protections any one of\n"
		"which being gone can let it through: a test build leaves out each in turn, and then every attack that names it must get\n"
		"through. A few rows name what no test leaves out, since the attack would then do harm to the machine; they say\n"
		"so. Rows without a name say what holds them instead: the kernel by itself, or how hotcell is made. What gets through only\n"
		"for want of a protection that this machine cannot give is `degraded`; what nothing that is lacking explains is `ESCAPED`.\n\n"
		"*Judged by* says who tells that it got through when what holds it is gone: observers outside of the cell, or only the attack's\n"
		"own word. Beside every attack, whoever judges it, are canaries, a victim, sockets that must stay silent, and who looks for\n"
		"what it left.\n\n"
		"An attack that gets through does what it does: on a machine whose cells do not hold, a review can end processes, fill memory\n"
		"and leave files. It is meant for machines on which that may happen; see hotcell-review(1).\n");
	for (const struct review_group *group = review_groups; group->name; group++)
		if (group->attacks->id)
			put_group(group, out);
	put_mechanisms(out);
	put_gaps(out);
}
