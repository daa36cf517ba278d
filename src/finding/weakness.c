/* What a finding of a function is worth, by what its sanitizer or its language says of it: an oracle alone knows only that it
 * ended. Pure, and made from what a capsule holds, so that older ones are told apart as well; ids do not depend on it. */
#include <string.h>

#include "finding/finding.h"

#define FUNCTION_KIND "function-"

static const char writes[] = "it writes where it must not: with the right input that is often a way to run code";
static const char reads[] = "it reads where it must not: what lies there may be given away, or the service ends";
static const char ends[] = "whoever can send this input can end the service";
static const char counts[] = "a number is not what the code takes it for, and what is done with it goes wrong later";
static const char unforeseen[] = "an error that nobody thought of is often the first sign of more";

/* The first row that fits counts. */
static const struct {
	const char *oracle;
	const char *message; /* is in it */
	const char *evidence; /* is in one of its lines; NULL: whatever they say */
	struct finding_weakness is;
} rows[] = {
	{"crash", "stack-overflow", NULL, {SEVERITY_HIGH, 674, ends}},
	{"crash", "stack overflow", NULL, {SEVERITY_HIGH, 674, ends}},
	{"crash", "double-free", NULL, {SEVERITY_CRITICAL, 415, "the heap's own records are overwritten: that is often a way to run code"}},
	{"crash", "use-after-free", "WRITE of size", {SEVERITY_CRITICAL, 416, writes}},
	{"crash", "use-after-free", NULL, {SEVERITY_HIGH, 416, reads}},
	{"crash", "use-after-return", "WRITE of size", {SEVERITY_CRITICAL, 562, writes}},
	{"crash", "use-after-return", NULL, {SEVERITY_HIGH, 562, reads}},
	{"crash", "use-after-scope", "WRITE of size", {SEVERITY_CRITICAL, 825, writes}},
	{"crash", "use-after-scope", NULL, {SEVERITY_HIGH, 825, reads}},
	{"crash", "use-after-poison", NULL, {SEVERITY_HIGH, 825, reads}},
	{"crash", "buffer-underflow", "WRITE of size", {SEVERITY_CRITICAL, 124, writes}},
	{"crash", "buffer-underflow", NULL, {SEVERITY_HIGH, 127, reads}},
	{"crash", "-overflow", "WRITE of size", {SEVERITY_CRITICAL, 787, writes}},
	{"crash", "-overflow", "READ of size", {SEVERITY_HIGH, 125, reads}},
	{"crash", "alloc-dealloc-mismatch", NULL, {SEVERITY_MEDIUM, 762, "what the heap makes of it differs from one machine to the next"}},
	{"crash", "attempting free", NULL, {SEVERITY_HIGH, 590, "the heap is given what is not its own"}},
	{"crash", "negative-size-param", NULL, {SEVERITY_HIGH, 195, "a length below zero is a very large one"}},
	{"crash", "param-overlap", NULL, {SEVERITY_MEDIUM, 475, "what is copied onto itself may be anything"}},
	{"crash", "allocation-size-too-big", NULL, {SEVERITY_MEDIUM, 789, ends}},
	{"crash", "calloc-overflow", NULL, {SEVERITY_MEDIUM, 190, counts}},
	{"crash", "out-of-memory", NULL, {SEVERITY_MEDIUM, 789, ends}},
	{"crash", "use-of-uninitialized-value", NULL, {SEVERITY_MEDIUM, 457, "what it does hangs on what was there before"}},
	{"crash", "Sanitizer: SEGV", "points to the zero page", {SEVERITY_MEDIUM, 476, ends}},
	{"crash", "Sanitizer: SEGV", "caused by a WRITE", {SEVERITY_CRITICAL, 787, writes}},
	{"crash", "Sanitizer: SEGV", NULL, {SEVERITY_HIGH, 125, reads}},
	{"crash", "Sanitizer: FPE", NULL, {SEVERITY_MEDIUM, 369, ends}},
	{"crash", "null pointer", NULL, {SEVERITY_MEDIUM, 476, ends}},
	{"crash", "out of bounds for type", NULL, {SEVERITY_HIGH, 129, "an index is not checked: what lies there is read or written"}},
	{"crash", "insufficient space", NULL, {SEVERITY_HIGH, 119, "it leaves the object that it works on"}},
	{"crash", "division by zero", NULL, {SEVERITY_MEDIUM, 369, ends}},
	{"crash", "integer overflow", NULL, {SEVERITY_MEDIUM, 190, counts}},
	{"crash", "cannot be represented", NULL, {SEVERITY_MEDIUM, 190, counts}},
	{"crash", "outside the range of representable", NULL, {SEVERITY_MEDIUM, 681, counts}},
	{"crash", "shift exponent", NULL, {SEVERITY_MEDIUM, 1335, counts}},
	{"crash", "pointer index expression", NULL, {SEVERITY_MEDIUM, 468, counts}},
	{"crash", "undefined behaviour: ", NULL, {SEVERITY_MEDIUM, 758, "what it does is up to the compiler"}},
	{"crash", "assertion failed", NULL, {SEVERITY_MEDIUM, 617, ends}},
	{"crash", "a signal ended it", " in __assert_fail", {SEVERITY_MEDIUM, 617, ends}},
	{"crash", "a signal ended it", " in abort", {SEVERITY_MEDIUM, 617, ends}},
	{"crash", "it ended the process", NULL, {SEVERITY_HIGH, 382, ends}},
	{"hang", "", NULL, {SEVERITY_MEDIUM, 835, "whoever can send this input can hold up the service"}},
	{"memory", "asked for too much", NULL, {SEVERITY_MEDIUM, 789, "whoever can send this input can exhaust the machine"}},
	{"exception", "RecursionError", NULL, {SEVERITY_MEDIUM, 674, ends}},
	{"exception", "StackOverflowError", NULL, {SEVERITY_MEDIUM, 674, ends}},
	{"exception", "Maximum call stack size exceeded", NULL, {SEVERITY_MEDIUM, 674, ends}},
	{"exception", "Prototype Pollution", NULL, {SEVERITY_HIGH, 1321, "what every object has is changed by an input"}},
	{"exception", "Path Traversal", NULL, {SEVERITY_HIGH, 22, "an input chooses the file"}},
	{"exception", "ZeroDivisionError", NULL, {SEVERITY_MEDIUM, 369, unforeseen}},
	{"exception", "divide by zero", NULL, {SEVERITY_MEDIUM, 369, unforeseen}},
	{"exception", "ArithmeticException: / by zero", NULL, {SEVERITY_MEDIUM, 369, unforeseen}},
	{"exception", "with overflow", NULL, {SEVERITY_MEDIUM, 190, counts}},
	{"exception", "index out of ", NULL, {SEVERITY_MEDIUM, 129, unforeseen}},
	{"exception", "IndexOutOfBounds", NULL, {SEVERITY_MEDIUM, 129, unforeseen}},
	{"exception", "IndexError", NULL, {SEVERITY_MEDIUM, 129, unforeseen}},
	{"exception", "nil pointer", NULL, {SEVERITY_MEDIUM, 476, unforeseen}},
	{"exception", "NullPointerException", NULL, {SEVERITY_MEDIUM, 476, unforeseen}},
	{"exception", "AssertionError", NULL, {SEVERITY_MEDIUM, 617, unforeseen}},
	{"exception", "assertion ", NULL, {SEVERITY_MEDIUM, 617, unforeseen}},
	{"exception", "panic", NULL, {SEVERITY_MEDIUM, 617, unforeseen}},
	{"exception", "", NULL, {SEVERITY_MEDIUM, 248, unforeseen}},
};

static bool evidence_has(const struct finding *finding, const char *text)
{
	for (size_t i = 0; i < finding->evidence.count; i++)
		if (strstr(finding->evidence.items[i], text))
			return true;
	return false;
}

struct finding_weakness finding_weakness(const struct finding *finding)
{
	const struct finding_rule *rule = finding->oracle ? finding_rule(finding->oracle) : NULL;
	bool function = finding->kind && strncmp(finding->kind, FUNCTION_KIND, strlen(FUNCTION_KIND)) == 0;

	for (size_t i = 0; function && rule && finding->message && i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].oracle, rule->oracle) == 0 && strstr(finding->message, rows[i].message) &&
			(!rows[i].evidence || evidence_has(finding, rows[i].evidence)))
			return rows[i].is;
	return rule ? (struct finding_weakness){rule->severity, rule->cwe, rule->why} : (struct finding_weakness){SEVERITY_MEDIUM, 0, ""};
}
