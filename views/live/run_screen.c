#include "views/live/run_screen.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "views/tables/plan_table.h"
#include "views/tables/report_table.h"
#include "views/tables/report_trials.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_COLUMNS = 20, MOST_LINES = 8, HEADING_LINES = 4, N_SECTIONS = 5 };

// ---- heading

static void heading(const struct rb_run_screen *r, struct rb_buf *out)
{
    char elapsed[32], deadline[32];
    rb_buf_printf(out, "%s: %s, %s", r->run_id, rb_report_outcome_words(r->state),
                  rb_progress_duration(r->progress.elapsed_us, elapsed));
    if (r->progress.deadline_us >= 0)
        rb_buf_printf(out, " of %s", rb_progress_duration(r->progress.deadline_us, deadline));
    if (r->pid > 0)
        rb_buf_printf(out, " (executed by process %d)", r->pid);
    else if (r->pid < 0)
        rb_buf_puts(out, " (executed by a process in another container)");
    rb_buf_putc(out, '\n');
}

static bool goes_on(const struct rb_run_screen *r)
{
    return r->pid && rb_engine_outcome(r->engine, NULL) == RB_JOB_RUNNING;
}

// What the line leaves out: why its end is unknown, or that training is slower than the profile says.
static void remark(const struct rb_run_screen *r, struct rb_buf *out)
{
    if (r->hint)
        rb_buf_printf(out, "%s\n", r->hint);
    else if (r->pool)
        return; // its line shows why
    else if (goes_on(r) && r->progress.why_unknown)
        rb_buf_printf(out, "its end is not known: %s\n", r->progress.why_unknown);
    else if (goes_on(r) && r->progress.foreseen_if)
        rb_buf_printf(out, "this is how it will end if %s\n", r->progress.foreseen_if);
    else if (goes_on(r) && rb_progress_pace_write(&r->progress, out))
        rb_buf_putc(out, '\n');
}

// ---- stages

// The part of its training that is done, without lost work.
static double share_done(const struct rb_run_screen *r, int stage)
{
    const struct rb_plan_stage *s = &r->plan->stages[stage];
    const double all = (double)s->trials * (double)(s->resource_end - s->resource_start);
    double done = 0;
    if (rb_engine_stage_end_us(r->engine, stage) >= 0)
        return 1;
    for (int i = 0; i < rb_engine_n_trials(r->engine); i++) {
        const struct rb_trial *t = rb_engine_trial(r->engine, i);
        if (t->stage != stage)
            continue;
        const int64_t to = rb_progress_has_ended(t, s->resource_end) ? s->resource_end : t->resource;
        done += to > s->resource_start ? (double)(to - s->resource_start) : 0;
    }
    return all > 0 && done < all ? done / all : all > 0;
}

static int stage_trials_ended(const struct rb_run_screen *r, int stage)
{
    if (rb_engine_stage_end_us(r->engine, stage) >= 0)
        return r->plan->stages[stage].trials;
    return stage == r->progress.stage ? r->progress.trials_ended : 0;
}

// In an asynchronous job, trials are in any level at any time.
static int trained_to(const struct rb_run_screen *r, int64_t resource)
{
    int n = 0;
    for (int i = 0; i < rb_engine_n_trials(r->engine); i++)
        n += rb_engine_trial(r->engine, i)->resource >= resource;
    return n;
}

static int64_t stage_time_us(const struct rb_run_screen *r, int stage)
{
    const int64_t start_us = rb_engine_stage_start_us(r->engine, stage);
    const int64_t end_us = rb_engine_stage_end_us(r->engine, stage);
    return start_us < 0 ? -1 : (end_us >= 0 ? end_us : r->progress.elapsed_us) - start_us;
}

static void bar_cell(double share, struct rb_text_table *t)
{
    char bar[BAR_COLUMNS + 1];
    const int filled = (int)(share * BAR_COLUMNS);
    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', (size_t)filled);
    bar[BAR_COLUMNS] = '\0';
    rb_text_table_cell(t, "[%s]", bar);
}

static void stage_row(const struct rb_run_screen *r, int stage, struct rb_text_table *t)
{
    const struct rb_plan_stage *s = &r->plan->stages[stage];
    const int64_t time_us = stage_time_us(r, stage);
    char text[32];
    rb_text_table_cell(t, "%d", stage);
    if (r->progress.on_demand) {
        rb_text_table_cell(t, "%d", trained_to(r, s->resource_end));
        rb_text_table_cell(t, "%s", "");
    } else {
        rb_text_table_cell(t, "%d/%d", stage_trials_ended(r, stage), s->trials);
        bar_cell(share_done(r, stage), t);
    }
    rb_text_table_cell(t, "%" PRId64, s->resource_end);
    rb_text_table_cell(t, "%s", time_us >= 0 ? rb_format_duration(time_us, text) : "-");
    rb_text_table_cell(t, "%s", r->plan->unpredicted ? "?" : rb_format_duration(s->time_us.p50, text));
}

static void stages(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    const bool on_demand = r->progress.on_demand;
    const struct rb_text_column columns[] = {{on_demand ? "level" : "stage", true, 0},
                                             {on_demand ? "reached by" : "trials", true, 0},
                                             {"", false, 1},
                                             {"trained to", true, 2},
                                             {"time", true, 0},
                                             {"planned", true, 3}};
    struct rb_text_table t;
    if (r->pool)
        return;
    rb_text_table_init(&t, columns, 6);
    for (int i = 0; i < r->plan->n_stages; i++)
        stage_row(r, i, &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// ---- trials

struct ranked {
    const struct rb_trial *trial;
    int id;
};

// Running trials, then those that came far, then those that wait; the best first.
static int compare_ranked(const void *left, const void *right)
{
    static const int places[] = {[RB_TRIAL_RUNNING] = 0, [RB_TRIAL_COMPLETED] = 1, [RB_TRIAL_PAUSED] = 2,
                                 [RB_TRIAL_STOPPED] = 3, [RB_TRIAL_FAILED] = 4,    [RB_TRIAL_WAITING] = 5};
    const struct ranked *a = left, *b = right;
    const int place = places[a->trial->state] - places[b->trial->state];
    if (place != 0)
        return place;
    if (a->trial->score > b->trial->score || a->trial->score < b->trial->score)
        return a->trial->score > b->trial->score ? -1 : 1;
    return a->id - b->id;
}

enum { N_TRIAL_COLUMNS = 8 }; // the last one only if has_reasons

static void trial_row(const struct rb_run_screen *r, const struct ranked *which, struct rb_text_table *t)
{
    const struct rb_trial *trial = which->trial;
    rb_text_table_cell(t, "%d", which->id);
    rb_text_table_cell(t, "%s", rb_trial_state_name(trial->state));
    rb_text_table_cell(t, "%" PRId64, trial->resource);
    if (isnan(trial->metric))
        rb_text_table_cell(t, "-");
    else
        rb_text_table_cell(t, "%.6g", trial->metric);
    rb_text_table_cell(t, "%s", which->id == r->progress.best_trial ? "best" : "");
    if (trial->state == RB_TRIAL_RUNNING && trial->n_slots > 0)
        rb_text_table_cell(t, "%d%s", trial->slots[0].node, trial->n_slots > 1 ? " .." : "");
    else
        rb_text_table_cell(t, "-");
    rb_text_table_cell(t, "%d", trial->failures);
    if (t->n_columns == N_TRIAL_COLUMNS) {
        RB_AUTO(rb_buf_finish) struct rb_buf reason = RB_BUF_INIT;
        rb_report_reason_write(trial->origin, trial->because, &reason);
        rb_text_table_cell(t, "%s", rb_buf_str(&reason));
    }
}

// Does a sampler propose configurations? Without one they follow from the seed.
static bool has_reasons(const struct rb_run_screen *r)
{
    for (int i = 0; i < rb_engine_n_trials(r->engine); i++)
        if (rb_engine_trial(r->engine, i)->origin)
            return true;
    return false;
}

static void trials(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    const int n = rb_engine_n_trials(r->engine);
    RB_AUTO(rb_auto_free) struct ranked *order = rb_xcalloc((size_t)n + 1, sizeof *order);
    const struct rb_text_column columns[N_TRIAL_COLUMNS] = {
        {"trial", true, 0}, {"state", false, 0}, {"trained", true, 0},  {r->progress.metric_name, true, 0},
        {"", false, 4},     {"node", true, 3},   {"restarts", true, 2}, {"suggested because", false, 1}};
    struct rb_text_table t;
    if (n == 0 || r->pool)
        return;
    for (int i = 0; i < n; i++)
        order[i] = (struct ranked){rb_engine_trial(r->engine, i), i};
    qsort(order, (size_t)n, sizeof *order, compare_ranked);
    rb_text_table_init(&t, columns, N_TRIAL_COLUMNS - (has_reasons(r) ? 0 : 1));
    for (int i = 0; i < n; i++)
        trial_row(r, &order[i], &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// ---- jobs of a pool

static void job_cost_cell(const struct rb_run_screen *r, const struct rb_run_screen_job *job, struct rb_text_table *t)
{
    char text[32];
    if (job->spent_uusd < 0)
        rb_text_table_cell(t, "-");
    else if (job->spent_uusd == 0 && r->pool->is_free)
        rb_text_table_cell(t, "free");
    else
        rb_text_table_cell(t, "%s", rb_format_money(job->spent_uusd, text));
}

static void job_row(const struct rb_run_screen *r, const struct rb_run_screen_job *job, struct rb_text_table *t)
{
    char text[32];
    const char *folder = job->progress ? NULL : strrchr(job->job, '/'); // named by its file until it has begun
    rb_text_table_cell(t, "%s", folder ? folder + 1 : job->job);
    if (job->progress || strcmp(job->state, "to come") != 0)
        rb_text_table_cell(t, "%s", rb_report_outcome_words(job->state));
    else
        rb_text_table_cell(t, "comes at %s", rb_format_duration(job->arrives_us, text));
    if (job->progress) {
        rb_text_table_cell(t, "%d", job->progress->nodes);
        rb_text_table_cell(t, "%d", job->gpus);
        rb_text_table_cell(t, "%s", rb_format_duration(job->progress->elapsed_us, text));
    } else {
        for (int i = 0; i < 3; i++)
            rb_text_table_cell(t, "-");
    }
    rb_text_table_cell(t, "%s", job->deadline_us >= 0 ? rb_format_duration(job->deadline_us, text) : "-");
    job_cost_cell(r, job, t);
    if (job->progress && job->progress->best_trial >= 0)
        rb_text_table_cell(t, "%s %.4g", job->progress->metric_name, job->progress->best_metric);
    else
        rb_text_table_cell(t, "-");
    rb_text_table_cell(t, "%s", job->run_id ? job->run_id : "-");
}

static void jobs(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"job", false, 0}, {"state", false, 0}, {"nodes", true, 1},
                                                    {"GPUs", true, 2}, {"time", true, 1},   {"deadline", true, 0},
                                                    {"cost", true, 0}, {"best", false, 3},  {"run", false, 2}};
    struct rb_text_table t;
    if (r->n_jobs == 0)
        return;
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < r->n_jobs; i++)
        job_row(r, &r->jobs[i], &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// ---- nodes

// Is it neither expected to cost anything nor billed? Then a column of $0.00 is left out.
static bool is_free(const struct rb_run_screen *r)
{
    for (int i = 0; i < r->n_nodes; i++)
        if (r->nodes[i].cost_uusd != 0)
            return false;
    return rb_plan_is_free(r->plan);
}

static void nodes(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"node", true, 0},   {"instance", false, 2}, {"type", false, 3},
                                                    {"infra", false, 1}, {"state", false, 0},    {"cost", true, 0}};
    struct rb_text_table t;
    char cost[32];
    if (r->n_nodes == 0)
        return;
    const bool paid = !is_free(r);
    rb_text_table_init(&t, columns, paid ? 6 : 5);
    for (int ended = 0; ended <= 1; ended++) {
        for (int i = 0; i < r->n_nodes; i++) {
            const struct rb_run_screen_node *n = &r->nodes[i];
            if (n->ended != ended)
                continue;
            rb_text_table_cell(&t, "%d", n->node);
            rb_text_table_cell(&t, "%s", n->id[0] ? n->id : "-");
            const bool is_ordinary = strcmp(n->market, rb_market_name(RB_MARKET_ON_DEMAND)) == 0;
            rb_text_table_cell(&t, "%s%s%s%s", n->instance_type, is_ordinary ? "" : " (", is_ordinary ? "" : n->market,
                               is_ordinary ? "" : ")");
            rb_text_table_cell(&t, "%s", n->infra);
            rb_text_table_cell(&t, "%s", n->state);
            if (paid)
                rb_text_table_cell(&t, "%s", rb_format_money(n->cost_uusd, cost));
        }
    }
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// ---- the last events

static void last_lines(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    (void)style;
    if (r->n_lines == 0)
        return;
    rb_buf_puts(out, "last events\n");
    // The newest first: where there is no room, the old ones are left out.
    for (int i = r->n_lines - 1; i >= 0 && i >= r->n_lines - MOST_LINES; i--)
        rb_buf_printf(out, "%9.1f s  %s\n", (double)r->lines[i].time_us / 1e6, r->lines[i].text);
}

// ---- sections on a screen

typedef void section_fn(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out);

struct section {
    const char *what;
    struct rb_buf text; // a title and rows
    int rows, shown;    // without the title; if not all are shown, the last row counts the others
    int must;           // the row that is always shown
};

static int count_lines(const struct rb_buf *text)
{
    int n = 0;
    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

static void make_sections(const struct rb_run_screen *r, const struct rb_text_style *style, struct section *out)
{
    static const struct {
        const char *what;
        section_fn *write;
    } sections[N_SECTIONS] = {
        {"jobs", jobs}, {"stages", stages}, {"trials", trials}, {"nodes", nodes}, {"events", last_lines}};
    const struct rb_text_style plain = {.width = style->width}; // titles become bold after they have been cut
    for (int i = 0; i < N_SECTIONS; i++) {
        out[i] = (struct section){.what = sections[i].what, .text = RB_BUF_INIT};
        sections[i].write(r, &plain, &out[i].text);
        out[i].rows = count_lines(&out[i].text) - 1;
        out[i].must = sections[i].write == stages && r->progress.stage > 0 ? r->progress.stage : 0;
    }
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

// Each section in turn gets a blank line, its title and two rows, as long as they fit; then row by row.
static void allot(struct section *sections, int room)
{
    for (int i = 0; i < N_SECTIONS; i++) {
        const int first = lesser(sections[i].rows, 2);
        if (first < 1 || room < 2 + first)
            continue;
        sections[i].shown = first;
        room -= 2 + first;
    }
    for (bool any = true; any && room > 0;) {
        any = false;
        for (int i = 0; i < N_SECTIONS && room > 0; i++) {
            if (sections[i].shown > 0 && sections[i].shown < sections[i].rows) {
                sections[i].shown++;
                room--;
                any = true;
            }
        }
    }
}

// Looks, where there is colour.
#define BOLD "\033[1m"
#define RED  "\033[1;31m"

// Cleans untrusted text, and cuts what is too wide.
static void put_line(const char *line, size_t n, const struct rb_text_style *style, const char *look,
                     struct rb_buf *out)
{
    const bool dressed = *look && style->colour;
    char clean[1024];
    rb_log_sanitise(line, n, clean, sizeof clean);
    rb_buf_puts(out, dressed ? look : "");
    rb_text_cut(clean, style->width, out);
    rb_buf_puts(out, dressed ? "\033[0m\n" : "\n");
}

// Lines first, first + 1, .. of the text, the first of them with that look.
static void put_lines(const char *text, int first, int n, const struct rb_text_style *style, const char *look,
                      struct rb_buf *out)
{
    for (int i = 0; i < first + n && *text; i++) {
        const size_t length = strcspn(text, "\n");
        if (i >= first)
            put_line(text, length, style, i == first ? look : "", out);
        text += length + (text[length] == '\n');
    }
}

static void put_section(const struct section *s, const struct rb_text_style *style, struct rb_buf *out)
{
    char more[64];
    const bool all = s->shown >= s->rows;
    const int visible = all ? s->rows : s->shown - 1;
    if (s->shown < 1)
        return;
    rb_buf_putc(out, '\n');
    put_lines(rb_buf_str(&s->text), 0, 1, style, BOLD, out);
    put_lines(rb_buf_str(&s->text), 1 + lesser(s->must, s->rows - visible), visible, style, "", out);
    if (!all) {
        snprintf(more, sizeof more, "  ... %d more %s", s->rows - visible, s->what);
        put_line(more, strlen(more), style, "", out);
    }
}

void rb_run_screen_summary(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    heading(r, &text);
    if (r->pool)
        rb_pool_progress_write(r->pool, style->width, &text);
    else
        rb_progress_write(&r->progress, style->width, &text);
    rb_buf_putc(&text, '\n');
    remark(r, &text);
    put_lines(rb_buf_str(&text), 0, HEADING_LINES, style, rb_report_outcome_is_failure(r->state) ? RED : BOLD, out);
}

static void write_all(const struct rb_run_screen *r, const struct rb_text_style *style, int height, struct rb_buf *out)
{
    struct section sections[N_SECTIONS];
    const size_t before = out->len;
    make_sections(r, style, sections);
    rb_run_screen_summary(r, style, out);
    const struct rb_buf written = {.data = out->data + before, .len = out->len - before};
    allot(sections, height - count_lines(&written));
    for (int i = 0; i < N_SECTIONS; i++) {
        put_section(&sections[i], style, out);
        rb_buf_finish(&sections[i].text);
    }
}

void rb_run_screen_block(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out)
{
    write_all(r, style, INT32_MAX, out);
}

void rb_run_screen_write(const struct rb_run_screen *r, const struct rb_text_style *style, int height,
                         const char *footer, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf all = RB_BUF_INIT;
    write_all(r, style, height - 1, &all);
    const char *rest = rb_buf_str(&all);
    for (int i = 0; i + 1 < height; i++) { // bold titles have been cut: lines are copied as they are
        const size_t n = strcspn(rest, "\n");
        rb_buf_append(out, rest, n);
        rb_buf_putc(out, '\n');
        rest += n + (rest[n] == '\n');
    }
    rb_text_cut(footer, style->width, out);
}

// ---- JSON

static void json_stages(const struct rb_run_screen *r, struct rb_json *j)
{
    rb_json_put(j, "stages: [");
    for (int i = 0; i < r->plan->n_stages; i++) {
        rb_json_put(j, "{stage: %d trials: %d|null", i, r->progress.on_demand ? -1 : r->plan->stages[i].trials);
        rb_json_put(j, "trained_to_end: %d resource_end: %jd",
                    r->progress.on_demand ? trained_to(r, r->plan->stages[i].resource_end) : stage_trials_ended(r, i),
                    r->plan->stages[i].resource_end);
        rb_json_put(j, "time_us: %jd|null}", stage_time_us(r, i));
    }
    rb_json_end_array(j);
}

static void json_trials(const struct rb_run_screen *r, struct rb_json *j)
{
    rb_json_put(j, "trial_list: [");
    for (int i = 0; i < rb_engine_n_trials(r->engine); i++) {
        const struct rb_trial *t = rb_engine_trial(r->engine, i);
        rb_json_put(j, "{trial: %d state: %s resource: %jd metric: %g|null restarts: %d}", i,
                    rb_trial_state_name(t->state), t->resource, t->metric, t->failures);
    }
    rb_json_end_array(j);
}

static void json_nodes(const struct rb_run_screen *r, struct rb_json *j)
{
    rb_json_put(j, "node_list: [");
    for (int i = 0; i < r->n_nodes; i++) {
        const struct rb_run_screen_node *n = &r->nodes[i];
        rb_json_put(j, "{node: %d", n->node);
        rb_json_kstring(j, "id", n->id[0] ? n->id : NULL);
        rb_json_put(j, "infra: %s instance_type: %s market: %s state: %s cost_uusd: %jd}", n->infra, n->instance_type,
                    n->market, n->state, n->cost_uusd);
    }
    rb_json_end_array(j);
}

static void json_jobs(const struct rb_run_screen *r, struct rb_json *j)
{
    rb_json_put(j, "jobs: [");
    for (int i = 0; i < r->n_jobs; i++) {
        const struct rb_run_screen_job *job = &r->jobs[i];
        rb_json_put(j, "{job: %s run: %s|null state: %s arrives_us: %jd nodes: %d gpus: %d", job->job, job->run_id,
                    job->state, job->arrives_us, job->progress ? job->progress->nodes : 0, job->gpus);
        rb_json_put(j, "elapsed_us: %jd|null deadline_us: %jd|null end_p50_us: %jd|null",
                    job->progress ? job->progress->elapsed_us : -1, job->deadline_us,
                    job->progress ? job->progress->end_p50_us : -1);
        rb_json_put(j, "spent_uusd: %jd|null}", job->spent_uusd);
    }
    rb_json_end_array(j);
}

void rb_run_screen_json(const struct rb_run_screen *r, struct rb_json *j)
{
    rb_json_put(j, "{format: 'rb-status/1' run: %s state: %s process: %d|null", r->run_id, r->state,
                r->pid > 0 ? r->pid : -1);
    rb_progress_members(&r->progress, j);
    json_stages(r, j);
    json_trials(r, j);
    json_nodes(r, j);
    if (r->pool)
        json_jobs(r, j);
    rb_json_end_object(j);
}
