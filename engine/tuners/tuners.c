#include "engine/tuners/tuners.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct rb_tuner *const rb_tuners[] = {
    &rb_tuner_asha,
    &rb_tuner_dehb,
    &rb_tuner_freeze_thaw,
    &rb_tuner_grid,
    &rb_tuner_hyperband,
    &rb_tuner_median,
    &rb_tuner_pasha,
    &rb_tuner_pbt,
    &rb_tuner_random,
    &rb_tuner_sha,
    NULL,
};

const struct rb_tuner *rb_tuner_find(const char *name)
{
    for (int i = 0; rb_tuners[i]; i++) {
        if (strcmp(rb_tuners[i]->name, name) == 0)
            return rb_tuners[i];
    }
    return NULL;
}

bool rb_tuner_options(const struct rb_tuner *tuner, const struct rb_scheduler *s, double out[RB_SETTINGS_MAX],
                      struct rb_err *err)
{
    char owner[64];
    snprintf(owner, sizeof owner, "scheduler.type: %s", tuner->name);
    return rb_settings_read(&s->options, owner, tuner->rules, tuner->n_rules, out, err);
}

double rb_score(enum rb_goal goal, double metric)
{
    if (!isfinite(metric))
        return -INFINITY;
    return goal == RB_GOAL_MAXIMIZE ? metric : -metric;
}

int rb_score_compare(double score_a, int trial_a, double score_b, int trial_b)
{
    if (score_a > score_b)
        return -1;
    if (score_a < score_b)
        return 1;
    return (trial_a > trial_b) - (trial_a < trial_b);
}
