// Inside `rbrun doctor` only: the list of findings, and who adds to it.
#ifndef RB_EXECUTOR_DOCTOR_H
#define RB_EXECUTOR_DOCTOR_H

#include "commands/rbrun/rbrun.h"

#include "executor/transport/loop_uv.h"
#include "providers/provider.h"

enum rb_verdict { RB_VERDICT_OK, RB_VERDICT_WARN, RB_VERDICT_FAIL };

struct rb_finding {
    const char *check;       // static: "credentials"
    char subject[128];       // what was looked at: "aws/us-east-1"; "": this machine
    enum rb_verdict verdict;
    char detail[512];
    char remedy[256];        // "": nothing to do
    bool denied;             // credentials, permission or quota: exit 5
};

struct rb_doctor {
    const struct rb_args *args;
    const struct rb_job *job;  // of the plan, or a file; NULL: neither was given
    struct rb_plan *plan;      // NULL: none was given
    struct rb_plan *wishes;    // what permissions are asked for: the plan, or what the job names; NULL: nothing
    char root[4096];           // where runs are; "": unknown
    struct rb_arena *arena;
    char infras[32][64];
    int n_infras;
    struct rb_finding *findings; // [n_findings], in the order of the checks
    int n_findings;
};

struct rb_finding *rb_doctor_find(struct rb_doctor *d, const char *check, const char *subject, enum rb_verdict verdict,
                                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// Credentials, clock, left-over instances and quotas of each infra; permissions and images of what is wished for.
void rb_doctor_clouds(struct rb_doctor *d);
// Room for the plan in the quotas of one infra; asks nothing where there is no plan, or the cloud has no quotas.
void rb_doctor_quotas(struct rb_doctor *d, const char *infra, struct rb_provider *provider, struct rb_loop_uv *uv);

#endif
