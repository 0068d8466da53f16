#include "planner/request/controls.h"

#include <math.h>

#define N        RB_COMMON_REPLICATES
#define SIGMA    5 // standard errors: fails once in three million
#define LAYOUTS  2 // of those that are known, the ones most like the layout at hand
#define MOST     (RB_COMMON_KNOWN + LAYOUTS)
#define SAME     1e-5 // of its variance is left of a control that the others tell already
#define KNOWN_TO 3e-3 // of a standard deviation: the mean of a law at the search's accuracy
#define LANES    8    // sums run side by side, in an order that no compiler may change

void rb_controls_add(struct rb_controls *c, const float *seconds, const struct rb_law *law)
{
    c->layouts[c->n_added++ % RB_CONTROLS_KEPT] = (struct rb_known_layout){seconds, law->mean_s};
}

static double dot(const double *a, const double *b)
{
    double lanes[LANES] = {0}, sum = 0;
    for (int r = 0; r < N; r += LANES) {
        for (int i = 0; i < LANES; i++)
            lanes[i] += a[r + i] * b[r + i];
    }
    for (int i = 0; i < LANES; i++)
        sum += lanes[i];
    return sum;
}

static void subtract(double *a, double factor, const double *b)
{
    for (int r = 0; r < N; r++)
        a[r] -= factor * b[r];
}

// Numbers less their mean, which is returned.
static double centre(double *values)
{
    double lanes[LANES] = {0}, mean = 0;
    for (int r = 0; r < N; r += LANES) {
        for (int i = 0; i < LANES; i++)
            lanes[i] += values[r + i];
    }
    for (int i = 0; i < LANES; i++)
        mean += lanes[i] / N;
    for (int r = 0; r < N; r++)
        values[r] -= mean;
    return mean;
}

// Controls, orthogonal to each other and of length 1, and how far their sample means are off.
struct basis {
    double vectors[MOST][N], off[MOST];
    int n;
};

// Takes off what the basis explains. Returns what that changes the mean by.
static double project(const struct basis *b, double *centred)
{
    double change = 0;
    for (int i = 0; i < b->n; i++) {
        const double factor = dot(centred, b->vectors[i]);
        subtract(centred, factor, b->vectors[i]);
        change -= factor * b->off[i];
    }
    return change;
}

// The control stands in the next vector already.
static void add(struct basis *b, double known_mean)
{
    double *v = b->vectors[b->n];
    const double mean = centre(v), all = dot(v, v);
    const double off = mean - known_mean + project(b, v), left = dot(v, v);
    if (!(left > SAME * all))
        return;
    const double scale = 1 / sqrt(left);
    for (int r = 0; r < N; r++)
        v[r] *= scale;
    b->off[b->n++] = off * scale;
}

static void add_seconds(struct basis *b, const float *seconds, double mean_s)
{
    for (int r = 0; r < N; r++)
        b->vectors[b->n][r] = seconds[r];
    add(b, mean_s);
}

// The layouts whose times go most with these, most first. Returns how many.
static int most_alike(const struct rb_controls *c, const double *centred, const struct rb_known_layout **out)
{
    const int n = c->n_added < RB_CONTROLS_KEPT ? c->n_added : RB_CONTROLS_KEPT;
    double share[LAYOUTS] = {0};
    int n_out = 0;
    for (int i = 0; i < n; i++) {
        const struct rb_known_layout *layout = &c->layouts[i];
        double other[N];
        for (int r = 0; r < N; r++)
            other[r] = layout->seconds[r];
        centre(other);
        const double along = dot(centred, other), all = dot(other, other);
        double explained = all > 0 && along > 0 ? along * along / all : 0;
        for (int k = 0; k < LAYOUTS && explained > 0; k++) {
            if (explained <= share[k])
                continue;
            const struct rb_known_layout *pushed = out[k];
            const double less = share[k];
            out[k] = layout;
            share[k] = explained;
            layout = pushed;
            explained = less;
        }
    }
    while (n_out < LAYOUTS && share[n_out] > 0)
        n_out++;
    return n_out;
}

static double standard_error(const struct basis *b, const double *left)
{
    return sqrt(dot(left, left) / (N - 1 - b->n) / N);
}

// exp(-theta x) for every theta, as powers of one.
static void tilt(const double *theta, const double *centred, double out[RB_N_TILTS][N])
{
    double power[N];
    for (int r = 0; r < N; r++)
        power[r] = exp(-theta[0] / rb_tilts[0] * centred[r]);
    for (int i = 0; i < RB_N_TILTS; i++) {
        for (int r = 0; r < N; r++)
            out[i][r] = 1;
    }
    for (int digit = 1; digit <= rb_tilts[RB_N_TILTS - 1]; digit *= 2) {
        for (int i = 0; i < RB_N_TILTS; i++) {
            for (int r = 0; r < N && rb_tilts[i] & digit; r++)
                out[i][r] *= power[r];
        }
        for (int r = 0; r < N; r++)
            power[r] *= power[r];
    }
}

void rb_controls_estimate(const struct rb_controls *c, const struct rb_common_draw *known, int n_known,
                          const float *seconds, const double *theta, struct rb_times *out_below,
                          struct rb_times *out_likely)
{
    const struct rb_known_layout *alike[LAYOUTS];
    struct basis basis = {.n = 0};
    double centred[N], left[N], tilted[RB_N_TILTS][N];
    for (int r = 0; r < N; r++)
        centred[r] = seconds[r];
    const double mean_s = centre(centred);
    const int n_alike = most_alike(c, centred, alike);
    for (int i = 0; i < n_alike; i++)
        add_seconds(&basis, alike[i]->seconds, alike[i]->mean_s);
    for (int i = 0; i < n_known; i++)
        add_seconds(&basis, known[i].seconds, known[i].mean_s);
    for (int r = 0; r < N; r++)
        left[r] = centred[r];
    *out_likely =
        (struct rb_times){.mean_s = mean_s + project(&basis, left), .variance_s2 = dot(centred, centred) / (N - 1)};
    const double off_s = SIGMA * standard_error(&basis, left) + KNOWN_TO * sqrt(out_likely->variance_s2);
    *out_below =
        (struct rb_times){.mean_s = fmax(0, out_likely->mean_s - off_s), .variance_s2 = out_likely->variance_s2};
    tilt(theta, centred, tilted);
    for (int i = 0; i < RB_N_TILTS; i++) {
        double most = centre(tilted[i]);
        most += project(&basis, tilted[i]);
        most += SIGMA * standard_error(&basis, tilted[i]);
        const double tilted_s = most > 0 ? mean_s - log(most) / theta[i] : INFINITY;
        out_below->tilted_s[i] = fmax(0, fmin(tilted_s, out_below->mean_s)); // no tilt is above the mean
    }
}
