// The one line that is redrawn: parts, of which the least important give way where the terminal is narrow.
#include "views/progress.h"

#include "base/arena.h"
#include "views/text_table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 10, ALWAYS = 99 };

struct line {
    struct part {
        struct rb_buf text;
        int importance;
        bool joined; // belongs to the part before it: one blank between, and gone where that is gone
    } parts[MOST_PARTS];
    int n;
};

static struct rb_buf *add_part(struct line *l, int importance, bool joined)
{
    assert(l->n < MOST_PARTS);
    l->parts[l->n] = (struct part){RB_BUF_INIT, importance, joined};
    return &l->parts[l->n++].text;
}

static void line_finish(struct line *l)
{
    for (int i = 0; i < l->n; i++)
        rb_buf_finish(&l->parts[i].text);
}

static void drop_part(struct line *l, int at)
{
    int n = 1;
    while (at + n < l->n && l->parts[at + n].joined)
        n++;
    for (int i = at; i < at + n; i++)
        rb_buf_finish(&l->parts[i].text);
    memmove(&l->parts[at], &l->parts[at + n], (size_t)(l->n - at - n) * sizeof l->parts[0]);
    l->n -= n;
}

static int least_important(const struct line *l)
{
    int least = 0;
    for (int i = 1; i < l->n; i++) {
        if (l->parts[i].importance < l->parts[least].importance)
            least = i;
    }
    return least;
}

static void join(const struct line *l, struct rb_buf *out)
{
    rb_buf_clear(out);
    for (int i = 0; i < l->n; i++)
        rb_buf_printf(out, "%s%s", i == 0 ? "" : l->parts[i].joined ? " " : "  ", rb_buf_str(&l->parts[i].text));
}

static void fit(struct line *l, int width, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    int least;
    for (join(l, &text); width > 0 && rb_text_columns(rb_buf_str(&text)) > width; join(l, &text)) {
        least = least_important(l);
        if (l->parts[least].importance == ALWAYS)
            break;
        drop_part(l, least);
    }
    rb_text_cut(rb_buf_str(&text), width, out);
}

// ---- the parts

// By its number in plan.json, so not as "n of m": those count from 1.
static void stage_parts(const struct rb_progress *p, struct line *l)
{
    if (p->stage < 0) {
        rb_buf_puts(add_part(l, ALWAYS, false), "beginning");
        return;
    }
    rb_buf_printf(add_part(l, ALWAYS, false), "%s %d", p->on_demand ? "level" : "stage", p->stage);
    if (p->n_stages > 1)
        rb_buf_printf(add_part(l, 7, true), "of 0-%d", p->n_stages - 1);
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

static void cost_parts(const struct rb_progress *p, struct line *l)
{
    char text[32];
    struct rb_buf *cost = add_part(l, 8, false);
    if (p->spent_uusd == 0 && p->cost_p95_uusd == 0) { // this machine
        rb_buf_puts(cost, "free");
        return;
    }
    rb_buf_puts(cost, p->spent_uusd >= 0 ? rb_format_money(p->spent_uusd, text) : "$?");
    if (p->over)
        return;
    rb_buf_printf(cost, " of %s", p->cost_mean_uusd >= 0 ? rb_format_money(p->cost_mean_uusd, text) : "?");
    if (p->budget_uusd >= 0)
        rb_buf_printf(add_part(l, 2, true), "(max %s)", rb_format_money(p->budget_uusd, text));
    else if (p->cost_p95_uusd >= 0)
        rb_buf_printf(add_part(l, 2, true), "(95 %% <= %s)", rb_format_money(p->cost_p95_uusd, text));
}

static void time_parts(const struct rb_progress *p, struct line *l)
{
    char text[32], p95[32];
    rb_buf_printf(add_part(l, 9, false), "ETA %s", rb_progress_left(p, p->end_p50_us, text));
    if (strcmp(rb_progress_left(p, p->end_p95_us, p95), text) != 0)
        rb_buf_printf(add_part(l, 1, true), "(95 %% <= %s)", p95);
    if (p->deadline_us >= 0)
        rb_buf_printf(add_part(l, 6, false), "P(on time) %s", rb_progress_probability(p->p_on_time, text));
}

void rb_progress_write(const struct rb_progress *p, int width, struct rb_buf *out)
{
    RB_AUTO(line_finish) struct line l = {.n = 0};
    stage_parts(p, &l);
    if (p->stage >= 0)
        trials_text(p, add_part(&l, 7, false));
    if (p->best_trial >= 0)
        rb_buf_printf(add_part(&l, 5, false), "%s %.4g", p->metric_name, p->best_metric);
    if (!p->over || p->nodes > 0)
        rb_buf_printf(add_part(&l, 4, false), "%d/%d nodes", p->nodes_ready, p->nodes);
    cost_parts(p, &l);
    if (!p->over)
        time_parts(p, &l);
    fit(&l, width, out);
}

char *rb_progress_duration(int64_t us, char out[static 32])
{
    const int64_t seconds = (us + RB_US_PER_S - 1) / RB_US_PER_S;
    if (us < 0)
        return strcpy(out, "?");
    if (seconds >= 60)
        return rb_format_duration(seconds * RB_US_PER_S, out);
    snprintf(out, 32, "%d s", (int)seconds); // tenths would flicker, and of what is left nobody knows them
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
        rb_buf_puts(&text, "> 0.99"); // so many runs were not tried that 1.00 could be said
    else if (p < 0.005)
        rb_buf_puts(&text, "< 0.01");
    else
        rb_buf_printf(&text, "%.2f", p);
    strcpy(out, rb_buf_str(&text));
    rb_buf_finish(&text);
    return out;
}
