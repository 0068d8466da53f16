// Another program that proposes configurations: a child that speaks rb-search/1 on its stdin and stdout
// (docs/formats/search.md). It may crash, hang and lie: it is started again with all that it should know, a few times,
// and then the run continues without it or ends. Only its answers decide, and the run journals those as events.
#ifndef RB_EXECUTOR_SEARCH_PROGRAM_H
#define RB_EXECUTOR_SEARCH_PROGRAM_H

#include "base/loop.h"
#include "engine/core/suggest.h"
#include "engine/plan/plan.h"

#define RB_SEARCH_RESTARTS 3 // failures that are forgiven

struct rb_search_program;

// Every callback comes from the loop, never from inside a call.
struct rb_search_program_config {
    const struct rb_loop *loop;
    const struct rb_plan *plan; // outlives it; its scheduler.sampler has a command
    const char *workdir;        // where the command runs
    const char *log;            // the file that its stderr is appended to; NULL: ours
    bool ahead;                 // once it was slow, asks for the next trial before the engine does
    // An answer that suggest() did not have: an RB_EVENT_SUGGESTED without its time, borrowed.
    void (*answered)(void *ctx, const struct rb_event *event);
    void (*note)(void *ctx, const char *text);                 // for the user: it failed, and what follows
    void (*failed)(void *ctx, const struct rb_err *err);       // for good, and the job says on_failure: stop
    void *ctx;
};

// The program is started at the first question. workdir and log are copied.
struct rb_search_program *rb_search_program_create(const struct rb_search_program_config *config);
void rb_search_program_destroy(struct rb_search_program *p); // ends the program; accepts NULL
const struct rb_suggester *rb_search_program_suggester(const struct rb_search_program *p);

#endif
