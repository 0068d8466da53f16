// A run's journal shows where it launched. If the journal is not whole, the run's plan shows where it may have
// launched, and its launch log where it did; the instances there are found by tag. The run stays unknown nevertheless:
// gc reports it, and does not succeed.
#include "executor/gc/gc.h"

#include "executor/campaign/campaign_dir.h"
#include "executor/journal/journal.h"
#include "executor/journal/run_dir.h"
#include "executor/launcher/launch_log.h"
#include "executor/run/infras.h"
#include "profiles/catalog/infra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// mock/R is the same place as aws/R on loopback: one endpoint, one listing.
static bool is_same_place(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    const char *region = strchr(a, '/'), *other = strchr(b, '/');
    return region && other && strcmp(region, other) == 0 &&
           (rb_infra_within(a, "mock") ? rb_infra_within(b, "aws")
                                       : rb_infra_within(a, "aws") && rb_infra_within(b, "mock")) &&
           rb_infra_is_harmless(a) && rb_infra_is_harmless(b);
}

// The run's plan, where its job says what the name stands for.
static struct rb_run_files *files_for(const struct rb_provider_ops *ops, const char *dir)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    if (!ops->same_place || !dir)
        return NULL;
    struct rb_run_files *f = rb_xcalloc(1, sizeof *f);
    rb_buf_printf(&path, "%s/plan.json", dir);
    if (rb_run_read_plan(f, rb_buf_str(&path), NULL))
        return f;
    free(f);
    return NULL;
}

// A name alone means what a run of that name has meant.
static bool is_known(const struct rb_gc *gc, const char *name, const struct rb_provider_ops *ops,
                     const struct rb_run_files *f)
{
    for (int i = 0; i < gc->n_infras; i++)
        if (is_same_place(gc->infras[i], name) &&
            (!f || (gc->files[i] &&
                    ops->same_place(&gc->files[i]->plan.job->resources, &f->plan.job->resources))))
            return true;
    return false;
}

void rb_gc_add_infra(struct rb_gc *gc, const char *infra, const char *dir)
{
    char name[64], region[64];
    struct rb_err err;
    const struct rb_provider_ops *ops;
    rb_infra_without_zone(infra, name);
    struct rb_run_files *f = rb_provider_find(name, &ops, region, NULL) ? files_for(ops, dir) : NULL;
    if (is_known(gc, name, ops, f)) {
        if (f)
            rb_run_files_finish(f);
        free(f);
        return;
    }
    // Nodes that a pool lends are ended by the pool's own run.
    if (strcmp(name, "local") == 0 || strcmp(name, "pool") == 0)
        return;
    if (gc->n_infras < RB_GC_MAX_INFRAS) {
        gc->files[gc->n_infras] = f;
        strcpy(gc->infras[gc->n_infras++], name);
        return;
    }
    rb_err_set(&err, RB_E_GC_UNSURE,
               "%s is not looked at: more than %d places at once; look there with --infra %s and "
               "another --state-dir",
               name, RB_GC_MAX_INFRAS, name);
    rb_gc_fail(gc, name, &err);
}

static void add_unknown(struct rb_gc *gc, const char *run_id, const struct rb_buf *why)
{
    gc->unknown = rb_xrealloc(gc->unknown, (size_t)gc->n_unknown + 1, sizeof *gc->unknown);
    gc->unknown[gc->n_unknown++] = (struct rb_gc_unknown){rb_xstrdup(run_id), rb_xstrdup(rb_buf_str(why))};
}

// ---- runs

// The rows of a whole journal.
static bool add_launches(struct rb_gc *gc, const char *dir, const char *journal_path, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_journal *journal;
    struct rb_launch_row *rows;
    int n;
    if (!rb_journal_open_reader(journal_path, &journal, err))
        return false;
    const bool ok = rb_journal_launches(journal, &arena, &rows, &n, err);
    for (int i = 0; ok && i < n; i++)
        rb_gc_add_infra(gc, rows[i].infra, dir);
    rb_journal_close(journal);
    return ok;
}

// A process writes this file when it begins to execute the run: if it is there, there was a journal.
static bool has_begun(const char *dir)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/events.jsonl", dir);
    return access(rb_buf_str(&path), F_OK) == 0;
}

struct sent {
    struct rb_gc *gc;
    const char *dir;
};

static bool add_sent(void *ctx, const char *launch_id, const char *infra, struct rb_err *err)
{
    const struct sent *sent = ctx;
    (void)launch_id;
    if (!rb_infra_check(infra, err))
        return false;
    rb_gc_add_infra(sent->gc, infra, sent->dir);
    return true;
}

// Adds everything that its plan may rent: of stages, early requests and fallbacks.
static bool add_offers(struct rb_gc *gc, const char *dir, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/plan.json", dir);
    if (!rb_run_read_plan(&f, rb_buf_str(&path), err))
        return false;
    for (int i = 0; i < f.plan.n_offers; i++)
        rb_gc_add_infra(gc, f.plan.offers[i].infra, dir);
    return true;
}

static void add_what_may_be(struct rb_gc *gc, const char *run_id, const char *dir, const struct rb_err *why)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_err no_plan, no_log;
    rb_launch_log_each(dir, add_sent, &(struct sent){gc, dir}, &no_log);
    rb_buf_printf(&text, "run %s: %s. ", run_id, why->message);
    if (add_offers(gc, dir, &no_plan))
        rb_buf_puts(&text, "What it launched is looked for by its tag, wherever its plan.json rents");
    else
        rb_buf_printf(&text,
                      "Its plan cannot be read either (%s), so it is unknown where it launched: add --infra for every "
                      "place where it may have",
                      no_plan.message);
    rb_buf_printf(&text,
                  ". Put the directory back from a backup, or, once nothing of it is left over: mv %s %s.damaged", dir,
                  dir);
    add_unknown(gc, run_id, &text);
}

static void add_run(void *ctx, const char *run_id, const char *dir)
{
    struct rb_gc *gc = ctx;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_err err = {0};
    rb_buf_printf(&path, "%s/journal.db", dir);
    if (add_launches(gc, dir, rb_buf_str(&path), &err))
        return;
    if (rb_err_number(&err) == RB_E_JOURNAL_MISSING && !has_begun(dir))
        return; // it ended before anything was launched
    add_what_may_be(gc, run_id, dir, &err);
}

// ---- campaigns

static void add_campaign(void *ctx, const char *run_id, const char *dir)
{
    struct rb_gc *gc = ctx;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    char infra[RB_CAMPAIGN_INFRA_BYTES];
    struct rb_err err;
    rb_buf_printf(&path, "%s/infra", dir);
    if (access(rb_buf_str(&path), F_OK) != 0)
        return; // it launched nothing
    if (rb_campaign_dir_infra(dir, infra) && rb_infra_check(infra, &err)) {
        rb_gc_add_infra(gc, infra, NULL);
        return;
    }
    rb_buf_printf(&text,
                  "measuring campaign %s: %s no longer shows where it launched: add --infra for every place where "
                  "it may have; once nothing of it is left over: mv %s %s.damaged",
                  run_id, rb_buf_str(&path), dir, dir);
    add_unknown(gc, run_id, &text);
}

bool rb_gc_add_infras_of_runs(struct rb_gc *gc, struct rb_err *err)
{
    char campaigns[4112];
    rb_campaign_dir_root(gc->root, campaigns, sizeof campaigns);
    return rb_run_dir_each(gc->root, add_run, gc, err) && rb_run_dir_each(campaigns, add_campaign, gc, err);
}
