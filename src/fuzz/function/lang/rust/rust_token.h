/* Words and marks of Rust's text, without comments and texts. Pure; what is cut off ends. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_RUST_RUST_TOKEN_H
#define HOTCELL_FUZZ_FUNCTION_LANG_RUST_RUST_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

struct rust_token {
	const char *at;
	size_t len;
};

struct rust_reader {
	const char *text, *at, *end;
};

/* A word, a lifetime ('a), a number, or one mark. Texts and characters are one mark: their first quote. */
bool rust_next(struct rust_reader *reader, struct rust_token *ret);
/* Behind what closes the bracket that was just read; false: nothing does. */
bool rust_skip(struct rust_reader *reader, char open);
/* Behind a '<' that was just read: whether more than lifetimes are in it. */
bool rust_has_types(const struct rust_reader *reader);

bool token_is(struct rust_token token, const char *word);
bool token_is_word(struct rust_token token); /* a name, or a keyword */

#endif
