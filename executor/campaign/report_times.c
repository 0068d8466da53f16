#include "executor/campaign/report_times.h"

#include "base/arena.h"
#include "profiles/fit/noise_fit.h"

#include <math.h>
#include <stdlib.h>

#define GAP_SLACK_US 100000
#define ONE_READ_US  1000 // reports that all came within this were printed before the first of them was read

void rb_report_times_init(struct rb_report_times *t, int most)
{
    *t = (struct rb_report_times){.unit_s = rb_xcalloc((size_t)most, sizeof *t->unit_s), .most = most};
}

void rb_report_times_finish(struct rb_report_times *t)
{
    free(t->unit_s);
    *t = (struct rb_report_times){0};
}

void rb_report_times_start(struct rb_report_times *t, int64_t now, int64_t away)
{
    t->started_us = now;
    t->first_us = t->last_us = -1;
    t->away_us = away;
}

bool rb_report_times_was_away(struct rb_report_times *t, int64_t away)
{
    const bool gap = away - t->away_us > GAP_SLACK_US;
    t->away_us = away;
    return gap;
}

// Some scripts report every k-th unit.
int64_t rb_report_times_take(struct rb_report_times *t, int64_t now, int64_t away, int64_t resource, bool counts)
{
    const bool gap = rb_report_times_was_away(t, away), first = t->first_us < 0;
    const int64_t since_us = first ? -1 : now - t->last_us;
    t->late_startup |= gap && first;
    t->n_gaps += gap;
    if (first) {
        t->first_us = now;
        t->first_resource = t->first_resource > 0 ? t->first_resource : resource;
    } else if (!gap && counts && t->n_units < t->most) {
        t->unit_s[t->n_units++] = (double)since_us / 1e6 / (double)(resource - t->last_resource);
    }
    t->last_us = now;
    t->last_resource = resource;
    return since_us;
}

static double sum_s(const double *unit_s, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += unit_s[i];
    return sum;
}

static int share_s(double *out, int n, double sum)
{
    for (int i = 0; i < n; i++)
        out[i] = sum / n;
    return n;
}

void rb_report_times_took_file(struct rb_report_times *t, int n_before, bool first)
{
    const int n = t->n_units - n_before;
    share_s(t->unit_s + n_before, n, sum_s(t->unit_s + n_before, n));
    if (first && n > 0) {
        t->n_units = n_before;
        t->at_once = true;
    }
}

bool rb_report_times_as_one(struct rb_report_times *t, int64_t now)
{
    if (t->n_units > 0 ? t->last_us - t->first_us >= ONE_READ_US : !t->at_once)
        return false;
    t->n_units = 0;
    const int64_t unit_us = (now - t->started_us) / t->last_resource;
    t->unit_s[t->n_units++] = (double)unit_us / 1e6;
    t->first_us = t->started_us + unit_us;
    t->first_resource = 1;
    return true;
}

void rb_report_times_end(struct rb_report_times *t)
{
    const double least_s = RB_UNIT_BURST * rb_report_times_mean_s(t);
    int n = 0;
    for (int i = 0, together; i < t->n_units; i += together) {
        for (together = 1; i + together < t->n_units && t->unit_s[i + together] < least_s;)
            together++;
        if (t->unit_s[i] >= least_s)
            n += share_s(t->unit_s + n, together, sum_s(t->unit_s + i, together));
    }
    t->n_units = n;
}

double rb_report_times_mean_s(const struct rb_report_times *t)
{
    return t->n_units > 0 ? sum_s(t->unit_s, t->n_units) / t->n_units : NAN;
}

double rb_report_times_startup_s(const struct rb_report_times *t)
{
    const double before_s = (double)(t->first_us - t->started_us) / 1e6;
    return fmax(0, before_s - rb_report_times_mean_s(t) * (double)t->first_resource);
}
