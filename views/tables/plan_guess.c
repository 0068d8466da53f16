#include "views/tables/plan_table.h"

static void range(const struct rb_plan *plan, struct rb_buf *out)
{
    const struct rb_estimate *e = &plan->estimate;
    char text[4][32];
    rb_buf_printf(out, "from a guess (%s: %s): cost %s to %s, time %s to %s (90 %%); no one has measured this job\n",
                  plan->profile->basis[0].what, plan->profile->basis[0].from, rb_format_money(e->cost_uusd.p5, text[0]),
                  rb_format_money(e->cost_uusd.p95, text[1]), rb_format_duration(e->time_us.p5, text[2]),
                  rb_format_duration(e->time_us.p95, text[3]));
}

void rb_plan_guess_write(const struct rb_plan *plan, const struct rb_measuring *measuring, struct rb_buf *out)
{
    char text[4][32];
    if (plan->profile->n_basis == 0)
        return;
    range(plan, out);
    if (measuring->exists)
        rb_buf_printf(
            out,
            "measuring %d %s on one %s takes about %s and %s; if the guess is right in the middle, this plan then "
            "costs %s to %s: rbprofile train %s\n",
            measuring->units, plan->job->scheduler.unit, measuring->instance_type,
            rb_format_duration(measuring->time_us, text[0]), rb_format_money(measuring->cost_uusd, text[1]),
            rb_format_money(measuring->cost_p5_uusd, text[2]), rb_format_money(measuring->cost_p95_uusd, text[3]),
            plan->job_path && *plan->job_path ? plan->job_path : "JOB.yaml");
}
