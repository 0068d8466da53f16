#include "simulator/forecast/forecast_outlook.h"

#include <math.h>
#include <string.h>

// ---- how long things take

static bool speedup(const struct rb_outlook *o, int gpus, double *out)
{
    const struct rb_offer *offer = &o->plan->offers[o->plan->stages[0].nodes[0].offer];
    const int n_nodes = (gpus + offer->gpus - 1) / offer->gpus;
    const struct rb_training *t = rb_profile_training(o->plan->profile, offer->accelerator);
    return n_nodes <= o->plan->job->trial.max_nodes && rb_training_speedup(t, gpus, n_nodes, out, NULL);
}

static bool look_at_latencies(struct rb_outlook *o)
{
    const struct rb_profile *profile = o->plan->profile;
    const struct rb_offer *offer = &o->plan->offers[o->plan->stages[0].nodes[0].offer];
    const int64_t observed_us = rb_timing_unit_us(o->seen.timing), startup_us = rb_timing_startup_us(o->seen.timing);
    double atom;
    if (!speedup(o, o->seen.atom_gpus, &atom))
        return false;
    o->unit_us =
        observed_us > 0 ? (double)observed_us : rb_profile_training(profile, offer->accelerator)->base_s / atom * 1e6;
    o->restart_us = (startup_us > 0 ? (double)startup_us : rb_dist_mean(&profile->startup_s) * 1e6) +
                    rb_dist_mean(&profile->checkpoint_s) * 1e6;
    o->left_us = (double)(o->plan->deadline_us - rb_engine_now_us(o->e));
    return o->left_us > 0;
}

static void look_at_sizes(struct rb_outlook *o)
{
    const struct rb_trial_spec *spec = &o->plan->job->trial;
    double atom, many;
    speedup(o, o->seen.atom_gpus, &atom);
    o->n_sizes = 1;
    for (int i = 0; i < spec->n_sizes && o->n_sizes < RB_CHOICE_SIZES; i++) {
        if (spec->sizes[i] < o->seen.atom_gpus || spec->sizes[i] > o->n_gpus || !speedup(o, spec->sizes[i], &many))
            continue;
        o->sizes[o->n_sizes] = spec->sizes[i];
        o->pace[o->n_sizes] = many / atom / o->unit_us;
        if (o->pace[o->n_sizes] > o->pace[o->largest])
            o->largest = o->n_sizes;
        o->n_sizes++;
    }
}

// ---- who is looked at

static int size_index(const struct rb_outlook *o, int gpus)
{
    int at = 0;
    while (at + 1 < o->n_sizes && o->sizes[at + 1] <= gpus)
        at++;
    return at;
}

static double ceiling_of(const struct rb_outlook *o, int trial)
{
    double x[RB_CURVE_SHAPES];
    const struct rb_trial *t = rb_engine_trial(o->e, trial);
    rb_curve_shapes_at(fmin((double)t->resource + o->pace[o->largest] * o->left_us, o->max_resource),
                       o->seen.curves->max_resource, x);
    const struct rb_prospect p = rb_curve_prospect(o->curves, trial, x);
    return p.mean + 2 * p.sd;
}

// Those with the highest ceilings; ties by id.
static void add_candidate(struct rb_outlook *o, double *ceilings, int trial)
{
    const double ceiling = ceiling_of(o, trial);
    int at = o->n_trials < RB_CHOICE_TRIALS ? o->n_trials++ : RB_CHOICE_TRIALS;
    for (; at > 0 && (ceiling > ceilings[at - 1] || (ceiling >= ceilings[at - 1] && trial < o->trials[at - 1])); at--) {
        if (at == RB_CHOICE_TRIALS)
            continue;
        ceilings[at] = ceilings[at - 1];
        o->trials[at] = o->trials[at - 1];
    }
    if (at < RB_CHOICE_TRIALS) {
        ceilings[at] = ceiling;
        o->trials[at] = trial;
    }
}

static int gpus_of(const struct rb_outlook *o, int trial)
{
    return rb_engine_trial(o->e, trial)->next_gpus;
}

static void look_at_trials(struct rb_outlook *o)
{
    double ceilings[RB_CHOICE_TRIALS];
    int n_running, n_waiting, taken = 0, all = 0;
    const int *running = rb_engine_running(o->e, &n_running), *waiting = rb_engine_waiting(o->e, &n_waiting);
    for (int i = 0; i < n_running + n_waiting; i++) {
        const int trial = i < n_running ? running[i] : waiting[i - n_running];
        if (gpus_of(o, trial) == 0)
            continue; // it pauses
        all += gpus_of(o, trial);
        add_candidate(o, ceilings, trial);
    }
    for (int i = 0; i < o->n_trials; i++)
        taken += gpus_of(o, o->trials[i]);
    o->others_gpus = all - taken;
}

// Durations of a trial before it was stopped or paused predict the next one.
static void look_at_newcomers(struct rb_outlook *o)
{
    double us = 0, resource = 0;
    int n = 0;
    for (int i = 0; i < rb_engine_n_trials(o->e) && i < o->seen.timing->n_trials; i++) {
        const struct rb_trial *t = rb_engine_trial(o->e, i);
        const struct rb_seen_trial *seen = rb_timing_of(o->seen.timing, i);
        if (t->state == RB_TRIAL_RUNNING || t->state == RB_TRIAL_WAITING || seen->attempt < 0)
            continue;
        us += (double)seen->total_us;
        resource += (double)t->resource;
        n++;
    }
    const double least = (double)o->plan->job->scheduler.min_resource;
    o->newcomer_resource = n > 0 ? resource / n : least;
    o->newcomer_us = (n > 0 ? us / n : least * o->unit_us) + o->restart_us;
}

// ---- what they would come to

static struct rb_prospect prospect(const struct rb_outlook *o, int trial, double resource)
{
    double x[RB_CURVE_SHAPES];
    rb_curve_shapes_at(resource, o->seen.curves->max_resource, x);
    struct rb_prospect p = rb_curve_prospect(o->curves, trial, x);
    p.sd = hypot(p.sd, rb_curve_surprise(o->curves, resource));
    return p;
}

// The score at the deadline if the trial has `size` during the window and is then the one that takes all. Its spread is
// the part that the window reveals, in proportion to the resource trained in it.
static struct rb_prospect prospect_of(const struct rb_outlook *o, int trial, int size, double window_us)
{
    const struct rb_trial *t = rb_engine_trial(o->e, trial);
    const int now = size_index(o, gpus_of(o, trial));
    const bool grows = o->pace[o->largest] > o->pace[size];
    const double after_us = o->left_us - window_us;
    const double wait_us = size > now ? fmin(o->boot_us, window_us) : 0, restart_us = size != now ? o->restart_us : 0;
    const double during = o->pace[now] * wait_us + o->pace[size] * fmax(window_us - wait_us - restart_us, 0);
    const double after = grows ? o->pace[o->largest] * fmax(after_us - o->restart_us, 0) : o->pace[size] * after_us;
    const double most = o->max_resource - (double)t->resource;
    // The unit in progress at the deadline is lost: half of one on average.
    const double ahead = fmin(fmax(during + after - 0.5, 0), most);
    struct rb_prospect p = prospect(o, trial, fmax((double)t->resource + ahead, 1));
    p.sd *= ahead > 0 ? sqrt(fmin(during / ahead, 1)) : 0;
    return p;
}

// Possible scores of a newcomer that is found during the window and then takes all: those of the job's trials.
static int newcomers(const struct rb_outlook *o, double window_us, struct rb_prospect *out)
{
    const struct rb_seen_curves *seen = o->seen.curves;
    const double after_us = fmax(o->left_us - window_us - o->restart_us, 0);
    const double resource = fmin(o->newcomer_resource + o->pace[o->largest] * after_us, o->max_resource);
    const int stride = seen->n_trials / RB_OUTLOOK_NEWCOMERS + 1;
    double x[RB_CURVE_SHAPES], sum = 0, squares = 0;
    int n = 0;
    rb_curve_shapes_at(fmax(resource, 1), seen->max_resource, x);
    for (int i = 0; i < seen->n_trials && n < RB_OUTLOOK_NEWCOMERS; i += stride) {
        if (seen->trials[i].n == 0)
            continue;
        out[n] = rb_curve_prospect(o->curves, i, x);
        sum += out[n].mean;
        squares += out[n].mean * out[n].mean;
        n++;
    }
    // A kernel density of these scores (Silverman's width).
    const double var = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
    for (int i = 0; i < n; i++)
        out[i].sd = 1.06 * sqrt(fmax(var, 0)) * pow(n, -0.2);
    return n;
}

// ---- the question

static double reached(const struct rb_outlook *o)
{
    double best = -INFINITY;
    for (int i = 0; i < rb_engine_n_trials(o->e); i++) {
        const struct rb_trial *t = rb_engine_trial(o->e, i);
        if (t->resource > 0 && t->score > best)
            best = t->score;
    }
    return best;
}

static int untried(const struct rb_outlook *o)
{
    return o->plan->job->scheduler.num_trials - rb_engine_n_trials(o->e);
}

void rb_outlook_pose(const struct rb_outlook *o, double window_us, struct rb_prospect *new, struct rb_choice *c)
{
    *c = (struct rb_choice){
        .n_trials = o->n_trials,
        .n_sizes = o->n_sizes,
        .n_gpus = o->n_gpus - o->others_gpus,
        .reached = reached(o),
        .newcomers = new,
        .n_newcomers = newcomers(o, window_us, new),
    };
    memcpy(c->gpus, o->sizes, sizeof c->gpus);
    for (int i = 0; i < o->n_trials; i++) {
        c->now[i] = size_index(o, gpus_of(o, o->trials[i]));
        for (int s = 1; s < o->n_sizes; s++)
            c->prospects[i][s] = prospect_of(o, o->trials[i], s, window_us);
    }
    if (untried(o) > 0 && c->n_gpus > 0)
        c->newcomers_per_gpu = fmin(fmax(window_us - o->boot_us, 0) / o->newcomer_us / o->seen.atom_gpus,
                                    (double)untried(o) / (double)c->n_gpus);
}

// ---- all of it

bool rb_outlook_look(const struct rb_plan *plan, const struct rb_engine *e, struct rb_arena *arena,
                     struct rb_outlook *out)
{
    struct rb_outlook o = {.plan = plan, .e = e, .max_resource = (double)plan->job->scheduler.max_resource};
    if (!rb_lookahead_seen(e, &o.seen))
        return false;
    o.curves = rb_curve_model_fit(o.seen.curves, arena);
    if (!o.curves || !look_at_latencies(&o))
        return false;
    rb_outlook_resize(&o, rb_engine_n_gpus(e), 0);
    if (o.n_sizes < 2)
        return false;
    look_at_trials(&o);
    look_at_newcomers(&o);
    *out = o;
    return true;
}

void rb_outlook_resize(struct rb_outlook *o, int n_gpus, double boot_us)
{
    o->n_gpus = n_gpus;
    o->boot_us = boot_us;
    o->largest = 0;
    look_at_sizes(o);
}
