#include "views/tables/best_for_table.h"

#include "views/tables/plan_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAME_SCORE 0.005 // 10,000 draws tell no less apart

// A share close to 1 with as many digits as tell it from 1.
static const char *percent(double p, char out[static 32])
{
    const double digits = p < 1 ? fmax(1, fmin(4, ceil(-log10(1 - p)) - 1)) : 0;
    snprintf(out, 32, "%.*f", (int)digits, 100 * p);
    return out;
}

static bool knows_metric(const struct rb_best_for *b)
{
    return rb_quality_knows_metrics(b->law);
}

void rb_best_write(const struct rb_best_for *b, const struct rb_best *best, struct rb_buf *out)
{
    char text[3][32];
    const struct rb_band *p = &best->better_than, *m = &best->metric;
    if (knows_metric(b) && isnan(m->high))
        rb_buf_printf(out, "%s %.4g or better in half of draws, %.4g or better in 95 %%", b->asked->metric_name, m->median,
                      m->low);
    else if (knows_metric(b))
        rb_buf_printf(out, "%s %.4g (90 %%: %.4g to %.4g)", b->asked->metric_name, m->mean, m->low, m->high);
    else
        rb_buf_printf(out, "better than %s %% of random configurations (90 %%: %s to %s %%)", percent(p->mean, text[0]),
                      percent(p->low, text[1]), percent(p->high, text[2]));
}

// ---- the searches that were tried

static void search_cell(const struct rb_best_for *b, const struct rb_search_choice *c, bool chosen,
                        struct rb_text_table *t)
{
    const struct rb_scheduler *s = &b->asked->scheduler;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "%s%s", chosen ? "> " : "", s->type);
    if (strcmp(s->type, "random") != 0)
        rb_buf_printf(&text, ", eta %d, from %lld", c->eta, (long long)c->min_resource);
    if (c->brackets > 1)
        rb_buf_printf(&text, ", %d brackets", c->brackets);
    rb_text_table_cell(t, "%s", rb_buf_str(&text));
}

static void add_row(const struct rb_best_for *b, const struct rb_search_choice *choice, const struct rb_best *best,
                    const struct rb_estimate *e, bool chosen, struct rb_text_table *t)
{
    char text[2][32];
    const struct rb_job job = rb_job_with_choice(b->asked, choice);
    search_cell(b, choice, chosen, t);
    rb_text_table_cell(t, "%d", rb_job_trials(&job));
    if (knows_metric(b))
        rb_text_table_cell(t, isnan(best->metric.high) ? "%.4g or better" : "%.4g",
                           isnan(best->metric.high) ? best->metric.median : best->metric.mean);
    rb_text_table_cell(t, "%s %%", percent(best->better_than.mean, text[0]));
    rb_text_table_cell(t, "%s to %s %%", percent(best->better_than.low, text[0]),
                       percent(best->better_than.high, text[1]));
    rb_text_table_cell(t, "%s", rb_format_money(e->cost_uusd.mean, text[0]));
    rb_text_table_cell(t, "%s", rb_format_duration(e->time_us.mean, text[0]));
}

// Returns how many are not shown: where they would be as good they are not affordable.
static int add_rows(const struct rb_best_for *b, struct rb_text_table *t)
{
    const struct rb_search_choices *c = &b->choices;
    int hidden = 0;
    add_row(b, &b->chosen.choice, &b->chosen.best, &b->chosen.estimate, true, t);
    for (int i = 0; i < c->n; i++) {
        const struct rb_choice_row *r = &c->rows[i];
        hidden += !r->fits;
        if (i != c->chosen && r->fits)
            add_row(b, &r->choice, &r->best, &r->estimate, false, t);
    }
    return hidden;
}

static void write_table(const struct rb_best_for *b, const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_text_column columns[] = {{"search", false, 0},       {"trials", true, 0}, {"better than", true, 0},
                                             {"90 % of draws", true, 2}, {"cost", true, 0},   {"time", true, 1}};
    const struct rb_text_column with_metric[] = {{"search", false, 0},      {"trials", true, 0},
                                                 {b->asked->metric_name, true, 0}, {"better than", true, 0},
                                                 {"90 % of draws", true, 2}, {"cost", true, 0}, {"time", true, 1}};
    struct rb_text_table t;
    if (knows_metric(b))
        rb_text_table_init(&t, with_metric, 7);
    else
        rb_text_table_init(&t, columns, 6);
    const int hidden = add_rows(b, &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
    if (hidden > 0)
        rb_buf_printf(out, "%d other searches by %s are not affordable with as many trials as would find as good a model\n",
                      hidden, b->asked->scheduler.type);
}

// ---- sentences

static void write_basis(const struct rb_best_for *b, struct rb_buf *out)
{
    const char *sampler = b->asked->scheduler.sampler.type;
    rb_buf_printf(out, "this rests on %s of how results at rungs predict those at the end", b->law->source);
    if (b->gain != 1)
        rb_buf_printf(out, ", and on a trial of %s being worth %.1f random ones, as was found with %s", sampler, b->gain,
                      b->gain_source);
    else if (!b->gain_source)
        rb_buf_printf(out, "; a trial of sampler %s counts as a random one, because what it learns is not known",
                      sampler);
    rb_buf_puts(out, b->law->n_runs == 0 ? "\n" : b->law->n_runs == 1 ? "; --cold leaves it out\n" : "; --cold leaves them out\n");
    if (!knows_metric(b))
        rb_buf_printf(out, "which %s that is, is unknown: --blackbox TABLE, of trained configurations like these, says it\n",
                      b->asked->metric_name);
}

static void write_answer(const struct rb_best_for *b, const struct rb_best_for_answer *a, struct rb_buf *out)
{
    if (!a->feasible) {
        rb_buf_puts(out, "no search is affordable");
        return;
    }
    if (a->budget_uusd > b->chosen.budget_uusd && a->best.z.mean <= b->chosen.best.z.mean + SAME_SCORE) {
        rb_buf_puts(out, "nothing better");
        return;
    }
    rb_best_write(b, &a->best, out);
    rb_buf_printf(out, ", %d trials", a->trials);
}

static void write_steps(const struct rb_best_for *b, struct rb_buf *out)
{
    char text[32];
    if (b->more_money.asked) {
        rb_buf_printf(out, "%s more: ", rb_format_money(b->more_money.budget_uusd - b->chosen.budget_uusd, text));
        write_answer(b, &b->more_money, out);
        rb_buf_puts(out, "\n");
    }
    if (!b->less_time.asked)
        return;
    rb_plan_step_write(b->chosen.deadline_us - b->less_time.deadline_us, out);
    rb_buf_puts(out, " less: ");
    write_answer(b, &b->less_time, out);
    rb_buf_puts(out, "\n");
}

void rb_to_target_write(const struct rb_job *job, const struct rb_quality_law *law, const struct rb_to_target *t,
                        struct rb_buf *out)
{
    char text[4][32];
    if (!law->scores) {
        rb_buf_printf(out, "what it costs to reach %s %g is unknown: --blackbox TABLE, of trained configurations like these, says it",
                      job->metric_name, job->target);
        return;
    }
    if (t->reached <= 0) {
        rb_buf_printf(out, "%s %g is not reached in any of %d draws, by %s", job->metric_name, job->target, t->draws,
                      law->source);
        return;
    }
    const struct rb_quantiles *q = &t->cost_uusd;
    rb_buf_printf(out, "%s %g is reached in %s %% of draws, then for %s on average (90 %%: %s to %s), by %s",
                  job->metric_name, job->target, percent(t->reached, text[0]), rb_format_money(q->mean, text[1]),
                  rb_format_money(q->p5, text[2]), rb_format_money(q->p95, text[3]), law->source);
}

static void write_setting(const struct rb_best_for *b, struct rb_buf *out)
{
    const struct rb_scheduler *s = &b->job->scheduler;
    rb_buf_printf(out, "scheduler: {type: %s", s->type);
    if (s->num_trials > 0)
        rb_buf_printf(out, ", num_trials: %d", s->num_trials);
    if (strcmp(s->type, "random") != 0)
        rb_buf_printf(out, ", min_resource: %lld", (long long)s->min_resource);
    rb_buf_printf(out, ", max_resource: %lld", (long long)s->max_resource);
    if (strcmp(s->type, "random") != 0)
        rb_buf_printf(out, ", eta: %d", s->eta);
    if (s->brackets > 1)
        rb_buf_printf(out, ", brackets: %d", s->brackets);
    rb_buf_puts(out, "}\n");
}

// ---- what more dollars buy

static void write_frontier(const struct rb_best_for *b, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"budget", true, 0}, {"trials", true, 0}, {"eta", true, 1},
                                                    {"from", true, 1},   {"expected", false, 0}};
    struct rb_text_table t;
    char text[32];
    if (b->n_frontier == 0)
        return;
    rb_buf_putc(out, '\n');
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < b->n_frontier; i++) {
        const struct rb_best_for_answer *a = &b->frontier[i];
        RB_AUTO(rb_buf_finish) struct rb_buf best = RB_BUF_INIT;
        rb_best_write(b, &a->best, &best);
        rb_text_table_cell(&t, "%s%s", a->budget_uusd == b->chosen.budget_uusd ? "> " : "",
                           rb_format_money(a->budget_uusd, text));
        rb_text_table_cell(&t, "%d", a->trials);
        rb_text_table_cell(&t, "%d", a->choice.eta);
        rb_text_table_cell(&t, "%lld", (long long)a->choice.min_resource);
        rb_text_table_cell(&t, "%s", rb_buf_str(&best));
    }
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

void rb_best_for_table_write(const struct rb_best_for *b, const struct rb_text_style *style, struct rb_buf *out)
{
    char text[2][32];
    rb_buf_printf(out, "%s: the best model for %s", b->asked->name, rb_format_money(b->chosen.budget_uusd, text[0]));
    if (b->chosen.deadline_us >= 0)
        rb_buf_printf(out, " in %s", rb_format_duration(b->chosen.deadline_us, text[0]));
    rb_buf_printf(out, ", confidence %.10g\n\n", b->plan.confidence);
    write_table(b, style, out);
    rb_buf_puts(out, "\nexpected: ");
    rb_best_write(b, &b->chosen.best, out);
    rb_buf_printf(out, "; P(%s) %s\n",
                  b->chosen.deadline_us >= 0 ? "on time and in budget" : "in budget",
                  rb_plan_probability(&b->chosen.estimate, b->chosen.estimate.p_both, 3, text[0]));
    write_basis(b, out);
    write_steps(b, out);
    write_frontier(b, style, out);
    rb_buf_puts(out, "\nin the job, or as --set scheduler.num_trials=... and so on:\n  ");
    write_setting(b, out);
}
