#include "views/tables/plan_table.h"

#include <math.h>
#include <string.h>

// The plan's i-th offer, if it is the first with its GPU and that GPU was not measured; NULL otherwise.
static const struct rb_training *transferred(const struct rb_plan *plan, int i)
{
    const char *gpu = plan->offers[i].accelerator;
    const struct rb_training *t = rb_profile_training(plan->profile, gpu);
    bool is_first = true;
    for (int k = 0; k < i && is_first; k++)
        is_first = strcmp(plan->offers[k].accelerator, gpu) != 0;
    return is_first && t && t->transfer.from ? t : NULL;
}

void rb_plan_transfers_write(const struct rb_plan *plan, struct rb_buf *out)
{
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_training *t = transferred(plan, i);
        if (t)
            rb_buf_printf(out,
                          "%s was not measured: one is taken to train %.3g times as fast as one %s, within a factor of "
                          "%.2g at 90 %%\n",
                          t->accelerator, t->transfer.faster, t->transfer.from, exp(1.6449 * t->transfer.log_sd));
    }
}

void rb_plan_measured_write(const struct rb_plan *plan, struct rb_buf *out)
{
    const bool measured = plan->profile->has_measured;
    const char *from = rb_profile_transferred_from(plan->profile);
    int n = 0;
    if (!from) {
        rb_buf_puts(out, "no one has measured this job");
        return;
    }
    rb_buf_printf(out, "%s %s", measured ? "measured on" : "the profile has", from);
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_training *t = transferred(plan, i);
        if (t)
            rb_buf_printf(out, "%s%s", n++ > 0 ? " or " : measured ? ", not on " : ", not ", t->accelerator);
    }
    if (n == 0)
        rb_buf_puts(out, "; only GPUs that the plan does not use are guessed");
}

static void range(const struct rb_plan *plan, struct rb_buf *out)
{
    const struct rb_estimate *e = &plan->estimate;
    char text[4][32];
    rb_buf_printf(out, "from a guess (%s: %s): cost %s to %s, time %s to %s (90 %%); ", plan->profile->basis[0].what,
                  plan->profile->basis[0].from, rb_format_money(e->cost_uusd.p5, text[0]),
                  rb_format_money(e->cost_uusd.p95, text[1]), rb_format_duration(e->time_us.p5, text[2]),
                  rb_format_duration(e->time_us.p95, text[3]));
    rb_plan_measured_write(plan, out);
    rb_buf_putc(out, '\n');
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
