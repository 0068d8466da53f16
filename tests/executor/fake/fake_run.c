#include "fake_run.h"

#include "engine/core/rungs.h"
#include "executor/journal/outbox.h"
#include "profiles/job/job_notify.h"
#include "tests/base/remove_tree.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
// cmocka wants three of the above first
#include <cmocka.h>

static const char job_yaml[] = "name: fake\n"
                               "seed: 3\n"
                               "metric: {name: val_acc, goal: maximize}\n"
                               "parameters: {lr: {min: 0.1, max: 0.9}}\n"
                               "scheduler: {type: sha, num_trials: 9, min_resource: 1, max_resource: 9, eta: 3}\n"
                               "trial: {gpus: 2, timeout: 60s, max_restarts: 20}\n"
                               "run: python train.py $RB_ARGS\n"
                               "resources: {infra: [mock/here], instance_types: [box]}\n";

static const struct rb_offer offers[] = {
    {.infra = "mock/here", .instance_type = "box", .accelerator = "A", .gpus = 4, .rate = {3600000}, .source = "test"},
};

static const struct rb_profile unmeasured = {.name = "fake"};

static void must(bool ok, const struct rb_err *err)
{
    if (!ok) {
        fprintf(stderr, "fake run: %s\n", err->message);
        abort();
    }
}

static const struct rb_job *read_job(struct rb_arena *arena)
{
    struct rb_job *job = rb_arena_alloc(arena, sizeof *job);
    struct rb_doc doc;
    struct rb_err err;
    must(rb_doc_parse_yaml(&doc, "job.yaml", job_yaml, strlen(job_yaml), &err), &err);
    must(rb_job_read(doc.root, NULL, 0, arena, job, &err), &err);
    rb_doc_finish(&doc);
    return job;
}

// 3 nodes, then 2, then 1.
static struct rb_plan *make_plan(struct rb_arena *arena)
{
    struct rb_plan *plan = rb_arena_alloc(arena, sizeof *plan);
    const struct rb_job *job = read_job(arena);
    struct rb_rung_table table;
    struct rb_err err;
    must(rb_rungs_of_job(job, &table, &err), &err);
    struct rb_plan_stage *stages = rb_arena_array(arena, (size_t)table.n, sizeof *stages);
    for (int i = 0; i < table.n; i++) {
        struct rb_plan_nodes *nodes = rb_arena_alloc(arena, sizeof *nodes);
        *nodes = (struct rb_plan_nodes){.offer = 0, .count = table.n - i};
        stages[i] = (struct rb_plan_stage){.trials = table.rungs[i].trials,
                                           .resource_start = table.rungs[i].resource_start,
                                           .resource_end = table.rungs[i].resource_end,
                                           .gpus_per_trial = 2,
                                           .trials_per_gpu = 1,
                                           .waves = 1,
                                           .nodes = nodes,
                                           .n_nodes = 1};
    }
    *plan = (struct rb_plan){.tool = "test",
                             .job_path = "",
                             .job = job,
                             .profile = &unmeasured,
                             .policy = "elastic",
                             .planner = "static",
                             .deadline_us = -1,
                             .deadline_at_us = -1,
                             .budget_uusd = -1,
                             .stages = stages,
                             .n_stages = table.n,
                             .offers = offers,
                             .n_offers = 1};
    return plan;
}

void fake_run_make_gangs(struct fake_run *r)
{
    static const int sizes[] = {8};
    struct rb_job *job = rb_arena_alloc(&r->arena, sizeof *job);
    *job = *r->plan->job;
    job->trial.max_nodes = 2;
    job->trial.sizes = sizes;
    job->trial.n_sizes = 1;
    job->trial.min_gpus = job->trial.max_gpus = 8;
    r->plan->job = job;
    struct rb_plan_stage *stages = rb_arena_array(&r->arena, (size_t)r->plan->n_stages, sizeof *stages);
    for (int i = 0; i < r->plan->n_stages; i++) {
        struct rb_plan_nodes *nodes = rb_arena_alloc(&r->arena, sizeof *nodes);
        *nodes = (struct rb_plan_nodes){.offer = 0, .count = i == 0 ? 4 : 2};
        stages[i] = r->plan->stages[i];
        stages[i].gpus_per_trial = 8;
        stages[i].nodes = nodes;
    }
    r->plan->stages = stages;
}

void fake_run_make_asynchronous(struct fake_run *r, enum rb_rule rule)
{
    struct rb_job *job = rb_arena_alloc(&r->arena, sizeof *job);
    *job = *r->plan->job;
    job->scheduler.type = "asha";
    job->scheduler.brackets = 1;
    job->scheduler.rule = rule;
    struct rb_plan_nodes *nodes = rb_arena_alloc(&r->arena, sizeof *nodes);
    *nodes = (struct rb_plan_nodes){.offer = 0, .count = 2};
    struct rb_plan_stage *stages = rb_arena_array(&r->arena, (size_t)r->plan->n_stages, sizeof *stages);
    for (int i = 0; i < r->plan->n_stages; i++) {
        stages[i] = r->plan->stages[i];
        stages[i].nodes = nodes;
    }
    r->plan->job = job;
    r->plan->stages = stages;
}

static const struct rb_layout layouts[] = {{2, 1, 1.0}, {4, 1, 1.8}};
static const struct rb_training training = {
    .accelerator = "A", .base_s = 20, .layouts = layouts, .n_layouts = 2, .max_gpus = 4, .max_nodes = 1};
static const struct rb_profile profile = {
    .name = "fake", .unit = "epoch", .source = "", .training = &training, .n_training = 1};

void fake_run_make_anytime(struct fake_run *r, int64_t deadline_us)
{
    fake_run_make_asynchronous(r, RB_RULE_SPECULATE);
    struct rb_job *job = (struct rb_job *)r->plan->job;
    struct rb_plan_stage *stages = (struct rb_plan_stage *)r->plan->stages;
    job->scheduler.min_resource = 100; // no one is paused, and no one gets to the end
    job->scheduler.max_resource = 900;
    job->policy_options = (struct rb_policy_options){
        .speculation = true, .overhead = true, .admission = true, .resize_interval = 2, .atom_gpus = 2};
    for (int i = 0; i < r->plan->n_stages; i++)
        stages[i].resource_end *= 100;
    r->plan->profile = &profile;
    r->plan->policy = "hypersched";
    r->plan->deadline_us = r->deadline_us = deadline_us;
}

static const struct rb_layout packed_layouts[] = {{1, 1, 1.0}, {2, 1, 1.8}, {4, 1, 3.0}};
static const struct rb_gpu_sharing packed_sharing[] = {{2, 1.3}};
static const struct rb_training packed_training = {.accelerator = "A",
                                                   .base_s = 20,
                                                   .layouts = packed_layouts,
                                                   .n_layouts = 3,
                                                   .sharing = packed_sharing,
                                                   .n_sharing = 1,
                                                   .max_gpus = 4,
                                                   .max_nodes = 1};
static const struct rb_profile packed_profile = {
    .name = "fake", .unit = "epoch", .source = "", .training = &packed_training, .n_training = 1};

void fake_run_make_packed(struct fake_run *r)
{
    static const int sizes[] = {1, 2, 4}, shares[] = {1, 2};
    struct rb_job *job = rb_arena_alloc(&r->arena, sizeof *job);
    *job = *r->plan->job;
    job->trial.sizes = sizes;
    job->trial.n_sizes = 3;
    job->trial.min_gpus = 1;
    job->trial.max_gpus = 4;
    job->trial.shares = shares;
    job->trial.n_shares = 2;
    struct rb_plan_nodes *nodes = rb_arena_alloc(&r->arena, sizeof *nodes);
    *nodes = (struct rb_plan_nodes){.offer = 0, .count = 1};
    struct rb_plan_stage *stages = (struct rb_plan_stage *)r->plan->stages;
    for (int i = 0; i < r->plan->n_stages; i++)
        stages[i].nodes = nodes;
    r->plan->job = job;
    r->plan->profile = &packed_profile;
    r->plan->policy = "packing";
}

void fake_run_make_population(struct fake_run *r, bool asynchronous)
{
    static const struct rb_setting settings[] = {
        {.key = "ready_every", .kind = RB_NODE_INT, .number = 3},
        {.key = "quantile", .kind = RB_NODE_FLOAT, .number = 0.4},
        {.key = "asynchronous", .kind = RB_NODE_BOOL, .boolean = true},
    };
    fake_run_make_asynchronous(r, RB_RULE_PROMOTE);
    struct rb_job *job = (struct rb_job *)r->plan->job;
    struct rb_plan_stage *stages = (struct rb_plan_stage *)r->plan->stages;
    job->scheduler.type = job->scheduler.sampler.type = "pbt";
    job->scheduler.num_trials = 5;
    job->scheduler.options = (struct rb_settings){settings, asynchronous ? 3 : 2};
    for (int i = 0; i < r->plan->n_stages; i++) {
        stages[i].trials = 5;
        stages[i].resource_start = 3 * i;
        stages[i].resource_end = 3 * (i + 1);
    }
}

void fake_run_init(struct fake_run *r, uint64_t seed)
{
    *r = (struct fake_run){.deadline_us = -1,
                           .budget_uusd = -1,
                           .poll_us = 1000000,
                           .boot_timeout_us = 600000000,
                           .capacity_retries = 1000,
                           .infra = "mock/here",
                           .billing = {.rate = {3600000}}};
    const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; // thousands of journals: not on a disk
    snprintf(r->dir, sizeof r->dir, "%s/rb-fake-XXXXXX", shm);
    if (!mkdtemp(r->dir))
        abort();
    char keys[96];
    snprintf(keys, sizeof keys, "%s/keys", r->dir);
    mkdir(keys, 0700);
    snprintf(r->journal_path, sizeof r->journal_path, "%s/journal.db", r->dir);
    virtual_loop_init(&r->v);
    fake_cloud_init(&r->cloud, &r->v, seed);
    const struct fake_site site = fake_cloud_site(&r->cloud);
    fake_machines_init(&r->machines, &site, seed);
    r->cloud.died = fake_machines_died;
    r->cloud.died_ctx = &r->machines;
    r->provider = fake_cloud_provider(&r->cloud);
    rb_arena_init(&r->arena);
    r->plan = make_plan(&r->arena);
}

void fake_run_finish(struct fake_run *r)
{
    fake_run_close(r);
    while (virtual_loop_step(&r->v)) // what is still under way frees itself
        ;
    fake_machines_finish(&r->machines);
    fake_cloud_finish(&r->cloud);
    virtual_loop_finish(&r->v);
    rb_arena_finish(&r->arena);
    remove_tree(r->dir);
}

static bool birth(void *ctx, const struct rb_run_place *place, struct rb_buf *out, char host_key[static 128],
                  struct rb_err *err)
{
    (void)ctx, (void)place, (void)err;
    rb_buf_puts(out, "#cloud-config\n");
    strcpy(host_key, "ssh-ed25519 AAAA");
    return true;
}

static void observe(void *ctx, const struct rb_event *event, const struct rb_actions *actions)
{
    struct fake_run *r = ctx;
    (void)actions;
    if (r->observe)
        r->observe(r->observe_ctx, r, event);
}

static void talk(void *ctx, const char *kind, const char *text)
{
    struct fake_run *r = ctx;
    const size_t have = strlen(r->talk);
    snprintf(r->talk + have, sizeof r->talk - have, "%s: %s\n", kind, text);
    if (getenv("RB_TEST_TALK"))
        fprintf(stderr, "%10.3f %s: %s\n", (double)r->v.now_us / 1e6, kind, text);
}

static bool notice(void *ctx, enum rb_notice_kind what, const char *detail, struct rb_err *err)
{
    struct fake_run *r = ctx;
    const int64_t now_us = virtual_loop_unix_us(&r->v);
    struct rb_outbox_notice row = {.kind = rb_notice_names[what],
                                   .unix_us = now_us,
                                   .due_unix_us = now_us,
                                   .count = 1,
                                   .body = detail ? detail : ""};
    return rb_outbox_next_seq(r->journal, &row.seq, err) && rb_outbox_put(r->journal, &row, 1, err);
}

static void finished(void *ctx, enum rb_job_outcome outcome, enum rb_stop_reason reason, const struct rb_err *err)
{
    struct fake_run *r = ctx;
    assert(!r->finished);
    r->finished = true;
    r->outcome = outcome;
    r->reason = reason;
    r->err = err ? *err : (struct rb_err){0};
}

static struct rb_journal *open_journal(struct fake_run *r)
{
    struct rb_journal *journal;
    struct rb_err err;
    if (access(r->journal_path, F_OK) == 0) {
        must(rb_journal_open(r->journal_path, &journal, &err), &err);
    } else {
        const struct rb_journal_meta meta = {.run_id = "fake-run",
                                             .plan_sha256 = "0",
                                             .owner = "us",
                                             .started_unix_us = virtual_loop_unix_us(&r->v),
                                             .deadline_us = r->deadline_us,
                                             .budget_uusd = r->budget_uusd};
        must(rb_journal_create(r->journal_path, &meta, &journal, &err), &err);
    }
    must(rb_journal_relax(journal, &err), &err);
    return journal;
}

void fake_run_open(struct fake_run *r)
{
    fake_run_open_dying(r, 0, RB_JOURNAL_DIES_AFTER);
}

void fake_run_open_dying(struct fake_run *r, int64_t n, enum rb_journal_death how)
{
    struct rb_err err;
    r->journal = open_journal(r);
    if (r->has_hook)
        must(rb_outbox_prepare(r->journal, &err), &err);
    rb_journal_die(r->journal, n, how);
    r->finished = false;
    if (r->plan->job->scheduler.sampler.type)
        must(rb_follower_create(r->plan, &r->sampler, &err), &err);
    r->place = (struct rb_run_place){.infra = r->infra,
                                 .provider = &r->provider,
                                 .gives_birth = true,
                                 .boot_timeout_us = r->boot_timeout_us,
                                 .held_timeout_us = r->held_timeout_us};
    const struct rb_controller_config config = {
        .loop = &r->v.ours,
        .plan = r->plan,
        .journal = r->journal,
        .run_id = "fake-run",
        .run_dir = r->dir,
        .places = &r->place,
        .n_places = 1,
        .launcher = fake_machines_launcher,
        .launcher_ctx = &r->machines,
        .birth = birth,
        .ssh_user = "rb",
        .ssh_port = 22,
        .poll_us = r->poll_us,
        .capacity_retries = r->capacity_retries,
        .chooser = r->chooser,
        .go_on = r->go_on,
        .suggester = r->sampler ? rb_follower_suggester(r->sampler) : NULL,
        .observe = observe,
        .talk = talk,
        .notice = r->has_hook ? notice : NULL,
        .finished = finished,
        .ctx = r,
    };
    must(rb_controller_create(&config, &r->controller, &err), &err);
    rb_controller_start(r->controller);
}

void fake_run_close(struct fake_run *r)
{
    fake_cloud_new_session(&r->cloud);
    rb_controller_destroy(r->controller);
    rb_journal_close(r->journal);
    rb_follower_destroy(r->sampler);
    r->sampler = NULL;
    r->controller = NULL;
    r->journal = NULL;
}

bool fake_run_until_finished(struct fake_run *r, int64_t limit_us)
{
    while (!r->finished && r->v.now_us < limit_us && virtual_loop_step(&r->v))
        ;
    fake_run_close(r);
    return r->finished;
}

void fake_run_step_until(struct fake_run *r, int64_t at_us)
{
    while (r->v.now_us < at_us && !r->finished && virtual_loop_step(&r->v))
        ;
}

void fake_run_step_for(struct fake_run *r, int64_t us)
{
    fake_run_step_until(r, r->v.now_us + us);
}

void fake_run_end_within(struct fake_run *r, int64_t us)
{
    const int64_t limit_us = r->v.now_us + us;
    while (!r->finished && r->v.now_us < limit_us && virtual_loop_step(&r->v))
        ;
    if (!r->finished)
        fail_msg("the run does not end; it said:\n%s", r->talk);
    assert_int_equal(fake_cloud_alive(&r->cloud), 0);
}

struct rb_report fake_run_report(struct fake_run *r)
{
    struct rb_report report;
    struct rb_err err;
    if (!rb_report_make(r->journal, r->plan, &r->arena, &report, &err))
        fail_msg("%s", err.message);
    return report;
}

void fake_run_assert_said(const struct fake_run *r, const char *text)
{
    if (!strstr(r->talk, text))
        fail_msg("not a word of \"%s\":\n%s", text, r->talk);
}
