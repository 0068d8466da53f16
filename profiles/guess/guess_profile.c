// Priors, and how a guess spreads: errors of independent sources are added as squares of log_sd. A guess is a median. The profile
// has means, so a median m with log_sd s becomes the mean m exp(s^2/2), with relative_error sqrt(exp(s^2) - 1).
#include "profiles/guess/guess.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/job/job.h"
#include "profiles/guess/gpu_speeds.h"
#include "profiles/guess/guess_library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double from_log_sd[] = {[RB_GUESS_OWN] = .1, [RB_GUESS_PUBLISHED] = .35, [RB_GUESS_FEELING] = .7};
static const char *const from_texts[] = {[RB_GUESS_OWN] = "timed by the user",
                                         [RB_GUESS_PUBLISHED] = "published for this model",
                                         [RB_GUESS_FEELING] = "a feeling"};

// Eight GPUs of one node: ResNet-50 7.2 to 7.9, BERT-large 4.9 (A100) and 7.5 (H100), GNMT 4.1 times one GPU, from the same
// benchmarks as rb_gpu_speeds.
#define SCALING_PRIOR  6.5
#define SCALING_LOG_SD .2
#define MOST_GPUS      8

// Times without a measurement: starting a trial (imports, reading data), writing a checkpoint. Orders of magnitude.
#define STARTUP_S      60
#define CHECKPOINT_S   10
#define SOME_LOG_SD    .7  // of these where they are priors
#define GIVEN_LOG_SD   .25 // where the user gave them
#define LATENCY_CV     .2  // of starts among each other
#define BETWEEN_CV     .1  // of trials among each other
#define MEASURED_ERROR .05 // of a profile of few units
#define WITHIN_CV      .05 // of units of one trial

static double squared(double x)
{
    return x * x;
}

static struct rb_dist lognormal(double median, double log_sd)
{
    struct rb_dist d = {
        .kind = RB_DIST_LOGNORMAL, .mean = median * exp(squared(log_sd) / 2), .cv = sqrt(expm1(squared(log_sd)))};
    rb_dist_prepare(&d, NULL);
    return d;
}

static struct rb_dist factor(double cv)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = cv};
    rb_dist_prepare(&d, NULL);
    return d;
}

// --- speeds ---

static double speed_of(const struct rb_gpu_speed *gpu, enum rb_guess_kind kind)
{
    const double of_kind = kind == RB_GUESS_CNN ? gpu->resnet50 : kind == RB_GUESS_ANY ? 0 : gpu->bert;
    return of_kind > 0 ? of_kind : gpu->mean;
}

// Both GPUs are taken by their speed at one task only where both have one.
static double ratio(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b, enum rb_guess_kind kind)
{
    const bool both = kind == RB_GUESS_CNN ? a->resnet50 > 0 && b->resnet50 > 0 : a->bert > 0 && b->bert > 0;
    const enum rb_guess_kind by = both ? kind : RB_GUESS_ANY;
    return speed_of(a, by) / speed_of(b, by);
}

// What one unit takes on some GPUs: the guess's own figure, or one of a model of the library.
struct figure {
    const char *on;
    const struct rb_gpu_speed *gpu; // NULL: its speed is not known, and only it can be planned
    int gpus;
    double unit_s, log_sd;
    const char *what, *from;
};

struct making {
    const struct rb_guess *guess;
    struct rb_arena *arena;
    struct figure *figures; // [n_figures]; other GPUs follow from the first
    int n_figures;
    enum rb_guess_kind kind;
    double scaling; // of eight GPUs
    const char *scaling_from;
    double scaling_log_sd;
    bool on_cpus; // the guess is of a trial's CPUs, however many they are
    struct rb_training *training;
    int n;
    struct rb_basis *basis;
    int n_basis;
};

static double scaling_of(const struct making *m, int gpus)
{
    return pow(gpus, log(m->scaling) / log(MOST_GPUS));
}

static void add_basis(struct making *m, const char *what, const char *from, double log_sd)
{
    m->basis[m->n_basis++] = (struct rb_basis){what, from, log_sd};
}

// A trial on CPUs has one slot.
static void add_layouts(const struct making *m, struct rb_training *t)
{
    const int n = m->on_cpus ? 1 : 4;
    struct rb_layout *layouts = rb_arena_array(m->arena, (size_t)n, sizeof *layouts);
    for (int i = 0; i < n; i++)
        layouts[i] = (struct rb_layout){.gpus = 1 << i, .nodes = 1, .speedup = i > 0 ? scaling_of(m, 1 << i) : 1};
    t->layouts = layouts;
    t->n_layouts = n;
    t->max_gpus = 1 << (n - 1);
    t->max_nodes = 1;
}

// A speed-up that was guessed is an error of the whole profile: it is not known on how many GPUs a plan will train.
static void choose_scaling(struct making *m)
{
    const struct rb_guess *g = m->guess;
    const double models = g->like ? g->like->scaling : 0;
    m->scaling = g->scaling > 0 ? g->scaling : models > 0 ? models : SCALING_PRIOR;
    m->scaling_from = g->scaling > 0 ? "the guess"
                      : models > 0   ? "benchmarks of this model"
                                     : "a prior: benchmarks of ResNet-50, BERT-large and GNMT";
    m->scaling_log_sd = g->scaling > 0 ? SCALING_LOG_SD / 2 : SCALING_LOG_SD;
}

// The accelerator's own figure; NULL: it has none.
static const struct figure *own_figure(const struct making *m, const char *accelerator)
{
    const struct rb_gpu_speed *gpu = rb_gpu_speed_find(accelerator);
    if (m->on_cpus)
        return rb_accelerator_is_cpu(accelerator) ? m->figures : NULL;
    for (int i = 0; i < m->n_figures; i++)
        if (strcmp(accelerator, m->figures[i].on) == 0 || (gpu && gpu == m->figures[i].gpu))
            return &m->figures[i];
    return NULL;
}

static void add_training(struct making *m, const struct rb_offer *o)
{
    const char *accelerator = o->accelerator;
    const struct rb_gpu_speed *gpu = rb_gpu_speed_find(accelerator);
    const struct figure *own = own_figure(m, accelerator), *f = own ? own : m->figures;
    const double least_gb = m->guess->like ? m->guess->like->least_gpu_gb : 0;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->training[i].accelerator, accelerator) == 0)
            return;
    if ((!own && (!gpu || !f->gpu)) || (o->gpu_memory_gb > 0 && o->gpu_memory_gb < least_gb))
        return;
    const double transfer = own ? 0 : sqrt(squared(gpu->log_sd) + squared(f->gpu->log_sd));
    const double variance = squared(f->log_sd) + (m->on_cpus ? 0 : squared(m->scaling_log_sd)) + squared(transfer);
    const double faster = own ? 1 : ratio(gpu, f->gpu, m->kind);
    if (!own)
        add_basis(m,
                  rb_arena_printf(m->arena, "one %s trains %.3g times as fast as one %s", accelerator, faster, f->on),
                  gpu->is_prior || f->gpu->is_prior ? "a prior" : rb_gpu_speeds_source, transfer);
    struct rb_training *t = &m->training[m->n++];
    *t = (struct rb_training){.accelerator = accelerator, .relative_error = sqrt(expm1(variance))};
    t->base_s = f->unit_s * scaling_of(m, f->gpus) / faster * exp(variance / 2);
    add_layouts(m, t);
}

static void take_guess(struct making *m, const char *unit)
{
    char duration[32];
    const struct rb_guess *g = m->guess;
    const char *on = m->on_cpus ? "the CPUs of one trial" : rb_arena_printf(m->arena, "%d %s", g->gpus, g->on);
    m->kind = g->kind;
    m->figures = rb_arena_alloc(m->arena, sizeof *m->figures);
    m->n_figures = 1;
    *m->figures = (struct figure){
        .on = g->on,
        .gpu = rb_gpu_speed_find(g->on),
        .gpus = g->gpus,
        .unit_s = (double)g->unit_us / 1e6,
        .log_sd = from_log_sd[g->from],
        .what = rb_arena_printf(m->arena, "%s for one %s on %s", rb_format_duration(g->unit_us, duration), unit, on),
        .from = from_texts[g->from],
    };
}

static void take_model(struct making *m, const char *unit)
{
    const struct rb_library_model *like = m->guess->like;
    m->kind = like->kind;
    m->figures = rb_arena_array(m->arena, (size_t)like->n_figures, sizeof *m->figures);
    m->n_figures = like->n_figures;
    for (int i = 0; i < like->n_figures; i++) {
        const struct rb_library_figure *f = &like->figures[i];
        const double unit_s = m->guess->samples / f->per_second;
        char duration[32];
        m->figures[i] = (struct figure){
            .on = f->gpu,
            .gpu = rb_gpu_speed_find(f->gpu),
            .gpus = f->gpus,
            .unit_s = unit_s,
            .log_sd = f->log_sd,
            .what = rb_arena_printf(m->arena, "%s: %s for one %s of %.10g %s on %d %s", like->name,
                                    rb_format_seconds(unit_s, duration), unit, m->guess->samples, like->of, f->gpus,
                                    f->gpu),
            .from = rb_arena_printf(m->arena, "%s; %s; %s", f->how, f->source, f->date),
        };
    }
}

// The figures that count, and the speed-up.
static void add_figures(struct making *m, const struct rb_catalog *catalog)
{
    for (int i = 0; i < m->n_figures; i++) {
        bool counts = false;
        for (int k = 0; k < catalog->n_offers && !counts; k++) {
            const struct figure *own = own_figure(m, catalog->offers[k].accelerator);
            counts = own == &m->figures[i] || (!own && i == 0);
        }
        if (counts || m->n_figures == 1)
            add_basis(m, m->figures[i].what, m->figures[i].from, m->figures[i].log_sd);
    }
    if (!m->on_cpus)
        add_basis(m, rb_arena_printf(m->arena, "eight GPUs of one node are %.3g times as fast as one", m->scaling),
                  m->scaling_from, m->scaling_log_sd);
}

// --- latencies ---

// given_us -1: the prior. Its error is common to all starts, and they vary among each other.
static struct rb_dist latency(int64_t given_us, double prior_s)
{
    const double log_sd = given_us >= 0 ? GIVEN_LOG_SD : SOME_LOG_SD;
    struct rb_dist d =
        lognormal((given_us >= 0 ? (double)given_us / 1e6 : prior_s) * exp(squared(log_sd) / 2), LATENCY_CV);
    d.relative_error = sqrt(expm1(squared(log_sd)));
    return d;
}

// Medians and log_sd of the suggested defaults for a first plan, with the spread half as large again. A request fails for want of
// capacity more often where GPUs are scarce. The hazard of spot is the highest band of the AWS Spot Instance Advisor: 35 % a month.
static struct rb_provisioning provisioning_of(const struct rb_offer *o)
{
    const char *accelerator = o->accelerator;
    const bool large = o->gpus >= 4, local = strcmp(o->infra, "local") == 0;
    const bool rare = strncmp(accelerator, "H100", 4) == 0 || strncmp(accelerator, "B200", 4) == 0 ||
                      strncmp(accelerator, "H200", 4) == 0 || strncmp(accelerator, "GH200", 5) == 0;
    const bool scarce = strncmp(accelerator, "A100", 4) == 0;
    struct rb_provisioning p = {
        .infra = o->infra, .instance_type = o->instance_type, .market = rb_market_name(o->market)};
    p.queue_s = local ? lognormal(.05, .5) : large ? lognormal(60, .9) : lognormal(20, .75);
    p.init_s = local ? lognormal(.5, .5) : large ? lognormal(150, .6) : lognormal(45, .525);
    p.capacity_failure = local ? 0 : rare ? .4 : scarce ? .2 : .05;
    p.has_preemption = o->market == RB_MARKET_SPOT;
    p.preemption_per_hour = p.has_preemption ? 6e-4 : 0;
    return p;
}

static bool refuse(const struct making *m, const struct rb_catalog *catalog, struct rb_err *err)
{
    const struct rb_guess *g = m->guess;
    char known[256] = "", offered[256] = "";
    if (g->of_cpus && catalog->n_offers == 0)
        return rb_err_set(
            err, RB_E_NO_SUCH_MACHINE,
            "no machine without GPUs (accelerator CPU) on offer has the vcpus and memory_gb that one trial "
            "needs, by trial.cpus and trial.memory: import the price of one, or give a list with --prices");
    if (g->of_cpus)
        return rb_err_set(
            err, RB_E_GUESS_GPU,
            "the guess is for \"%.40s\", and the job trains on CPUs (trial.cpus): give the time of one unit on "
            "the CPUs of one trial, with on: CPU",
            m->figures->on);
    for (const struct rb_gpu_speed *row = rb_gpu_speeds; row->name; row++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", known[0] ? ", " : "", row->name);
    for (int i = 0; i < catalog->n_offers; i++)
        if (!strstr(offered, catalog->offers[i].accelerator))
            snprintf(offered + strlen(offered), sizeof offered - strlen(offered), "%s%s", offered[0] ? ", " : "",
                     catalog->offers[i].accelerator);
    if (g->like)
        return rb_err_set(
            err, RB_E_GUESS_MODEL,
            "like: %s: none of the GPUs on offer (%s) has the memory that it needs (%.0f GB) and a known speed; "
            "give other prices, or the time yourself with unit=...,on=...",
            g->like->name, offered[0] ? offered : "none", ceil(g->like->least_gpu_gb));
    return rb_err_set(
        err, RB_E_GUESS_GPU,
        "the guess is for \"%.40s\", whose speed relative to the GPUs on offer (%s) is not known; give it for one of "
        "them, or for one of %s",
        g->on, offered[0] ? offered : "none", known);
}

static bool check_least_gpus(const struct rb_guess *g, int least_gpus, struct rb_err *err)
{
    const int least = g->like && !g->of_cpus ? g->like->least_gpus : 1;
    return least_gpus >= least || rb_err_set(err, RB_E_GUESS_MODEL,
                                             "like: %s was measured on %d GPUs and may not fit on fewer; the job "
                                             "trains a trial on %d: set trial.gpus to "
                                             "%d, or give the time yourself with unit=...,on=...",
                                             g->like->name, least, least_gpus, least);
}

bool rb_guess_profile(const struct rb_guess *g, const char *name, const char *unit, const struct rb_catalog *catalog,
                      int least_gpus, struct rb_arena *arena, struct rb_profile *out, struct rb_err *err)
{
    const int n = catalog->n_offers;
    struct making m = {.guess = g, .arena = arena, .on_cpus = g->of_cpus && !g->like && rb_accelerator_is_cpu(g->on)};
    struct rb_provisioning *rows = rb_arena_array(arena, (size_t)n + 1, sizeof *rows);
    if (!check_least_gpus(g, least_gpus, err))
        return false;
    choose_scaling(&m);
    if (g->like)
        take_model(&m, unit);
    else
        take_guess(&m, unit);
    m.training = rb_arena_array(arena, (size_t)n + 1, sizeof *m.training);
    m.basis = rb_arena_array(arena, (size_t)n + (size_t)m.n_figures + 2, sizeof *m.basis);
    add_figures(&m, catalog);
    struct rb_profile p = {.name = name, .unit = unit, .source = "a guess", .provisioning = rows};
    for (int i = 0; i < n; i++) {
        add_training(&m, &catalog->offers[i]);
        if (i < RB_LIMIT_INSTANCE_TYPES)
            rows[p.n_provisioning++] = provisioning_of(&catalog->offers[i]);
    }
    if (m.n == 0 || (g->of_cpus && !m.on_cpus))
        return refuse(&m, catalog, err);
    p.training = m.training;
    p.n_training = m.n;
    p.between = factor(BETWEEN_CV);
    p.within = factor(WITHIN_CV);
    p.startup_s = latency(g->startup_us, STARTUP_S);
    p.checkpoint_s = latency(g->checkpoint_us, CHECKPOINT_S);
    add_basis(&m, "start-up, checkpoints, waiting for machines and their boot, spread among trials", "priors",
              SOME_LOG_SD);
    p.basis = m.basis;
    p.n_basis = m.n_basis;
    *out = p;
    return true;
}

static double mean_as_measured(double mean, double relative_error)
{
    return mean / sqrt(1 + squared(relative_error)); // the median, if it is measured exactly
}

static struct rb_dist latency_as_measured(const struct rb_dist *guessed)
{
    struct rb_dist d = *guessed;
    d.mean = mean_as_measured(d.mean, d.relative_error);
    d.relative_error = MEASURED_ERROR;
    rb_dist_prepare(&d, NULL);
    return d;
}

bool rb_guess_of_job(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                     struct rb_profile *out, struct rb_err *err)
{
    struct rb_catalog slots = *catalog;
    struct rb_guess guess = *job->guess;
    rb_catalog_use_cpus(&slots, job->trial.cpus, job->trial.memory_bytes, arena);
    guess.of_cpus = job->trial.cpus > 0;
    return rb_guess_profile(&guess, job->profile, job->scheduler.unit, &slots, job->trial.sizes[0], arena, out, err);
}

void rb_guess_as_measured(const struct rb_profile *guess, struct rb_arena *arena, struct rb_profile *out)
{
    struct rb_training *training = rb_arena_array(arena, (size_t)guess->n_training, sizeof *training);
    for (int i = 0; i < guess->n_training; i++) {
        training[i] = guess->training[i];
        training[i].base_s = mean_as_measured(training[i].base_s, training[i].relative_error);
        training[i].relative_error = MEASURED_ERROR;
    }
    *out = *guess;
    out->training = training;
    out->startup_s = latency_as_measured(&guess->startup_s);
    out->checkpoint_s = latency_as_measured(&guess->checkpoint_s);
    out->basis = NULL;
    out->n_basis = 0;
}
