// One run of a small job on the fake cloud: any number of controllers, one after the other, over one journal.
#ifndef RB_TESTS_FAKE_RUN_H
#define RB_TESTS_FAKE_RUN_H

#include "executor/controller/controller.h"
#include "executor/report/report.h"
#include "fake_cloud.h"
#include "samplers/follow.h"

struct fake_run {
    struct virtual_loop v;
    struct fake_cloud cloud;
    struct fake_machines machines;
    struct rb_arena arena;
    struct rb_plan *plan; // its values may be changed before fake_run_open
    struct rb_billing billing;
    char dir[64]; // removed by fake_run_finish
    char journal_path[96];
    const char *infra;
    struct rb_provider provider;
    struct rb_run_place place;
    struct rb_journal *journal;
    struct rb_controller *controller;
    struct rb_follower *sampler; // of this controller; NULL: the job has none
    int64_t deadline_us, budget_uusd; // of a fresh journal; -1: none
    int64_t poll_us, boot_timeout_us, held_timeout_us;
    int capacity_retries;
    const struct rb_node_chooser *chooser; // NULL: none
    bool go_on;
    bool has_hook; // notices are written into the outbox, for hook 0
    // How the last controller ended.
    bool finished;
    enum rb_job_outcome outcome;
    enum rb_stop_reason reason;
    struct rb_err err; // code NONE: well
    // Called after every turn.
    void (*observe)(void *ctx, struct fake_run *r, const struct rb_event *e);
    void *observe_ctx;
    char talk[4096]; // what it said to the user, the last bytes
};

// A job of 9 trials: (9 -> 1), (3 -> 3), (1 -> 9) epochs, 2 GPUs each on 4-GPU nodes.
void fake_run_init(struct fake_run *r, uint64_t seed);
void fake_run_make_gangs(struct fake_run *r); // 8 GPUs each, over two nodes: (4, 2, 2) nodes. Before fake_run_open
// The same 9 configurations, asynchronously: levels 1, 3, 9 on two nodes, 2 GPUs each. Before fake_run_open
void fake_run_make_asynchronous(struct fake_run *r, enum rb_rule rule);
void fake_run_make_anytime(struct fake_run *r, int64_t deadline_us); // likewise, under hypersched until the deadline
// The same 9 trials packed onto one node: halves of a GPU, 1, 2 or 4. Before fake_run_open
void fake_run_make_packed(struct fake_run *r);
// A population of 5 trains 9 epochs and is compared every 3, on two nodes, 2 GPUs each. Before fake_run_open
void fake_run_make_population(struct fake_run *r, bool asynchronous);
void fake_run_finish(struct fake_run *r);

void fake_run_open(struct fake_run *r); // journal (created if absent) and controller, started
void fake_run_open_dying(struct fake_run *r, int64_t n, enum rb_journal_death how); // n 0: lives
void fake_run_close(struct fake_run *r); // as if the process had ended: no one hears what comes later
// Steps until the controller has finished or virtual time passes limit_us; then closes it. true: finished.
bool fake_run_until_finished(struct fake_run *r, int64_t limit_us);
void fake_run_step_until(struct fake_run *r, int64_t at_us); // loop time
void fake_run_step_for(struct fake_run *r, int64_t us);
void fake_run_end_within(struct fake_run *r, int64_t us); // fails the test unless it ends by then and leaves no instance
struct rb_report fake_run_report(struct fake_run *r); // of its journal, now; in r->arena
void fake_run_assert_said(const struct fake_run *r, const char *text); // to the user

#endif
