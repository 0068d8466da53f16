// The tools: a table of names, inputs and outputs. A tool is a program of ours with --json, run as a child: it can be cancelled
// by ending its process group, and cannot print on our stdout.
#ifndef RB_COMMANDS_RBMCP_TOOLS_H
#define RB_COMMANDS_RBMCP_TOOLS_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "commands/rbmcp/sandbox.h"

#include <stdbool.h>

enum { RB_MCP_WORDS = 96, RB_MCP_ARGS = 4 };

struct rb_mcp_setting {
    struct rb_mcp_sandbox sandbox;
    char bin[PATH_MAX];     // where our programs are
    const char *state_dir;  // for rbrun; NULL: the user's own
    char scratch[64];       // a folder of ours, "" until it is needed
    int n_scratch;          // files named so far
};

// What a call does: starts a program, or has its result at once.
struct rb_mcp_work {
    struct rb_arena arena;
    const char *argv[RB_MCP_WORDS]; // NULL-terminated; [0] NULL: nothing to start, `result` is it
    int n_words;
    bool goes_on;            // neither cancelling nor our end ends it: it begins or ends a run
    bool begins_run;         // its result is the id that it prints on stderr
    bool last_line;          // its stdout is JSON lines, and the last one is the result
    bool explains;           // its stderr is part of the result
    const char *keep;        // a plan that it writes there and that is kept under its digest; NULL: none
    struct rb_buf result;    // JSON
};
void rb_mcp_work_finish(struct rb_mcp_work *w);

enum rb_mcp_type { RB_MCP_TEXT, RB_MCP_TEXTS, RB_MCP_DOLLARS };
struct rb_mcp_arg {
    const char *name;
    enum rb_mcp_type type;
    bool required;
    const char *description;
    const char *option; // TEXTS: each becomes --option=TEXT; NULL: `prepare` uses it
};

struct rb_mcp_tool {
    const char *name, *title, *description;
    struct rb_mcp_arg args[RB_MCP_ARGS];       // name NULL ends them
    const char *output_schema;                 // JSON
    bool read_only, destructive, idempotent;
    // "rbplan --check": the program, and a word for it; --json and its job or run are added. NULL: `prepare` does it all.
    const char *words;
    // What this tool does beyond that; NULL: nothing. False: the tool fails with that error.
    bool (*prepare)(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w, struct rb_err *err);
};

const struct rb_mcp_tool *rb_mcp_tool_find(const char *name); // NULL: none
void rb_mcp_tools_write(struct rb_json *j);                   // "tools": [...]
// Are these arguments what the tool takes? out_why gets a sentence where not. args NULL: none were given.
bool rb_mcp_tool_takes(const struct rb_mcp_tool *tool, const struct rb_node *args, struct rb_buf *out_why);
// args have their types.
bool rb_mcp_tool_prepare(const struct rb_mcp_tool *tool, struct rb_mcp_setting *s, const struct rb_node *args,
                         struct rb_mcp_work *w, struct rb_err *err);

bool rb_mcp_is_run_id(const char *text);
void rb_mcp_word(struct rb_mcp_work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// argv of a program of ours; more words may follow.
void rb_mcp_program(const struct rb_mcp_setting *s, struct rb_mcp_work *w, const char *name);
void rb_mcp_state_words(const struct rb_mcp_setting *s, struct rb_mcp_work *w); // of rbrun

#endif
