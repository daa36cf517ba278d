/* What the findings of each oracle are worth. */
#include <string.h>

#include "finding/finding.h"

const struct finding_rule finding_rules[] = {
	{"canary", "Something outside of its reach was read",
		"A token that was planted in a file, the environment or an account that the target has no business with came back in its "
		"answer. Check what its arguments may name: resolve paths first, then compare them with what is allowed.",
		SEVERITY_CRITICAL, 22, "the token is nowhere else: it was read"},
	{"command", "An argument reached a shell or became a program's arguments",
		"A process was started that the target's work does not call for, by what the argument said. Start programs with a list of "
		"words, never with a shell, and keep words that begin with a dash apart.",
		SEVERITY_CRITICAL, 78, "the process was seen from outside of the cell, or the argument where one is started"},
	{"file", "A file was made, changed or removed where it should not be",
		"Seen from outside of the cell, outside of the places that were declared with --allow-write.",
		SEVERITY_HIGH, 73, "the change was seen from outside of the cell"},
	{"network", "It tried to reach the network",
		"A connection was tried that was not declared with --allow-net: with an address of an attacker's choice this is a request "
		"forged by the server.",
		SEVERITY_HIGH, 918, "the attempt was seen from outside of the cell, or where it is begun"},
	{"secret", "A secret came back in an answer",
		"A planted secret, or a value that looks like a key, is in what the target answered.",
		SEVERITY_HIGH, 200, "the value is in the answer"},
	{"crash", "It crashed",
		"The target's process ended by a signal, or by itself in the middle of a call.", SEVERITY_HIGH, 248,
		"whoever can send this input can end the service"},
	{"hang", "It did not answer in time",
		"No answer came within the time for one call, and none came later.", SEVERITY_MEDIUM, 400,
		"whoever can send this input can hold up the service"},
	{"memory", "It took more and more memory",
		"Memory grew with the calls and was not given back, or one call took more than its cell may have.", SEVERITY_MEDIUM, 770,
		"whoever can send this input can exhaust the machine"},
	{"trace", "Its inner workings came back in an answer",
		"A stack trace, a path of the machine or a variable of the environment is in the answer: catch errors where they arise, and "
		"answer with what the caller can do about them.",
		SEVERITY_LOW, 209, "it tells an attacker where to look"},
	{"exception", "It failed in a way that it does not declare",
		"An internal error, and not one that says what is wrong with the input.", SEVERITY_MEDIUM, 755,
		"an error that nobody thought of is often the first sign of more"},
	{"output-schema", "Its answer does not fit the schema it declares",
		"Whoever trusts the declared schema will fail on this answer.", SEVERITY_MEDIUM, 1287,
		"callers rely on the schema"},
	{"protocol", "It breaks the protocol",
		"What it sent is not what the protocol allows: no JSON, an answer to nothing, two answers, a wrong version.", SEVERITY_MEDIUM,
		1286, "clients rely on the protocol"},
	{"spawn", "It started a program that was not declared",
		"A process was started, seen from outside of the cell, and nothing shows that an argument made it so. If it is the target's "
		"work, declare it with --allow-spawn: then whatever else is started stands out.",
		SEVERITY_LOW, 0, "it may be its work, but it is a way in for whoever finds how to steer it"},
	{"accepted", "Input that does not fit its schema was accepted",
		"The target's own schema rules the value out, and it went to work on it all the same.", SEVERITY_LOW, 20,
		"checks that come later rely on this one"},
	{"refused", "Input that fits its schema was refused",
		"The schema promises more than the target keeps.", SEVERITY_NOTE, 0, "nothing is harmed; the schema is wrong"},
	{"unstable", "The same input has different answers",
		"The answer differs from one time to the next, in more than times and identifiers.", SEVERITY_NOTE, 0,
		"it may be meant, but it cannot be relied on"},
	{0},
};

const struct finding_rule *finding_rule(const char *oracle)
{
	for (const struct finding_rule *rule = finding_rules; rule->oracle; rule++)
		if (strcmp(rule->oracle, oracle) == 0)
			return rule;
	return NULL;
}
