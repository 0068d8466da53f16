// Programs at work for calls: started, read from, ended.
#ifndef RB_COMMANDS_RBMCP_CALLS_H
#define RB_COMMANDS_RBMCP_CALLS_H

#include "base/limits.h"
#include "commands/rbmcp/protocol.h"
#include "commands/rbmcp/tools.h"

#include <sys/types.h>

enum rb_mcp_purpose { RB_MCP_FOR_TOOL, RB_MCP_FOR_REPORT, RB_MCP_FOR_ERROR, RB_MCP_FOR_RUNS };

struct rb_mcp_call {
    enum rb_mcp_purpose purpose;
    enum rb_mcp_era era;
    char id[RB_MCP_ID_BYTES], token[RB_MCP_ID_BYTES]; // as JSON
    char uri[256];                                    // of a resource
    struct rb_mcp_work work;
    pid_t pid;
    int out_fd, err_fd;     // of pipes, -1 once they have ended; of a run that begins, of files without a name
    struct rb_buf out, err;
    bool too_long;          // it printed more than RB_LIMIT_MCP_OUTPUT, and was ended
    bool cancelled;         // no answer is wanted any more
    int64_t started_us;
    int n_progress;
};

// Starts work.argv. False: it cannot be started.
bool rb_mcp_call_start(struct rb_mcp_call *call, struct rb_err *err);
// Takes what there is to read; true: both pipes have ended, so its process is over or about to be.
bool rb_mcp_call_read(struct rb_mcp_call *call);
// Of a run that begins: its id once it has one, or "" and *out_over once its process has ended without.
void rb_mcp_call_look(struct rb_mcp_call *call, char out_run[static 128], bool *out_over, int *out_status);
void rb_mcp_call_end(struct rb_mcp_call *call); // its whole process group, unless its work goes on
int rb_mcp_call_wait(struct rb_mcp_call *call); // status, as of waitpid
void rb_mcp_call_finish(struct rb_mcp_call *call);

#endif
