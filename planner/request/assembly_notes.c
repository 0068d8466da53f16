// What a reader of a plan must know beside its figures.
#include "planner/request/assembly.h"

#include "planner/async/endless.h"
#include "planner/request/save_note.h"
#include "planner/request/windows.h"
#include "profiles/catalog/infra.h"
#include "profiles/inputs/spot_means.h"
#include "profiles/store/reading.h"
#include "simulator/world/world_evaluate.h"

#include <math.h>
#include <string.h>

enum { MAX_NAMED_OFFERS = 4 };
#define NOT_MODELLED "public IPv4 addresses, egress and spot refunds are not modelled"
#define ATTRIBUTED                                                                                                  \
    "costs are attributed where no cloud bills them (k8s, slurm): machines there are worth this much by the price " \
    "list"

void rb_assembly_note(struct rb_assembly *a, const char *text)
{
    if (a->n_warnings == a->cap_warnings)
        return;
    a->warnings[a->n_warnings++] = text;
}

// --- warnings

static bool same_reason(const struct rb_scenario *s, int a, int b)
{
    return s->offers[a].market == s->offers[b].market && strcmp(s->offers[a].infra, s->offers[b].infra) == 0 &&
           strcmp(s->sim_offers[a].why_not, s->sim_offers[b].why_not) == 0;
}

// One warning for all offers with the same reason, at the first of them.
static void warn_unusable_offer(struct rb_assembly *a, int offer)
{
    const struct rb_scenario *s = a->search->scenario;
    RB_AUTO(rb_buf_finish) struct rb_buf others = RB_BUF_INIT;
    int n = 0;
    for (int i = 0; i < offer; i++)
        if (!s->sim_offers[i].usable && same_reason(s, i, offer))
            return;
    for (int i = offer + 1; i < s->n_offers; i++)
        if (!s->sim_offers[i].usable && same_reason(s, i, offer) && n++ < MAX_NAMED_OFFERS)
            rb_buf_printf(&others, ", %s", s->offers[i].instance_type);
    if (n > MAX_NAMED_OFFERS)
        rb_buf_printf(&others, " and %d more", n - MAX_NAMED_OFFERS);
    rb_assembly_note(a,
         rb_arena_printf(a->arena, "%s %s%s (%s) %s not considered: %s", s->offers[offer].infra,
                         s->offers[offer].instance_type, rb_buf_str(&others), rb_market_name(s->offers[offer].market),
                         n > 0 ? "were" : "was", s->sim_offers[offer].why_not));
}

static void warn_endless_offer(struct rb_assembly *a, int offer)
{
    const struct rb_scenario *s = a->search->scenario;
    const struct rb_hazard hazard = rb_provisioning_hazard(s->sim_offers[offer].provisioning);
    rb_assembly_note(a, rb_arena_printf(a->arena,
                            "%s %s (%s) was not considered from stage %d on: its market takes %snodes back (%g "
                            "times an hour) before a trial ends",
                            s->offers[offer].infra, s->offers[offer].instance_type,
                            rb_market_name(s->offers[offer].market), rb_endless_stage(a->search, offer),
                            hazard.n_later > 0 ? "new " : "", hazard.per_hour));
}

static void warn_unusable_offers(struct rb_assembly *a)
{
    const struct rb_scenario *s = a->search->scenario;
    for (int i = 0; i < s->n_offers; i++) {
        const char *closed = rb_windows_warning(a->search, i, a->arena);
        if (!s->sim_offers[i].usable)
            warn_unusable_offer(a, i);
        else if (closed)
            rb_assembly_note(a, closed);
        else if (rb_endless_stage(a->search, i) >= 0)
            warn_endless_offer(a, i);
        else if (a->search->sizes[i].n == 0 && !a->search->left_out[i])
            rb_assembly_note(a, rb_arena_printf(a->arena, "%s %s was not considered: no size of trial.gpus fits its nodes",
                                    s->offers[i].infra, s->offers[i].instance_type));
    }
}

// Fewer than asked for, because runs under its policy are expensive, and more cannot be requested.
static bool rests_on_few(const struct rb_assembly *a, const struct rb_plan *plan)
{
    return rb_plan_is_by_engine(plan) && plan->estimate.samples < a->search->req->samples;
}

static void warn_close_call(struct rb_assembly *a, const struct rb_plan *plan)
{
    const struct rb_estimate *e = &plan->estimate;
    if ((plan->deadline_us < 0 && plan->budget_uusd < 0) || e->spread_unknown)
        return;
    double above = e->p_both - plan->confidence;
    if (e->stderr_.p_both > 0 && above < 2 * e->stderr_.p_both)
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "the estimated probability %.3f is within two standard errors (%.4f) of the "
                                "confidence asked%s",
                                e->p_both, e->stderr_.p_both,
                                rests_on_few(a, plan)                ? ""
                                : a->search->req->time_limit_us > 0 ? "; a higher --time-limit would settle it"
                                                                    : "; more --samples would settle it"));
    else if (e->stderr_.p_both <= 0 && above < e->error.p_both)
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "the computed probability %.4f is within its own error (%.1e) of the confidence asked",
                                e->p_both, e->error.p_both));
}

// The plan's confidence is what it keeps: the probability that its mean time gives.
void rb_assembly_promise_average(struct rb_assembly *a, struct rb_plan *plan)
{
    char mean[32];
    if (plan->deadline_us < 0)
        return;
    if (plan->estimate.spread_unknown)
        return; // there is no probability to guarantee
    plan->confidence = fmax(floor(1000 * (plan->estimate.p_deadline - plan->estimate.error.p_deadline)) / 1000, 0.001);
    rb_assembly_note(a, rb_arena_printf(a->arena,
                            "the deadline is kept on average (%s), as --confidence mean asks: with probability %.3f, "
                            "which is the plan's confidence",
                            rb_format_duration(plan->estimate.time_us.mean, mean), plan->confidence));
}

// A spot price that is a mean: the run pays what the market asks then.
static void note_spot_price(struct rb_assembly *a, const struct rb_plan *plan, int offer)
{
    const struct rb_offer *o = &a->offers[offer];
    const struct rb_price_range *price = rb_spot_price_of(plan->profile, o);
    char mean[32], low[32], high[32];
    if (price)
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "the spot price of %s in %s is a mean, %s an hour: it was between %s and %s for 90 %% of the time in "
                                "which there were nodes, and the bill follows it",
                                o->instance_type, o->infra, rb_format_money(price->mean_uusd, mean),
                                rb_format_money(price->p5_uusd, low), rb_format_money(price->p95_uusd, high)));
}

// Fewer than asked for, because there are very many trials or little time.
static void warn_few_samples(struct rb_assembly *a, const struct rb_plan *plan)
{
    const struct rb_plan_request *req = a->search->req;
    if (req->samples < req->samples_asked)
        rb_assembly_note(a, rb_arena_printf(
                    a->arena, "estimates rest on %lld simulated runs, not on %d: %d trials are too many for more%s",
                    (long long)plan->estimate.samples, req->samples_asked, a->search->scenario->stages.rungs[0].trials,
                    req->time_limit_us > 0 ? " within the time limit" : ""));
    else if (rests_on_few(a, plan))
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "estimates rest on %lld simulated runs, not on %d: each decides everything that policy "
                                "%s decides while it runs, and that takes long",
                                (long long)plan->estimate.samples, req->samples, plan->policy));
}

static void warn_left_out(struct rb_assembly *a)
{
    char with[32];
    if (a->search->n_left_out > 0 && !a->search->left_out_for && a->search->left_out_uusd > 0)
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "spot offers whose markets go down were left out: with them the cheapest plan found costs "
                                "%s, since other machines stand in while they are down",
                                rb_format_money(a->search->left_out_uusd, with)));
    else if (a->search->n_left_out > 0 && !a->search->left_out_for)
        rb_assembly_note(a, "spot offers whose markets go down were not considered: no plan with them keeps the confidence; lower it, "
                "or allow other zones and on-demand machines, which stand in");
    else if (a->search->n_left_out > 0)
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "%d offers that may lose nodes were not considered: this many trials cannot be replayed "
                                "within the %s limit; give a higher --%s-limit, or fewer resources.instance_types",
                                a->search->n_left_out, a->search->left_out_for, a->search->left_out_for));
}

static void warn_tuned_batch(struct rb_assembly *a)
{
    if (a->search->req->job->trial.batch_size > 0)
        rb_assembly_note(a, "times are predicted with the batch size that was measured: what tuning it (trial.batch) gains is not "
                "in them");
}

bool rb_assembly_note_caveats(struct rb_assembly *a, const struct rb_plan_result *result, struct rb_err *err)
{
    const struct rb_scorer *scorer = a->search->scorer;
    const char *texts[RB_SCORER_CAVEATS] = {NULL};
    if (scorer->caveats && !scorer->caveats(a->search, &result->best, a->arena, texts, err))
        return false;
    for (int i = 0; i < RB_SCORER_CAVEATS && texts[i]; i++)
        rb_assembly_note(a, texts[i]);
    return true;
}

static void warn_unknown_spread(struct rb_assembly *a, const struct rb_plan *plan)
{
    if (plan->estimate.spread_unknown)
        rb_assembly_note(a, rb_arena_printf(
                    a->arena,
                    "every time in profile \"%.60s\" is a constant, so nothing is known of how far a run may be "
                    "from this: measure it with `rbprofile train`, or write `exact: true` into it if its times "
                    "never vary",
                    plan->profile->name));
}

// How long the nodes of an offer read: what was measured there, or that no one knows it.
static void note_reading(struct rb_assembly *a, const struct rb_job *job, const struct rb_profile *profile, int offer,
                         bool *out_unknown)
{
    const struct rb_offer *o = &a->offers[offer];
    const struct rb_reading *r = rb_reading_measured(job, profile, o);
    char size[32], took[32];
    *out_unknown = *out_unknown || !rb_reading_is_known(job, profile, o);
    if (!r)
        return;
    const double read_s = rb_reading_mean_s(job, profile, o);
    rb_assembly_note(a, rb_arena_printf(a->arena, "a new %s in %s fetches %s of data in %s on average (%.3g MB/s, measured on %d node%s)",
                            o->instance_type, o->infra, rb_format_size_exact(job->data_bytes, size),
                            rb_format_duration(rb_us_from_seconds(read_s), took),
                            (double)job->data_bytes / fmax(read_s, 1e-6) / 1e6, r->nodes, r->nodes == 1 ? "" : "s"));
}

static void warn_unknown_reading(struct rb_assembly *a, const struct rb_job *job)
{
    char size[32];
    rb_format_size_exact(job->data_bytes, size);
    rb_assembly_note(a, rb_arena_printf(a->arena,
                            job->data_fetch
                                ? "the time in which a new node fetches %s of data is not charged: the first run measures "
                                  "it; until then declare data.bandwidth, such as 1GB/s"
                                : "the time in which a new node reads %s of data is not charged: declare data.bandwidth, "
                                  "such as 1GB/s",
                            size));
}

// Data is transferred to the nodes: each node reads all of it.
static void warn_data(struct rb_assembly *a, const struct rb_plan *plan)
{
    const struct rb_job *job = plan->job;
    const char *infra = a->offers[plan->stages[0].nodes[0].offer].infra;
    char size[32];
    bool moves = false, unknown = false;
    if (job->data_bytes == 0)
        return;
    rb_format_size_exact(job->data_bytes, size);
    for (int o = 0; o < a->n_offers; o++)
        note_reading(a, job, plan->profile, o, &unknown);
    if (unknown)
        warn_unknown_reading(a, job);
    for (int i = 0; i < plan->n_stages; i++)
        for (int k = 0; k < plan->stages[i].n_nodes; k++)
            moves = moves || strcmp(a->offers[plan->stages[i].nodes[k].offer].infra, infra) != 0;
    if (moves && job->data_uusd_per_gb == 0)
        rb_assembly_note(a,
             rb_arena_printf(a->arena,
                             "nodes are in several places and each new one reads %s of data there: what its transfer "
                             "costs is not charged (data.price_per_gb is 0); keep the job to one place with "
                             "resources.infra if the data is in one",
                             size));
}

static void warn_restarts(struct rb_assembly *a, const struct rb_plan *plan)
{
    if (plan->job->starts_over && plan->n_stages > 1)
        rb_assembly_note(a, "checkpoint.resume is false: every stage trains from the beginning again, and that is charged");
    else if (plan->profile->restarts && plan->n_stages > 1)
        rb_assembly_note(
            a,
            "the script does not go on from its checkpoints (the profile says resumes: false): every stage trains from "
            "the beginning again, and that is charged");
}

static void note_saves(struct rb_assembly *a, const struct rb_candidate *best)
{
    for (int i = 0; i < a->search->scenario->n_offers; i++) {
        const char *note = rb_save_note(a->search, best, i, a->arena);
        if (note)
            rb_assembly_note(a, note);
    }
}

void rb_assembly_note_all(struct rb_assembly *a, const struct rb_plan_result *result, const struct rb_plan *plan,
                          bool on_average)
{
    bool is_billed = false, is_attributed = false;
    for (int i = 0; i < a->n_offers; i++) {
        const bool is_there_anyway = rb_infra_may_be_free(a->offers[i].infra);
        is_billed |= !a->offers[i].declared_free && !is_there_anyway;
        is_attributed |= !a->offers[i].declared_free && is_there_anyway;
    }
    if (is_billed)
        rb_assembly_note(a, NOT_MODELLED);
    if (is_attributed)
        rb_assembly_note(a, ATTRIBUTED);
    if (result->cut)
        rb_assembly_note(a, "the search was cut at its node, time or memory limit: a cheaper plan may exist");
    if (a->search->req->offers_dropped)
        rb_assembly_note(a, a->search->req->offers_dropped);
    for (int i = 0; i < a->n_offers; i++)
        note_spot_price(a, plan, i);
    warn_few_samples(a, plan);
    warn_left_out(a);
    warn_tuned_batch(a);
    warn_unknown_spread(a, plan);
    warn_data(a, plan);
    warn_restarts(a, plan);
    note_saves(a, &result->best);
    if (!on_average)
        warn_close_call(a, plan);
    warn_unusable_offers(a);
}
