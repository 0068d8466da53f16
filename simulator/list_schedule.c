// The dynamic schedule without sampling: chooses the lattice and the circle, finds where the law has its mass, evaluates
// P(end > t) at a few tens of times, checks itself on a coarser lattice and a larger circle, and tabulates the law.
#include "simulator/list_schedule.h"

#include "simulator/list_schedule_tail.h"

#include <math.h>
#include <string.h>

#define MAX_TIMES       256 // times evaluated: 20 for a smooth law
#define MAX_REFINEMENTS 4
#define FEWEST_POINTS   16   // a law on fewer is no smooth one
#define MOST_WORK       3e7  // a few tens of milliseconds; beyond it sampling is faster
#define MOST_CHANCES    4e6  // of ages and completions of a slot, tabulated: 32 MB
#define HIGH_SCORE      28.0 // 1e-12: where it ends

struct problem {
    const struct rb_list_schedule *s;
    double accuracy;
    double dust;         // error of P(end <= t) where it is small
    double mean, sd;     // of a trial
    double last_start_s; // when all trials have started, in the mean
    double edge_s;       // and its spread, roughly
    double reach;        // standard deviations to be covered
    bool rough;          // the trial's density does not vanish smoothly at its lower end
};

struct level { // one resolution
    struct rb_trial_lattice trial;
    struct rb_schedule_tail tail;
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

// Is it certain enough that all n trials have started by the oldest age of the lattice?
static bool all_started(const struct problem *p, const struct level *l)
{
    double mean, variance, late = 0;
    rb_schedule_tail_starts(&l->tail, l->tail.max_age, &mean, &variance);
    if (p->s->new_nodes > 0 && l->tail.opening.unopened[l->tail.max_age] > 1e-7) // one node later than any other
        late = rb_schedule_tail_one_node(&l->tail, l->tail.max_age);
    return mean - p->reach * sqrt(variance > 0 ? variance : 0) - late + 1e-6 >= p->s->n_trials;
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
    double reach = p->reach * sqrt(most) + 4;
    if (p->s->new_nodes > 0)
        reach += rb_schedule_tail_one_node(&l->tail, (int)(p->last_start_s / l->trial.step_s));
    const int points = 2 * (int)ceil(reach * larger);
    int kept = points / 2 + 1;
    if (points > 48 && larger <= 1 && p->s->new_nodes == 0) {
        const double enough = points * p->reach / (2 * 3.14159265358979323846 * 0.5 * sqrt(most)) + 2;
        kept = enough < kept ? (int)enough : kept;
    }
    rb_schedule_tail_set_circle(&l->tail, points, kept);
}

// Roughly, the numbers that make up the factors of a new node.
static double work_of(const struct problem *p, const struct level *l, double larger)
{
    const double ages = l->tail.max_age, times = l->tail.last_y - l->tail.first_y + 1;
    const double starts = p->s->new_nodes > 0 ? p->s->slots_per_node * p->last_start_s / p->mean + 10 : 0;
    return p->s->new_nodes > 0 && !l->tail.linear ? ages * times * l->tail.stride * starts * larger : 0;
}

static bool make_level(const struct problem *p, double step_s, double larger_circle, struct rb_arena *arena,
                       struct level *l, const char **out_why)
{
    const double tail = p->s->new_nodes > 0 ? p->accuracy * 1e-3 / p->s->n_trials : 1e-10 / p->s->n_trials;
    const double span = p->s->trial->low_s + p->s->trial->n * p->s->trial->step_s;
    const bool averaged = p->s->new_nodes > 0 && p->s->slots_per_node > 1; // over openings: all ages are of interest
    double margin = 3 * p->sd + 5 * p->edge_s;
    if (!rb_trial_lattice_make(p->s->trial, step_s, tail, arena, &l->trial, out_why))
        return false;
    for (int tries = 0; tries < 10; tries++, margin *= 1.6) {
        const int max_age = (int)ceil((p->last_start_s + margin) / step_s);
        const double youngest = p->last_start_s - span - 8 * p->edge_s;
        const int min_age = averaged || youngest < 0 ? 0 : (int)(youngest / step_s);
        if (!rb_schedule_tail_make(p->s, &l->trial, min_age, max_age, p->accuracy * 3e-4, arena, &l->tail, out_why))
            return false;
        if ((double)max_age * (l->tail.stride + l->tail.delayed_stride) > MOST_CHANCES) {
            *out_why = "too many waves: their table would not fit";
            return false;
        }
        if (all_started(p, l)) {
            if (work_of(p, l, larger_circle) > MOST_WORK) {
                *out_why = "too many points: trials spread too little against the arrival of new nodes";
                return false;
            }
            choose_circle(p, l, larger_circle);
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
    double score[MAX_TIMES]; // score_of(P(end > t))
};

struct middle { // a lattice time near the median, and the standard deviation in steps
    int at;
    double sd;
};

static void add_time(struct times *times, int t, double score)
{
    times->at[times->n] = t;
    times->score[times->n++] = score;
}

// Scores rise nearly straight with time, so few of them tell the law. P(end <= t) is a difference, known to the accuracy
// and no better: `dust` is added to it lest its errors be magnified.
static double score_of(double above, double dust)
{
    const double below = above < 1 ? 1 - above : 0;
    return above <= 0 ? HIGH_SCORE : log((below + dust) / above);
}

static double above_of(double score, double dust)
{
    const double above = (1 + dust) / (1 + exp(score));
    return above > 1 ? 1 : above;
}

static double score_at(struct level *l, int t)
{
    return score_of(rb_schedule_tail_above(&l->tail, t), 1e-6);
}

static struct middle find_middle(const struct problem *p, struct level *l)
{
    int low = (int)(p->last_start_s / l->trial.step_s), stride = 1 + (int)(2 * p->sd / l->trial.step_s);
    while (low > 0 && score_at(l, low) > -1)
        low = low > stride ? low - stride : 0;
    int high = low + stride;
    double at_low = score_at(l, low), at_high;
    while ((at_high = score_at(l, high)) < 1) {
        if (at_high < -1) {
            low = high;
            at_low = at_high;
        }
        high += stride;
    }
    while (high - low > 1 && at_high - at_low > 4) {
        const int middle = (low + high) / 2;
        const double at = score_at(l, middle);
        if (at < 0) {
            low = middle;
            at_low = at;
        } else {
            high = middle;
            at_high = at;
        }
    }
    return (struct middle){.at = at_high < -at_low ? high : low, .sd = 1.8 * (high - low) / (at_high - at_low)};
}

// Coarse times from the middle outwards, until what is left is dust or no longer law but error.
static void lay_out(const struct problem *p, struct level *l, const struct middle *middle, struct times *out)
{
    const double high_end = p->accuracy * 0.02;
    const int stride = 2 * (int)fmax(1, 0.7 * middle->sd + 0.5);
    struct times down = {.n = 0};
    double above = 0, score;
    for (int t = middle->at; t > 1 && 1 - above > p->accuracy * 1e-2 && down.n < MAX_TIMES / 4;) {
        t = t > stride ? t - stride : t / 2;
        above = rb_schedule_tail_above(&l->tail, t);
        score = score_of(above, p->dust);
        if (down.n > 0 && score >= down.score[down.n - 1])
            break;
        add_time(&down, t, score);
    }
    out->n = 0;
    for (int i = down.n - 1; i >= 0; i--)
        add_time(out, down.at[i], down.score[i]);
    double step = stride;
    above = 1;
    for (double t = middle->at; above > high_end && out->n < MAX_TIMES / 4; t += step) {
        above = rb_schedule_tail_above(&l->tail, (int)t);
        score = score_of(above, p->dust);
        if (above <= 0 || (out->n > 0 && score <= out->score[out->n - 1]))
            break;
        add_time(out, (int)t, score);
        if (above < 0.01)
            step *= 1.2;
    }
}

// Degree-5 interpolation among the six nearest times, within the scores of the nearest two; straight beyond the outermost.
static double score_between(const struct times *times, double t)
{
    const int n = times->n, most = n < 6 ? n : 6;
    const int *at = times->at;
    if (t < at[0])
        return times->score[0] + (t - at[0]) * (times->score[1] - times->score[0]) / (at[1] - at[0]);
    if (t > at[n - 1])
        return times->score[n - 1] +
               (t - at[n - 1]) * (times->score[n - 1] - times->score[n - 2]) / (at[n - 1] - at[n - 2]);
    int right = 1;
    while (at[right] < t)
        right++;
    const int wanted = right - most / 2, first = wanted < 0 ? 0 : wanted > n - most ? n - most : wanted;
    double v[6];
    for (int i = 0; i < most; i++)
        v[i] = times->score[first + i];
    for (int width = 1; width < most; width++) { // Neville
        for (int i = 0; i + width < most; i++) {
            const double a = at[first + i], b = at[first + i + width];
            v[i] = ((b - t) * v[i] + (t - a) * v[i + 1]) / (b - a);
        }
    }
    return fmin(fmax(v[0], times->score[right - 1]), times->score[right]);
}

// Halves the intervals in which interpolation is not yet sure; false if there are too many. Halving a step divides the
// error of the interpolation by up to 64; half of what was found is what we claim.
static bool refine(const struct problem *p, struct level *l, struct times *times, bool *unsure, double *out_worst,
                   double *out_error)
{
    struct times finer = {.n = 0};
    bool next[MAX_TIMES] = {false};
    double worst = 0;
    for (int i = 0; i < times->n; i++) {
        add_time(&finer, times->at[i], times->score[i]);
        if (i + 1 == times->n || !unsure[i] || times->at[i + 1] - times->at[i] < 2)
            continue;
        const int t = (times->at[i] + times->at[i + 1]) / 2;
        if (finer.n + times->n - i >= MAX_TIMES)
            return false;
        const double above = rb_schedule_tail_above(&l->tail, t), guess = above_of(score_between(times, t), p->dust);
        const double miss = fabs(above - guess);
        worst = fmax(worst, miss / 2);
        if (miss <= p->accuracy / 2) {
            *out_error = fmax(*out_error, miss / 2);
        } else {
            for (int j = finer.n - 2; j <= finer.n + 1; j++)
                next[j < 0 ? 0 : j] = true;
        }
        add_time(&finer, t, score_of(above, p->dust));
    }
    memcpy(unsure, next, sizeof next);
    *times = finer;
    *out_worst = worst;
    return true;
}

static bool find_times(const struct problem *p, struct level *l, const struct middle *middle, struct times *out,
                       double *out_error)
{
    bool unsure[MAX_TIMES];
    double worst = 0;
    *out_error = 0;
    lay_out(p, l, middle, out);
    for (int i = 0; i < MAX_TIMES; i++)
        unsure[i] = true;
    for (int passes = 0; passes < 6; passes++) {
        bool any = false;
        for (int i = 0; i + 1 < out->n; i++)
            any |= unsure[i];
        if (!any)
            break;
        if (!refine(p, l, out, unsure, &worst, out_error))
            return false;
    }
    *out_error = fmax(*out_error, worst);
    while (out->n > 6 && out->score[out->n - 1] <= out->score[out->n - 2])
        out->n--; // no longer law but error
    return out->n >= 6 && out->score[out->n - 1] > out->score[out->n - 2] && *out_error <= p->accuracy;
}

// ---- the table

static void tabulate(const struct problem *p, const struct times *times, double lattice_s, struct rb_arena *arena,
                     struct rb_law *out)
{
    const int n = times->n;
    const double slope = (times->score[n - 1] - times->score[n - 2]) / (times->at[n - 1] - times->at[n - 2]);
    const double low = times->at[0], span = times->at[n - 1] - low;
    const double high = times->at[n - 1] + fmin(fmax(0, HIGH_SCORE - times->score[n - 1]) / slope, span);
    out->n = RB_LAW_POINTS;
    out->low_s = low * lattice_s;
    out->step_s = (high - low) * lattice_s / (out->n - 1);
    double *below = rb_arena_array(arena, (size_t)out->n, sizeof *below);
    double *above = rb_arena_array(arena, (size_t)out->n, sizeof *above);
    double highest = -1e9;
    for (int i = 0; i < out->n; i++) {
        highest = fmax(highest, score_between(times, low + i * (high - low) / (out->n - 1)));
        above[i] = above_of(highest, p->dust);
        below[i] = 1 - above[i];
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
static double difference(const struct problem *p, struct level *fine, struct level *coarse, const struct middle *middle)
{
    double most = 0;
    for (double at = -2.4; at < 3; at += 1.6) {
        const int t = (int)fmax(middle->at + at * middle->sd, 3) / 3;
        const double a = rb_schedule_tail_above(&fine->tail, 3 * t), b = rb_schedule_tail_above(&coarse->tail, 2 * t);
        most = fmax(most, fabs(a - b));
    }
    return p->rough ? 2 * most : most;
}

// Refines until two levels agree: levels[*out_at] is the finer one, and *out_error what it may err by.
static bool solve(const struct problem *p, double step_s, struct rb_arena *scratch, struct level *levels,
                  struct middle *out, double *out_error, int *out_at, const char **out_why)
{
    double circle = 1;
    if (!make_level(p, step_s * 1.5, 1.5, scratch, &levels[0], out_why))
        return false;
    *out = find_middle(p, &levels[0]);
    for (int i = 1; i <= MAX_REFINEMENTS; i++, step_s /= 1.5, circle *= 1.4) {
        if (!make_level(p, step_s, circle, scratch, &levels[i], out_why))
            return false;
        out->at = (int)(out->at * 1.5);
        out->sd *= 1.5;
        *out_error = difference(p, &levels[i], &levels[i - 1], out);
        *out_at = i;
        if (*out_error <= p->accuracy && out->sd >= 1.5)
            return true;
    }
    *out_why = "the accuracy was not reached";
    return false;
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
    return durations + (p->s->new_nodes > 0 ? p->s->new_nodes * p->s->arrival->error : 0);
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
    p.dust = accuracy / 10;
    p.reach = sqrt(2 * log(100 / accuracy));
    guess_last_start(&p);
    p.rough = rb_lattice_rough(s->trial) || (s->new_nodes > 0 && rb_lattice_rough(s->arrival));
    struct level levels[MAX_REFINEMENTS + 1];
    struct times times;
    struct middle middle;
    double error, between = 0;
    int at;
    bool ok = solve(&p, fmin(p.sd / 3, p.edge_s * 1.2), arena, levels, &middle, &error, &at, out_why);
    if (ok) {
        ok = find_times(&p, &levels[at], &middle, &times, &between);
        *out_why = ok ? NULL : "the law could not be tabulated";
    }
    if (ok) {
        tabulate(&p, &times, levels[at].trial.step_s, arena, out);
        out->error = error + between + inherited(&p, out);
        out->tail_error = out->error;
    }
    return ok;
}
