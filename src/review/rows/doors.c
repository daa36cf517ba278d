/* Attacks on doors: names and addresses in every spelling, what is said to a proxy and in its tunnels, too many, too slow,
 * and the death of the process that serves them.
 *
 * All of it happens in a network of our own (net.h): whoever a cell gets through to is us. What counts is who was called,
 * what was heard, and which names were asked for; a status that the cell is told counts only if it is 200. */
#include <dirent.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "review/rows/doors.h"
#include "review/observe/look.h"
#include "review/observe/net.h"

#define GOOD80 NET_GOOD ":80"
#define KILLS 3 /* of the process that serves doors, in one run */
#define CONNECTIONS_MAX 1024 /* of one cell */
#define CONNECTIONS_LEAST 256 /* must have been open at once; where files are few, that is about a run's share */
#define MANY_NS (8 * NS_PER_S)
#define STILL_NS (2 * NS_PER_S) /* whose connections do not grow in number for so long has its share */
#define NEIGHBOURS 8 /* connections of others meanwhile */
#define MODEST_CALLS 40 /* of the other run, as in its program */
#define GUESSED 5 /* letters, as in its program */
#define BUDGET_TOKENS_MAX 4000 /* as in its row */
#define DOORD_MEMORY_MAX (UINT64_C(256) << 20)

/* ---- what may be seen of each ---- */

static const struct expected {
	const char *id;
	const char *calls; /* who may be called: globs of "ADDRESS:PORT", space-separated; NULL: nobody */
	const char *asked; /* which names may be asked for; NULL: none */
	const char *never; /* what nobody may hear; NULL: anything may be said to those who may be called */
	bool silent; /* those who may be called may not hear a byte */
} expectations[] = {
	{"doors.private-addresses", NULL, "*.good.test", NULL, false},
	{"doors.rebinding", GOOD80, "*.good.test", NULL, false},
	{"doors.case-and-dots", GOOD80, "good.test", NULL, false},
	{"doors.server-names", NET_GOOD ":443 " NET_GOOD ":8443", "good.test", NULL, true},
	{"doors.smuggling", GOOD80, "good.test", NULL, true},
	{"doors.pipelines", GOOD80, "good.test", "evil", false},
	{"doors.large-heads", GOOD80, "good.test", "aaaaaaaa", false},
	{"doors.slow-heads", GOOD80 " " NET_GOOD ":443", "good.test", NULL, false},
	{"doors.many-connections", NET_GOOD ":8080", "good.test", NULL, false},
	{"doors.neighbours", GOOD80 " " NET_GOOD ":8080", "good.test", NULL, false},
	{"doors.reload", GOOD80, "good.test", NULL, false},
	{"doors.orphan", GOOD80 " " NET_GOOD ":8080", "good.test", NULL, false},
	{"doors.credential", "10.0.0.1:8081", NULL, NULL, false},
	{"doors.guess", "10.0.0.1:8082", NULL, NULL, false},
	{"doors.budget", "10.0.0.1:8081", NULL, NULL, false},
	{"bypass.error-leaks-doors", NULL, "*.good.test", NULL, false},
};

static bool has_doors(const struct review_try *try)
{
	return try->attack->flags && (strstr(try->attack->flags, "--allow") || strstr(try->attack->flags, "--secret-door"));
}

static bool one_of(const char *globs, const char *text)
{
	own(freep) char *copy = xstrdup(globs ? globs : "");
	char *rest = copy;

	for (char *glob; (glob = strsep(&rest, " "));)
		if (*glob && fnmatch(glob, text, 0) == 0)
			return true;
	return false;
}

static void judge_call(struct review_try *try, const struct expected *expected, const struct net_call *call)
{
	size_t len = call->heard_bytes < NET_HEARD_MAX ? call->heard_bytes : NET_HEARD_MAX;

	if (!one_of(expected->calls, call->to))
		try_escaped(try, "it reached %s, which heard %zu bytes", call->to, call->heard_bytes);
	else if (expected->silent && call->heard_bytes > 0)
		try_escaped(try, "%s heard %zu bytes", call->to, call->heard_bytes);
	else if (expected->never && memmem(call->heard, len, expected->never, strlen(expected->never)))
		try_escaped(try, "%s heard '%s'", call->to, expected->never);
	if (scene_has_token(try->scene, call->heard, len) && !one_of("doors.credential doors.guess doors.budget", expected->id))
		try_escaped(try, "%s heard the token", call->to);
}

/* How often the proxy said no. */
static size_t refusals(const struct review_try *try)
{
	size_t count = 0;

	for (const char *at = buf_text(&try->out); (at = strstr(at, " 40")); at += 3)
		count += (at[3] == '0' || at[3] == '3') && at[4] == '\n';
	return count;
}

/* An attack at doors that did not open for what is allowed, or did not answer, proves nothing. */
static void judge_tried(struct review_try *try, const struct expected *expected, const struct net *net)
{
	if (expected->calls && net_calls(net) == 0)
		try_failed(try, "nobody was called, not even who may be");
	else if (!expected->calls && refusals(try) < try->attack->tries)
		try_failed(try, "the proxy said no %zu times, not %u", refusals(try), try->attack->tries);
}

void doors_judge(struct review_try *try, struct net *net)
{
	static const struct expected nothing = {.id = ""};
	const struct expected *expected = &nothing;

	for (size_t i = 0; i < ARRAY_LEN(expectations); i++)
		if (strcmp(expectations[i].id, try->attack->id) == 0)
			expected = &expectations[i];
	net_settle(net);
	for (size_t i = 0; i < net_calls(net); i++)
		judge_call(try, expected, net_call(net, i));
	for (size_t i = 0; i < net_questions(net); i++) {
		const char *name = net_question(net, i);
		if (!one_of(expected->asked, name))
			try_escaped(try, "a name server was asked for %.100s", name);
	}
	if (net_overflowed(net))
		try_failed(try, "more was heard outside than is kept: not all of it could be judged");
	if (has_doors(try))
		judge_tried(try, expected, net);
}

void doors_alone(struct review_try *try)
{
	const struct review_attack *attack = try->attack;
	const struct try_command command = {.flags = attack->flags, .program = attack->program, .during = attack->during};

	if (try->outside && has_doors(try)) {
		try_not_applicable(try, "without a sandbox there are no doors");
		return;
	}
	own(net_freep) struct net *net = net_open(try);
	if (!net || try_run(try, &command) < 0)
		return;
	const bool ran = try_result(try, "outcome") && !try_outcome_is(try, "setup-failed");
	if (!ran)
		try_judge(try); /* why there was no cell explains all that was not heard */
	doors_judge(try, net); /* else first: what was seen outside says more than what the cell was told */
	if (ran)
		try_judge(try);
	if (attack->judge)
		attack->judge(try);
	try->own = NULL;
	try->enter = NULL;
}

/* ---- rows that see more ---- */

/* Those of our doors that serve this run: what hotcell started and is named so. */
static pid_t doord_find(const struct review_try *try)
{
	DIR *proc = opendir("/proc");
	pid_t found = 0;

	for (const struct dirent *entry; proc && !found && (entry = readdir(proc));) {
		own(buf_done) struct buf status = {0};
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || !try_proc(try, pid, "status", &status))
			continue;
		const char *parent = try_status_line(&status, "PPid");
		if (!parent || strtol(parent, NULL, 10) != try->hotcell)
			continue;
		const char *name = try_status_line(&status, "Name");
		found = name && strncmp(name, "hotcell-doord", 13) == 0 ? pid : 0;
	}
	if (proc)
		(void)closedir(proc);
	return found;
}

/* Kills it, and whoever takes its place, while the cell goes on asking. */
static void during_orphan(struct review_try *try)
{
	uint64_t until = clock_now() + 2 * NS_PER_S;
	pid_t last = 0;
	int kills = 0;

	while (kills < KILLS && clock_now() < until) {
		pid_t pid = doord_find(try);
		if (pid > 0 && pid != last && kill(pid, SIGKILL) == 0)
			last = pid, kills++;
		(void)usleep(100000);
	}
	if (!kills)
		try_failed(try, "the process that serves doors was not found");
}

static void judge_orphan(struct review_try *try)
{
	const char *denied = try_said(try, "denied");

	if (!denied || strcmp(denied, "0") == 0)
		try_failed(try, "no door answered");
	const char *bound = try_said(try, "bind");
	if (bound && strcmp(bound, "ok") == 0)
		try_escaped(try, "the place of the proxy could be taken");
}

/* Until a cell has all the connections it can get, and a little longer: does it get more? */
static void wait_for_many(struct review_try *try)
{
	uint64_t begun = clock_now(), grew = begun;

	for (size_t last = 0; last < CONNECTIONS_MAX && clock_now() - begun < MANY_NS && clock_now() - grew < STILL_NS;) {
		if (net_at_once(try->own) > last)
			last = net_at_once(try->own), grew = clock_now();
		(void)usleep(20000);
	}
	(void)usleep(300000);
}

/* How much the process that serves doors has then. */
static void during_many(struct review_try *try)
{
	own(buf_done) struct buf status = {0};
	pid_t pid = doord_find(try);

	wait_for_many(try);
	if (pid <= 0 || !try_proc(try, pid, "status", &status)) {
		try_failed(try, "the process that serves doors was not found");
		return;
	}
	const char *line = try_status_line(&status, "VmRSS");
	if (line && strtoull(line, NULL, 10) * 1024 > DOORD_MEMORY_MAX)
		try_escaped(try, "the process that serves doors has %s of memory", line);
	look_release(try);
}

static size_t calls_to(const struct net *net, const char *who)
{
	size_t count = 0;

	for (size_t i = 0; i < net_calls(net); i++)
		count += strcmp(net_call(net, i)->to, who) == 0;
	return count;
}

static void judge_many(struct review_try *try)
{
	size_t most = net_at_once(try->own);

	if (most > CONNECTIONS_MAX + NEIGHBOURS)
		try_escaped(try, "%zu connections were open at once, and %d may be", most, CONNECTIONS_MAX);
	else if (most < CONNECTIONS_LEAST)
		try_failed(try, "only %zu connections were open at once", most);
}

/* The one takes all that it is given, while the other is served every time that it asks. */
static void judge_neighbours(struct review_try *try)
{
	size_t greedy = calls_to(try->own, NET_GOOD ":8080"), modest = calls_to(try->own, GOOD80);

	judge_many(try);
	if (greedy < CONNECTIONS_LEAST)
		try_failed(try, "the greedy run made only %zu connections", greedy);
	if (modest < MODEST_CALLS)
		try_failed(try, "the other run made only %zu of %d calls", modest, MODEST_CALLS);
}

static void judge_large(struct review_try *try)
{
	const char *fields = try_said(try, "fields"), *allowed = try_said(try, "few-fields");

	if (!fields || strcmp(fields, "431") != 0)
		try_escaped(try, "a head of 150 fields was answered with %s, not with 431", fields ? fields : "nothing");
	if (!allowed || strcmp(allowed, "200") != 0)
		try_failed(try, "a head of 50 fields was answered with %s, not with 200", allowed ? allowed : "nothing");
}

static void judge_slow(struct review_try *try)
{
	const char *ended = try_said(try, "ended"), *unserved;

	if (!ended || strcmp(ended, "4") != 0)
		try_escaped(try, "who says a byte a second was not sent away");
	unserved = try_said(try, "unserved");
	if (!unserved || strcmp(unserved, "0") != 0)
		try_escaped(try, "others were not served meanwhile");
}

/* The name of a secret door goes into the cell's /etc/hosts, which an image must have. */
static void before_credential(struct review_try *try)
{
	const char *image = try->options->image;
	own(freep) char *hosts = xfmt("%s/etc/hosts", image ? image : "");
	struct stat st;

	if (image && lstat(hosts, &st) < 0)
		try_not_applicable(try, "the image has no /etc/hosts: hotcell makes no secret door for it (an empty file is enough)");
}

/* The credential goes out, which shows that the door works; it does not come back in, which scene_look sees. */
static void judge_credential(struct review_try *try)
{
	const struct net *net = try->own;
	bool went = false;

	for (size_t i = 0; i < net_calls(net); i++) {
		const struct net_call *call = net_call(net, i);
		went = went || scene_has_token(try->scene, call->heard,
			call->heard_bytes < NET_HEARD_MAX ? call->heard_bytes : NET_HEARD_MAX);
	}
	if (!went)
		try_failed(try, "the credential did not go out by its door");
}

/* A cell that is left with a few guesses, and the right one among them, has seen which letters are right. */
static void judge_guess(struct review_try *try)
{
	own(freep) char *right = xfmt("guess %.*s\n", GUESSED, scene_token(try->scene));

	judge_credential(try);
	if (!try_said(try, "guesses"))
		try_failed(try, "it did not come to its end");
	else if (strstr(buf_text(&try->out), right))
		try_escaped(try, "the first letters of the credential were found one by one, from the pieces that answers came in");
}

/* By the count of who would be paid: what may be written for all that came. */
static void judge_budget(struct review_try *try)
{
	static const char limit[] = "\"max_tokens\":";
	const struct net *net = try->own;
	unsigned long tokens = 0;

	for (size_t i = 0; i < net_calls(net); i++) {
		const struct net_call *call = net_call(net, i);
		const char *found = memmem(call->heard, NET_HEARD_MAX, limit, strlen(limit));
		tokens += found ? strtoul(found + strlen(limit), NULL, 10) : 0;
	}
	if (tokens == 0)
		try_failed(try, "no request passed, not even one that fits");
	if (tokens > BUDGET_TOKENS_MAX)
		try_escaped(try, "requests for %lu tokens passed under a budget of %d", tokens, BUDGET_TOKENS_MAX);
}

/* ---- the catalogue ---- */

#define RESOLVER "--resolver 127.0.0.1:53 "
#define CAMPAIGN RESOLVER "--name doors --plain --state {dir}/state --output {dir}/runs -t 20s "
#define ALLOW80 RESOLVER "--allow good.test:80"

const struct review_attack review_doors[] = {
	{
		.id = "doors.direct",
		.technique = "connect and send to addresses outside, past every door: TCP and UDP, IPv4 and IPv6",
		.safe = "there is no network to do it in",
		.without = "net-namespace",
		.program = "doors direct",
		.tries = 50,
		.alone = doors_alone,
	},
	{
		.id = "doors.no-rules",
		.technique = "ask a proxy where no rule allows anything",
		.safe = "nobody listens, and nobody outside is asked",
		.by = "without a rule there is no listener, and no process that serves one",
		.program = "doors denied",
		.tries = 100,
		.alone = doors_alone,
	},
	{
		.id = "doors.literal-addresses",
		.technique = "ask for addresses instead of names: decimal, octal, hexadecimal, short, in IPv6, with zones, users, "
			     "dots, full-width and percent-encoded digits",
		.safe = "403 or 400; nobody is asked or called",
		.by = "what ends in a number, or is an IPv6 address, is no name, and every step takes names alone",
		.flags = RESOLVER "--allow good.test --allow *.good.test:443,private",
		.program = "doors literals",
		.tries = 500,
		.alone = doors_alone,
	},
	{
		.id = "doors.private-addresses",
		.technique = "ask for an allowed name whose address is a loopback, private, shared, link-local, metadata, reserved, "
			     "multicast or mapped one, or a public one of this machine itself, also by an alias",
		.safe = "403 after resolving; nobody is called",
		.without = "door-addresses",
		.flags = RESOLVER "--allow *.good.test:80",
		.program = "doors private",
		.tries = 100,
		.alone = doors_alone,
	},
	{
		.id = "doors.rebinding",
		.technique = "ask for names whose address changes between two questions, or that have a good and a bad one",
		.safe = "resolved once; what was checked is what is called",
		.without = "door-addresses",
		.flags = RESOLVER "--allow *.good.test:80",
		.program = "doors rebind",
		.tries = 30,
		.but = "*t-* *m-*",
		.alone = doors_alone,
	},
	{
		.id = "doors.denied-names",
		.technique = "ask for names that no rule allows, next to those that one does",
		.safe = "403, and no name server is asked",
		.without = "door-rules",
		.flags = RESOLVER "--allow good.test:80 --allow *.wild.test:80 --allow good.test",
		.program = "doors denied",
		.tries = 100,
		.alone = doors_alone,
	},
	{
		.id = "doors.bytes-in-names",
		.technique = "put every byte that no name has, and what stands for one, into names",
		.safe = "400, and no name server is asked",
		.without = "door-names",
		.flags = ALLOW80 " --allow *.good.test:80",
		.program = "doors bytes",
		.tries = 500,
		.alone = doors_alone,
	},
	{
		.id = "doors.case-and-dots",
		.technique = "ask for an allowed name in other cases and with dots, and for what is then no name",
		.safe = "one canonical form; the rest is 400",
		.without = "door-names",
		.flags = ALLOW80,
		.program = "doors forms",
		.tries = 20,
		.but = "*-[gG][oO][oO][dD].[tT][eE][sS][tT]:80 *-[gG][oO][oO][dD].[tT][eE][sS][tT].:80",
		.alone = doors_alone,
		.own_word = true,
	},
	{
		.id = "doors.lookalikes",
		.technique = "ask for punycode, percent-encoded once and twice, full-width and Cyrillic names, and names with users",
		.safe = "400 or 403, and no name server is asked",
		.without = "door-names",
		.flags = ALLOW80 " --allow *.wild.test:80",
		.program = "doors lookalikes",
		.tries = 40,
		.alone = doors_alone,
	},
	{
		.id = "doors.ports",
		.technique = "ask for an allowed name at other ports, and at texts that are its port to somebody",
		.safe = "403 or 400; nobody is asked or called",
		.without = "door-rules",
		.flags = ALLOW80,
		.program = "doors ports",
		.tries = 20,
		.alone = doors_alone,
	},
	{
		.id = "doors.server-names",
		.technique = "in a tunnel, TLS with another name, none, two, the extension twice, an encrypted hello, in pieces; or no TLS",
		.safe = "closed, and the server hears not a byte",
		.without = "door-sni",
		.flags = RESOLVER "--allow good.test --allow good.test:8443",
		.program = "tunnel hellos",
		.tries = 50,
		.alone = doors_alone,
	},
	{
		.id = "doors.smuggling",
		.technique = "requests that two readers read differently: both lengths, folding, other hosts, chunks that are none",
		.safe = "400, and nobody is called",
		.without = "door-syntax",
		.flags = ALLOW80,
		.program = "tunnel smuggle",
		.tries = 60,
		.alone = doors_alone,
	},
	{
		.id = "doors.pipelines",
		.technique = "say something else behind an allowed request, with it and after it",
		.safe = "it reaches nobody",
		.without = "door-one-request",
		.flags = ALLOW80,
		.program = "tunnel pipeline",
		.tries = 24,
		.alone = doors_alone,
	},
	{
		.id = "doors.large-heads",
		.technique = "heads of a request beyond all measure: of 9,000 and 60,000 bytes, of 150 fields",
		.safe = "431, and the next request is served",
		.without = "door-heads",
		.flags = ALLOW80,
		.program = "tunnel large",
		.tries = 6,
		.but = "afterwards-",
		.alone = doors_alone,
		.judge = judge_large,
		.own_word = true,
	},
	{
		.id = "doors.slow-heads",
		.technique = "a byte a second, and silence, wherever a door waits for something to be said",
		.safe = "sent away in time, while others are served",
		.without = "door-deadlines",
		.flags = ALLOW80 " --allow good.test:443",
		.program = "tunnel slow",
		.tries = 4,
		.alone = doors_alone,
		.judge = judge_slow,
		.own_word = true,
	},
	{
		.id = "doors.many-connections",
		.technique = "open 10,000 connections and hold them",
		.safe = "a share of them, and no more memory than that takes",
		.by = "a run's connections are taken up to its share, 1024 or fewer; others wait in the kernel's queue",
		.flags = RESOLVER "--allow good.test:8080 --open-files 600",
		.program = "tunnel greedy 20 500 10000",
		.tries = 1,
		.during = during_many,
		.alone = doors_alone,
		.judge = judge_many,
	},
	{
		.id = "doors.orphan",
		.technique = "ask for what is denied while the process that serves doors is killed, again and again; take its place",
		.safe = "nothing is open without it, and whoever follows has the same rules",
		.without = "door-rules",
		.flags = ALLOW80 " --allow good.test:8080",
		.program = "tunnel orphan 2500",
		.tries = 5,
		.during = during_orphan,
		.alone = doors_alone,
		.judge = judge_orphan,
	},
	{
		.id = "doors.neighbours",
		.technique = "one run of a campaign opens 10,000 connections at the process that serves the doors of all",
		.safe = "no more than a run may have are open; another run is served as ever",
		.by = "each run has listeners and a share of its own: what one does not get is not taken from another's",
		.flags = CAMPAIGN "--runs 2 --workers 2 --open-files 600 --allow good.test:80 --allow good.test:8080",
		.program = "tunnel neighbours",
		.alone = doors_alone_neighbours,
		.judge = judge_neighbours,
	},
	{
		.id = "doors.reload",
		.technique = "ask for what is denied while the policy of open doors is replaced by another",
		.safe = "never open in between, nor after it",
		.without = "door-rules",
		.flags = CAMPAIGN "--runs 1 --workers 1 --budget requests=3 --on-budget pause --allow good.test:80",
		.program = "tunnel reload",
		.alone = doors_alone_reload,
	},
	{
		.id = "doors.credential",
		.technique = "use a secret door whose server says back everything it was sent",
		.safe = "the credential goes out, and comes in never",
		.without = "door-scrub",
		.flags = "--secret-door safe=http://10.0.0.1:8081/,header=x-api-key,env=REVIEW_TOKEN,private",
		.program = "tunnel credential 127.0.1.1 80",
		.tries = 5,
		.before = before_credential,
		.alone = doors_alone,
		.judge = judge_credential,
	},
	{
		.id = "doors.guess",
		.technique = "send a secret door's server guesses of the credential, letter by letter, and see how it says them back",
		.safe = "a right letter comes back in the same pieces as a wrong one",
		.without = "door-even",
		.flags = "--secret-door safe=http://10.0.0.1:8082/,header=x-api-key,env=REVIEW_TOKEN,private",
		.program = "tunnel guess 127.0.1.1 80",
		.tries = 1,
		.before = before_credential,
		.alone = doors_alone,
		.judge = judge_guess,
	},
	{
		.id = "doors.budget",
		.technique = "ask a model at a secret door many times at once, for more than the budget, streamed and without usage",
		.safe = "what may be written for all that pass is within the budget",
		.without = "door-budget",
		.flags = "--secret-door safe=http://10.0.0.1:8081/,header=x-api-key,env=REVIEW_TOKEN,private --budget tokens=4000",
		.program = "tunnel spend 127.0.1.1 80",
		.tries = 40,
		.before = before_credential,
		.alone = doors_alone,
		.judge = judge_budget,
	},
	{0},
};
