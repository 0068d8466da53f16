// What a call returns, from what its program printed.
#ifndef RB_COMMANDS_RBMCP_RESULTS_H
#define RB_COMMANDS_RBMCP_RESULTS_H

#include "commands/rbmcp/calls.h"

// Appends the line that answers the call. status: of its process, as of waitpid.
void rb_mcp_answer(struct rb_mcp_setting *s, struct rb_mcp_call *call, int status, struct rb_buf *out);
// The result of a tool that is known without a program: JSON.
void rb_mcp_answer_with(const struct rb_mcp_call *call, const char *json, struct rb_buf *out);
// A tool has failed: isError, with the error as rb-error/1.
void rb_mcp_answer_error(const struct rb_mcp_call *call, const struct rb_err *err, struct rb_buf *out);

#endif
