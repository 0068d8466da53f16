#include "views/pages/plan_document.h"

#include "base/file.h"
#include "planner/async/async_runs.h"
#include "views/pages/picture.h"
#include "views/pages/plan_page.h"
#include "views/tables/pareto_table.h"

#define CURVE_RUNS 4096

// ---- simulated

// The first simulated runs of those behind the estimate, if there are any.
static uint32_t first_run(const struct rb_plan *plan)
{
    return rb_plan_is_by_engine(plan) ? RB_ENGINE_FIRST_UNSEEN : 0;
}

bool rb_plan_document_simulate(struct rb_plan_document *out, int threads, bool curves, struct rb_err *err)
{
    const struct rb_plan *plan = out->plan;
    struct rb_scenario s;
    const uint32_t first = first_run(plan);
    const int64_t samples = rb_plan_as_it_stands(plan)->samples;
    const int runs = samples > 0 && samples < CURVE_RUNS ? (int)samples : CURVE_RUNS;
    if (!rb_scenario_init(&s, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed, err))
        return false;
    const bool ok = rb_timeline_make(&s, plan, first, threads, &out->timeline, err) &&
                    (!curves || rb_distribution_make(&s, plan, first, runs, threads, &out->distribution, err));
    rb_scenario_finish(&s);
    return ok;
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

static void write_marginal(const struct rb_pareto *frontier, struct rb_json *j)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    rb_pareto_marginal_write(frontier, &said);
    write_note("marginal", rb_buf_str(&said), j);
}

static void write_extras(const struct rb_plan_document *x, struct rb_json *j)
{
    const struct rb_beside_plan *b = &x->beside;
    rb_json_key(j, "distribution");
    rb_distribution_write(&x->distribution, j);
    rb_json_key(j, "frontier");
    if (b->frontier)
        rb_pareto_write(b->frontier, j);
    else
        rb_json_null(j);
    rb_json_key(j, "what_if");
    if (b->what_if)
        rb_what_if_write(b->what_if, j);
    else
        rb_json_null(j);
    if (x->best_for) {
        rb_json_key(j, "best_for");
        rb_best_for_write(x->best_for, j);
    }
    rb_json_key(j, "notes");
    rb_json_begin_array(j);
    if (b->frontier && b->frontier->marginal.exists)
        write_marginal(b->frontier, j);
    write_note("frontier", b->frontier_note, j);
    write_note("what_if", b->what_if_note, j);
    rb_json_end_array(j);
}

// Writes rb-plan-page/1; not whole: only what a picture of the plan needs.
static void write_document(const struct rb_plan_document *x, bool whole, struct rb_buf *out)
{
    struct rb_json j;
    char text[32];
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    if (whole) {
        rb_json_kstring(&j, "format", "rb-plan-page/1");
        rb_json_kstring(&j, "written_at", rb_format_instant(x->written_at_us / RB_US_PER_S * RB_US_PER_S, text));
    }
    rb_json_key(&j, "plan");
    rb_plan_write(x->plan, &j);
    rb_json_key(&j, "timeline");
    rb_timeline_write(&x->timeline, &j);
    if (whole)
        write_extras(x, &j);
    rb_json_end_object(&j);
}

// ---- files

bool rb_plan_document_save_page(const struct rb_plan_document *x, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc parsed = {0};
    write_document(x, true, &document);
    if (!rb_doc_parse_json(&parsed, "the page's document", document.data, document.len, err))
        return false;
    rb_plan_page_write(x->plan, parsed.root, rb_buf_str(&document), &page);
    return rb_write_file(path, rb_buf_str(&page), page.len, err);
}

bool rb_plan_document_save_gantt(const struct rb_plan_document *x, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf picture = RB_BUF_INIT;
    write_document(x, false, &document);
    return rb_picture_write("gantt", rb_buf_str(&document), &picture, err) &&
           rb_write_file(path, rb_buf_str(&picture), picture.len, err);
}
