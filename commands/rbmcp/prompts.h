// The prompts: fixed texts in which nothing is put but checked words of the client's own user.
#ifndef RB_COMMANDS_RBMCP_PROMPTS_H
#define RB_COMMANDS_RBMCP_PROMPTS_H

#include "base/document/doc.h"
#include "base/document/json.h"

#include <stdbool.h>

// What a client shows its model about this server.
extern const char rb_mcp_instructions[];

void rb_mcp_prompts_write(struct rb_json *j); // "prompts": [...]
// The members of the result of prompts/get. False: no such prompt, or an argument is missing or has another form; out_why gets a
// sentence.
bool rb_mcp_prompt_write(const struct rb_node *params, struct rb_buf *out, struct rb_buf *out_why);

#endif
