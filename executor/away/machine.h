// A machine that is made for a run's controller, beside the run's nodes: on demand, with the run's tags, a lease and a dead man's
// switch, as a node has them. The folder of the run's record (executor/away/elsewhere.h) says what was asked for before the
// cloud is asked, and the token follows from the run's id: a command that was killed and is repeated asks for the same machine.
//   machine           what it is (machine_file.c); the host gets a copy
//   keys, known_hosts how it is reached: a key of its own, and its host key, known beforehand
//   user-data         with the private half of its host key; removed once the machine has a name
//
// Its controller's credentials are those of resources.controller.instance_profile, else of the nodes' profile. It carries the run
// out, and ends last: once the run is over, its switch ends it after resources.controller.keep, or `rbrun move RUN --to here`
// does, when the run's files are safe.
#ifndef RB_EXECUTOR_MACHINE_H
#define RB_EXECUTOR_MACHINE_H

#include "engine/plan/plan.h"
#include "executor/away/elsewhere.h"
#include "executor/away/host.h"

enum { RB_MACHINE_KEEP_S = 3600 }; // from the end of the run until its files are lost with the machine, unless the job says

struct rb_machine {
    char infra[64], instance_type[64], image[256]; // image "": the provider's own
    char user[64];
    int port;
    int64_t uusd_per_hour;
    int64_t asked_unix_us, lifetime_s; // when it was first asked for, and how long it may live
    char host_key[128];    // "": it is not reached by ssh
    char shared_dir[1024]; // with the machine, where that is how it is reached; "": none
    char context[256], namespace[64]; // of a pod, as the job says; "": it does not
    char instance_id[128]; // "": not known yet
    char address[256];     // "": not known yet
    int64_t running_unix_us; // start of its bill, -1: not known yet
};

// machine_file.c
#define RB_MACHINE_FILE "machine"
// *out_is false: the folder has none.
bool rb_machine_read(const char *dir, struct rb_machine *out, bool *out_is, struct rb_err *err);
bool rb_machine_write(const char *dir, const struct rb_machine *m, struct rb_err *err);

// machine_cost.c: needs no cloud
int64_t rb_machine_keep_us(const struct rb_resources *resources);
// Does the plan rent something at this infra? Error: PLACE.
bool rb_machine_check_place(const struct rb_plan *plan, const char *infra, struct rb_err *err);
// Its price on demand in a list; where no bill comes it is 0 without one. Error: MACHINE_PRICE.
bool rb_machine_price(const struct rb_catalog *prices, const char *infra, const char *instance_type, int64_t *out_uusd_per_hour,
                      struct rb_err *err);
// The bill of a machine whose run takes run_us, and which is kept after that.
int64_t rb_machine_bill_uusd(int64_t uusd_per_hour, int64_t keep_us, int64_t run_us);
// Takes what a machine may cost off a budget, which then is that of the nodes; a budget of -1 stays. Error: MACHINE_BUDGET.
bool rb_machine_set_aside(int64_t most_uusd, int64_t *io_budget_uusd, struct rb_err *err);
// Until the deadline, or without one as long as 95 % of the runs take, and as long as it is kept. deadline_us -1: none.
int64_t rb_machine_most_uusd(const struct rb_machine *m, const struct rb_plan *plan, int64_t deadline_us);

// What would be made at this infra of the plan; instance_type: unless the job names one. Errors: PLACE, MACHINE_PROFILE, MACHINE_PRICE.
bool rb_machine_choose(const struct rb_plan *plan, const char *infra, const char *instance_type, struct rb_machine *out,
                       struct rb_err *err);
// Makes it, or goes on with the one that was asked for before, until ssh reaches it. Takes minutes. Errors: MACHINE_LOST, those
// of the cloud; the machine may be there then, and asking again finds it.
bool rb_machine_make(const struct rb_plan *plan, struct rb_elsewhere *e, const struct rb_machine *chosen,
                     int64_t deadline_us, struct rb_host *out, struct rb_err *err);
// How the machine of this folder is reached.
void rb_machine_host(const char *dir, const char *run_id, const struct rb_machine *m, struct rb_host *out);
// Ends it and waits until it is seen to have ended, which is when the cloud says so, or now. Error: MACHINE_LEFT.
bool rb_machine_end(const struct rb_machine *m, const struct rb_resources *resources, const char *run_id,
                    int64_t *out_ended_unix_us, struct rb_err *err);
// Moves its lease. resources: of the job.
bool rb_machine_renew(const struct rb_machine *m, const struct rb_resources *resources, int64_t until_unix_us,
                      struct rb_err *err);

#endif
