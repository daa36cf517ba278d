/* Calls that a spec denies, and those the listener is asked about. See filter.c. */
#include "cell/native/inside/filter.h"

#include <errno.h>
#include <string.h>

/* A number's side. */
enum side { SIDE_BEHIND, SIDE_APART /* denied, or observed */, SIDE_EFFECT /* + enum effect_test */ };

static unsigned char side_of(const struct call_set *set, uint32_t nr, bool counted)
{
	if (nr >= MAX_NR)
		return SIDE_BEHIND;
	if (set->denied[nr] || set->observed[nr] || (counted && set->effects[nr] == EFFECT_ALWAYS))
		return SIDE_APART;
	return counted && set->effects[nr] != EFFECT_NOT ? (unsigned char)(SIDE_EFFECT + set->effects[nr]) : SIDE_BEHIND;
}

#define BEHIND UINT32_MAX /* a jump's distance, until it is known; less the side, to what its test is */
#define NEAR_LEAVES 128 /* with their nodes, as far as a comparison can jump */

/* A tree of its own in front of the other, because its ranges cut across all of that one's: each leaf is a verdict, or a
 * jump behind it all, where the register still holds the number, or to a test. */
static void emit_apart(struct code *code, const struct range *ranges, size_t count, uint32_t verdict)
{
	if (count == 1 && ranges->action == SIDE_APART) {
		emit(code, BPF_RET | BPF_K, 0, 0, verdict);
		return;
	}
	if (count == 1) {
		emit(code, BPF_JMP | BPF_JA, 0, 0, BEHIND - ranges->action);
		return;
	}
	size_t half = count / 2, at = code->len;
	bool far = half > NEAR_LEAVES;
	emit(code, BPF_JMP | BPF_JGE | BPF_K, 0, far ? 1 : 0, ranges[half].first);
	if (far)
		emit(code, BPF_JMP | BPF_JA, 0, 0, 0);
	size_t left = code->len;
	emit_apart(code, ranges, half, verdict);
	size_t skip = code->len - left;
	if (!code->full && far)
		code->insn[at + 1].k = (uint32_t)skip;
	else if (!code->full)
		code->insn[at].jt = (uint8_t)skip;
	emit_apart(code, ranges + half, count - half, verdict);
}

/* What is asked about by its arguments; at[]: where each test begins. It ends with the number in the register again, for
 * what is not asked about: the filter decides on that as ever. */
static void emit_effect_tests(struct code *code, uint64_t mark, size_t at[EFFECT_TEST_COUNT])
{
#define ARG(index) offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t)
#define LOAD(offset) { BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(offset) }
#define ASKS(here) (uint8_t)(12 - (here) - 1)
#define GOES_ON(here) (uint8_t)(13 - (here) - 1)
	const struct sock_filter tests[] = {
		/* 0: addressed */
		LOAD(ARG(4)), { BPF_JMP | BPF_JEQ | BPF_K, 0, ASKS(1), 0 },
		LOAD(ARG(4) + sizeof(uint32_t)), { BPF_JMP | BPF_JEQ | BPF_K, GOES_ON(3), ASKS(3), 0 },
		/* 4: opens, by the second argument; 6: by the third, and unmarked */
		LOAD(ARG(1)), { BPF_JMP | BPF_JSET | BPF_K, ASKS(5), GOES_ON(5), EFFECT_OPEN_FLAGS },
		LOAD(ARG(2)), { BPF_JMP | BPF_JSET | BPF_K, 0, GOES_ON(7), EFFECT_OPEN_FLAGS },
		/* 8: unmarked */
		LOAD(ARG(5)), { BPF_JMP | BPF_JEQ | BPF_K, 0, ASKS(9), (uint32_t)mark },
		LOAD(ARG(5) + sizeof(uint32_t)), { BPF_JMP | BPF_JEQ | BPF_K, GOES_ON(11), ASKS(11), (uint32_t)(mark >> 32) },
		/* 12, 13 */
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF }, LOAD(offsetof(struct seccomp_data, nr)),
	};
#undef ARG
#undef LOAD
#undef ASKS
#undef GOES_ON
	at[EFFECT_ADDRESSED] = code->len;
	at[EFFECT_OPEN1] = code->len + 4;
	at[EFFECT_OPEN2_UNMARKED] = code->len + 6;
	at[EFFECT_UNMARKED] = code->len + 8;
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		emit(code, tests[i].code, tests[i].jt, tests[i].jf, tests[i].k);
}

void emit_denied(struct code *code, const struct call_set *set, bool counted)
{
	struct range ranges[MAX_NR + 1];
	size_t count = 0, begin = code->len, at[EFFECT_TEST_COUNT] = { 0 };
	bool tests = false;

	for (uint32_t nr = 0; nr <= MAX_NR; nr++) {
		unsigned char side = side_of(set, nr, counted);
		if (nr == 0 || side != ranges[count - 1].action)
			ranges[count++] = (struct range){ nr, side };
		tests = tests || side > SIDE_EFFECT;
	}
	if (count == 1)
		return; /* none */
	emit_apart(code, ranges, count, counted ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM);
	size_t end = code->len;
	if (tests)
		emit_effect_tests(code, set->mark, at);
	for (size_t i = begin; i < end; i++) {
		struct sock_filter *insn = &code->insn[i];
		if (insn->code != (BPF_JMP | BPF_JA) || insn->k < BEHIND - SIDE_EFFECT - EFFECT_TEST_COUNT)
			continue;
		size_t side = BEHIND - insn->k;
		insn->k = (uint32_t)((side > SIDE_EFFECT ? at[side - SIDE_EFFECT] : code->len) - i - 1);
	}
}
