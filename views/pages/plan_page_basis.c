#include "views/pages/plan_page_basis.h"

#include "views/tables/plan_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define N_COLUMNS(columns) (int)(sizeof(columns) / sizeof(columns)[0])

// ---- prices

// "12 days", "5 hours", "of unknown age"
static void age_cell(struct rb_text_table *t, const struct rb_offer *offer, int64_t now_us)
{
    const int64_t hours = (now_us - offer->fetched_at_us) / (3600 * RB_US_PER_S);
    if (offer->declared_free)
        rb_text_table_cell(t, "declared");
    else if (offer->fetched_at_us < 0)
        rb_text_table_cell(t, "not known");
    else if (hours < 48)
        rb_text_table_cell(t, "%" PRId64 " h", hours > 0 ? hours : 0);
    else
        rb_text_table_cell(t, "%" PRId64 " days%s", hours / 24, rb_offer_is_old(offer, now_us) ? ", old" : "");
}

static void price_row(struct rb_text_table *t, const struct rb_offer *offer, int64_t now_us)
{
    char text[32];
    rb_text_table_cell(t, "%s", offer->instance_type);
    rb_text_table_cell(t, "%s", offer->infra);
    rb_text_table_cell(t, "%s", rb_market_name(offer->market));
    rb_text_table_cell(t, "%d x %s", offer->gpus, offer->accelerator);
    rb_text_table_cell(t, "%s", rb_format_money(offer->rate.uusd_per_hour, text));
    rb_text_table_cell(t, "%s", offer->fetched_at_us < 0 ? "-" : rb_format_instant(offer->fetched_at_us, text));
    age_cell(t, offer, now_us);
}

// The sources of the prices, each once, with its first machine.
static void price_sources(const struct rb_plan *plan, struct rb_page *page)
{
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_offer *o = &plan->offers[i];
        bool listed = !o->source;
        for (int k = 0; k < i && !listed; k++)
            listed = plan->offers[k].source && strcmp(plan->offers[k].source, o->source) == 0;
        if (listed)
            continue;
        RB_AUTO(rb_buf_finish) struct rb_buf of = RB_BUF_INIT;
        rb_buf_printf(&of, "%s, %s: ", o->instance_type, rb_market_name(o->market));
        rb_page_sentence(page, rb_buf_str(&of), o->source);
    }
}

void rb_plan_page_prices(const struct rb_plan *plan, const struct rb_plan_page_made *made, struct rb_page *page)
{
    static const struct rb_text_column columns[] = {{"machine", false, 0}, {"where", false, 0},  {"market", false, 0},
                                                    {"GPUs", false, 0},    {"an hour", true, 0}, {"fetched", false, 0},
                                                    {"age", true, 0}};
    struct rb_text_table t;
    rb_page_section(page, "prices", "Prices behind it", NULL);
    rb_text_table_init(&t, columns, N_COLUMNS(columns));
    for (int i = 0; i < plan->n_offers; i++)
        price_row(&t, &plan->offers[i], made->written_at_us);
    rb_page_table(page, "Age when this page was written", &t);
    rb_text_table_finish(&t);
    price_sources(plan, page);
}

// ---- the basis of the estimate

static const char *method_text(enum rb_estimate_method method)
{
    switch (method) {
    case RB_ESTIMATE_REPLICATES:
        return "simulated runs of the whole plan";
    case RB_ESTIMATE_LAWS:
        return "computed from the laws of its stages, nothing drawn";
    case RB_ESTIMATE_TABLES:
        return "simulated runs, one draw a trial from the table of its law";
    }
    return "";
}

static void error_row(struct rb_text_table *t, const char *what, const char *method, const char *error)
{
    rb_text_table_cell(t, "%s", what);
    rb_text_table_cell(t, "%s", method);
    rb_text_table_cell(t, "%s", error);
}

static void basis_table(const struct rb_estimate *e, struct rb_page *page)
{
    static const struct rb_text_column columns[] = {
        {"figure", false, 0}, {"from", false, 0}, {"no further off than", true, 0}};
    char text[32];
    struct rb_text_table t;
    rb_text_table_init(&t, columns, N_COLUMNS(columns));
    error_row(&t, "mean time", method_text(e->time_method), rb_format_duration(e->error.time_mean_us, text));
    error_row(&t, "mean cost", method_text(e->cost_method), rb_format_money(e->error.cost_mean_uusd, text));
    rb_text_table_cell(&t, "P(deadline and budget kept)");
    rb_text_table_cell(&t, "%s", method_text(e->cost_method));
    if (e->spread_unknown)
        rb_text_table_cell(&t, "not known");
    else
        rb_text_table_cell(&t, "%.2g", e->error.p_both);
    rb_page_table(page, "How each figure was made, and its error at 99.9 %", &t);
    rb_text_table_finish(&t);
}

// "A guess: 4 m for one epoch on 1 A10G (a feeling), off by a factor of 3.2 at 90 %"
static void guess_sentence(const struct rb_basis *basis, struct rb_page *page)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "%s (%s), within a factor of %.2g at 90 %%", basis->what, basis->from,
                  exp(1.6449 * basis->log_sd));
    rb_page_sentence(page, "A guess: ", rb_buf_str(&text));
}

void rb_plan_page_basis(const struct rb_plan *plan, const struct rb_plan_page_made *made, struct rb_page *page)
{
    RB_AUTO(rb_buf_finish) struct rb_buf certificate = RB_BUF_INIT, spot = RB_BUF_INIT, controller = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf profile = RB_BUF_INIT;
    rb_page_section(page, "basis", "What the estimate rests on", NULL);
    rb_plan_certificate_write(plan, &certificate);
    if (certificate.len > 0)
        rb_page_sentence(page, "", certificate.data);
    rb_plan_spot_write(plan, &spot);
    if (spot.len > 0)
        rb_page_sentence(page, "", spot.data);
    rb_plan_controller_write(plan, &controller);
    if (controller.len > 0)
        rb_page_sentence(page, "", controller.data);
    basis_table(&plan->estimate, page);
    rb_page_paragraph(page,
                      "%" PRId64 " simulated runs behind the estimate, %" PRId64 " behind the curves, %" PRId64
                      " behind the times of the stages; seed %" PRIu64 ".",
                      plan->estimate.samples, made->curve_runs, made->timeline_runs, plan->seed);
    rb_buf_printf(&profile, "Training times from the profile %s%s", plan->profile->name,
                  plan->profile->source ? ": " : "");
    rb_page_sentence(page, rb_buf_str(&profile), plan->profile->source ? plan->profile->source : "");
    if (plan->profile->has_measured) {
        RB_AUTO(rb_buf_finish) struct rb_buf measured = RB_BUF_INIT;
        rb_measured_text(&plan->profile->measured, &measured);
        rb_page_sentence(page, "Measured: ", measured.data);
    }
    if (plan->profile->n_basis > 0) {
        RB_AUTO(rb_buf_finish) struct rb_buf on = RB_BUF_INIT;
        rb_plan_measured_write(plan, &on);
        rb_page_sentence(page, "From a guess: ", rb_buf_str(&on));
    }
    for (int i = 0; i < plan->profile->n_basis; i++)
        guess_sentence(&plan->profile->basis[i], page);
    for (int i = 0; i < plan->n_warnings; i++)
        rb_page_sentence(page, "Note: ", plan->warnings[i]);
    rb_page_paragraph(page, "Written by %s at %s.", plan->tool, made->written_at);
}
