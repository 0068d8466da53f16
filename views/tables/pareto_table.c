#include "views/tables/pareto_table.h"

#include "views/tables/plan_table.h"

#include <stdlib.h>
#include <string.h>

static const char *const planners[] = {"optimal", "greedy", "static", "naive"};
#define N_PLANNERS (sizeof planners / sizeof planners[0])

static void add_row(const struct rb_pareto *pareto, int64_t deadline_us, bool asked, struct rb_text_table *t)
{
    char text[32];
    rb_text_table_cell(t, "%s%s", asked ? "> " : "", rb_format_duration(deadline_us, text));
    for (size_t i = 0; i < N_PLANNERS; i++) {
        const struct rb_pareto_point *p = rb_pareto_at(pareto, deadline_us, planners[i]);
        rb_text_table_cell(t, "%s", p ? rb_format_money(p->estimate.cost_uusd.mean, text) : "-");
    }
    if (rb_pareto_beside_name(pareto)) {
        const struct rb_estimate *beside = rb_pareto_beside(pareto, deadline_us);
        rb_text_table_cell(t, "%s", beside ? rb_format_money(beside->cost_uusd.mean, text) : "-");
    }
}

static void write_table(const struct rb_pareto *pareto, int64_t asked_us, const struct rb_text_style *style,
                        struct rb_buf *out)
{
    const char *beside = rb_pareto_beside_name(pareto);
    const struct rb_text_column columns[] = {
        {"deadline", true, 0}, {"optimal", true, 0}, {"greedy", true, 0}, {"static", true, 0}, {"naive", true, 0},
        {beside, true, 0}};
    struct rb_text_table t;
    int64_t before_us = -1;
    rb_text_table_init(&t, columns, 1 + N_PLANNERS + (beside != NULL));
    for (int i = 0; i < pareto->n_points; i++) {
        int64_t deadline_us = pareto->points[i].deadline_us;
        if (deadline_us != before_us)
            add_row(pareto, deadline_us, deadline_us == asked_us, &t);
        before_us = deadline_us;
    }
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// "$3.20", then what follows, then "($0.32 a minute)"
static void change_text(const struct rb_marginal *m, int64_t change_uusd, const char *what, struct rb_buf *out)
{
    char text[32];
    rb_buf_printf(out, "%s%s", rb_format_money(llabs(change_uusd), text), what);
    rb_buf_printf(out, " (%s a minute)", rb_format_money(llabs(rb_marginal_per_minute(m, change_uusd)), text));
}

// "10 minutes more would save $3.20 ($0.32 a minute)"
static void write_more(const struct rb_marginal *m, struct rb_buf *out)
{
    rb_plan_step_write(m->step_us, out);
    rb_buf_puts(out, " more would save ");
    if (m->more_uusd < 0)
        change_text(m, m->more_uusd, "", out);
    else
        rb_buf_puts(out, "nothing");
}

// If the step saves nothing: "the next cheaper plan of this table saves $0.23 at 55 m 27 s"
static void write_next_saving(const struct rb_pareto *pareto, struct rb_buf *out)
{
    char text[32];
    const struct rb_pareto_point *at = rb_pareto_at(pareto, pareto->marginal.deadline_us, "optimal");
    for (int i = 0; i < pareto->n_points && pareto->marginal.more_uusd == 0; i++) {
        const struct rb_pareto_point *p = &pareto->points[i];
        int64_t saved_uusd = at->estimate.cost_uusd.mean - p->estimate.cost_uusd.mean;
        if (p->deadline_us <= at->deadline_us || strcmp(p->planner, "optimal") != 0 || saved_uusd <= 0)
            continue;
        rb_buf_printf(out, "the next cheaper plan of this table saves %s", rb_format_money(saved_uusd, text));
        rb_buf_printf(out, " at %s\n", rb_format_duration(p->deadline_us, text));
        return;
    }
}

// "10 minutes less would cost $1.10 more ($0.11 a minute)"
static void write_less(const struct rb_marginal *m, struct rb_buf *out)
{
    if (!m->has_less)
        rb_buf_puts(out, "no plan keeps ");
    rb_plan_step_write(m->step_us, out);
    if (!m->has_less)
        rb_buf_puts(out, " less");
    else if (m->less_uusd == 0)
        rb_buf_puts(out, " less would cost nothing more");
    else {
        rb_buf_puts(out, " less would cost ");
        change_text(m, m->less_uusd, " more", out);
    }
}

void rb_marginal_write(const struct rb_marginal *m, struct rb_buf *out)
{
    char text[32];
    rb_buf_printf(out, "at %s: ", rb_format_duration(m->deadline_us, text));
    write_more(m, out);
    rb_buf_puts(out, ", ");
    write_less(m, out);
}

void rb_pareto_marginal_write(const struct rb_pareto *pareto, struct rb_buf *out)
{
    rb_buf_puts(out, pareto->spot == RB_PARETO_WITH_SPOT ? "on demand, " : "");
    rb_marginal_write(&pareto->marginal, out);
}

static void write_without_spot(const struct rb_pareto *pareto, struct rb_buf *out)
{
    if (pareto->spot == RB_PARETO_ALONE) {
        rb_buf_puts(out, "spot: plans with and without it are not compared: either no spot machine can be planned, or nothing else; "
                         "rbplan without --pareto says why\n");
        return;
    }
    int n_proved = 0;
    for (int i = 0; i < pareto->n_beside; i++)
        n_proved += pareto->beside[i].proved;
    rb_buf_printf(out, "without spot: the cheapest plans that have no spot machine, at the same confidence; proved to be that at %d of %d "
                       "deadlines\n", n_proved, pareto->n_beside);
}

// What the other line rests on, or why there is none.
static void write_spot(const struct rb_plan_request *req, const struct rb_pareto *pareto, struct rb_buf *out)
{
    if (pareto->spot_cut)
        rb_buf_puts(out, "spot: the time limit ended before all deadlines were asked for\n");
    if (req->job->resources.spot == RB_SPOT_ALLOW)
        write_without_spot(pareto, out);
    if (req->job->resources.spot != RB_SPOT_SAFE)
        return;
    if (pareto->spot == RB_PARETO_WITH_SPOT)
        rb_buf_puts(out, "with spot: the run uses spot machines while it could lose them and still be in time on demand; its mean "
                         "cost at the same confidence, by replays of the profile's markets\n");
    else if (!pareto->spot_cut)
        rb_buf_printf(out, "spot: what it saves is unknown: %s\n",
                      rb_job_is_asynchronous(req->job) ? "nothing predicts it for an asynchronous job"
                                                       : "the profile needs the spells of every spot market, and the price list its price");
}

void rb_pareto_table_write(const struct rb_plan_request *req, const struct rb_pareto *pareto,
                           const struct rb_text_style *style, struct rb_buf *out)
{
    char text[32];
    rb_buf_printf(out, "%s, mean cost of each planner's plan, confidence %.10g\n\n", req->job->name,
                  pareto->confidence);
    write_table(pareto, req->deadline_us, style, out);
    rb_buf_putc(out, '\n');
    if (pareto->marginal.exists) {
        rb_pareto_marginal_write(pareto, out);
        rb_buf_putc(out, '\n');
        write_next_saving(pareto, out);
    } else if (req->deadline_us >= 0) {
        const bool fewer = rb_job_is_asynchronous(req->job); // configurations may keep it: one plan shows how many
        rb_buf_printf(out, "no plan%s keeps %s; ", fewer ? " that tries all configurations" : "",
                      rb_format_duration(req->deadline_us, text));
        rb_buf_printf(out, "the tightest deadline that one keeps is %s\n",
                      rb_format_duration(pareto->tightest_us, text));
    } else {
        rb_buf_puts(out, "no deadline was asked for: add --deadline D to see what more or less time is worth\n");
    }
    rb_buf_printf(out, "optimal is proved to be the cheapest at %d of %d deadlines\n", pareto->n_proved,
                  pareto->n_deadlines);
    if (pareto->n_undecided > 0)
        rb_buf_printf(out,
                      "at %d of them its plan is too near to the confidence to be decided by the runs of a frontier\n",
                      pareto->n_undecided);
    write_spot(req, pareto, out);
}
