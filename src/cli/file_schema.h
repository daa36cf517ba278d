/* The schemas of our own files, JSON Schema 2020-12, made of the tables that their readers use: of a campaign's file from
 * the options of its verb, of a profile from the keys of profile.h. So an editor can complete and check what people write,
 * and the readers check what they take.
 *
 * A reader takes nothing that its schema refuses. The other way round there is a rest that a schema does not say: texts
 * that an option has a parser of its own for, the range of what has a unit, what two keys say together, and a key that has
 * nothing behind its colon, which YAML and JSON call by the same name as a written null. Pure. */
#ifndef HOTCELL_CLI_FILE_SCHEMA_H
#define HOTCELL_CLI_FILE_SCHEMA_H

#include "base/json.h"
#include "base/value.h"
#include "cli/core/cli.h"

void config_schema(const struct cli_verb *verb, struct json *json); /* of a file of the verb's options */
void profile_schema(struct json *json); /* with the system calls that cells know on this processor */

/* Whether the tree, read from `file`, fits the schema. What cannot be checked within schema.h's limits, such as a number of
 * thousands of digits, is refused as well. Errors: "FILE:LINE: sentence", code ERR_USAGE. */
MUST_CHECK int file_schema_check(const struct buf *schema, const struct value *root, const char *file, struct err *err);

#endif
