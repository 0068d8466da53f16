// Which runs were started on other hosts from here: a folder ROOT/elsewhere/RUN for each, made before its host is asked.
// So what a killed command has asked for is known, and asking again asks for the same run.
//   asked   the place, then the digest of the plan
//   begun   empty; the host has said that it has begun
// and, until then, what is sent. `rbrun list` shows them; what became of a run only its host knows.
#ifndef RB_EXECUTOR_ELSEWHERE_H
#define RB_EXECUTOR_ELSEWHERE_H

#include "base/errors/err.h"

#include <stdbool.h>

struct rb_elsewhere {
    char run_id[128], dir[4352];
    char place[320]; // "ssh:box"
    char plan_sha256[65];
    bool begun, forgotten;
    int lock; // of rb_elsewhere_ask; -1: none
};

// The run that is to begin: one that was asked for in the same way, never confirmed, and that no process is asking for now;
// else a new one of that job. Locked until rb_elsewhere_finish.
bool rb_elsewhere_ask(const char *root, const char *place, const char *job_name, const char *plan_sha256,
                      struct rb_elsewhere *out, struct rb_err *err);
void rb_elsewhere_confirm(struct rb_elsewhere *e); // it has begun
void rb_elsewhere_forget(struct rb_elsewhere *e);  // it has not, and will not
void rb_elsewhere_finish(struct rb_elsewhere *e);
// False: no such record.
bool rb_elsewhere_find(const char *root, const char *run_id, struct rb_elsewhere *out);
// Calls fn for every record, in no order.
bool rb_elsewhere_each(const char *root, void (*fn)(void *ctx, const struct rb_elsewhere *e), void *ctx,
                       struct rb_err *err);

#endif
