// A profile that was measured on some GPUs, transferred to the others that are on offer. One error of the ratio of two GPUs, and
// one of how several GPUs of the other kind scale, are added to that of the measurement.
#include "profiles/guess/guess.h"

#include "base/limits.h"
#include "base/text/closest.h"
#include "base/text/units.h"
#include "profiles/guess/guess_priors.h"

#include <math.h>
#include <string.h>

#define MOST_NAMES 128

struct transferring {
    const struct rb_guess *guess;
    const struct rb_profile *measured;
    const struct rb_training *from; // of `measured`
    const struct rb_gpu_speed *from_speed;
    struct rb_arena *arena;
    struct rb_training *training; // [n], of which n_transferred were not measured
    int n, n_transferred;
    struct rb_basis *basis;
    int n_basis;
};

static bool is_same_gpu(const char *a, const char *b)
{
    const struct rb_gpu_speed *speed = rb_gpu_speed_find(a);
    return strcmp(a, b) == 0 || (speed && speed == rb_gpu_speed_find(b));
}

static const struct rb_training *measured_on(const struct rb_profile *p, const char *gpu)
{
    for (int i = 0; i < p->n_training; i++)
        if (is_same_gpu(p->training[i].accelerator, gpu))
            return &p->training[i];
    return NULL;
}

static void add_basis(struct transferring *t, const char *what, const char *from, double log_sd)
{
    t->basis[t->n_basis++] = (struct rb_basis){what, from, log_sd};
}

// --- the curve over several GPUs of one node ---

static bool scales(const struct rb_training *from)
{
    bool found = from->has_throughput && from->max_gpus > 1;
    for (int i = 0; i < from->n_layouts; i++)
        found |= from->layouts[i].nodes == 1 && from->layouts[i].gpus > 1;
    return found;
}

static void copy_layouts(const struct rb_training *from, struct rb_arena *arena, struct rb_training *t)
{
    struct rb_layout *layouts = rb_arena_array(arena, (size_t)from->n_layouts, sizeof *layouts);
    for (int i = 0; i < from->n_layouts; i++)
        if (from->layouts[i].nodes == 1)
            layouts[t->n_layouts++] = from->layouts[i];
    t->layouts = layouts;
    t->max_gpus = layouts[t->n_layouts - 1].gpus;
    t->max_nodes = 1;
}

// Nothing is known of several nodes of other machines, whose network is another.
static void copy_curve(const struct rb_training *from, struct rb_arena *arena, struct rb_training *t)
{
    if (!scales(from)) {
        rb_prior_layouts(RB_PRIOR_SCALING, RB_PRIOR_GPUS, arena, t);
    } else if (from->has_throughput) {
        t->has_throughput = true;
        t->throughput = from->throughput;
        t->batch = from->batch;
        t->units_per_epoch = from->units_per_epoch;
        t->max_gpus = from->max_gpus;
        t->max_nodes = 1;
    } else {
        copy_layouts(from, arena, t);
    }
}

static void add_curve_basis(struct transferring *t)
{
    const char *on = t->from->accelerator;
    if (scales(t->from))
        add_basis(t, rb_arena_printf(t->arena, "several GPUs of one node speed up as those of %s", on),
                  "measured on that GPU, a prior for others", RB_PRIOR_SCALING_LOG_SD);
    else
        add_basis(t,
                  rb_arena_printf(t->arena, "eight GPUs of one node are %.3g times as fast as one", RB_PRIOR_SCALING),
                  "a prior: benchmarks of ResNet-50, BERT-large and GNMT", RB_PRIOR_SCALING_LOG_SD);
}

// --- one GPU ---

static double variance_of(double relative_error)
{
    return log1p(rb_prior_squared(relative_error));
}

// Of the measured times as a figure for other machines: never less than that of a time that a user took.
static double own_log_sd(const struct rb_training *from)
{
    return fmax(RB_PRIOR_OWN_LOG_SD, sqrt(variance_of(from->relative_error)));
}

static double median_s(const struct rb_training *from)
{
    return from->base_s * exp(-variance_of(from->relative_error) / 2);
}

static void add_transferred(struct transferring *t, const char *accelerator, const struct rb_gpu_speed *gpu)
{
    const double log_sd = rb_prior_speed_log_sd(gpu, t->from_speed);
    const double faster = rb_prior_speed_ratio(gpu, t->from_speed, t->guess->kind);
    const double variance =
        rb_prior_squared(own_log_sd(t->from)) + rb_prior_squared(log_sd) + rb_prior_squared(RB_PRIOR_SCALING_LOG_SD);
    struct rb_training *to = &t->training[t->n++];
    *to = (struct rb_training){.accelerator = accelerator,
                               .base_s = median_s(t->from) / faster * exp(variance / 2),
                               .relative_error = sqrt(expm1(variance)),
                               .transfer = {t->from->accelerator, faster, log_sd}};
    copy_curve(t->from, t->arena, to);
    add_basis(t,
              rb_arena_printf(t->arena, "%s was not measured: one trains %.3g times as fast as one %s", accelerator,
                              faster, t->from->accelerator),
              rb_prior_speed_source(gpu, t->from_speed), log_sd);
    t->n_transferred++;
}

static void add_training(struct transferring *t, const char *accelerator)
{
    const struct rb_training *own = measured_on(t->measured, accelerator);
    const struct rb_gpu_speed *gpu = rb_gpu_speed_find(accelerator);
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->training[i].accelerator, accelerator) == 0)
            return;
    if (own) {
        t->training[t->n] = *own;
        t->training[t->n++].accelerator = accelerator;
    } else if (gpu && t->from_speed) {
        add_transferred(t, accelerator, gpu);
    }
}

// --- machines, starts ---

static void add_provisioning(const struct transferring *t, const struct rb_catalog *catalog, struct rb_profile *p)
{
    const struct rb_profile *m = t->measured;
    struct rb_provisioning *rows =
        rb_arena_array(t->arena, (size_t)(m->n_provisioning + catalog->n_offers) + 1, sizeof *rows);
    int n = 0;
    for (int i = 0; i < m->n_provisioning; i++)
        rows[n++] = m->provisioning[i];
    for (int i = 0; i < catalog->n_offers && n < RB_LIMIT_INSTANCE_TYPES; i++) {
        const struct rb_offer *o = &catalog->offers[i];
        if (!rb_profile_provisioning(m, o->infra, o->instance_type, o->market))
            rows[n++] = rb_prior_provisioning(o);
    }
    p->provisioning = rows;
    p->n_provisioning = n;
}

// Measured on other machines, whose processors and disks are others: as uncertain as what a user says.
static struct rb_dist elsewhere(const struct rb_dist *measured)
{
    struct rb_dist d = *measured;
    d.relative_error = fmin(1, sqrt(expm1(rb_prior_squared(RB_PRIOR_GIVEN_LOG_SD) + variance_of(d.relative_error))));
    rb_dist_prepare(&d, NULL);
    return d;
}

// --- what is refused ---

static const char *measured_names(const struct rb_profile *p, struct rb_arena *arena)
{
    const char *names = "";
    for (int i = 0; i < p->n_training; i++)
        names = rb_arena_printf(arena, "%s%s%s", names, i > 0 ? ", " : "", p->training[i].accelerator);
    return names;
}

static const char *closest_gpu(const struct rb_profile *p, const char *name)
{
    const char *names[MOST_NAMES];
    int n = 0;
    for (int i = 0; i < p->n_training && n < MOST_NAMES; i++)
        names[n++] = p->training[i].accelerator;
    for (const struct rb_gpu_speed *row = rb_gpu_speeds; row->name && n < MOST_NAMES; row++)
        names[n++] = row->name;
    return rb_closest(name, names, n);
}

static bool refuse_gpu(const struct rb_profile *p, const char *gpu, struct rb_arena *arena, struct rb_err *err)
{
    const char *near = rb_gpu_speed_find(gpu) ? NULL : closest_gpu(p, gpu);
    return rb_err_set(err, RB_E_GUESS_MEASURED,
                      "profile %s has no times of %.40s%s%s%s; it has those of %s: --guess measured=%s", p->name, gpu,
                      near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", measured_names(p, arena),
                      p->training[0].accelerator);
}

static bool check(const struct rb_guess *g, const struct rb_profile *measured, struct rb_arena *arena,
                  struct rb_err *err)
{
    if (!measured)
        return rb_err_set(err, RB_E_GUESS_MEASURED,
                          "a guess from what was measured on %.40s needs that profile: measure it with `rbprofile "
                          "train JOB.yaml`, and plan with rbplan",
                          g->measured);
    if (measured->n_basis > 0)
        return rb_err_set(err, RB_E_GUESS_MEASURED,
                          "profile %s is itself a guess, and nothing in it was measured on %.40s: measure it with "
                          "`rbprofile train JOB.yaml`",
                          measured->name, g->measured);
    return measured_on(measured, g->measured) || refuse_gpu(measured, g->measured, arena, err);
}

static bool refuse_speeds(const struct transferring *t, struct rb_err *err)
{
    return rb_err_set(err, RB_E_GUESS_GPU,
                      "the speed of %s relative to the GPUs on offer is not known, so nothing follows for them from "
                      "what was measured: measure the job on one of them with `rbprofile train JOB.yaml`",
                      t->from->accelerator);
}

// --- the whole ---

const char *rb_guess_best_measured(const struct rb_profile *measured)
{
    const struct rb_gpu_speed *best = NULL;
    const char *name = NULL;
    for (int i = 0; i < measured->n_training; i++) {
        const struct rb_gpu_speed *speed = rb_gpu_speed_find(measured->training[i].accelerator);
        if (speed && (!best || speed->log_sd < best->log_sd)) {
            best = speed;
            name = measured->training[i].accelerator;
        }
    }
    return name;
}

static void describe(struct transferring *t)
{
    char duration[32];
    const struct rb_profile *m = t->measured;
    const char *how = m->has_measured ? "measured" : "in a profile that was written by hand";
    add_basis(t,
              rb_arena_printf(t->arena, "%s for one %s on one %s", rb_format_seconds(median_s(t->from), duration),
                              m->unit, t->from->accelerator),
              how, own_log_sd(t->from));
    add_curve_basis(t);
    add_basis(t, rb_arena_printf(t->arena, "start-up and checkpoints as on %s", t->from->accelerator), how,
              RB_PRIOR_GIVEN_LOG_SD);
    add_basis(t, "waiting for machines and their boot, where the profile does not have them", "priors",
              RB_PRIOR_SOME_LOG_SD);
}

bool rb_guess_transfer(const struct rb_guess *g, const struct rb_profile *measured, const struct rb_catalog *catalog,
                       struct rb_arena *arena, struct rb_profile *out, struct rb_err *err)
{
    if (!check(g, measured, arena, err))
        return false;
    const struct rb_training *from = measured_on(measured, g->measured);
    struct transferring t = {.guess = g,
                             .measured = measured,
                             .from = from,
                             .from_speed = rb_gpu_speed_find(from->accelerator),
                             .arena = arena};
    t.training = rb_arena_array(arena, (size_t)catalog->n_offers + 1, sizeof *t.training);
    t.basis = rb_arena_array(arena, (size_t)catalog->n_offers + 4, sizeof *t.basis);
    describe(&t);
    for (int i = 0; i < catalog->n_offers; i++)
        add_training(&t, catalog->offers[i].accelerator);
    if (t.n == 0)
        return refuse_speeds(&t, err);
    struct rb_profile p = *measured;
    if (t.n_transferred > 0) {
        p.source = rb_arena_printf(arena, "a guess from what was measured on %s%s%s", from->accelerator,
                                   measured->source && *measured->source ? "; " : "",
                                   measured->source ? measured->source : "");
        p.training = t.training;
        p.n_training = t.n;
        p.startup_s = elsewhere(&measured->startup_s);
        p.checkpoint_s = elsewhere(&measured->checkpoint_s);
        add_provisioning(&t, catalog, &p);
        p.basis = t.basis;
        p.n_basis = t.n_basis;
    }
    *out = p;
    return true;
}
