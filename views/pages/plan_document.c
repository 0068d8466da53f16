// rbplan --html, --gantt: a plan that was found as a page for a browser (docs/formats/page.md), and as a picture.
#include "commands/rbplan/rbplan.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "engine/core/policy.h"
#include "planner/async/async_runs.h"
#include "planner/questions/pareto.h"
#include "planner/questions/what_if.h"
#include "simulator/model/distribution.h"
#include "simulator/world/timeline.h"
#include "views/pages/picture.h"
#include "views/pages/plan_page.h"
#include "views/tables/plan_table.h"

#include <stdlib.h>
#include <string.h>

#define CURVE_RUNS     4096
#define MOST_WHAT_IFS  8
#define CUT            "searches were cut at a limit: cheaper plans may exist"
#define FRONTIER_PLANS 20 // deadlines, about

// What a page shows beside the plan. Notes: why one is left out (NULL), or what is to be known of it; NULL: nothing.
struct extras {
    struct rb_timeline timeline;
    struct rb_distribution distribution;
    const struct rb_pareto *frontier;
    const struct rb_what_if_table *what_if;
    const char *frontier_note, *what_if_note;
    int64_t written_at_us;
};

// ---- simulated

// The first runs of those that the estimate is from, where it is from any.
static uint32_t first_run(const struct rb_plan *plan)
{
    return rb_plan_is_by_engine(plan) ? RB_ENGINE_FIRST_UNSEEN : 0;
}

static bool simulate(const struct rb_plan *plan, int threads, bool curves, struct extras *out, struct rb_err *err)
{
    struct rb_scenario s;
    const uint32_t first = first_run(plan);
    const int runs =
        plan->estimate.samples > 0 && plan->estimate.samples < CURVE_RUNS ? (int)plan->estimate.samples : CURVE_RUNS;
    if (!rb_scenario_init(&s, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed, err))
        return false;
    const bool ok = rb_timeline_make(&s, plan, first, threads, &out->timeline, err) &&
                    (!curves || rb_distribution_make(&s, plan, first, runs, threads, &out->distribution, err));
    rb_scenario_finish(&s);
    return ok;
}

// ---- planned: what if

// "deadline=1h30m" at so many percent of what was asked for.
static const char *duration_change(const char *key, int64_t us, int percent, struct rb_arena *arena)
{
    char text[32];
    const int64_t whole_s = us / 100 * percent / RB_US_PER_S;
    return rb_arena_printf(arena, "%s=%s", key, rb_format_duration_exact(whole_s * RB_US_PER_S, text));
}

static const char *money_change(const char *key, int64_t uusd, int percent, struct rb_arena *arena)
{
    char text[32];
    return rb_arena_printf(arena, "%s=%s", key, rb_format_money_exact(uusd / 100 * percent, text));
}

// What people ask first. Returns how many.
static int usual_questions(const struct rb_plan_request *req, struct rb_arena *arena, const char **out)
{
    int n = 0;
    const bool by_budget = req->deadline_us < 0 && req->budget_uusd >= 0;
    for (int i = 0; i < 3; i++) {
        static const int percents[] = {75, 125, 150};
        if (req->deadline_us >= 4 * RB_US_PER_S)
            out[n++] = duration_change("deadline", req->deadline_us, percents[i], arena);
        else if (by_budget)
            out[n++] = money_change("budget", req->budget_uusd, percents[i], arena);
    }
    out[n++] = "price=-20%";
    out[n++] = "price=+20%";
    out[n++] = req->job->resources.spot == RB_SPOT_NEVER ? "spot=allow" : "spot=never";
    if (req->job->scheduler.num_trials > 0)
        out[n++] = rb_arena_printf(arena, "num_trials=%lld", 2LL * req->job->scheduler.num_trials);
    return n;
}

// Can it be asked of this job at all?
static bool makes_sense(const struct rb_plan_request *req, const char *text, struct rb_arena *arena)
{
    struct rb_what_if scenario;
    struct rb_plan_request changed;
    struct rb_offer *offers;
    int n_offers;
    struct rb_err why;
    return rb_what_if_parse(text, arena, &scenario, &why) &&
           rb_what_if_request(req, &scenario, arena, &changed, &why) &&
           rb_planner_offers(changed.job, changed.catalog, arena, &offers, &n_offers, &why);
}

// What was asked on the command line, or else what people ask first and makes sense. Returns how many.
static int questions(const struct rb_args *args, const struct rb_plan_request *req, struct rb_arena *arena,
                     const char ***out)
{
    int n = 0, n_given = 0;
    while (rb_args_nth(args, "what-if", n_given))
        n_given++;
    const char **texts = rb_arena_array(arena, (size_t)(n_given + MOST_WHAT_IFS), sizeof *texts);
    for (; n < n_given; n++)
        texts[n] = rb_args_nth(args, "what-if", n);
    *out = texts;
    if (n_given > 0)
        return n;
    const char *usual[MOST_WHAT_IFS];
    const int n_usual = usual_questions(req, arena, usual);
    for (int i = 0; i < n_usual; i++) {
        if (makes_sense(req, usual[i], arena))
            texts[n++] = usual[i];
    }
    return n;
}

static bool any_was_cut(const struct rb_what_if_table *table)
{
    for (int i = 0; i < table->n; i++) {
        if (table->rows[i].result.cut)
            return true;
    }
    return false;
}

// The base is the plan itself.
static bool ask_what_if(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_plan *plan,
                        const struct rb_plan_result *result, const char *const *texts, int n, struct rb_arena *arena,
                        struct extras *out, struct rb_err *err)
{
    struct rb_what_if_table *table = rb_arena_array(arena, 1, sizeof *table);
    struct rb_plan_request asked = *req;
    asked.hints = &result->best;
    asked.n_hints = 1;
    if (!rb_what_if_plan(&asked, plan->planner, texts, n, arena, table, err)) {
        if (rb_args_nth(args, "what-if", 0))
            return false;
        out->what_if_note = rb_arena_printf(arena, "left out: %s", err->message);
        return true;
    }
    table->base.feasible = true;
    table->base.estimate = plan->estimate;
    table->base.result = *result;
    out->what_if = table;
    out->what_if_note = any_was_cut(table) ? CUT : NULL;
    return true;
}

// ---- planned: the frontier

static const char *why_no_frontier(const struct rb_plan *plan)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    if (plan->job->on_average)
        return "left out: confidence: mean has a planner of its own, which plans once";
    if (rb_plan_is_free(plan))
        return "left out: nothing costs anything here";
    if (policy && policy->keeps_cluster)
        return "left out: the policy keeps the nodes of the first stage, so there is one planner only";
    return NULL;
}

static void find_frontier(const struct rb_plan_request *req, struct rb_arena *arena, struct extras *out)
{
    struct rb_pareto *frontier = rb_arena_array(arena, 1, sizeof *frontier);
    struct rb_err why;
    if (!rb_pareto_find(req, arena, frontier, &why)) {
        out->frontier_note = rb_arena_printf(arena, "left out: %s", why.message);
        return;
    }
    out->frontier = frontier;
    out->frontier_note = frontier->cut ? CUT : NULL;
}

// --time-limit is for each plan: planning n more takes n times as long.
struct longer {
    const struct rb_plan_request *of; // has the clock
    double from, times;
};

static double longer_used(void *ctx)
{
    const struct longer *l = ctx;
    return (l->of->time_used(l->of->out_of_time_ctx) - l->from) / l->times;
}

static bool longer_is_over(void *ctx)
{
    return longer_used(ctx) >= 1;
}

// The same request again, silent, on a clock of its own from now on.
static struct rb_plan_request ask_more(const struct rb_plan_request *req, int n_plans, struct longer *clock)
{
    struct rb_plan_request more = *req;
    more.explain = NULL; // it is about one plan
    if (!req->time_used)
        return more;
    *clock = (struct longer){.of = req, .from = req->time_used(req->out_of_time_ctx), .times = n_plans};
    more.time_used = longer_used;
    more.out_of_time = longer_is_over;
    more.out_of_time_ctx = clock;
    more.time_limit_us = n_plans * req->time_limit_us;
    return more;
}

static bool plan_more(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_plan *plan,
                      const struct rb_plan_result *result, struct rb_arena *arena, struct extras *out,
                      struct rb_err *err)
{
    struct longer clock;
    const char **texts;
    out->frontier_note = why_no_frontier(plan);
    if (plan->job->on_average) {
        out->what_if_note = out->frontier_note;
    } else {
        const int n = questions(args, req, arena, &texts);
        const struct rb_plan_request more = ask_more(req, n + 1, &clock);
        if (!ask_what_if(args, &more, plan, result, texts, n, arena, out, err))
            return false;
    }
    if (!out->frontier_note) {
        const struct rb_plan_request more = ask_more(req, FRONTIER_PLANS, &clock);
        find_frontier(&more, arena, out);
    }
    return true;
}

// ---- the document

static void write_note(const char *part, const char *text, struct rb_json *j)
{
    if (!text)
        return;
    rb_json_begin_object(j);
    rb_json_kstring(j, "part", part);
    rb_json_kstring(j, "text", text);
    rb_json_end_object(j);
}

static void write_marginal(const struct rb_marginal *marginal, struct rb_json *j)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    rb_plan_marginal_write(marginal, &said);
    write_note("marginal", rb_buf_str(&said), j);
}

static void write_extras(const struct extras *x, struct rb_json *j)
{
    rb_json_key(j, "distribution");
    rb_distribution_write(&x->distribution, j);
    rb_json_key(j, "frontier");
    if (x->frontier)
        rb_pareto_write(x->frontier, j);
    else
        rb_json_null(j);
    rb_json_key(j, "what_if");
    if (x->what_if)
        rb_what_if_write(x->what_if, j);
    else
        rb_json_null(j);
    rb_json_key(j, "notes");
    rb_json_begin_array(j);
    if (x->frontier && x->frontier->marginal.exists)
        write_marginal(&x->frontier->marginal, j);
    write_note("frontier", x->frontier_note, j);
    write_note("what_if", x->what_if_note, j);
    rb_json_end_array(j);
}

// rb-plan-page/1; `extras` NULL: what a picture of the plan alone needs.
static void write_document(const struct rb_plan *plan, const struct rb_timeline *timeline, const struct extras *extras,
                           struct rb_buf *out)
{
    struct rb_json j;
    char text[32];
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    if (extras) {
        rb_json_kstring(&j, "format", "rb-plan-page/1");
        rb_json_kstring(&j, "written_at", rb_format_instant(extras->written_at_us / RB_US_PER_S * RB_US_PER_S, text));
    }
    rb_json_key(&j, "plan");
    rb_plan_write(plan, &j);
    rb_json_key(&j, "timeline");
    rb_timeline_write(timeline, &j);
    if (extras)
        write_extras(extras, &j);
    rb_json_end_object(&j);
}

// ---- files

static bool write_page(const struct rb_plan *plan, const struct extras *extras, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc parsed = {0};
    write_document(plan, &extras->timeline, extras, &document);
    if (!rb_doc_parse_json(&parsed, "the page's document", document.data, document.len, err))
        return false;
    rb_plan_page_write(plan, parsed.root, rb_buf_str(&document), &page);
    return rb_write_file(path, rb_buf_str(&page), page.len, err);
}

static bool write_gantt(const struct rb_plan *plan, const struct rb_timeline *timeline, const char *path,
                        struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf picture = RB_BUF_INIT;
    write_document(plan, timeline, NULL, &document);
    return rb_picture_write("gantt", rb_buf_str(&document), &picture, err) &&
           rb_write_file(path, rb_buf_str(&picture), picture.len, err);
}

bool rb_plan_check_pictures(const struct rb_args *args, struct rb_err *err)
{
    static const struct {
        const char *option, *ending, *other, *hint;
    } pictures[] = {{"html", ".html", NULL, ""},
                    {"gantt", ".svg", NULL, "; for a page: --html FILE.html"},
                    {"pareto", ".json", ".svg", "; for a page: --html FILE.html"}};
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        const char *path = rb_args_string(args, pictures[i].option, NULL), *ending = pictures[i].ending,
                   *other = pictures[i].other;
        if (path && !rb_has_ending(path, ending) && !(other && rb_has_ending(path, other)))
            return rb_err_set(err, RB_E_PICTURE_NAME, "--%s %s: expected a name that ends with %s%s%s%s",
                              pictures[i].option, path, ending, other ? " or " : "", other ? other : "",
                              pictures[i].hint);
    }
    return true;
}

bool rb_plan_draw(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_plan *plan,
                  const struct rb_plan_result *result, struct rb_err *err)
{
    const char *gantt = rb_args_string(args, "gantt", NULL), *html = rb_args_string(args, "html", NULL);
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct extras extras = {.written_at_us = rb_clock_unix_us()};
    rb_arena_init(&arena);
    if (!gantt && !html)
        return true;
    if (!simulate(plan, req->threads, html, &extras, err))
        return false;
    if (gantt && !write_gantt(plan, &extras.timeline, gantt, err))
        return false;
    if (!html)
        return true;
    rb_plan_wipe_line();
    rb_info("planning again for the page: other deadlines, and what if");
    return plan_more(args, req, plan, result, &arena, &extras, err) && write_page(plan, &extras, html, err);
}
