// The parts of a run's line, and how much each matters.
#include "views/live/progress.h"

#include "views/live/status_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A stage has its number from plan.json, so this is not "n of m": those count from 1.
static void stage_parts(const struct rb_progress *p, struct rb_status_line *l)
{
    if (p->stage < 0) {
        rb_buf_puts(rb_status_line_add(l, RB_STATUS_ALWAYS, false), "beginning");
        return;
    }
    rb_buf_printf(rb_status_line_add(l, RB_STATUS_ALWAYS, false), "%s %d", p->on_demand ? "level" : "stage", p->stage);
    if (p->n_stages > 1)
        rb_buf_printf(rb_status_line_add(l, 7, true), "of 0-%d", p->n_stages - 1);
}

static void trials_text(const struct rb_progress *p, struct rb_buf *out)
{
    if (!p->on_demand) {
        rb_buf_printf(out, "%d/%d trials", p->trials_ended, p->trials);
        return;
    }
    for (int i = RB_TRIAL_WAITING; i <= RB_TRIAL_COMPLETED; i++) {
        if (p->n_by_state[i] > 0)
            rb_buf_printf(out, "%s%d %s", out->len ? ", " : "", p->n_by_state[i], rb_trial_state_name(i));
    }
    if (!out->len)
        rb_buf_puts(out, "no trial yet");
}

static void cost_parts(const struct rb_progress *p, struct rb_status_line *l)
{
    char text[32];
    struct rb_buf *cost = rb_status_line_add(l, 8, false);
    if (p->is_lent) {
        rb_buf_puts(cost, "lent nodes");
        return;
    }
    if (p->spent_uusd == 0 && (p->is_free || p->cost_p95_uusd == 0)) { // this machine
        rb_buf_puts(cost, "free");
        return;
    }
    rb_buf_puts(cost, p->spent_uusd >= 0 ? rb_format_money(p->spent_uusd, text) : "$?");
    if (p->over)
        return;
    rb_buf_printf(cost, " of %s", p->cost_mean_uusd >= 0 ? rb_format_money(p->cost_mean_uusd, text) : "?");
    if (p->budget_uusd >= 0)
        rb_buf_printf(rb_status_line_add(l, 2, true), "(max %s)", rb_format_money(p->budget_uusd, text));
    else if (p->cost_p95_uusd >= 0)
        rb_buf_printf(rb_status_line_add(l, 2, true), "(95 %% <= %s)", rb_format_money(p->cost_p95_uusd, text));
}

static void time_parts(const struct rb_progress *p, struct rb_status_line *l)
{
    char text[32], p95[32];
    rb_buf_printf(rb_status_line_add(l, 9, false), "ETA %s", rb_progress_left(p, p->end_p50_us, text));
    if (strcmp(rb_progress_left(p, p->end_p95_us, p95), text) != 0)
        rb_buf_printf(rb_status_line_add(l, 1, true), "(95 %% <= %s)", p95);
    if (p->deadline_us >= 0)
        rb_buf_printf(rb_status_line_add(l, 6, false), "P(on time) %s", rb_progress_probability(p->p_on_time, text));
}

void rb_progress_write(const struct rb_progress *p, int width, struct rb_buf *out)
{
    RB_AUTO(rb_status_line_finish) struct rb_status_line l = {.n = 0};
    stage_parts(p, &l);
    if (p->stage >= 0)
        trials_text(p, rb_status_line_add(&l, 7, false));
    if (p->best_trial >= 0)
        rb_buf_printf(rb_status_line_add(&l, 5, false), "%s %.4g", p->metric_name, p->best_metric);
    if (!p->over || p->nodes > 0)
        rb_buf_printf(rb_status_line_add(&l, 4, false), "%d/%d nodes", p->nodes_ready, p->nodes);
    cost_parts(p, &l);
    if (!p->over)
        time_parts(p, &l);
    rb_status_line_write(&l, width, out);
}

char *rb_progress_duration(int64_t us, char out[static 32])
{
    const int64_t seconds = (us + RB_US_PER_S - 1) / RB_US_PER_S;
    if (us < 0)
        return strcpy(out, "?");
    if (seconds >= 60)
        return rb_format_duration(seconds * RB_US_PER_S, out);
    snprintf(out, 32, "%d s", (int)seconds); // tenths would flicker, and the tenths of the time left are unknown
    return out;
}

char *rb_progress_left(const struct rb_progress *p, int64_t end_us, char out[static 32])
{
    if (end_us < 0 || p->elapsed_us < 0)
        return strcpy(out, "?");
    return rb_progress_duration(end_us > p->elapsed_us ? end_us - p->elapsed_us : 0, out);
}

char *rb_progress_probability(double p, char out[static 32])
{
    struct rb_buf text = RB_BUF_INIT;
    if (isnan(p))
        rb_buf_puts(&text, "?");
    else if (p > 0.995)
        rb_buf_puts(&text, "> 0.99"); // there were too few runs to claim 1.00
    else if (p < 0.005)
        rb_buf_puts(&text, "< 0.01");
    else
        rb_buf_printf(&text, "%.2f", p);
    strcpy(out, rb_buf_str(&text));
    rb_buf_finish(&text);
    return out;
}
