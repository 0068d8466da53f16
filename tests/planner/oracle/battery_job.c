#include "battery_job.h"

#include "base/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PROBES    24 // random plans from which constraints are chosen
#define PROBE_RUNS  256
#define EVERY_SMALL 2 // one job in this many is small enough for brute force

// ---- picking

static int pick(struct rb_stream *s, int low, int high)
{
    return low + (int)rb_stream_below(s, (uint64_t)(high - low + 1));
}

static double pick_real(struct rb_stream *s, double low, double high)
{
    return low + (high - low) * rb_stream_uniform(s);
}

static bool happens(struct rb_stream *s, double p)
{
    return rb_stream_uniform(s) < p;
}

// Of several nodes, on spot, with everything that goes wrong there.
static bool is_rough(char class_)
{
    return class_ == 'e' || class_ == 'f';
}

// ---- distributions as text

static int compare_doubles(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

// Sorted values with the mean asked for, as they are drawn: in straight lines between neighbours.
static void put_values(struct rb_buf *out, double *values, int n, double mean)
{
    double sum = 0;
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    for (int i = 0; i + 1 < n; i++)
        sum += (values[i] + values[i + 1]) / 2 / (n - 1);
    rb_buf_puts(out, "{distribution: empirical, values: [");
    for (int i = 0; i < n; i++)
        rb_buf_printf(out, "%s%.6f", i ? ", " : "", values[i] * mean / sum);
    rb_buf_puts(out, "]}");
}

static void put_pareto(struct rb_buf *out, struct rb_stream *s, double mean)
{
    const double alpha = pick_real(s, 1.2, 3);
    const int n = pick(s, 5, 12);
    double values[12];
    for (int i = 0; i < n; i++)
        values[i] = pow(1 - (i + rb_stream_uniform(s)) / n, -1 / alpha);
    put_values(out, values, n, mean);
}

static void put_bimodal(struct rb_buf *out, struct rb_stream *s, double mean)
{
    const int n = pick(s, 6, 12), slow = pick(s, 1, 3);
    const double times = pick_real(s, 2, 6);
    double values[12];
    for (int i = 0; i < n; i++)
        values[i] = pick_real(s, 0.9, 1.1) * (i < slow ? times : 1);
    put_values(out, values, n, mean);
}

static void put_lognormal(struct rb_buf *out, double mean, double cv)
{
    rb_buf_printf(out, "{distribution: lognormal, mean: %.4f, cv: %.4f}", mean, cv);
}

static void put_heavy(struct rb_buf *out, struct rb_stream *s)
{
    const int kind = pick(s, 0, 3);
    const double sigma = pick_real(s, 0.7, 1.3);
    if (kind <= 1)
        put_lognormal(out, 1, sqrt(exp(sigma * sigma) - 1));
    else if (kind == 2)
        put_pareto(out, s, 1);
    else
        put_bimodal(out, s, 1);
}

static void put_delay(struct rb_buf *out, struct rb_stream *s, double mean)
{
    const int kind = pick(s, 0, 2);
    if (kind == 0)
        rb_buf_printf(out, "{distribution: exponential, mean: %.4f}", mean);
    else if (kind == 1)
        put_pareto(out, s, mean);
    else
        put_bimodal(out, s, mean);
}

// ---- shapes

struct shape {
    bool small; // for brute force
    int stages, eta, trials, max_nodes, nodes_per_trial, n_offers;
    int gpus[3]; // of a node, by offer
    double usd_per_gpu[3];
    bool spot[3];
    const char *infra[3];
    char type[3]; // the last letter of its name
    const char *sizes;
    char saves[64]; // a line of the job
    double base_s, first_trial_s; // mean of a unit on one GPU, of a trial of the first rung
};

static const char *pick_sizes(struct rb_stream *s, bool wide)
{
    static const char *const lists[] = {"[1]", "[1, 2]", "[1, 2]", "[1, 4]"};
    static const char *const wide_lists[] = {"[1, 2]", "[2, 4]", "[1, 4]", "[2, 4]"};
    return (wide ? wide_lists : lists)[pick(s, 0, 3)];
}

// Spot in one zone or two, and mostly on demand, too.
static void make_one_type(struct rb_stream *s, struct shape *x)
{
    static const char *const zones[] = {"aws/us-east-1/us-east-1a", "aws/us-east-1/us-east-1b"};
    const bool on_demand = x->n_offers == 3 || happens(s, 0.7);
    for (int i = 0; i < x->n_offers; i++) {
        x->spot[i] = i == 0 || i == 2 || !on_demand;
        x->infra[i] = x->spot[i] ? zones[i > 0] : "aws/us-east-1";
        x->gpus[i] = x->gpus[0];
        x->type[i] = 'a';
        x->usd_per_gpu[i] = x->spot[i] ? x->usd_per_gpu[i] : x->usd_per_gpu[0] * pick_real(s, 1.5, 3);
    }
}

static void pick_offers(struct rb_stream *s, char class_, struct shape *x)
{
    static const int gpus[] = {1, 2, 4};
    x->n_offers = class_ == 'd' || class_ == 'g' ? pick(s, 2, 3) : is_rough(class_) ? pick(s, 1, 2) : 1;
    for (int i = 0; i < x->n_offers; i++) {
        x->gpus[i] = gpus[pick(s, 0, is_rough(class_) ? 1 : 2)];
        x->usd_per_gpu[i] = pick_real(s, 0.4, 1.2);
        x->spot[i] = is_rough(class_) && happens(s, class_ == 'f' ? 0.9 : 0.5);
        x->infra[i] = "aws/us-east-1";
        x->type[i] = (char)('a' + i);
        if (class_ == 'd' && i > 0 && happens(s, 0.5)) { // a tie: the same price for a GPU
            x->usd_per_gpu[i] = x->usd_per_gpu[0];
            x->gpus[i] = happens(s, 0.5) ? x->gpus[0] : x->gpus[i];
        }
    }
    if (class_ == 'g')
        make_one_type(s, x);
}

static struct shape draw_shape(struct rb_stream *s, char class_, uint32_t number)
{
    struct shape x = {.small = class_ == 'f' || number % EVERY_SMALL == 0};
    pick_offers(s, class_, &x);
    x.stages = x.small && x.n_offers > 1 ? 2 : pick(s, x.small ? 2 : 1, 3);
    x.eta = pick(s, 2, 3);
    x.trials = x.small ? pick(s, 3, 9) : pick(s, 6, 27);
    x.max_nodes = x.small ? pick(s, 3, 4) : pick(s, 4, class_ == 'c' ? 12 : 8);
    x.sizes = pick_sizes(s, is_rough(class_));
    x.nodes_per_trial = is_rough(class_) ? 4 : pick(s, 1, 2);
    x.base_s = class_ == 'd' && happens(s, 0.5) ? pick_real(s, 4, 30) : pick_real(s, 40, 300);
    x.first_trial_s = x.base_s;
    if (class_ == 'f' && happens(s, 0.5))
        snprintf(x.saves, sizeof x.saves, "checkpoint: {every: auto}\n");
    else if (class_ == 'f')
        snprintf(x.saves, sizeof x.saves, "checkpoint: {every: %.0fs}\n", x.base_s * pick_real(s, 0.5, 3));
    return x;
}

// ---- texts

static void put_job(struct rb_buf *out, const struct shape *x)
{
    int max = 1;
    for (int i = 1; i < x->stages; i++)
        max *= x->eta;
    rb_buf_printf(out,
                  "name: random\nmetric: {name: acc, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n"
                  "scheduler: {type: sha, num_trials: %d, min_resource: 1, max_resource: %d, eta: %d}\n"
                  "trial:\n  gpus: {min: 1, max: 4, sizes: %s}\n  max_nodes: %d\n"
                  "resources: {infra: [aws/us-east-1], spot: allow, max_nodes: %d}\n"
                  "%srun: python train.py\n",
                  x->trials, max, x->eta, x->sizes, x->nodes_per_trial, x->max_nodes, x->saves);
}

static void put_training(struct rb_buf *out, struct rb_stream *s, char class_, const struct shape *x)
{
    const double loss = pick_real(s, 0.02, 0.4), across = pick_real(s, 0.5, 1.0);
    rb_buf_printf(out, "training:\n  - accelerator: T4\n    base_s: %.3f\n", x->base_s);
    if (is_rough(class_) && happens(s, 0.5))
        rb_buf_printf(out, "    relative_error: %.4f\n", pick_real(s, 0.01, 0.08));
    rb_buf_puts(out, "    layouts:\n");
    for (int nodes = 1; nodes <= 4; nodes *= 2) {
        for (int gpus = nodes; gpus <= 4; gpus *= 2)
            rb_buf_printf(out, "      - {gpus: %d, nodes: %d, speedup: %.4f}\n", gpus, nodes,
                          gpus == 1 ? 1.0 : (nodes == 1 ? 1 : across) * gpus / (1 + loss * (gpus - 1)));
    }
}

static void put_noise(struct rb_buf *out, struct rb_stream *s, char class_)
{
    rb_buf_puts(out, "noise:\n  between: ");
    const bool both = class_ == 'b' && happens(s, 0.4), inside = class_ == 'b' && happens(s, 0.25);
    const bool late_and_heavy = class_ == 'c' && happens(s, 0.3);
    if ((class_ == 'b' && !inside) || late_and_heavy)
        put_heavy(out, s);
    else
        put_lognormal(out, 1, pick_real(s, 0.05, 0.55));
    rb_buf_puts(out, "\n  within: ");
    if (both || inside)
        put_heavy(out, s);
    else
        put_lognormal(out, 1, pick_real(s, 0.02, 0.4));
    if (class_ == 'e' && happens(s, 0.4)) {
        rb_buf_puts(out, "\n  configuration: ");
        put_lognormal(out, 1, pick_real(s, 0.2, 1));
    }
    rb_buf_puts(out, "\nstartup_s: ");
    put_lognormal(out, pick_real(s, 1, 15), 0.3);
    rb_buf_printf(out, "\ncheckpoint_s: {distribution: constant, mean: %.2f}\n", pick_real(s, 0, class_ == 'f' ? 20 : 4));
}

// Half of the markets take new nodes back sooner than old ones, and most of these go down.
static void put_losses(struct rb_buf *out, struct rb_stream *s, const struct shape *x, bool with_memory, double per_hour)
{
    if (!(per_hour > 0) || (!with_memory && happens(s, 0.5))) {
        rb_buf_printf(out, "    preemption_per_hour: %.4f\n", per_hour);
        return;
    }
    rb_buf_puts(out, "    spells:\n      sampled_s: 60\n      days: 1\n      up_s: ");
    put_lognormal(out, x->first_trial_s * pick_real(s, 2, 20), pick_real(s, 0.3, 1.5));
    rb_buf_puts(out, "\n      down_s: ");
    if (happens(s, 0.2))
        rb_buf_printf(out, "%.1f", happens(s, 0.5) ? 0.0 : x->first_trial_s);
    else
        put_delay(out, s, x->first_trial_s * pick_real(s, 0.2, 4));
    rb_buf_printf(out,
                  "\n      together: %.2f\n"
                  "      hazard: [{from_s: 0, per_hour: %.4f}, {from_s: %.1f, per_hour: %.4f}]\n",
                  happens(s, 0.5) ? pick_real(s, 0.1, 1) : 0.0, 3 * per_hour, x->first_trial_s, 0.5 * per_hour);
}

static void put_provisioning(struct rb_buf *out, struct rb_stream *s, char class_, const struct shape *x, bool spot)
{
    rb_buf_printf(
        out, "  - infra: aws\n    instance_type: \"*\"\n    market: %s\n    queue_s: ", spot ? "spot" : "on_demand");
    if (class_ == 'c') {
        const double late_s = x->first_trial_s * exp(pick_real(s, log(0.2), log(3)));
        const double queue = pick_real(s, 0.1, 0.9);
        put_delay(out, s, late_s * queue);
        rb_buf_puts(out, "\n    init_s: ");
        put_delay(out, s, late_s * (1 - queue));
    } else {
        const double share = is_rough(class_) ? 0.4 : class_ == 'd' ? 0.8 : 0.15;
        put_lognormal(out, pick_real(s, 0.05, 0.5) * share * x->first_trial_s, 0.4);
        rb_buf_puts(out, "\n    init_s: ");
        put_lognormal(out, pick_real(s, 0.3, 1) * share * x->first_trial_s, 0.3);
    }
    rb_buf_printf(out, "\n    capacity_failure: %.3f\n",
                  (is_rough(class_) || class_ == 'g') && happens(s, 0.6) ? pick_real(s, 0.02, 0.4) : 0.0);
    if ((int64_t)(1000 * x->first_trial_s) % 10 < 3) // in three of ten jobs machines outlive their nodes
        rb_buf_printf(out, "    release_s: %d\n", (int)(2 * x->first_trial_s));
    put_losses(out, s, x, class_ == 'g', spot ? pick_real(s, 0.05, 0.6) * (class_ == 'f' ? 5 : 1) : 0.0);
}

static void put_profile(struct rb_buf *out, struct rb_stream *s, char class_, const struct shape *x)
{
    rb_buf_puts(out, "format: rb-profile/1\nname: random\nunit: epoch\nsource: test\n");
    put_training(out, s, class_, x);
    put_noise(out, s, class_);
    rb_buf_puts(out, "provisioning:\n");
    put_provisioning(out, s, class_, x, false);
    put_provisioning(out, s, class_, x, true);
}

static void put_prices(struct rb_buf *out, const struct shape *x)
{
    rb_buf_puts(out, "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n");
    for (int i = 0; i < x->n_offers; i++)
        rb_buf_printf(out, "%s,m%d.%c,T4,%d,16,4,16,%s,%.4f\n", x->infra[i], x->gpus[i], x->type[i], x->gpus[i],
                      x->spot[i] ? "spot" : "on_demand", x->gpus[i] * x->usd_per_gpu[i]);
}

// ---- reading

static bool read_texts(struct battery_job *b, const char *job, const char *profile, const char *prices,
                       struct rb_err *err)
{
    return rb_doc_parse_yaml(&b->job_doc, "job.yaml", job, strlen(job), err) &&
           rb_job_read(b->job_doc.root, NULL, 0, &b->arena, &b->job, err) &&
           rb_doc_parse_yaml(&b->profile_doc, "profile.yaml", profile, strlen(profile), err) &&
           rb_profile_read(b->profile_doc.root, NULL, "profile", &b->arena, &b->profile, err) &&
           rb_csv_parse(&b->prices_csv, "prices.csv", prices, strlen(prices), err) &&
           rb_catalog_from_csv(&b->prices_csv, &b->arena, &b->catalog, err);
}

// ---- constraints: near what random plans of the space need, so that they decide something

struct probe {
    double time_us, cost_uusd; // at the confidence asked
};

static int compare_by_time(const void *pa, const void *pb)
{
    const struct probe *a = pa, *b = pb;
    return (a->time_us > b->time_us) - (a->time_us < b->time_us);
}

static bool probe_plan(const struct battery_job *b, int64_t number, double confidence, struct probe *out)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    double times[PROBE_RUNS], costs[PROBE_RUNS];
    every_space_plan(&b->space, number, stages, nodes);
    for (int r = 0; r < PROBE_RUNS; r++) {
        struct oracle_run run;
        if (!oracle_play(&b->oracle, NULL, stages, b->space.n_stages, (uint32_t)r, &run))
            return false;
        times[r] = (double)run.time_us;
        costs[r] = (double)run.cost_uusd;
    }
    qsort(times, PROBE_RUNS, sizeof *times, compare_doubles);
    qsort(costs, PROBE_RUNS, sizeof *costs, compare_doubles);
    const int at = (int)(confidence * PROBE_RUNS);
    *out = (struct probe){times[at], costs[at]};
    return true;
}

static int64_t pick_budget(struct rb_stream *s, const struct probe *probes, int n, double deadline_us)
{
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
        if (probes[i].time_us <= deadline_us)
            least = fmin(least, probes[i].cost_uusd);
    }
    return isinf(least) ? (int64_t)probes[0].cost_uusd : (int64_t)(least * pick_real(s, 0.9, 1.3));
}

static void choose_constraints(struct battery_job *b, struct rb_stream *s)
{
    static const double confidences[] = {0.8, 0.9, 0.95, 0.95, 0.99};
    struct probe probes[N_PROBES];
    int n = 0;
    b->req.confidence = b->job.confidence = confidences[pick(s, 0, 4)];
    for (int i = 0; i < N_PROBES; i++)
        n += probe_plan(b, (int64_t)rb_stream_below(s, (uint64_t)b->space.n_plans), b->req.confidence, &probes[n]);
    if (n == 0)
        return;
    qsort(probes, (size_t)n, sizeof *probes, compare_by_time);
    // The soonest of many looks sooner than it is, by as much as few runs err by.
    const double soonest = probes[0].time_us * pick_real(s, 1, 1.12), usual = probes[n / 2].time_us;
    const double u = rb_stream_uniform(s);
    const bool tight = happens(s, 0.12);
    double deadline_us = tight ? soonest * pick_real(s, 0.7, 0.95) : soonest + u * u * fmax(0, 1.3 * usual - soonest);
    const bool by_time = b->class_ == 'd' && happens(s, 0.3);
    const bool budget = by_time || happens(s, b->class_ == 'd' ? 0.4 : 0.1);
    if (by_time) {
        b->req.objective = b->job.objective = RB_OBJECTIVE_MIN_TIME;
        if (happens(s, 0.5))
            deadline_us = -1;
    }
    if (budget)
        b->req.budget_uusd = b->job.budget_uusd = pick_budget(s, probes, n, deadline_us < 0 ? INFINITY : deadline_us);
    if (deadline_us > 0)
        b->req.deadline_us = b->job.deadline_us = (int64_t)(deadline_us / 1000) * 1000;
}

static void put_constraints(struct rb_buf *out, const struct rb_plan_request *req)
{
    char text[32];
    rb_buf_printf(out, "confidence: %g\nobjective: %s\n", req->confidence,
                  req->objective == RB_OBJECTIVE_MIN_TIME ? "min_time" : "min_cost");
    if (req->deadline_us >= 0)
        rb_buf_printf(out, "deadline: %s\n", rb_format_duration_exact(req->deadline_us, text));
    if (req->budget_uusd >= 0)
        rb_buf_printf(out, "budget: %s\n", rb_format_money_exact(req->budget_uusd, text));
}

// ---- a job

bool battery_job_init(struct battery_job *b, char class_, uint32_t number, struct rb_err *err)
{
    const struct rb_stream_key key = {
        .seed = 20260801, .purpose = RB_DRAW_SEARCH, .stage = (uint32_t)class_, .index = number};
    RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT, profile = RB_BUF_INIT, prices = RB_BUF_INIT;
    struct rb_stream s;
    *b = (struct battery_job){.class_ = class_, .number = number};
    rb_arena_init(&b->arena);
    rb_stream_init(&s, &key);
    const struct shape x = draw_shape(&s, class_, number);
    put_job(&job, &x);
    put_profile(&profile, &s, class_, &x);
    put_prices(&prices, &x);
    if (!read_texts(b, rb_buf_str(&job), rb_buf_str(&profile), rb_buf_str(&prices), err))
        return false;
    b->req = rb_plan_request_of(&b->job, &b->profile, &b->catalog);
    if (!oracle_init(&b->oracle, &b->job, &b->profile, b->catalog.offers, b->catalog.n_offers, 7919 + number) ||
        !every_space_init(&b->space, &b->oracle))
        return false;
    choose_constraints(b, &s);
    put_job(&b->text, &x);
    put_constraints(&b->text, &b->req);
    rb_buf_printf(&b->text, "--- profile\n%s--- prices\n%s", rb_buf_str(&profile), rb_buf_str(&prices));
    return true;
}

void battery_job_finish(struct battery_job *b)
{
    rb_buf_finish(&b->text);
    rb_csv_finish(&b->prices_csv);
    rb_doc_finish(&b->profile_doc);
    rb_doc_finish(&b->job_doc);
    rb_arena_finish(&b->arena);
}

const char *battery_class_says(char class_)
{
    static const char *const words[] = {
        "mild",
        "heavy tails",
        "late nodes",
        "several types, ties, budgets, min_time",
        "multi-node trials, spot, capacity failures, relative_error",
        "the same with scripts that save, and more losses",
        "spot markets that go down, stand-ins",
    };
    return words[class_ - 'a'];
}
