// The dynamic schedule without sampling: chooses the lattice and the circle, finds where the law has its mass, evaluates
// P(end > t) at a few tens of times, checks itself on a coarser lattice and a larger circle, and tabulates the law.
#include "simulator/list_schedule.h"

#include "simulator/list_schedule_tail.h"

#include <math.h>
#include <string.h>

#define MAX_TIMES       160 // times evaluated: 30 in the body, the rest in a long tail
#define MAX_REFINEMENTS 4
#define LOW_LOGIT       -23.0 // 1e-10: where the table begins
#define HIGH_LOGIT      28.0  // 1e-12: where it ends

struct problem {
    const struct rb_list_schedule *s;
    double accuracy, mean, sd; // of a trial
    double last_start_s;       // when all trials have started, in the mean
    double edge_s;             // and its spread, roughly
    double reach;              // standard deviations to be covered
    bool rough;                // the trial's density does not vanish smoothly at its lower end
};

struct level { // one resolution
    struct rb_trial_lattice trial;
    struct rb_schedule_tail tail;
    double mean_starts, sd_starts; // at the last start
};

// ---- rough numbers, to choose by

static double fluid_starts(const struct problem *p, double x)
{
    const double cv = p->sd / p->mean, extra = (1 + cv * cv) / 2;
    const struct rb_law *g = p->s->arrival;
    double starts = p->s->open_slots * fmax(1, x / p->mean + extra);
    for (int i = 1; p->s->new_nodes > 0 && i < g->n; i++) {
        const double age = x - g->low_s - (i - 0.5) * g->step_s;
        if (age <= 0)
            break;
        starts +=
            (g->below[i] - g->below[i - 1]) * p->s->new_nodes * p->s->slots_per_node * fmax(1, age / p->mean + extra);
    }
    return starts;
}

static void guess_last_start(struct problem *p)
{
    double low = 0, high = p->mean;
    while (fluid_starts(p, high) < p->s->n_trials)
        high *= 2;
    for (int i = 0; i < 30; i++) {
        const double middle = (low + high) / 2;
        *(fluid_starts(p, middle) < p->s->n_trials ? &low : &high) = middle;
    }
    p->last_start_s = high;
    const double slots = p->s->open_slots + (double)p->s->new_nodes * p->s->slots_per_node;
    const double waves = fmax(high / p->mean, 0.5);
    double variance = p->sd * p->sd * waves / slots;
    if (p->s->new_nodes > 0)
        variance += p->s->arrival->variance_s2 * p->s->new_nodes * pow(p->s->slots_per_node / slots, 2);
    p->edge_s = sqrt(variance);
}

// ---- one level

static bool all_started(const struct problem *p, const struct level *l)
{
    double mean, variance, late = 0, spread;
    rb_schedule_tail_starts(&l->tail, l->trial.max_age, &mean, &variance);
    if (p->s->new_nodes > 0) { // one node later than any other
        rb_trial_lattice_starts(&l->trial, l->trial.max_age, &late, &spread);
        late *= p->s->slots_per_node;
        if (late > mean / 2)
            late = l->tail.unopened[l->trial.max_age] > 1e-7 ? late : 0;
    }
    return mean - p->reach * sqrt(variance > 0 ? variance : 0) - late + 1e-6 >= p->s->n_trials;
}

static void choose_circle(const struct problem *p, struct level *l, double larger, struct rb_arena *arena)
{
    double most = 0;
    for (int i = 0; i <= 8; i++) { // the spread waxes and wanes with the waves
        double mean, variance;
        const double x = p->last_start_s + (i - 4) * 0.25 * p->mean;
        const int age = (int)(x / l->trial.step_s);
        if (age < 0 || age > l->trial.max_age)
            continue;
        rb_schedule_tail_starts(&l->tail, age, &mean, &variance);
        most = variance > most ? variance : most;
    }
    double reach = p->reach * sqrt(most) + 4;
    if (p->s->new_nodes > 0) {
        double starts, spread;
        rb_trial_lattice_starts(&l->trial, (int)(p->last_start_s / l->trial.step_s), &starts, &spread);
        reach += p->s->slots_per_node * starts;
    }
    const int points = 2 * (int)ceil(reach * larger);
    int kept = points / 2 + 1;
    if (points > 48 && larger <= 1 && p->s->new_nodes == 0) {
        const double enough = points * p->reach / (2 * 3.14159265358979323846 * 0.5 * sqrt(most)) + 2;
        kept = enough < kept ? (int)enough : kept;
    }
    l->sd_starts = sqrt(most);
    rb_schedule_tail_set_circle(&l->tail, points, kept, arena);
}

static bool make_level(const struct problem *p, double step_s, double larger_circle, struct rb_arena *arena,
                       struct level *l, const char **out_why)
{
    const double tail = p->s->new_nodes > 0 ? p->accuracy * 1e-3 / p->s->n_trials : 1e-10 / p->s->n_trials;
    const double span = p->s->trial->low_s + p->s->trial->n * p->s->trial->step_s;
    double margin = 3 * p->sd + 5 * p->edge_s;
    for (int tries = 0; tries < 10; tries++, margin *= 1.6) {
        const int max_age = (int)ceil((p->last_start_s + margin) / step_s);
        const double youngest = p->last_start_s - span - 8 * p->edge_s;
        const int min_age = p->s->new_nodes > 0 || youngest < 0 ? 0 : (int)(youngest / step_s);
        if (!rb_trial_lattice_make(p->s->trial, step_s, min_age, max_age, tail, arena, &l->trial, out_why))
            return false;
        rb_schedule_tail_make(p->s, &l->trial, p->accuracy * 1e-4, arena, &l->tail);
        if (all_started(p, l)) {
            choose_circle(p, l, larger_circle, arena);
            return true;
        }
    }
    *out_why = "new nodes arrive over too long a time";
    return false;
}

// ---- times

struct times { // ascending
    int n;
    int at[MAX_TIMES];
    double logit[MAX_TIMES]; // log(P(end <= t) / P(end > t))
};

static double logit_of(double above)
{
    return above <= 0 ? HIGH_LOGIT + 5 : above >= 1 ? LOW_LOGIT - 5 : log((1 - above) / above);
}

static double logit_at(const struct level *l, int t)
{
    return logit_of(rb_schedule_tail_above(&l->tail, t));
}

// A time near the median and the steps per standard deviation there.
static int find_middle(const struct problem *p, const struct level *l, double *out_sd)
{
    int low = (int)(p->last_start_s / l->trial.step_s), stride = 1 + (int)(2 * p->sd / l->trial.step_s);
    while (low > 0 && logit_at(l, low) > -1)
        low = low > stride ? low - stride : 0;
    int high = low + stride;
    double at_low = logit_at(l, low), at_high;
    while ((at_high = logit_at(l, high)) < 1) {
        if (at_high < -1) {
            low = high;
            at_low = at_high;
        }
        high += stride;
    }
    while (high - low > 1 && at_high - at_low > 4) {
        const int middle = (low + high) / 2;
        const double at = logit_at(l, middle);
        if (at < 0) {
            low = middle;
            at_low = at;
        } else {
            high = middle;
            at_high = at;
        }
    }
    *out_sd = 1.8 * (high - low) / (at_high - at_low);
    return at_high < -at_low ? high : low;
}

static void find_times(const struct problem *p, const struct level *l, int middle, double sd, struct times *out)
{
    const double least = p->accuracy * 1e-2, stride = sd * (p->accuracy < 5e-4 ? 0.5 : 0.7);
    int down[MAX_TIMES];
    double values[MAX_TIMES];
    int n = 0;
    double t = middle, step = stride < 1 ? 1 : stride;
    while (n < MAX_TIMES / 2) {
        t -= step;
        if (t < 1)
            break;
        down[n] = (int)t;
        values[n] = rb_schedule_tail_above(&l->tail, down[n]);
        if (1 - values[n] < least || (n > 0 && values[n] <= values[n - 1])) // dust, and what is not law but error
            break;
        n++;
    }
    out->n = 0;
    for (int i = n - 1; i >= 0; i--, out->n++) {
        out->at[out->n] = down[i];
        out->logit[out->n] = logit_of(values[i]);
    }
    const double end = p->s->new_nodes > 0 ? p->accuracy * 1e-2 : 1e-9;
    for (t = middle; out->n < MAX_TIMES; t += step) {
        const double above = rb_schedule_tail_above(&l->tail, (int)t);
        const double logit = logit_of(above);
        if (above < end || (out->n > 0 && logit <= out->logit[out->n - 1]))
            break;
        out->at[out->n] = (int)t;
        out->logit[out->n++] = logit;
        if (above < 0.01)
            step *= 1.1;
    }
}

// ---- the table

// Degree-5 interpolation among the six nearest times; straight beyond the outermost.
static double logit_between(const struct times *times, double t)
{
    const int n = times->n, most = n < 6 ? n : 6;
    const int *at = times->at;
    if (t < at[0])
        return times->logit[0] + (t - at[0]) * (times->logit[1] - times->logit[0]) / (at[1] - at[0]);
    if (t > at[n - 1])
        return times->logit[n - 1] +
               (t - at[n - 1]) * (times->logit[n - 1] - times->logit[n - 2]) / (at[n - 1] - at[n - 2]);
    int first = 0;
    while (first + most < n && t > (at[first + most / 2 - 1] + at[first + most / 2]) / 2.0 && at[first + most / 2] < t)
        first++;
    double v[6];
    for (int i = 0; i < most; i++)
        v[i] = times->logit[first + i];
    for (int width = 1; width < most; width++) { // Neville
        for (int i = 0; i + width < most; i++) {
            const double a = at[first + i], b = at[first + i + width];
            v[i] = ((b - t) * v[i] + (t - a) * v[i + 1]) / (b - a);
        }
    }
    return v[0];
}

static void tabulate(const struct times *times, double lattice_s, struct rb_arena *arena, struct rb_law *out)
{
    const int n = times->n;
    const double low_slope = (times->logit[1] - times->logit[0]) / (times->at[1] - times->at[0]);
    const double high_slope = (times->logit[n - 1] - times->logit[n - 2]) / (times->at[n - 1] - times->at[n - 2]);
    double low = times->at[0] - (times->logit[0] - LOW_LOGIT) / low_slope;
    const double high = times->at[n - 1] + fmax(0, HIGH_LOGIT - times->logit[n - 1]) / high_slope;
    if (low < 0)
        low = 0;
    out->n = RB_LAW_POINTS;
    out->low_s = low * lattice_s;
    out->step_s = (high - low) * lattice_s / (out->n - 1);
    double *below = rb_arena_array(arena, (size_t)out->n, sizeof *below);
    double *above = rb_arena_array(arena, (size_t)out->n, sizeof *above);
    double highest = -1e9;
    for (int i = 0; i < out->n; i++) {
        highest = fmax(highest, logit_between(times, low + i * (high - low) / (out->n - 1)));
        below[i] = 1 / (1 + exp(-highest));
        above[i] = 1 / (1 + exp(highest));
    }
    double mean = 0, square = 0; // of what lies above low: integrals of P(X > x) and 2 x P(X > x)
    for (int i = 0; i < out->n; i++) {
        const double w = (i == 0 || i == out->n - 1 ? 0.5 : 1) * out->step_s * above[i];
        mean += w;
        square += 2 * i * out->step_s * w;
    }
    out->below = below;
    out->above = above;
    out->mean_s = out->low_s + mean;
    out->variance_s2 = square - mean * mean;
    out->jump = 0;
}

// ---- how wrong it may be

// The difference to a lattice half as coarse again and another circle: what the coarser one errs by, and more than this
// one does, because errors fall with the step by at least its first power.
static double difference(const struct problem *p, const struct level *fine, const struct level *coarse, int middle,
                         double sd)
{
    double most = 0;
    for (int i = -1; i <= 1; i++) {
        const int t = (int)(middle + i * sd) / 3;
        const double a = rb_schedule_tail_above(&fine->tail, 3 * t), b = rb_schedule_tail_above(&coarse->tail, 2 * t);
        most = fmax(most, fabs(a - b));
    }
    return p->rough ? 2 * most : most;
}

// Refines until two levels agree; *out_error is what is then left.
static bool solve(const struct problem *p, double step_s, struct rb_arena *scratch, struct level *out, int *out_middle,
                  double *out_sd, double *out_error, const char **out_why)
{
    struct level coarse;
    double circle = 1;
    if (!make_level(p, step_s * 1.5, 1.5, scratch, &coarse, out_why))
        return false;
    for (int refined = 0; refined <= MAX_REFINEMENTS; refined++, step_s /= 1.5, circle *= 1.4) {
        if (!make_level(p, step_s, circle, scratch, out, out_why))
            return false;
        *out_middle = find_middle(p, out, out_sd);
        *out_error = difference(p, out, &coarse, *out_middle, *out_sd);
        if (*out_error <= p->accuracy && *out_sd >= 1.5)
            return true;
        coarse = *out;
    }
    *out_why = "the accuracy was not reached";
    return false;
}

static bool trial_is_rough(const struct rb_law *trial)
{
    return trial->below[1] > 1e-4 * trial->step_s / sqrt(trial->variance_s2);
}

static bool refused(const struct rb_list_schedule *s, const char **out_why)
{
    *out_why = s->trial->jump > 0 || s->trial->n < 16                             ? "the trial's time has atoms"
               : s->new_nodes > 0 && (s->arrival->jump > 0 || s->arrival->n < 16) ? "the arrival of new nodes has atoms"
                                                                                  : NULL;
    return *out_why != NULL;
}

bool rb_list_schedule_law(const struct rb_list_schedule *s, double accuracy, struct rb_arena *arena, struct rb_law *out,
                          const char **out_why)
{
    if (refused(s, out_why))
        return false;
    if (s->n_trials <= s->open_slots) {
        *out = rb_law_largest_of(s->trial, s->n_trials, arena);
        return true;
    }
    struct problem p = {.s = s, .accuracy = accuracy, .mean = s->trial->mean_s, .sd = sqrt(s->trial->variance_s2)};
    p.reach = sqrt(2 * log(100 / accuracy));
    guess_last_start(&p);
    p.rough = trial_is_rough(s->trial);
    struct rb_arena scratch;
    struct level level;
    struct times times;
    int middle;
    double sd, error;
    rb_arena_init(&scratch);
    bool ok = solve(&p, fmin(p.sd / 3, p.edge_s * 1.2), &scratch, &level, &middle, &sd, &error, out_why);
    if (ok) {
        find_times(&p, &level, middle, sd, &times);
        ok = times.n >= 6;
        *out_why = ok ? NULL : "the law could not be tabulated";
    }
    if (ok) {
        tabulate(&times, level.trial.step_s, arena, out);
        out->error = error + s->n_trials * s->trial->error;
        if (s->new_nodes > 0)
            out->error += s->new_nodes * s->arrival->error;
    }
    rb_arena_finish(&scratch);
    return ok;
}
