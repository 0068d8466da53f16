#include "random_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GPUS 64

struct shape { // what the texts below are made of, drawn in this order
    int stages, trials, eta, gpus_per_node;
    double base_s, cv, contention, coherence, across, queue_s, queue_cv, init_s;
    bool lognormal;
};

static double pick(struct rb_stream *s, double low, double high)
{
    return low + (high - low) * rb_stream_uniform(s);
}

static struct shape draw_shape(struct rb_stream *s)
{
    static const int trials[] = {8, 16, 27, 32, 48, 64, 81}, nodes[] = {1, 4, 8};
    struct shape x;
    x.stages = 2 + (int)rb_stream_below(s, 3);
    x.trials = trials[rb_stream_below(s, 7)];
    x.eta = 2 + (int)rb_stream_below(s, 3);
    x.gpus_per_node = nodes[rb_stream_below(s, 3)];
    x.base_s = pick(s, 60, 600);
    x.lognormal = rb_stream_below(s, 2) == 0;
    x.cv = pick(s, 0.02, 0.5);
    x.contention = 0.005 * pow(60, rb_stream_uniform(s));
    x.coherence = rb_stream_below(s, 2) == 0 ? 0 : 1e-4 * pow(100, rb_stream_uniform(s));
    x.across = rb_stream_below(s, 2) == 0 ? 1 : pick(s, 0.6, 1);
    x.queue_s = pick(s, 5, 60);
    x.queue_cv = pick(s, 0.2, 0.8);
    x.init_s = pick(s, 20, 180);
    return x;
}

static void write_job(const struct shape *x, struct rb_buf *out)
{
    int resource = 0, rung = 1; // of as many rungs as there are stages
    for (int i = 0; i < x->stages; i++, rung *= x->eta)
        resource += rung;
    rb_buf_printf(
        out,
        "name: random\nmetric: {name: acc, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n"
        "scheduler: {type: sha, num_trials: %d, min_resource: 1, max_resource: %d, eta: %d, rungs: additional}\n"
        "trial:\n  gpus: {min: 1, max: 64, sizes: [1, 2, 4, 8, 16, 32, 64]}\n  max_nodes: 64\n"
        "resources: {infra: [aws/us-east-1], spot: allow, max_nodes: %d}\nrun: python train.py\n",
        x->trials, resource, x->eta, MOST_GPUS / x->gpus_per_node);
}

// Universal scalability law, and a loss where a trial spans nodes.
static double speedup(const struct shape *x, int gpus, int nodes)
{
    double s = gpus / (1 + x->contention * (gpus - 1) + x->coherence * gpus * (gpus - 1));
    return gpus == 1 ? 1 : nodes > 1 ? s * x->across : s;
}

static void write_layouts(const struct shape *x, double factor, int type, struct rb_buf *out)
{
    rb_buf_printf(out, "  - accelerator: T%d\n    base_s: %.3f\n    layouts:\n", type, x->base_s / factor);
    for (int nodes = 1; nodes <= MOST_GPUS; nodes *= 2) {
        for (int gpus = nodes; gpus <= MOST_GPUS; gpus *= 2)
            rb_buf_printf(out, "      - {gpus: %d, nodes: %d, speedup: %.5f}\n", gpus, nodes, speedup(x, gpus, nodes));
    }
}

static void write_profile(const struct shape *x, struct rb_stream *s, int n_types, struct rb_buf *out)
{
    rb_buf_puts(out, "format: rb-profile/1\nname: random\nunit: epoch\nsource: drawn\ntraining:\n");
    for (int type = 0; type < n_types; type++)
        write_layouts(x, type == 0 ? 1 : pick(s, 0.5, 4), type, out);
    rb_buf_printf(out, "noise:\n  between: {distribution: %s, mean: 1.0, cv: %.4f}\n",
                  x->lognormal ? "lognormal" : "normal", x->cv);
    rb_buf_puts(out, "  within: {distribution: constant, mean: 1.0}\nstartup_s: 0.0\ncheckpoint_s: 0.0\n");
    rb_buf_printf(out,
                  "provisioning:\n  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
                  "    queue_s: {distribution: lognormal, mean: %.3f, cv: %.3f}\n"
                  "    init_s: {distribution: normal, mean: %.3f, cv: 0.15}\n"
                  "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n",
                  x->queue_s, x->queue_cv, x->init_s);
}

static void write_prices(const struct shape *x, struct rb_stream *s, int n_types, int n_markets, struct rb_buf *out)
{
    static const int nodes[] = {1, 4, 8};
    rb_buf_puts(out, "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n");
    for (int type = 0; type < n_types; type++) {
        int gpus = type == 0 ? x->gpus_per_node : nodes[rb_stream_below(s, 3)];
        double price = gpus * (type == 0 ? 3.06 : pick(s, 1, 8));
        rb_buf_printf(out, "aws/us-east-1,m%d.%d,T%d,%d,16,8,61,on_demand,%.4f\n", type, gpus, type, gpus, price);
        if (n_markets > 1)
            rb_buf_printf(out, "aws/us-east-1,m%d.%d,T%d,%d,16,8,61,spot,%.4f\n", type, gpus, type, gpus,
                          price * pick(s, 0.3, 0.9));
    }
}

static void read_texts(struct random_job *j, const char *job, const char *profile, const char *prices)
{
    struct rb_err err = {0};
    if (rb_doc_parse_yaml(&j->job_doc, "job.yaml", job, strlen(job), &err) &&
        rb_job_read(j->job_doc.root, NULL, 0, &j->arena, &j->job, &err) &&
        rb_doc_parse_yaml(&j->profile_doc, "profile.yaml", profile, strlen(profile), &err) &&
        rb_profile_read(j->profile_doc.root, NULL, "profile", &j->arena, &j->profile, &err) &&
        rb_csv_parse(&j->prices_csv, "prices.csv", prices, strlen(prices), &err) &&
        rb_catalog_from_csv(&j->prices_csv, &j->arena, &j->catalog, &err))
        return;
    fprintf(stderr, "%s:%d: %s: %s\n%s%s%s", err.file, err.line, err.key, err.message, job, profile, prices);
    exit(1); // a mistake in the texts above, not in any input
}

void random_job_init(struct random_job *j, uint64_t seed, uint32_t number, int n_types, int n_markets)
{
    struct rb_stream s;
    struct rb_buf job = RB_BUF_INIT, profile = RB_BUF_INIT, prices = RB_BUF_INIT;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .index = number});
    struct shape x = draw_shape(&s);
    *j = (struct random_job){.tightness = pick(&s, 0, 0.95)};
    rb_arena_init(&j->arena);
    write_job(&x, &job);
    write_profile(&x, &s, n_types, &profile);
    write_prices(&x, &s, n_types, n_markets, &prices);
    read_texts(j, rb_buf_str(&job), rb_buf_str(&profile), rb_buf_str(&prices));
    rb_buf_finish(&job);
    rb_buf_finish(&profile);
    rb_buf_finish(&prices);
    j->req = (struct rb_plan_request){
        .job = &j->job,
        .profile = &j->profile,
        .catalog = &j->catalog,
        .deadline_us = -1,
        .budget_uusd = -1,
        .confidence = 0.95,
        .objective = RB_OBJECTIVE_MIN_COST,
        .seed = seed,
        .samples = 4096,
        .threads = 1,
    };
}

void random_job_finish(struct random_job *j)
{
    rb_csv_finish(&j->prices_csv);
    rb_doc_finish(&j->profile_doc);
    rb_doc_finish(&j->job_doc);
    rb_arena_finish(&j->arena);
}
