#include "planner/scores/probability_error.h"

#include "planner/scores/score.h"

#include <math.h>

#define AS_SURE 1.053 // ln 3000 / ln 2000: two sides of a mean and one of its variance, together as sure as two sides
#define ROUNDS  4     // of a bound by itself
#define CELLS   4     // of a law at once: a seventh of a deviation

// The Dvoretzky-Kiefer-Wolfowitz bound of n samples is sqrt(L / 2n); Bernstein's is sqrt(2 v L / n) + L / 3n with the variance v.
// min(1, a (1 - p)) is concave, so what it bounds at every time it bounds in the mean over times (Jensen).
double rb_stage_probability_error(const struct rb_stage_time *time, double p)
{
    const double all = time->law.error;
    if (time->method != RB_STAGE_PILOT)
        return all - time->body_error * (1 - fmin(1, RB_BODY_FALLS * (1 - p)));
    return fmin(all, 2 * all * sqrt(fmax(0, p * (1 - p))) + 2 * all * all / 3);
}

// Samples, and waves that trials may end within, are what they are however fine a time is asked for.
struct rb_errors rb_stage_errors(const struct rb_stage_time *time, double p)
{
    const bool is_final = time->method == RB_STAGE_PILOT || time->law.error > 2 * RB_SCORE_SEARCH_ACCURACY;
    return (struct rb_errors){rb_stage_probability_error(time, p), is_final ? 0 : 2 * time->law.error};
}

// Where the truth is closer to a half than p, the samples vary more: the error is that of the farthest truth they allow.
// sampled: what those of the sampled stages are known to add up to; -1: that is told from p like the others'.
static double farthest_error(const struct rb_stage_time *const *times, int n, double p, double sampled)
{
    double error = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double farther = p > 0.5 ? fmax(0.5, p - error) : fmin(0.5, p + error);
        error = fmax(0, sampled);
        for (int i = 0; i < n; i++) {
            if (sampled < 0 || times[i]->method != RB_STAGE_PILOT)
                error += rb_stage_probability_error(times[i], farther);
        }
    }
    return error;
}

double rb_plan_probability_error(const struct rb_stage_time *const *times, int n, double p)
{
    return farthest_error(times, n, p, -1);
}

struct seen {
    double mean, square;
};

static void see(struct seen *g, double share, double value)
{
    g->mean += share * value;
    g->square += share * value * value;
}

// Standard deviation of g(T) = P(others <= deadline - T), T as sampled. *out_unsure: by how much g may be off, the others being
// sampled, too.
static double deviation_of_rest(const struct rb_stage_time *const *times, int n, int at, double deadline_s,
                                double *out_unsure)
{
    const struct rb_law *law = &times[at]->law, *others[RB_LIMIT_STAGES];
    struct rb_arena arena;
    int n_others = 0;
    *out_unsure = 0;
    for (int i = 0; i < n; i++) {
        if (i == at)
            continue;
        others[n_others++] = &times[i]->law;
        *out_unsure += times[i]->law.error;
    }
    rb_arena_init(&arena);
    const struct rb_law_sum sum = rb_law_sum_create(others, n_others, &arena);
    struct seen g = {0};
    see(&g, law->below[0], rb_law_sum_below(&sum, deadline_s - law->low_s));
    for (int k = 0; k + 1 < law->n; k += CELLS) { // as if all of them were in the middle
        const int end = k + CELLS < law->n - 1 ? k + CELLS : law->n - 1;
        const double middle_s = law->low_s + law->step_s * (k + end) / 2;
        see(&g, law->below[end] - law->below[k], rb_law_sum_below(&sum, deadline_s - middle_s));
    }
    rb_arena_finish(&arena);
    return sqrt(fmax(0, g.square - g.mean * g.mean));
}

// Two sampled stages: one is told beside what was sampled of the other, and that one beside what is true of the first.
static double sampled_error(const struct rb_stage_time *const *times, int n, int at, double deadline_s)
{
    double unsure;
    const double shown = deviation_of_rest(times, n, at, deadline_s, &unsure) + unsure;
    const double all = times[at]->law.error, share = 2 * all * all * AS_SURE; // L / n
    double error = sqrt(share / 2) + share / 3;                               // no variance is above a quarter
    // The squared distance from the mean lies in [0, 1], so its own variance is below its mean v, and v is below what was seen of
    // it, about the mean that was sampled, + that mean's error squared + sqrt(2 v L/n) + L/3n.
    for (int round = 0; round < ROUNDS; round++) {
        const double seen = shown * shown + error * error;
        const double deviation = sqrt(share / 2) + sqrt(share / 2 + seen + share / 3);
        error = fmin(error, sqrt(2 * share) * deviation + share / 3);
    }
    return error;
}

double rb_plan_probability_error_at(const struct rb_stage_time *const *times, int n, double deadline_s, double p)
{
    double sampled = 0;
    const double without = rb_plan_probability_error(times, n, p);
    for (int i = 0; i < n && n > 1; i++) {
        if (times[i]->method == RB_STAGE_PILOT)
            sampled += sampled_error(times, n, i, deadline_s);
    }
    return n > 1 ? fmin(without, farthest_error(times, n, p, sampled)) : without;
}
