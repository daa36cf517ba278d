/* Between compile.c (nodes, references, scopes) and compile_keywords.c (what each keyword puts into a node). */
#ifndef HOTCELL_SCHEMA_COMPILE_PRIVATE_H
#define HOTCELL_SCHEMA_COMPILE_PRIVATE_H

#include "schema/node.h"
#include "schema/resource.h"

#define NODE_BUCKETS 8192
#define KEY(word) ((struct node_key){(word), __builtin_strlen(word)})

/* What one dynamic anchor means, and what the others do. */
struct env {
	const struct env *outer;
	const char *name;
	struct resource *resource;
	const struct env *next; /* of all */
};

/* A node to be filled. */
struct job {
	const struct value *value;
	const struct env *env;
	struct resource *resource;
	struct node *node;
	struct job *next, *same_bucket;
};

struct compiler {
	struct schema *schema;
	struct resources resources;
	const struct env *envs;
	unsigned env_count;
	struct job *jobs, **last;
	struct job *buckets[NODE_BUCKETS];
	size_t pattern_bytes; /* of the compiled expressions */
	unsigned char *loop_state; /* by a node's id */
	struct err *err;
};

/* "#/where/word: sentence". Returns -1. */
int compile_fail(struct compiler *compiler, const struct node *node, const char *word, const char *sentence);
/* The same with the sentence that is in the compiler's err, whose code is kept. */
int compile_fail_inner(struct compiler *compiler, const struct node *node, const char *word);
/* The node of a schema; made if it is new. NULL when the limits are reached. */
struct node *compile_node(struct compiler *compiler, const struct value *value, struct resource *resource,
	const struct env *env, const struct node *parent, struct node_key step, struct node_key member);
/* The node that a reference in `job` means. */
struct node *compile_reference(struct compiler *compiler, struct job *job, const struct value *value, enum keyword_id id);

/* The value has the keyword's shape. */
int compile_keyword(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value);
int compile_finish(struct compiler *compiler, struct job *job); /* when all keywords of a node are in */

#endif
