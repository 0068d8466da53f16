#include "case.h"

#include "base/text/buf.h"

#include <stdlib.h>
#include <string.h>

void case_init(struct rb_case *c, const char *job_yaml, const char *profile_yaml, const char *prices_csv)
{
    struct rb_err err = {0};
    *c = (struct rb_case){0};
    rb_arena_init(&c->arena);
    if (!rb_doc_parse_yaml(&c->job_doc, "job.yaml", job_yaml, strlen(job_yaml), &err) ||
        !rb_job_read(c->job_doc.root, NULL, 0, &c->arena, &c->job, &err) ||
        !rb_doc_parse_yaml(&c->profile_doc, "profile.yaml", profile_yaml, strlen(profile_yaml), &err) ||
        !rb_profile_read(c->profile_doc.root, NULL, "profile", &c->arena, &c->profile, &err) ||
        !rb_csv_parse(&c->prices_csv, "prices.csv", prices_csv, strlen(prices_csv), &err) ||
        !rb_catalog_from_csv(&c->prices_csv, &c->arena, &c->catalog, &err))
        fail_msg("%s:%d: %s: %s\n%s\n%s", err.file, err.line, err.key, err.message, job_yaml, profile_yaml);
    c->req = (struct rb_plan_request){
        .job = &c->job,
        .profile = &c->profile,
        .catalog = &c->catalog,
        .deadline_us = c->job.deadline_us,
        .budget_uusd = c->job.budget_uusd,
        .confidence = c->job.confidence,
        .objective = c->job.objective,
        .seed = c->job.seed,
        .samples = 128,
        .threads = 1,
    };
}

void case_finish(struct rb_case *c)
{
    rb_csv_finish(&c->prices_csv);
    rb_doc_finish(&c->profile_doc);
    rb_doc_finish(&c->job_doc);
    rb_arena_finish(&c->arena);
}

struct rb_pareto case_frontier(struct rb_case *c)
{
    struct rb_pareto pareto;
    struct rb_err err = {0};
    if (!rb_pareto_find(&c->req, &c->arena, &pareto, &err))
        fail_msg("%s", err.message);
    return pareto;
}

void case_make_uncertain(struct rb_case *c, double relative_error)
{
    size_t n = (size_t)c->profile.n_training;
    struct rb_training *training = rb_arena_array(&c->arena, n, sizeof *training);
    memcpy(training, c->profile.training, n * sizeof *training);
    for (size_t i = 0; i < n; i++)
        training[i].relative_error = relative_error;
    c->profile.training = training;
}

static int pick(struct rb_stream *s, int low, int high)
{
    return low + (int)rb_stream_below(s, (uint64_t)(high - low + 1));
}

static double pick_real(struct rb_stream *s, double low, double high)
{
    return low + (high - low) * rb_stream_uniform(s);
}

static void random_job(struct rb_stream *s, struct rb_buf *out)
{
    static const char *const sizes[] = {"[1]", "[1, 2]", "[1, 2, 4]", "[2, 4]"};
    int eta = pick(s, 2, 4), trials = pick(s, 1, 9), rungs = pick(s, 1, 3), max = 1;
    for (int i = 1; i < rungs; i++)
        max *= eta;
    // Drawn one by one: arguments of a call are evaluated in whatever order the compiler likes.
    const int max_nodes = pick(s, 2, 3), nodes_per_trial = pick(s, 1, 2);
    const char *listed = sizes[pick(s, 0, 3)];
    rb_buf_printf(out,
                  "name: random\nmetric: {name: acc, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n"
                  "scheduler: {type: sha, num_trials: %d, min_resource: 1, max_resource: %d, eta: %d}\n"
                  "trial:\n  gpus: {min: 1, max: 4, sizes: %s}\n  max_nodes: %d\n"
                  "resources: {infra: [aws/us-east-1], max_nodes: %d}\n"
                  "run: python train.py\n",
                  trials, max, eta, listed, nodes_per_trial, max_nodes);
}

static void random_profile(struct rb_stream *s, struct rb_buf *out)
{
    double loss = pick_real(s, 0.02, 0.4), across = pick_real(s, 0.5, 1.0);
    rb_buf_puts(out, "format: rb-profile/1\nname: random\nunit: epoch\nsource: test\ntraining:\n");
    rb_buf_printf(out, "  - accelerator: T4\n    base_s: %.1f\n    layouts:\n", pick_real(s, 20, 400));
    for (int nodes = 1; nodes <= 2; nodes++) {
        for (int gpus = nodes; gpus <= 4; gpus *= 2)
            rb_buf_printf(out, "      - {gpus: %d, nodes: %d, speedup: %.3f}\n", gpus, nodes,
                          gpus == 1 ? 1.0 : (nodes == 1 ? 1 : across) * gpus / (1 + loss * (gpus - 1)));
    }
    rb_buf_printf(out, "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: %.3f}\n", pick_real(s, 0, 0.4));
    rb_buf_printf(out, "  within: {distribution: lognormal, mean: 1.0, cv: %.3f}\n", pick_real(s, 0, 0.3));
    rb_buf_printf(out, "startup_s: {distribution: lognormal, mean: %.1f, cv: 0.3}\n", pick_real(s, 1, 20));
    rb_buf_printf(out, "checkpoint_s: {distribution: constant, mean: %.1f}\n", pick_real(s, 0, 5));
    const double init_s = pick_real(s, 5, 150), queue_s = pick_real(s, 2, 40);
    rb_buf_printf(out,
                  "provisioning:\n  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
                  "    queue_s: {distribution: lognormal, mean: %.1f, cv: 0.4}\n"
                  "    init_s: {distribution: lognormal, mean: %.1f, cv: 0.3}\n"
                  "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n",
                  queue_s, init_s);
}

static void random_prices(struct rb_stream *s, struct rb_buf *out)
{
    static const int gpus[] = {1, 2, 4};
    int first = pick(s, 0, 2), second = pick(s, 0, 3);
    rb_buf_puts(out, "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n");
    rb_buf_printf(out, "aws/us-east-1,m%d.a,T4,%d,16,4,16,on_demand,%.4f\n", gpus[first], gpus[first],
                  gpus[first] * pick_real(s, 0.4, 1.2));
    if (second < 3 && second != first)
        rb_buf_printf(out, "aws/us-east-1,m%d.b,T4,%d,16,4,16,on_demand,%.4f\n", gpus[second], gpus[second],
                      gpus[second] * pick_real(s, 0.4, 1.2));
}

void case_random(struct rb_case *c, uint32_t number)
{
    struct rb_stream s;
    struct rb_stream_key key = {.seed = 20210426, .purpose = RB_DRAW_SEARCH, .index = number};
    struct rb_buf job = RB_BUF_INIT, profile = RB_BUF_INIT, prices = RB_BUF_INIT;
    rb_stream_init(&s, &key);
    random_job(&s, &job);
    random_profile(&s, &profile);
    random_prices(&s, &prices);
    case_init(c, rb_buf_str(&job), rb_buf_str(&profile), rb_buf_str(&prices));
    rb_buf_finish(&job);
    rb_buf_finish(&profile);
    rb_buf_finish(&prices);
}
