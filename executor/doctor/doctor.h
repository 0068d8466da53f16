// Checks everything that a run needs, before the run: ssh, state directory, prices, secrets, clouds. Changes and
// launches nothing, unless it is asked to try commands in a pod.
#ifndef RB_EXECUTOR_DOCTOR_H
#define RB_EXECUTOR_DOCTOR_H

#include "executor/journal/run_files.h"
#include "executor/run/infras.h"
#include "executor/transport/loop_uv.h"
#include "providers/provider.h"

enum rb_verdict { RB_VERDICT_OK, RB_VERDICT_WARN, RB_VERDICT_FAIL };

struct rb_finding {
    const char *check;       // static: "credentials"
    char subject[128];       // what was checked: "aws/us-east-1"; "": this machine
    enum rb_verdict verdict;
    char detail[512];
    char remedy[256];        // "": nothing to do
    bool denied;             // credentials, permission or quota: exit 5
};

struct rb_doctor {
    const char *state_dir;     // NULL: the user's own
    struct rb_run_files files; // of the plan; its arena holds everything else
    const struct rb_job *job;  // of the plan, or a file; NULL: neither was given
    struct rb_plan *plan;      // NULL: none was given
    struct rb_plan *wishes;    // the plan, or what the job names: permissions are checked for it; NULL: nothing
    char root[4096];           // where runs are; "": unknown
    char infras[RB_RUN_INFRAS][64];
    int n_infras;
    struct rb_finding *findings; // [n_findings], in the order of the checks
    int n_findings;
};

void rb_doctor_init(struct rb_doctor *d, const char *state_dir); // finish with rb_doctor_finish
// plan.json or job.yaml: what the user wants to run.
bool rb_doctor_read(struct rb_doctor *d, const char *path, struct rb_err *err);
bool rb_doctor_add_infra(struct rb_doctor *d, const char *infra, struct rb_err *err); // --infra
void rb_doctor_examine(struct rb_doctor *d);                                    // fills findings
// Starts one pod in each cluster of Kubernetes that the plan names, measures a command in it, deletes it and says what it
// cost. After examine: where something fails there, nothing is started.
void rb_doctor_exec(struct rb_doctor *d);
int rb_doctor_exit_code(const struct rb_doctor *d);
void rb_doctor_finish(struct rb_doctor *d);

// ---- for its parts

struct rb_finding *rb_doctor_find(struct rb_doctor *d, const char *check, const char *subject, enum rb_verdict verdict,
                                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// Checks credentials, clock, left-over instances and quotas of each infra, and permissions and images for the wishes.
void rb_doctor_clouds(struct rb_doctor *d);
// Checks the container image of each infra, where the job names one, and on this machine what runs it.
void rb_doctor_images(struct rb_doctor *d);
// Checks whether the plan fits into the quotas of one infra. Asks nothing without a plan, or of a cloud without quotas.
void rb_doctor_quotas(struct rb_doctor *d, const char *infra, struct rb_provider *provider, struct rb_loop_uv *uv);

#endif
