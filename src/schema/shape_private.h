/* Between shape.c (goals), shape_merge.c (closed goals) and shape_break.c (what can be broken). */
#ifndef HOTCELL_SCHEMA_SHAPE_PRIVATE_H
#define HOTCELL_SCHEMA_SHAPE_PRIVATE_H

#include "schema/shape.h"

#define PARTS_MAX 256

const struct node *literal_node(const struct shapes *shapes, literal it);
enum part literal_part(literal it);
enum sign literal_sign(literal it);
uint32_t literal_argument(literal it);

/* What of a node can be broken; at most PARTS_MAX. */
size_t node_parts(const struct node *node, struct broken *parts);
/* Literals that breaking a part of a node's logic comes to; 0 if the part is the node's own. `sign`: BROKEN or
 * BROKEN_ONCE. */
size_t broken_literals(const struct node *node, struct broken broken, enum sign sign, literal *ret);
/* Types, bounds, goals inside, of a shape whose terms are there. Sets `dead`. */
void shape_merge(struct shapes *shapes, struct shape *shape);
void heights_find(struct shapes *shapes);

#endif
