// Which files tools may be given: those below one folder, links followed, and plans that `estimate` has kept.
#ifndef RB_COMMANDS_RBMCP_SANDBOX_H
#define RB_COMMANDS_RBMCP_SANDBOX_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <limits.h>
#include <stdbool.h>

struct rb_mcp_sandbox {
    char root[PATH_MAX];  // real path
    char plans[PATH_MAX]; // where kept plans are: <sha256>.json
};

// root: an existing folder. plans is made if it does not exist.
bool rb_mcp_sandbox_open(struct rb_mcp_sandbox *s, const char *root, struct rb_err *err);
// The real path of an existing regular file below the root, absolute. MCP_PATH: it is outside, or has control characters;
// FILE_MISSING.
bool rb_mcp_sandbox_find(const struct rb_mcp_sandbox *s, const char *path, char out[static PATH_MAX], struct rb_err *err);
// A job: also what is read beside it by default must not be a link that leads out.
bool rb_mcp_sandbox_job(const struct rb_mcp_sandbox *s, const char *path, char out[static PATH_MAX], struct rb_err *err);
// A plan: "rb://plans/SHA256", or a file.
bool rb_mcp_sandbox_plan(const struct rb_mcp_sandbox *s, const char *path, char out[static PATH_MAX], struct rb_err *err);

#endif
