#include "simulator/list_schedule/list_schedule_times.h"

#include "simulator/one_wave/law_grid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NEAREST   6     // times that a value in between is interpolated from
#define FEWEST    32    // points of the table, ...
#define MOST      512   // ... and most
#define SHOWN     3     // the score up to which a law counts as a whole
#define PART      0.03  // of the accuracy is what the table errs by there
#define ENDS      1e-12 // P(end > t) where the table ends
#define SQRT_2    1.41421356237309504880
#define SQRT_2_PI 2.50662827463100050242

// Abramowitz and Stegun 26.2.23, then a step of Halley's, which leaves some 1e-10.
static double upper_score(double p) // 0 < p <= 1/2
{
    const double t = sqrt(-2 * log(p));
    double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    const double u = (erfc(z / SQRT_2) / 2 - p) * SQRT_2_PI * exp(z * z / 2);
    z += u / (1 - z * u / 2);
    return z;
}

double rb_schedule_score(double above, double dust)
{
    const double upper = fmax(above, 1e-300) / (1 + dust), lower = (fmax(0, 1 - above) + dust) / (1 + dust);
    return upper <= 0.5 ? upper_score(upper) : -upper_score(lower);
}

double rb_schedule_above(double score, double dust)
{
    return fmin(1, (1 + dust) * erfc(score / SQRT_2) / 2);
}

bool rb_schedule_times_add(struct rb_schedule_times *times, int t, double above)
{
    int i = times->n;
    if (i == RB_SCHEDULE_TIMES)
        return false;
    for (; i > 0 && times->at[i - 1] > t; i--) {
        times->at[i] = times->at[i - 1];
        times->score[i] = times->score[i - 1];
    }
    times->at[i] = t;
    times->score[i] = rb_schedule_score(above, times->dust);
    times->n++;
    return true;
}

// What holds between two neighbouring times: a polynomial through the nearest, in Newton's form, kept between their scores.
struct piece {
    int n;
    double at[NEAREST], d[NEAREST];
    double least, most;
};

static struct piece piece_between(const struct rb_schedule_times *times, int right)
{
    const int n = times->n, most = n < NEAREST ? n : NEAREST;
    const int wanted = right - most / 2, first = wanted < 0 ? 0 : wanted > n - most ? n - most : wanted;
    struct piece p = {.n = most, .least = times->score[right - 1], .most = times->score[right]};
    for (int i = 0; i < most; i++) {
        p.at[i] = times->at[first + i];
        p.d[i] = times->score[first + i];
    }
    for (int order = 1; order < most; order++) {
        for (int i = most - 1; i >= order; i--)
            p.d[i] = (p.d[i] - p.d[i - 1]) / (p.at[i] - p.at[i - order]);
    }
    return p;
}

static double score_on(const struct piece *p, double t)
{
    double score = p->d[p->n - 1];
    for (int i = p->n - 2; i >= 0; i--)
        score = p->d[i] + (t - p->at[i]) * score;
    return fmin(fmax(score, p->least), p->most);
}

static double score_at(const struct rb_schedule_times *times, double t)
{
    const int n = times->n, *at = times->at;
    const double *score = times->score;
    if (t <= at[0])
        return score[0] + (t - at[0]) * (score[1] - score[0]) / (at[1] - at[0]);
    if (t >= at[n - 1])
        return score[n - 1] + (t - at[n - 1]) * (score[n - 1] - score[n - 2]) / (at[n - 1] - at[n - 2]);
    int right = 1;
    while (at[right] < t)
        right++;
    const struct piece p = piece_between(times, right);
    return score_on(&p, t);
}

double rb_schedule_times_above(const struct rb_schedule_times *times, double t)
{
    return rb_schedule_above(score_at(times, t), times->dust);
}

double rb_schedule_times_missed(const struct rb_schedule_times *times, int i)
{
    struct rb_schedule_times others = {.dust = times->dust, .n = times->n - 1};
    assert(i > 0 && i < times->n - 1);
    const int first = i < NEAREST ? 0 : i - NEAREST, end = i + NEAREST < times->n ? i + NEAREST : times->n;
    others.n = 0;
    for (int j = first; j < end; j++) {
        if (j != i) {
            others.at[others.n] = times->at[j];
            others.score[others.n++] = times->score[j];
        }
    }
    return fabs(rb_schedule_times_above(&others, times->at[i]) - rb_schedule_above(times->score[i], times->dust));
}

// ---- the table

// Beyond the last time the odds fall on as they did: not too thin a tail.
struct tail {
    double from, log_odds, slope;
};

static double log_odds_of(double above)
{
    return log((1 - above) / above);
}

static struct tail tail_of(const struct rb_schedule_times *times)
{
    const int n = times->n;
    const double last = log_odds_of(rb_schedule_above(times->score[n - 1], times->dust));
    const double before = log_odds_of(rb_schedule_above(times->score[n - 2], times->dust));
    return (struct tail){times->at[n - 1], last, (last - before) / (times->at[n - 1] - times->at[n - 2])};
}

// The least time in which the score rises by one: where the law is narrowest, of this standard deviation.
static double narrowest(const struct rb_schedule_times *times)
{
    double least = HUGE_VAL;
    for (int i = 0; i + 1 < times->n; i++) {
        if (fabs(times->score[i]) < SHOWN && fabs(times->score[i + 1]) < SHOWN)
            least = fmin(least, (times->at[i + 1] - times->at[i]) / (times->score[i + 1] - times->score[i]));
    }
    return least;
}

// A cubic between points h apart errs by h^4 / 384 of the fourth derivative, which of a normal law is 1.38 at most.
static int points_needed(const struct rb_schedule_times *times, double range, double accuracy)
{
    const double step = narrowest(times) * pow(384 / 1.38 * PART * accuracy, 0.25);
    return (int)fmin(MOST, fmax(FEWEST, ceil(range / step) + 1));
}

static void fill(const struct rb_schedule_times *times, const struct tail *tail, double step, int n, double *below,
                 double *above)
{
    double lowest = 1;
    int right = 1;
    struct piece piece = piece_between(times, right);
    for (int i = 0; i < n; i++) {
        const double t = times->at[0] + i * step, beyond = t - tail->from;
        while (right < times->n - 1 && t > times->at[right])
            piece = piece_between(times, ++right);
        const double p = beyond > 0 ? 1 / (1 + exp(tail->log_odds + beyond * tail->slope))
                                    : rb_schedule_above(score_on(&piece, t), times->dust);
        lowest = fmin(lowest, p);
        above[i] = lowest;
        below[i] = 1 - lowest;
    }
}

void rb_schedule_times_table(const struct rb_schedule_times *times, double step_s, double accuracy,
                             struct rb_arena *arena, struct rb_law *out)
{
    const struct tail tail = tail_of(times);
    const double span = tail.from - times->at[0];
    const double rest = fmin(fmax(0, log_odds_of(ENDS) - tail.log_odds) / tail.slope, span);
    const int n = points_needed(times, span + rest, accuracy);
    const double step = (span + rest) / (n - 1);
    double *below = rb_arena_array(arena, (size_t)n, sizeof *below);
    double *above = rb_arena_array(arena, (size_t)n, sizeof *above);
    fill(times, &tail, step, n, below, above);
    *out = (struct rb_law){
        .low_s = times->at[0] * step_s, .step_s = step * step_s, .n = n, .below = below, .above = above};
    rb_law_grid_moments(out, &out->mean_s, &out->variance_s2);
}
