#include "executor/run/drift.h"

#include <string.h>

static const char *const names[RB_DRIFT_LIMITS] = {"P(on time)", "P(in budget)"};

void rb_drift_recall(struct rb_drift_watch *d, const char *line)
{
    for (int i = 0; i < RB_DRIFT_LIMITS; i++)
        d->said[i] |= strstr(line, names[i]) != NULL;
}

bool rb_drift_is_lost(const struct rb_drift_watch *d)
{
    bool is_lost = false;
    for (int i = 0; i < RB_DRIFT_LIMITS; i++)
        is_lost = is_lost || d->lost[i] >= RB_DRIFT_CHECKS;
    return is_lost;
}

// Is it to be said now?
static bool is_due(struct rb_drift_watch *d, int limit, bool at_barrier, double p, double confidence)
{
    const bool is_below = p < confidence - RB_DRIFT_MARGIN; // false where it is unknown
    d->below[limit] = is_below ? d->below[limit] + 1 : 0;
    d->lost[limit] = p < RB_DRIFT_LOST ? d->lost[limit] + 1 : 0;
    if (d->said[limit] || d->below[limit] < (at_barrier ? 1 : RB_DRIFT_CHECKS))
        return false;
    return d->said[limit] = true;
}

// Training is the reason only where it is slower than expected for sure.
void rb_drift_write_reason(const struct rb_prediction_pace *pace, int stage, struct rb_buf *out)
{
    if (!pace || !(pace->low > 1))
        return;
    if (pace->stage >= 0 && pace->stage < stage)
        rb_buf_printf(out, "stage %d took", pace->stage);
    else
        rb_buf_puts(out, "training takes");
    rb_buf_printf(out, " %.0f %% longer than expected (%d trial%s, +-%.0f %%); ", 100 * (pace->pace - 1),
                  pace->n_trials, pace->n_trials == 1 ? "" : "s", 50 * (pace->high - pace->low));
}

bool rb_drift_check(struct rb_drift_watch *d, const struct rb_progress *now, int stage,
                    const struct rb_prediction_pace *pace, double confidence, struct rb_buf *out)
{
    if (now->why_unknown || now->is_planned)
        return false;
    const double p[RB_DRIFT_LIMITS] = {now->p_on_time, now->p_in_budget};
    const bool at_barrier = d->n_stages > 0 && stage >= d->n_stages;
    int n = 0;
    d->n_stages = stage + 1;
    for (int i = 0; i < RB_DRIFT_LIMITS; i++) {
        if (!is_due(d, i, at_barrier, p[i], confidence))
            continue;
        if (n++ == 0)
            rb_drift_write_reason(pace, stage, out);
        rb_buf_printf(out, "%s%s is %.2f", n > 1 ? ", " : "", names[i], p[i]);
    }
    if (n > 0)
        rb_buf_printf(out, ", %.2f was asked", confidence);
    return n > 0;
}
