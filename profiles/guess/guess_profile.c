// The profile of a figure that is given, or of a model of the library.
#include "profiles/guess/guess.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/job/job.h"
#include "profiles/guess/guess_library.h"
#include "profiles/guess/guess_priors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double from_log_sd[] = {
    [RB_GUESS_OWN] = RB_PRIOR_OWN_LOG_SD, [RB_GUESS_PUBLISHED] = .35, [RB_GUESS_FEELING] = .7};
static const char *const from_texts[] = {[RB_GUESS_OWN] = "timed by the user",
                                         [RB_GUESS_PUBLISHED] = "published for this model",
                                         [RB_GUESS_FEELING] = "a feeling"};

// Times without a measurement: starting a trial (imports, reading data), writing a checkpoint. Orders of magnitude.
#define STARTUP_S      60
#define CHECKPOINT_S   10
#define LATENCY_CV     .2  // of starts among each other
#define BETWEEN_CV     .1  // of trials among each other
#define MEASURED_ERROR .05 // of a profile of few units
#define WITHIN_CV      .05 // of units of one trial

static struct rb_dist factor(double cv)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = cv};
    rb_dist_prepare(&d, NULL);
    return d;
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

static void add_basis(struct making *m, const char *what, const char *from, double log_sd)
{
    m->basis[m->n_basis++] = (struct rb_basis){what, from, log_sd};
}

// A speed-up that was guessed is an error of the whole profile: it is not known on how many GPUs a plan will train.
static void choose_scaling(struct making *m)
{
    const struct rb_guess *g = m->guess;
    const double models = g->like ? g->like->scaling : 0;
    m->scaling = g->scaling > 0 ? g->scaling : models > 0 ? models : RB_PRIOR_SCALING;
    m->scaling_from = g->scaling > 0 ? "the guess"
                      : models > 0   ? "benchmarks of this model"
                                     : "a prior: benchmarks of ResNet-50, BERT-large and GNMT";
    m->scaling_log_sd = g->scaling > 0 ? RB_PRIOR_SCALING_LOG_SD / 2 : RB_PRIOR_SCALING_LOG_SD;
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
    const double transfer = own ? 0 : rb_prior_speed_log_sd(gpu, f->gpu);
    const double variance = rb_prior_squared(f->log_sd) + (m->on_cpus ? 0 : rb_prior_squared(m->scaling_log_sd)) +
                            rb_prior_squared(transfer);
    const double faster = own ? 1 : rb_prior_speed_ratio(gpu, f->gpu, m->kind);
    if (!own)
        add_basis(m,
                  rb_arena_printf(m->arena, "one %s trains %.3g times as fast as one %s", accelerator, faster, f->on),
                  rb_prior_speed_source(gpu, f->gpu), transfer);
    struct rb_training *t = &m->training[m->n++];
    *t = (struct rb_training){.accelerator = accelerator, .relative_error = sqrt(expm1(variance))};
    t->base_s = f->unit_s * rb_prior_speedup(m->scaling, f->gpus) / faster * exp(variance / 2);
    rb_prior_layouts(m->scaling, m->on_cpus ? 1 : RB_PRIOR_GPUS, m->arena, t); // a trial on CPUs has one slot
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
    const double log_sd = given_us >= 0 ? RB_PRIOR_GIVEN_LOG_SD : RB_PRIOR_SOME_LOG_SD;
    struct rb_dist d = rb_prior_lognormal(
        (given_us >= 0 ? (double)given_us / 1e6 : prior_s) * exp(rb_prior_squared(log_sd) / 2), LATENCY_CV);
    d.relative_error = sqrt(expm1(rb_prior_squared(log_sd)));
    return d;
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
    bool is_local = catalog->n_offers > 0;
    for (int i = 0; i < catalog->n_offers; i++)
        is_local &= strcmp(catalog->offers[i].infra, "local") == 0;
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
        "the guess is for \"%.40s\", whose speed relative to the GPUs on offer (%s) is not known; %sgive it for one of "
        "them, or for one of %s",
        g->on, offered[0] ? offered : "none",
        is_local ? "that is this machine alone: name a cloud in resources.infra, or " : "", known);
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
            rows[p.n_provisioning++] = rb_prior_provisioning(&catalog->offers[i]);
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
              RB_PRIOR_SOME_LOG_SD);
    p.basis = m.basis;
    p.n_basis = m.n_basis;
    *out = p;
    return true;
}

bool rb_guess_of_job(const struct rb_job *job, const struct rb_profile *measured, const struct rb_catalog *catalog,
                     struct rb_arena *arena, struct rb_profile *out, struct rb_err *err)
{
    struct rb_catalog slots = *catalog;
    struct rb_guess guess = *job->guess;
    rb_catalog_use_cpus(&slots, job->trial.cpus, job->trial.memory_bytes, arena);
    if (guess.measured)
        return rb_guess_transfer(&guess, measured, &slots, arena, out, err);
    guess.of_cpus = job->trial.cpus > 0;
    return rb_guess_profile(&guess, job->profile, job->scheduler.unit, &slots, job->trial.sizes[0], arena, out, err);
}

// --- had it been measured ---

static double mean_as_measured(double mean, double relative_error)
{
    return mean / sqrt(1 + rb_prior_squared(relative_error)); // the median, if it is measured exactly
}

static struct rb_dist latency_as_measured(const struct rb_dist *guessed)
{
    struct rb_dist d = *guessed;
    if (d.relative_error <= MEASURED_ERROR)
        return d;
    d.mean = mean_as_measured(d.mean, d.relative_error);
    d.relative_error = MEASURED_ERROR;
    rb_dist_prepare(&d, NULL);
    return d;
}

void rb_guess_as_measured(const struct rb_profile *guess, struct rb_arena *arena, struct rb_profile *out)
{
    struct rb_training *training = rb_arena_array(arena, (size_t)guess->n_training, sizeof *training);
    for (int i = 0; i < guess->n_training; i++) {
        training[i] = guess->training[i];
        training[i].transfer = (struct rb_transfer){0};
        if (training[i].relative_error <= MEASURED_ERROR)
            continue;
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
