// Turns a request into a plan ready to write (assembly.h): its offers, its scenario, the phases of the search, and the searches
// that follow where the first one's plan does not do.
#include "planner/async/endless.h"
#include "planner/proof/certificate.h"
#include "planner/questions/nearest.h"
#include "planner/request/assembly.h"
#include "planner/request/pace.h"
#include "planner/request/question.h"
#include "planner/request/safe_plan.h"
#include "planner/request/stay.h"
#include "planner/scores/estimator.h"
#include "profiles/catalog/reservation.h"
#include "simulator/world/world_evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TRIALS    2.5e8 // drawn for one estimate: some tens of seconds of replicates
#define FEWEST_SAMPLES 64    // with fewer, an estimate of a probability is too imprecise

// Share of the time limit used at the end of each phase. Baselines come first: they are part of every plan, they are
// fast, and a search that is cut falls back to their plans.
#define SEARCH_UNTIL  0.8
#define MOST_ATTEMPTS 4 // to find a plan that also keeps the confidence in unseen runs
#define EARLY_UNTIL   0.85
#define SURE_SIGMA    2    // standard errors of margin in the probability of a plan chosen by few runs
#define MOST_WINDOWS  8    // plans looked for, each with one stage less on a reservation
#define ANY_UNTIL     1.05 // where there is no plan yet
#define SHOWN_RUNS    4    // reported estimates: the plan's and the baselines', ...
#define STAGE_RUNS    80   // ... and the minimum for the quantiles of its stages, in runs
#define SHOWN_PART    0.15 // of the limit: their minimum share

// Without a limit in the request the program's own node limit applies.
static const char *how_far(const struct rb_plan_request *req, const struct rb_plan_result *result)
{
    if (!result->cut)
        return "";
    return req->node_limit > 0 || req->out_of_time || req->memory_limit_bytes > 0
               ? " (as far as was searched: it was cut at its node, time or memory limit)"
               : " (as far as was searched: there may be nearer ones, and --node-limit N looks longer for them)";
}

static bool infeasible_on_average(const struct rb_plan_request *req, const struct rb_plan_result *result,
                                  struct rb_err *err)
{
    char text[32];
    return rb_err_set(err, RB_E_NO_PLAN, "no plan keeps the deadline on average; nearest that would: --deadline %s%s",
                      rb_format_duration_exact(result->nearest_deadline_us, text), how_far(req, result));
}

// may_exist: the search has left plans out that it took for late.
static bool infeasible(const struct rb_plan_request *req, const struct rb_planner *planner,
                       const struct rb_plan_result *result, bool may_exist, struct rb_err *err)
{
    char text[2][32], asked[32], best[32];
    struct rb_buf near = RB_BUF_INIT;
    if (planner->on_average)
        return infeasible_on_average(req, result, err);
    if (result->nearest_deadline_us >= 0)
        rb_buf_printf(&near, " --deadline %s", rb_format_duration_exact(result->nearest_deadline_us, text[0]));
    if (result->nearest_budget_uusd >= 0)
        rb_buf_printf(&near, "%s --budget %s", near.len ? " or" : "",
                      rb_format_money_exact(result->nearest_budget_uusd, text[1]));
    if (!isnan(result->nearest_confidence))
        rb_buf_printf(&near, "%s --confidence %.3f", near.len ? " or" : "", result->nearest_confidence);
    rb_format_probabilities(req->confidence, result->best.estimate.p_both, asked, best);
    rb_err_set(err, RB_E_NO_PLAN, "%s the constraints with probability %s (the best reaches %s%s)%s; %s%s%s",
               may_exist ? "no plan was found that keeps" : "no plan keeps", asked, best, result->best.estimate.p_both >= req->confidence ? ", too near to it to be promised" : "",
               may_exist ? ", and there may be one: the search takes spot markets as always up" : "",
               near.len ? "nearest that would:" : "no single one of them changed would do", rb_buf_str(&near),
               how_far(req, result));
    rb_buf_finish(&near);
    return false;
}

// The plan's figures may rest on runs of the engine. (Those of baselines do where there is time left.)
static double share_for_look(const struct rb_search *search)
{
    return search->slowest_look_us > 0 ? search->slowest_look_us / (double)search->req->time_limit_us : 0;
}

// If runs are slow, the reported figures need more of the limit, and the search gets less.
static double share_for_search(const struct rb_search *search)
{
    const struct rb_plan_request *req = search->req;
    const double runs = SHOWN_RUNS * (double)req->samples + (search->scorer->barriers ? STAGE_RUNS : 0);
    const double shown = req->run_us > 0 ? runs * req->run_us / (double)req->time_limit_us : 0;
    return fmax(0, 1 - fmax(0, shown - SHOWN_PART) - share_for_look(search));
}

// With a time limit, each baseline gets its part of it before the search begins; its result stays in the search. Static
// finds a plan soonest, and greedy starts from there.
static bool plan_baselines(struct rb_search *search, struct rb_time_share *phase, struct rb_err *err)
{
    static const struct {
        const struct rb_planner *planner;
        double until;
    } order[] = {{&rb_planner_static, 0.12}, {&rb_planner_greedy, 0.3}, {&rb_planner_naive, 0.36}};
    for (size_t i = 0; i < sizeof order / sizeof order[0] && search->req->time_used; i++) {
        const struct rb_plan_result *ignored;
        phase->until = order[i].until * share_for_search(search);
        if (!rb_search_plan(search, order[i].planner, &ignored, err))
            return false;
    }
    return true;
}

// The best of many plans keeps less than the runs show by which it was chosen, and the difference grows as their number
// falls.
static double guard_of(const struct rb_plan_request *req)
{
    return SURE_SIGMA * sqrt(req->confidence * (1 - req->confidence) / req->samples);
}

static bool find_fixed(struct rb_search *search, double guard, const struct rb_plan_result **out, struct rb_err *err)
{
    const double before = search->guard;
    search->any_plan = true;
    search->guard = guard;
    rb_search_forget(search);
    const bool ok = rb_search_plan(search, &rb_planner_static, out, err);
    search->any_plan = false;
    search->guard = before;
    return ok;
}

// There is no plan, and no time to search. Takes the first fixed cluster that keeps the constraints, if one is found
// soon. There is no time for a second one, so one that keeps them with a margin is preferred.
static bool find_any_plan(struct rb_search *search, struct rb_time_share *phase, struct rb_plan_result *io,
                          struct rb_err *err)
{
    const struct rb_plan_result *found;
    const bool is_only = search->scorer->has_one_plan && search->scorer->has_one_plan(search);
    const bool has_time = rb_search_has_time_for(search, search->scorer->n_compared(search));
    if (io->feasible || is_only || has_time || !search->req->time_used)
        return true;
    const double share = share_for_search(search);
    phase->until = share > 0 ? share + ANY_UNTIL - 1 : ANY_UNTIL - share_for_look(search);
    const double guard = guard_of(search->req);
    if (!find_fixed(search, fmax(search->guard, guard), &found, err) ||
        (!found->feasible && !find_fixed(search, fmax(0, search->guard - guard), &found, err)))
        return false;
    if (!found->feasible)
        return io->best.n_stages > 0 || rb_static_nearest(search, io, err);
    const struct rb_plan_bound bound = io->bound;
    *io = *found;
    io->bound = bound;
    io->cut = true;
    return !rb_search_is_certified(search) || rb_certify(search, &io->best, &io->bound, &io->cut, err);
}

static bool plan_in_phases(struct rb_search *search, const struct rb_planner *planner, struct rb_time_share *phase,
                           struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_plan_result *result;
    if (planner == &rb_planner_optimal && !plan_baselines(search, phase, err))
        return false;
    phase->until = SEARCH_UNTIL * share_for_search(search);
    if (!rb_search_plan(search, planner, &result, err))
        return false;
    *out = *result;
    if (!find_any_plan(search, phase, out, err))
        return false;
    phase->until = EARLY_UNTIL * share_for_search(search);
    const bool ok = !search->req->early || !search->scorer->improve || planner != &rb_planner_optimal ||
                    search->scorer->improve(search, out, err);
    phase->until = 1;
    return ok;
}

static bool is_same_machine(const struct rb_offer *a, const struct rb_offer *b)
{
    return a->market == b->market && strcmp(a->instance_type, b->instance_type) == 0;
}

// "zones: aws/us-east-1/us-east-1a g5.xlarge (spot) stands for 2 others that are no cheaper; they are fallbacks"
static void explain_zones(struct rb_search *search)
{
    const struct rb_scenario *s = search->scenario;
    for (int i = 0; i < s->n_offers && rb_search_explains(search); i++) {
        int others = 0;
        if (search->sizes[i].n == 0 || rb_search_is_outbid(search, i))
            continue;
        for (int k = 0; k < s->n_offers; k++)
            others += k != i && is_same_machine(&s->offers[i], &s->offers[k]) && rb_search_is_outbid(search, k);
        if (others > 0)
            rb_search_note(search, "zones: %s %s (%s) stands for %d other%s no cheaper; fallbacks if it is sold out",
                           s->offers[i].infra, s->offers[i].instance_type, rb_market_name(s->offers[i].market), others,
                           others == 1 ? " that is" : "s that are");
    }
    if (search->req->offers_dropped)
        rb_search_note(search, "%s", search->req->offers_dropped);
}

// The remaining time of a limit is for the plan; and if stages are sampled, another search costs as much as the first.
static bool may_find_marginal(const struct rb_search *search, const struct rb_planner *planner)
{
    const struct rb_plan_request *req = search->req;
    return req->marginal && planner == &rb_planner_optimal && search->scorer->marginal &&
           req->objective == RB_OBJECTIVE_MIN_COST && req->deadline_us >= 0 && !req->out_of_time;
}

// The nearest constraints of a search with a larger margin may equal the requested ones: these are not offered.
static void drop_what_was_asked(const struct rb_plan_request *req, struct rb_plan_result *io)
{
    const double reached = floor(1000 * io->best.estimate.p_both) / 1000;
    if (io->nearest_deadline_us <= req->deadline_us)
        io->nearest_deadline_us = -1;
    if (io->nearest_budget_uusd <= req->budget_uusd + rb_beside_uusd(req))
        io->nearest_budget_uusd = -1;
    if (io->nearest_confidence >= req->confidence)
        io->nearest_confidence = reached > 0 && reached < req->confidence ? reached : NAN;
}

// Every plan is made here. Its own reported figures decide: they rest on runs that the search has not used. If these
// show less than the confidence, the search is repeated with a larger margin, and no plan below the confidence is
// shown.
// Where a plan is late because its markets go down, which the search does not know, an earlier deadline gives room for
// that: a margin of probability would not, since markets that stay up leave next to none. At last comes the fastest plan.
static const double hurry[] = {1, 0.9, 0.75, 0.6}; // share of the time until the deadline
enum { FASTEST = sizeof hurry / sizeof hurry[0] };

static void ask_for_sooner(struct rb_search *search, const struct rb_plan_request *asked, int hurried,
                           struct rb_plan_request *out)
{
    *out = *asked;
    if (hurried < FASTEST)
        out->deadline_us = (int64_t)(hurry[hurried] * (double)asked->deadline_us);
    else
        out->objective = RB_OBJECTIVE_MIN_TIME;
    rb_search_ask_again(search, out);
}

static void note_spot(struct rb_search *search, double share, const struct rb_plan *plan)
{
    char text[2][32];
    rb_search_note(search, "spot: planned for %.0f %% of the time: %s with spot machines, %s without, P %.3f", 100 * share,
                   rb_format_money(plan->estimate.cost_uusd.mean, text[0]),
                   rb_format_money(rb_plan_as_it_stands(plan)->cost_uusd.mean, text[1]), plan->estimate.p_both);
}

// A plan that ends earlier leaves more time for spot machines: of those for earlier deadlines, the one with which the run
// costs least is taken. What is said of it then comes from replays that have not chosen it.
static bool choose_for_spot(struct rb_search *search, const struct rb_planner *planner, struct rb_time_share *phase,
                            struct rb_arena *arena, struct rb_plan *io, struct rb_plan_result *io_result,
                            struct rb_err *err)
{
    static const double shares[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}; // of the time until the deadline
    const struct rb_plan_request *asked = search->req;
    struct rb_plan_request sooner = *asked, again = *asked;
    const struct rb_plan first = *io;
    struct rb_candidate last = io_result->best;
    bool ok = true;
    again.alone = true; // the first plan has the others beside it
    note_spot(search, 1, io);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0] && !rb_search_out_of_time(search); i++) {
        struct rb_plan_result result;
        struct rb_plan plan;
        sooner.deadline_us = (int64_t)(shares[i] * (double)asked->deadline_us);
        rb_search_ask_again(search, &sooner);
        ok = plan_in_phases(search, planner, phase, &result, err);
        rb_search_ask_again(search, &again);
        if (!ok || !result.feasible)
            break;
        if (rb_candidate_same_choices(&result.best, &last))
            continue;
        last = result.best;
        ok = rb_plan_assemble(search, planner, &result, arena, &plan, err);
        if (!ok)
            break;
        note_spot(search, shares[i], &plan);
        if (rb_safe_plan_is_better(&plan, io)) {
            *io = plan;
            *io_result = result;
        }
    }
    rb_search_ask_again(search, asked);
    io->baselines = first.baselines;
    io->n_baselines = first.n_baselines;
    rb_safe_plan_price(io, RB_PLAN_REPLAYS, arena);
    return ok;
}

// *out_missed: a plan was, because its markets go down more often than the search knows.
static bool plan_until_kept(struct rb_search *search, const struct rb_planner *planner, struct rb_time_share *phase,
                            struct rb_arena *arena, struct rb_plan *out_plan, struct rb_plan_result *out_result,
                            bool *out_missed, struct rb_err *err)
{
    const struct rb_plan_request *asked = search->req;
    struct rb_plan_request sooner;
    bool is_late = false;
    int hurried = 0;
    *out_missed = false;
    for (int attempt = 0; attempt < MOST_ATTEMPTS + hurried; attempt++) {
        const bool planned = plan_in_phases(search, planner, phase, out_result, err);
        if (hurried > 0)
            rb_search_ask_again(search, asked);
        if (!planned)
            return false;
        if (!out_result->feasible && hurried > 0 && hurried < FASTEST) {
            ask_for_sooner(search, asked, hurried = FASTEST, &sooner);
            continue;
        }
        if (!out_result->feasible)
            break;
        if (hurried > 0) // it was searched for another question, and the bound is that one's
            out_result->bound = (struct rb_plan_bound){.why_not = "markets go down, and faster plans were looked for",
                                                       .nodes_explored = out_result->bound.nodes_explored};
        if (!rb_plan_assemble(search, planner, out_result, arena, out_plan, err))
            return false;
        phase->until = ANY_UNTIL;
        is_late = !rb_estimate_has_time(search);
        const struct rb_estimate *e = rb_plan_as_it_stands(out_plan);
        if (planner->on_average || e->p_both >= asked->confidence)
            return !out_plan->spot || asked->objective != RB_OBJECTIVE_MIN_COST ||
                   choose_for_spot(search, planner, phase, arena, out_plan, out_result, err);
        const bool goes_down = rb_plan_meets_down_markets(out_plan);
        *out_missed = *out_missed || goes_down;
        const struct rb_candidate best = out_result->best;
        const bool hurries = goes_down && asked->deadline_us >= 0 && hurried < FASTEST;
        if (!hurries)
            search->guard = 2 * search->guard + asked->confidence - e->p_both + 2 * e->stderr_.p_both;
        rb_search_forget(search);
        if (!rb_search_nearest_of(search, &best, 1, out_result, err))
            return false;
        if (is_late) { // no time to estimate it again
            out_result->best.estimate = best.estimate;
            break;
        }
        if (hurries)
            ask_for_sooner(search, asked, ++hurried, &sooner);
    }
    if (!is_late && rb_estimate_has_time(search) && out_result->best.n_stages > 0 &&
        !rb_estimate_candidate(search, &out_result->best, NULL, err))
        return false;
    if (!planner->on_average)
        drop_what_was_asked(search->req, out_result);
    return infeasible(search->req, planner, out_result, *out_missed, err);
}

// Offers whose markets go down are considered, ...
struct markets {
    bool are_left_out; // ... or not,
    int64_t cost_uusd; // because a plan with them costs that much; 0: because none keeps the confidence
};

static bool search_plan(struct rb_question *q, const struct rb_planner *planner, struct markets markets,
                        struct rb_arena *arena, struct rb_plan *out_plan, struct rb_plan_result *out_result,
                        bool *out_missed, struct rb_err *err)
{
    const struct rb_plan_request *req = &q->req;
    struct rb_search search;
    *out_missed = false;
    if (!rb_search_init(&search, req, &q->scenario, err))
        return false;
    if (markets.are_left_out)
        rb_search_leave_out_markets(&search);
    search.left_out_uusd = markets.cost_uusd;
    search.spans = q->windows.spans;
    search.asked = planner;
    search.asked_again = req->marginal || req->job->resources.spot == RB_SPOT_SAFE;
    search.guard = req->time_limit_us > 0 && req->samples < RB_PROOF_FEWEST && search.scorer->barriers ? guard_of(req) : 0;
    explain_zones(&search);
    if (!rb_endless_check(&search, err)) {
        *out_result = rb_search_no_plan(&search);
        out_result->best.estimate = rb_endless_estimate(req->samples);
        rb_search_finish(&search);
        return false;
    }
    rb_estimate_pace(&search);
    bool ok = plan_until_kept(&search, planner, &q->phase, arena, out_plan, out_result, out_missed, err);
    rb_search_explain_rest(&search);
    ok = ok && rb_windows_narrow(&q->windows, &search, out_result, err);
    if (ok && !out_plan->spot && may_find_marginal(&search, planner))
        ok = search.scorer->marginal(&search, &out_result->marginal, err);
    rb_search_finish(&search);
    return ok;
}

static bool keeps_up(const struct rb_scenario *s)
{
    for (int i = 0; i < s->n_offers; i++) {
        if (s->sim_offers[i].usable && !rb_sim_offer_goes_down(&s->sim_offers[i]))
            return true;
    }
    return false;
}

static bool has_windows(const struct rb_scenario *s)
{
    for (int i = 0; i < s->n_offers; i++) {
        if (rb_offer_closes(s->sim_offers[i].offer))
            return true;
    }
    return false;
}

// Of the time limit; without one 0.
static double used_of(const struct rb_plan_request *req)
{
    return req->time_used ? req->time_used(req->out_of_time_ctx) : 0;
}

// Something stands in while markets are down, and it may cost more than a plan that does without them. The plan without them
// is known as well as the first; it is taken where it costs less. Under a limit, if there is as much time as the first took.
static void compare_without(struct rb_question *q, const struct rb_planner *planner, double took, struct rb_arena *arena,
                            struct rb_plan *io_plan, struct rb_plan_result *io_result)
{
    const struct rb_plan_request *req = &q->req;
    const struct markets none = {true, io_plan->estimate.cost_uusd.mean};
    struct rb_plan_result result;
    struct rb_plan plan;
    struct rb_err ignored;
    bool missed;
    if (used_of(req) + took > 1 || req->objective != RB_OBJECTIVE_MIN_COST || !rb_plan_meets_down_markets(io_plan) ||
        !keeps_up(&q->scenario) || has_windows(&q->scenario) ||
        !search_plan(q, planner, none, arena, &plan, &result, &missed, &ignored) ||
        plan.estimate.cost_uusd.mean >= io_plan->estimate.cost_uusd.mean)
        return;
    *io_plan = plan;
    *io_result = result;
}

// The search compares plans as if markets never went down. Where its plans miss the confidence for that, or cost more than
// one without those offers, these are left out.
static bool answer(struct rb_question *q, const struct rb_planner *planner, struct rb_arena *arena,
                   struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    struct rb_plan_result without;
    struct rb_err why;
    bool missed;
    const double before = used_of(&q->req);
    if (search_plan(q, planner, (struct markets){false}, arena, out_plan, out_result, &missed, err)) {
        q->phase.until = 1;
        compare_without(q, planner, used_of(&q->req) - before, arena, out_plan, out_result);
        return true;
    }
    if (!missed || err->code != RB_ERR_INFEASIBLE || !keeps_up(&q->scenario) ||
        !search_plan(q, planner, (struct markets){true}, arena, out_plan, &without, &missed, &why))
        return false;
    *out_result = without;
    return true;
}

// Asked again as long as a stage of the plan misses the window of its reservation.
static bool answer_in_windows(struct rb_question *q, const struct rb_planner *planner, struct rb_arena *arena,
                              struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    if (!answer(q, planner, arena, out_plan, out_result, err))
        return false;
    for (int round = 0; q->windows.narrowed && round < MOST_WINDOWS; round++) {
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err ignored;
        if ((q->req.out_of_time && q->req.out_of_time(q->req.out_of_time_ctx)) ||
            !answer(q, planner, arena, &plan, &result, &ignored))
            return true;
        if (rb_plan_is_better(&plan, &result, out_plan, out_result, q->req.objective)) {
            *out_plan = plan;
            *out_result = result;
        }
    }
    return true;
}

static int fewer_samples(const struct rb_plan_request *req, double most, double for_each)
{
    const double samples = fmax(most / for_each, FEWEST_SAMPLES);
    return samples < req->samples ? (int)samples : req->samples;
}

// Runs of the model.
static int model_samples(struct rb_plan_request *io, const struct rb_scenario *s)
{
    double trials = 0;
    for (int i = 0; i < s->stages.n; i++)
        trials += s->stages.rungs[i].trials;
    const int most = fewer_samples(io, MOST_TRIALS, trials);
    io->run_us = rb_pace_run_us(io, s);
    const int in_time = io->run_us > 0 ? rb_pace_samples(io) : most;
    return in_time < most ? in_time : most;
}

void rb_planner_size(struct rb_plan_request *io, const struct rb_scenario *s)
{
    const struct rb_scorer *scorer = rb_scorer_of(s->job);
    const int asked = io->samples;
    io->samples = scorer->affordable ? scorer->affordable(io, s) : model_samples(io, s);
    io->samples_asked = asked;
}

static bool plan_anywhere(const struct rb_plan_request *req, const struct rb_planner *planner, struct rb_arena *arena,
                          struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    struct rb_question q;
    if (!rb_question_init(&q, req, arena, err))
        return false;
    if (rb_question_is_free(&q) && planner != &rb_planner_mean) // which only considers means under a deadline
        q.req.objective = RB_OBJECTIVE_MIN_TIME;
    const bool ok = answer_in_windows(&q, planner, arena, out_plan, out_result, err);
    rb_question_finish(&q);
    return ok;
}

bool rb_make_plan(const struct rb_plan_request *req, const char *planner, struct rb_arena *arena,
                  struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    const struct rb_planner *chosen = rb_planner_find(planner);
    if (!chosen)
        return rb_err_set(err, RB_E_OPTION_VALUE, "no planner \"%s\": optimal, mean, greedy, static or naive", planner);
    if (req->job->resources.spot == RB_SPOT_SAFE && req->deadline_us < 0)
        return rb_err_set_at(err, RB_E_KEY_MISSING, (struct rb_place){NULL, 0, 0}, "deadline",
                             "missing, but resources.spot: safe keeps one: set deadline or give --deadline, or set "
                             "resources.spot to allow or never");
    const struct rb_job *jobs;
    const int n = rb_stay_jobs(req->job, arena, &jobs);
    return n == 1 ? plan_anywhere(req, chosen, arena, out_plan, out_result, err)
                  : rb_stay_plan(plan_anywhere, req, chosen, jobs, n, arena, out_plan, out_result, err);
}
