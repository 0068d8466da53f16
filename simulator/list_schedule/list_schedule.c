// The dynamic schedule without sampling: chooses the lattice and the circle, finds where the law has its mass, evaluates
// P(end > t) at a few tens of times, checks itself on a coarser lattice and a larger circle, and tabulates the law.
#include "simulator/list_schedule/list_schedule.h"

#include "simulator/list_schedule/list_schedule_tail.h"
#include "simulator/list_schedule/list_schedule_times.h"

#include <math.h>
#include <string.h>

#define MAX_REFINEMENTS 4
#define OPENING_REACH   4.0  // standard deviations of an opening, and of the last start
#define RESOLVED        1.85 // steps to an opening's deviation, so that one and a half of them still show it
#define SMALL           0.8  // of the other steps, is an opening that matters less the smaller it is ...
#define BARELY          1.0  // ... for which so many steps to its deviation do to begin with
#define FINEST          40   // steps to a trial's deviation
#define NARROW          2    // times the difference of two levels, where of an opening only moments are kept
#define BEYOND_CIRCLE   0.3  // of the accuracy: next to nothing of it is what the circle folds
#define LATE            2.0  // standard deviations of an opening: where all of them spread as much as one more does
#define HOPELESS        5e-3 // of narrow openings: the last level seldom helps if the one before errs by more, ...
#define GAINED          3    // ... and thrice as much every level before
#define COARSE          1e-3 // accuracy from which on fewer openings do
#define FLUID_STRIDE    8    // points of the arrival law
#define MOST_WORK       2e8  // a tenth of a second; beyond it sampling is faster
#define NEGLIGIBLE      1e-3 // of the accuracy: what counts for less is left out, of some fifty times left ...
#define LEFT_OUT        0.08 // ... and six cuts of every slot's chances: together less than this
#define LATEST          0.05 // of the accuracy: no time is evaluated beyond it, the odds fall on as they did
#define MOST_CHANCES    4e6  // of ages and completions of a slot, tabulated: 32 MB

struct problem {
    const struct rb_list_schedule *s;
    double accuracy, worst; // aimed at, and taken where that is not reached
    double mean, sd;        // of a trial
    double last_start_s;    // when all trials have started, in the mean
    double edge_s;          // and its spread, roughly
    double first_step_s;    // of the first lattice
    double reach;           // standard deviations to be covered
    bool rough;             // the trial's density does not vanish smoothly at its lower end
};

struct level { // one resolution
    struct rb_trial_lattice trial;
    struct rb_schedule_tail tail;
    int number;      // 0 is coarser than what is tried first
    double margin_s; // of its oldest age beyond when all trials have started in the mean
};

int rb_schedule_n_late(const struct rb_list_schedule *s)
{
    return s->ranked ? s->new_nodes : s->new_nodes > 0;
}

const struct rb_law *rb_schedule_opening(const struct rb_list_schedule *s, int group)
{
    return s->ranked ? &s->ranked[group] : s->arrival;
}

// ---- rough numbers, to choose by

static double fluid_starts(const struct problem *p, double x)
{
    const double cv = p->sd / p->mean, extra = (1 + cv * cv) / 2;
    const int n_late = rb_schedule_n_late(p->s);
    double starts = p->s->open_slots * fmax(1, x / p->mean + extra);
    for (int k = 0; k < n_late; k++) {
        const struct rb_law *g = rb_schedule_opening(p->s, k);
        const double slots = (double)(p->s->new_nodes / n_late) * p->s->slots_per_node;
        for (int i = FLUID_STRIDE; i < g->n; i += FLUID_STRIDE) {
            const double age = x - g->low_s - (i - 0.5 * FLUID_STRIDE) * g->step_s;
            if (age <= 0)
                break;
            starts += (g->below[i] - g->below[i - FLUID_STRIDE]) * slots * fmax(1, age / p->mean + extra);
        }
    }
    return starts;
}

static void guess_last_start(struct problem *p)
{
    double low = 0, high = p->mean;
    while (fluid_starts(p, high) < p->s->n_trials)
        high *= 2;
    for (int i = 0; i < 20; i++) {
        const double middle = (low + high) / 2;
        *(fluid_starts(p, middle) < p->s->n_trials ? &low : &high) = middle;
    }
    p->last_start_s = high;
    const double slots = p->s->open_slots + (double)p->s->new_nodes * p->s->slots_per_node;
    const double waves = fmax(high / p->mean, 0.5);
    double variance = p->sd * p->sd * waves / slots;
    const int n_late = rb_schedule_n_late(p->s);
    for (int k = 0; k < n_late; k++)
        variance += rb_schedule_opening(p->s, k)->variance_s2 * (p->s->new_nodes / n_late) *
                    pow(p->s->slots_per_node / slots, 2);
    p->edge_s = sqrt(variance);
}

// ---- one level

// Is it certain enough that all n trials have started by the oldest age of the lattice?
static bool all_started(const struct problem *p, const struct level *l)
{
    double mean, variance, late = 0;
    rb_schedule_tail_starts(&l->tail, l->tail.max_age, &mean, &variance);
    for (int i = 0; i < l->tail.n_late; i++) {
        if (l->tail.late[i].opening.unopened[l->tail.max_age] > 1e-7) // one node later than any other
            late = rb_schedule_tail_one_node(&l->tail, l->tail.max_age);
    }
    return mean - p->reach * sqrt(variance > 0 ? variance : 0) - late + 1e-6 >= p->s->n_trials;
}

// Starts by which one late node may lag, beyond what the spread of all starts covers.
static double late_starts(const struct problem *p, const struct level *l)
{
    double most = 0;
    for (int i = 0; i < l->tail.n_late; i++) {
        const struct rb_law *opening = rb_schedule_opening(p->s, i);
        const double late_s = rb_law_quantile(opening, 1 - p->accuracy * 0.01) - opening->mean_s;
        most = fmax(most, late_s - LATE * sqrt(opening->variance_s2));
    }
    const double starts = most / p->mean * p->s->slots_per_node;
    return fmin(starts, rb_schedule_tail_one_node(&l->tail, (int)(p->last_start_s / l->trial.step_s)));
}

// As many roots as cover the spread of the number of starts and one late node; of these, for open slots alone, those up to
// where the factors have faded.
static void choose_circle(const struct problem *p, struct level *l, double larger)
{
    double most = 0;
    for (int i = 0; i <= 8; i++) { // the spread waxes and wanes with the waves
        double mean, variance;
        const double x = p->last_start_s + (i - 4) * 0.25 * p->mean;
        const int age = (int)(x / l->trial.step_s);
        if (age < l->tail.min_age || age > l->tail.max_age)
            continue;
        rb_schedule_tail_starts(&l->tail, age, &mean, &variance);
        most = variance > most ? variance : most;
    }
    const double reach = larger * (sqrt(-2 * log(BEYOND_CIRCLE * p->accuracy)) * sqrt(most) + 4);
    const int below = (int)ceil(reach + larger * late_starts(p, l)), points = 2 * (int)ceil((below + reach) / 2);
    int kept = points / 2 + 1;
    if (points > 48 && larger <= 1 && p->s->new_nodes == 0) {
        const double enough = points * p->reach / (2 * 3.14159265358979323846 * 0.5 * sqrt(most)) + 2;
        kept = enough < kept ? (int)enough : kept;
    }
    rb_schedule_tail_set_circle(&l->tail, points, kept, below);
}

// Does this one open while the last trials start, and by how much does it spread? Else INFINITY.
static double shown_spread_s(const struct problem *p, const struct rb_law *opening)
{
    const double sd = sqrt(opening->variance_s2), latest_s = opening->mean_s + OPENING_REACH * sd;
    return latest_s > p->last_start_s - OPENING_REACH * p->edge_s ? sd : INFINITY;
}

// A sum over times left needs fewer points than the sums of durations do: its error falls off as that of a smooth bump.
static double times_apart_s(const struct problem *p)
{
    double apart_s = fmin(p->sd * 0.67, p->edge_s * 1.6);
    for (int i = 0; i < rb_schedule_n_late(p->s); i++)
        apart_s = fmin(apart_s, shown_spread_s(p, rb_schedule_opening(p->s, i)) / 1.4);
    return apart_s;
}

static double openings_apart_s(const struct problem *p)
{
    const struct rb_law *opening = p->s->new_nodes > 0 ? rb_schedule_opening(p->s, 0) : NULL;
    return !opening || rb_lattice_rough(opening) ? 0 : fmin(p->sd * 0.67, sqrt(opening->variance_s2) / RESOLVED);
}

// Points of level i, the first of the step given: as many on all finer ones, half as many on the coarser one, so that any two
// neighbours sum up at other distances and their difference tells what that errs by.
static int points_apart(double apart_s, double first_step_s, int level)
{
    const int points = apart_s < first_step_s ? 1 : (int)(apart_s / first_step_s);
    return level > 0 || points == 1 ? points : points / 2;
}

// Where the last opening counts in part, a sum over few points errs by some 1e-4.
static void set_openings_apart(const struct problem *p, struct level *l)
{
    const bool coarse = p->accuracy >= COARSE;
    l->tail.openings_apart = points_apart(openings_apart_s(p), p->first_step_s, coarse ? 1 : l->number);
    l->tail.cut_openings_apart = coarse ? l->tail.openings_apart : 1;
}

// Roughly, the numbers that make up the factors of a new node.
static double work_of(const struct problem *p, const struct level *l, double larger)
{
    const double ages = l->tail.max_age, times = l->tail.last_y - l->tail.first_y + 1;
    const double starts = p->s->new_nodes > 0 ? p->s->slots_per_node * p->last_start_s / p->mean + 10 : 0;
    return p->s->new_nodes > 0 && !l->tail.linear
               ? ages * times * (l->tail.open.max_k - l->tail.open.min_k + 1) * starts * larger
               : 0;
}

// Into *l, whose margin is the least to begin with.
static bool make_level(const struct problem *p, double step_s, double larger_circle, struct rb_arena *arena,
                       struct level *l, const char **out_why)
{
    const double tail = p->accuracy * 1e-3 / p->s->n_trials;
    const double span = p->s->trial->low_s + p->s->trial->n * p->s->trial->step_s;
    const bool averaged = p->s->new_nodes > 0 && p->s->slots_per_node > 1; // over openings: all ages are of interest
    if (!rb_trial_lattice_make(p->s->trial, step_s, tail, arena, &l->trial, out_why))
        return false;
    for (int tries = 0; tries < 10; tries++, l->margin_s *= 1.6) {
        const int max_age = (int)ceil((p->last_start_s + l->margin_s) / step_s);
        const double youngest = p->last_start_s - span - 8 * p->edge_s;
        const int min_age = averaged || youngest < 0 ? 0 : (int)(youngest / step_s);
        if (!rb_schedule_tail_make(p->s, &l->trial, min_age, max_age, p->accuracy * NEGLIGIBLE, arena, &l->tail,
                                   out_why))
            return false;
        set_openings_apart(p, l);
        if ((double)max_age * rb_schedule_tail_width(&l->tail) > MOST_CHANCES) {
            *out_why = "too many waves: their table would not fit";
            return false;
        }
        if (all_started(p, l)) {
            if (work_of(p, l, larger_circle) > MOST_WORK) {
                *out_why = "too many points: trials spread too little against the arrival of new nodes";
                return false;
            }
            l->tail.apart = points_apart(times_apart_s(p), p->first_step_s, l->number);
            choose_circle(p, l, larger_circle);
            return true;
        }
    }
    *out_why = "new nodes arrive over too long a time";
    return false;
}

// ---- times

struct middle { // a lattice time near the median, and the standard deviation in steps
    int at;
    double sd;
};

static double above_at(struct level *l, struct rb_schedule_times *times, int t)
{
    for (int i = 0; i < times->n; i++) {
        if (times->at[i] == t)
            return rb_schedule_above(times->score[i], times->dust);
    }
    const double above = rb_schedule_tail_above(&l->tail, t);
    rb_schedule_times_add(times, t, above);
    return above;
}

static int even(double t)
{
    return 2 * (int)(t / 2 + 0.5);
}

// Scores are nearly straight in time: the secant through the nearest times on either side of the median, and before there
// are two, steps of what the spread might be. All times are even, so that the next level has them too.
static struct middle find_middle(const struct problem *p, struct level *l, struct rb_schedule_times *times)
{
    const double guess_sd = fmax(1, (p->edge_s + p->sd / 2) / l->trial.step_s);
    int low = 0, high = 0, t = even((p->last_start_s + p->mean + p->sd / 2) / l->trial.step_s);
    double at_low = -HUGE_VAL, at_high = HUGE_VAL;
    times->n = 0;
    for (;;) {
        t = t < 2 ? 2 : t;
        const double score = rb_schedule_score(above_at(l, times, t), 1e-6);
        if (score < 0) {
            low = t;
            at_low = score;
        } else {
            high = t;
            at_high = score;
        }
        if (high == 2) // half of the law is below the first time
            return (struct middle){.at = 2, .sd = guess_sd};
        const bool both = at_low > -HUGE_VAL && at_high < HUGE_VAL;
        const double gap = both ? at_high - at_low : HUGE_VAL;
        if (both && (high - low <= 2 || gap < 2)) {
            const double sd = (high - low) / gap;
            return (struct middle){.at = (int)(low - at_low * sd + 0.5), .sd = sd};
        }
        if (both) {
            t = even(low - at_low * (high - low) / gap);
            t = t <= low ? low + 2 : t >= high ? high - 2 : t;
        } else {
            const int by = even(fmin(fabs(score), 3) * 1.2 * guess_sd);
            t += (score < 0 ? 1 : -1) * (by < 2 ? 2 : by);
        }
    }
}

// In the gaps between the times that there are and beyond, until what is left counts for nothing or is no longer law but
// error.
static void lay_out(const struct problem *p, struct level *l, const struct middle *middle,
                    struct rb_schedule_times *times)
{
    const struct rb_schedule_times was = *times;
    const int apart = (int)fmax(1, 0.85 * middle->sd + 0.5);
    for (int i = 0; i + 1 < was.n; i++) {
        const int gap = was.at[i + 1] - was.at[i], parts = (int)ceil(gap / (1.2 * apart));
        for (int j = 1; j < parts; j++)
            above_at(l, times, was.at[i] + gap * j / parts);
    }
    int t = was.at[0];
    double above = rb_schedule_above(was.score[0], was.dust);
    while (t > 1 && 1 - above > p->accuracy * 0.1 && times->n < RB_SCHEDULE_TIMES / 4) {
        t = t > apart ? t - apart : t / 2;
        above = above_at(l, times, t);
    }
    double step = apart, last = 2, at = was.at[was.n - 1];
    above = rb_schedule_above(was.score[was.n - 1], was.dust);
    while (above > p->accuracy * LATEST && above < last && times->n < RB_SCHEDULE_TIMES / 2) {
        if (above < 0.01)
            step *= 1.2;
        at += step;
        last = above;
        above = above_at(l, times, (int)at);
    }
}

// Times that do not lie in order tell no law but error; they are at the ends.
static void cut_ends(struct rb_schedule_times *times)
{
    int first = 0, middle = 0;
    while (middle + 1 < times->n && times->score[middle] < 0)
        middle++;
    for (int i = middle; i > 0 && first == 0; i--)
        first = times->score[i - 1] >= times->score[i] ? i : 0;
    int end = middle + 1;
    while (end < times->n && times->score[end] > times->score[end - 1])
        end++;
    times->n = end - first;
    memmove(times->at, times->at + first, (size_t)times->n * sizeof *times->at);
    memmove(times->score, times->score + first, (size_t)times->n * sizeof *times->score);
}

// Halves the intervals in which interpolation is not yet sure; false if there are too many. Halving a step divides the
// error of the interpolation by up to 64; half of what was found is what we claim.
static bool refine(const struct problem *p, struct level *l, struct rb_schedule_times *times, bool *unsure,
                   double *out_worst, double *out_error)
{
    const struct rb_schedule_times was = *times;
    bool next[RB_SCHEDULE_TIMES] = {false};
    double worst = 0;
    for (int i = 0, at = 0; i + 1 < was.n; i++, at++) {
        if (!unsure[i] || was.at[i + 1] - was.at[i] < 2)
            continue;
        const int t = (was.at[i] + was.at[i + 1]) / 2;
        const double above = rb_schedule_tail_above(&l->tail, t);
        const double miss = fabs(above - rb_schedule_times_above(&was, t));
        if (!rb_schedule_times_add(times, t, above))
            return false;
        at++;
        worst = fmax(worst, miss / 2);
        if (miss <= p->accuracy / 2) {
            *out_error = fmax(*out_error, miss / 2);
        } else {
            for (int j = at - 2; j <= at + 1; j++)
                next[j < 0 ? 0 : j] = true;
        }
    }
    memcpy(unsure, next, sizeof next);
    *out_worst = worst;
    return true;
}

// Intervals beside times that the others miss are unsure; *out_error: what interpolation elsewhere errs by.
static bool doubt(const struct problem *p, const struct rb_schedule_times *times, bool *unsure, double *out_error)
{
    bool any = false;
    memset(unsure, 0, RB_SCHEDULE_TIMES * sizeof *unsure);
    for (int i = 1; i + 1 < times->n; i++) {
        const double error = rb_schedule_times_missed(times, i) / 4;
        if (error <= p->accuracy / 4)
            *out_error = fmax(*out_error, error);
        else
            any = unsure[i - 1] = unsure[i] = true;
    }
    return any;
}

static bool find_times(const struct problem *p, struct level *l, const struct middle *middle,
                       struct rb_schedule_times *times, double *out_error)
{
    bool unsure[RB_SCHEDULE_TIMES];
    double worst = 0;
    *out_error = 0;
    lay_out(p, l, middle, times);
    cut_ends(times);
    if (times->n < 6)
        return false;
    bool any = doubt(p, times, unsure, out_error);
    for (int passes = 0; any && passes < 6; passes++) {
        if (!refine(p, l, times, unsure, &worst, out_error))
            return false;
        any = false;
        for (int i = 0; i + 1 < times->n; i++)
            any |= unsure[i];
    }
    *out_error = fmax(*out_error, worst);
    cut_ends(times);
    return times->n >= 6 && *out_error <= p->accuracy;
}

// ---- how wrong it may be

static bool is_narrow(const struct level *l)
{
    bool narrow = false;
    for (int i = 0; i < l->tail.n_late; i++)
        narrow |= l->tail.late[i].opening.narrow;
    return narrow;
}

static bool has_near(const struct rb_schedule_times *times, double t, double within)
{
    bool near = false;
    for (int i = 0; i < times->n; i++)
        near |= fabs(times->at[i] - t) < within;
    return near;
}

// The difference to a lattice half as coarse again and another circle: what the coarser one errs by, and more than this
// one does, because errors fall with the step by at least its first power. Three steps of this one are two of the other.
// It is taken where the other was evaluated already, and where there is no such time nearby. The times are the first of the
// law's.
static double difference(const struct problem *p, struct level *fine, struct level *coarse, const struct middle *middle,
                         struct rb_schedule_times *times, struct rb_schedule_times *coarse_times)
{
    static const double wanted[] = {-2.2, 0, 1.2}; // scores
    const struct rb_schedule_times known = *coarse_times;
    double most = 0;
    times->n = 0;
    for (int i = 0; i < known.n; i++) {
        const int t = known.at[i] / 2 * 3;
        if (known.at[i] % 2 == 0 && fabs(known.score[i]) < 3 && !has_near(times, t, 0.4 * middle->sd))
            most = fmax(most, fabs(above_at(fine, times, t) - rb_schedule_above(known.score[i], known.dust)));
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const int t = 3 * (int)((middle->at + wanted[i] * middle->sd) / 3 + 0.5);
        if (t >= 3 && !has_near(times, t, 0.7 * middle->sd))
            most = fmax(most, fabs(above_at(fine, times, t) - above_at(coarse, coarse_times, t / 3 * 2)));
    }
    return p->rough && is_narrow(fine) ? 2 * most : most;
}

// Where trials begin abruptly as well, errors fall slowly: of random jobs one in thirty got there from more than this.
static bool is_hopeless(const struct level *l, double error, int levels_left)
{
    return is_narrow(l) && error > HOPELESS * pow(GAINED, levels_left - 1);
}

// Refines until two levels agree: levels[*out_at] is the finer one, and *out_error what it may err by.
static bool solve(const struct problem *p, struct rb_arena *scratch, struct level *levels, struct middle *out,
                  struct rb_schedule_times *times, double *out_error, int *out_at, const char **out_why)
{
    struct rb_schedule_times coarser;
    double step_s = p->first_step_s, circle = 1;
    levels[0].number = 0;
    levels[0].margin_s = 3 * p->sd + 5 * p->edge_s;
    if (!make_level(p, step_s * 1.5, 1.5, scratch, &levels[0], out_why))
        return false;
    *out = find_middle(p, &levels[0], times);
    for (int i = 1; i <= MAX_REFINEMENTS; i++, step_s /= 1.5, circle *= 1.4) {
        levels[i].number = i;
        levels[i].margin_s = levels[i - 1].margin_s;
        if (!make_level(p, step_s, circle, scratch, &levels[i], out_why))
            return false;
        out->at = (int)(1.5 * out->at + 0.5);
        out->sd *= 1.5;
        coarser = *times;
        *out_error = difference(p, &levels[i], &levels[i - 1], out, times, &coarser);
        *out_at = i;
        *out_why = *out_error <= p->accuracy && out->sd >= 1.5 ? NULL : "the accuracy was not reached";
        if (!*out_why || is_hopeless(&levels[i], *out_error, MAX_REFINEMENTS - i))
            break;
    }
    const bool taken = *out_error <= p->worst && out->sd >= 1.5;
    *out_error *= is_narrow(&levels[*out_at]) ? NARROW : 1;
    return taken;
}

// What the errors of the laws given move P by. The end rises with every duration and every opening: exchanging one of them
// for another whose law is within e of it moves P by at most e, n trials by n e. But what is proportionally smaller in
// the tails is a shift of each duration, by no more than eight such errors of a standard deviation, and only the trials
// of one slot add up to the end.
static double inherited(const struct problem *p, const struct rb_law *end)
{
    const struct rb_law *trial = p->s->trial;
    double steepest = 0;
    for (int i = 1; i < end->n; i++)
        steepest = fmax(steepest, (end->below[i] - end->below[i - 1]) / end->step_s);
    const double shift = 8 * trial->error * p->sd * (p->last_start_s / p->mean + 2);
    const double n = p->s->n_trials, durations = fmin(n * trial->error, n * trial->tail_error + shift * steepest);
    double openings = 0;
    for (int i = 0; i < p->s->new_nodes; i++)
        openings += rb_schedule_opening(p->s, i)->error;
    return durations + openings;
}

static bool has_atoms(const struct rb_law *law)
{
    return law->jump > 0 || law->n < 16;
}

static bool refused(const struct rb_list_schedule *s, const char **out_why)
{
    *out_why = NULL;
    for (int i = 0; i < rb_schedule_n_late(s); i++) {
        if (has_atoms(rb_schedule_opening(s, i)))
            *out_why = "the arrival of new nodes has atoms";
    }
    if (has_atoms(s->trial))
        *out_why = "the trial's time has atoms";
    return *out_why != NULL;
}

// A third of a trial's deviation; less where the number of starts has a sharp edge, or where the last trials start while
// nodes still open: a lattice then has to show how they do.
static double first_step_s(const struct problem *p)
{
    double step_s = fmin(p->sd / 3, p->edge_s * 1.2), narrowest_s = INFINITY;
    for (int i = 0; i < rb_schedule_n_late(p->s); i++) {
        const double spread_s = shown_spread_s(p, rb_schedule_opening(p->s, i));
        if (spread_s > RESOLVED * p->sd / FINEST)
            narrowest_s = fmin(narrowest_s, spread_s);
    }
    return fmin(step_s, narrowest_s / (narrowest_s < SMALL * step_s ? BARELY : RESOLVED));
}

bool rb_list_schedule_law(const struct rb_list_schedule *s, double accuracy, double worst, struct rb_arena *arena,
                          struct rb_law *out, const char **out_why)
{
    if (refused(s, out_why))
        return false;
    if (s->n_trials <= s->open_slots) {
        *out = rb_law_largest_of(s->trial, s->n_trials, arena);
        return true;
    }
    struct rb_schedule_times times = {.dust = accuracy / 30};
    struct problem p = {.s = s,
                        .accuracy = accuracy,
                        .worst = fmax(worst, accuracy),
                        .mean = s->trial->mean_s,
                        .sd = sqrt(s->trial->variance_s2)};
    p.reach = sqrt(2 * log(10 / accuracy)); // beyond it lies a hundredth of the accuracy
    guess_last_start(&p);
    p.rough = rb_lattice_rough(s->trial);
    for (int i = 0; i < rb_schedule_n_late(s); i++)
        p.rough |= rb_lattice_rough(rb_schedule_opening(s, i));
    struct level levels[MAX_REFINEMENTS + 1];
    struct middle middle;
    double error, between = 0;
    int at;
    p.first_step_s = first_step_s(&p);
    bool ok = solve(&p, arena, levels, &middle, &times, &error, &at, out_why);
    if (ok) {
        ok = find_times(&p, &levels[at], &middle, &times, &between);
        *out_why = ok ? *out_why : "the law could not be tabulated";
    }
    if (ok) {
        rb_schedule_times_table(&times, levels[at].trial.step_s, accuracy, arena, out);
        out->error = error + between + LEFT_OUT * accuracy + out->below[0] + inherited(&p, out);
        out->tail_error = out->error;
    }
    return ok;
}
