// --record FAMILY_TASK.csv RUN...: a table of what real runs reported.
#include "commands/rbsim/rbsim.h"

#include "base/errors/log.h"
#include "base/file.h"
#include "base/limits.h"
#include "executor/journal/run_dir.h"
#include "executor/search/record.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- runs

// RUN is a folder, or a run as rbrun knows it.
static bool find_folder(const char *run, char *out, size_t size, struct rb_err *err)
{
    char root[4096], id[128];
    if (strchr(run, '/')) {
        snprintf(out, size, "%s", run);
        return true;
    }
    return rb_run_dir_root(NULL, root, sizeof root, err) &&
           rb_run_dir_find(root, run, id, sizeof id, out, size, NULL, err);
}

static bool read_plan(const char *path, struct rb_arena *arena, struct rb_plan *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_read(&doc, path, err) && rb_plan_read(doc.root, rb_digest_sha256, arena, out, err);
}

static bool add_run(struct rb_record *r, const char *run, struct rb_arena *arena, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    char folder[4096];
    size_t n;
    struct rb_plan *plan = rb_arena_alloc(arena, sizeof *plan);
    if (!find_folder(run, folder, sizeof folder, err))
        return false;
    const char *events = rb_arena_printf(arena, "%s/events.jsonl", folder);
    return read_plan(rb_arena_printf(arena, "%s/plan.json", folder), arena, plan, err) &&
           rb_read_file(events, RB_LIMIT_CSV_BYTES, &bytes, &n, err) && rb_record_add(r, plan, events, bytes, n, err);
}

// ---- files

static const char *family_of(const char *table, struct rb_arena *arena)
{
    const char *slash = strrchr(table, '/'), *name = slash ? slash + 1 : table, *end = strchr(name, '_');
    return end && rb_has_ending(table, ".csv") ? rb_arena_printf(arena, "%.*s.yaml", (int)(end - table), table) : NULL;
}

// The family of other tables must be this one.
static bool keep_family(const char *path, const struct rb_buf *text, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *there = NULL;
    size_t n;
    if (access(path, F_OK) != 0)
        return rb_write_file(path, text->data, text->len, err);
    return rb_read_file(path, RB_LIMIT_CSV_BYTES, &there, &n, err) &&
           ((n == text->len && memcmp(there, text->data, n) == 0) ||
            rb_err_set(err, RB_E_BLACKBOX_JOB,
                       "%s is there and describes something else: choose another name for the family", path));
}

static bool save(const struct rb_record *r, const char *table, struct rb_arena *arena, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf family = RB_BUF_INIT, rows = RB_BUF_INIT;
    RB_AUTO(rb_blackbox_finish) struct rb_blackbox box = {0};
    const char *path = family_of(table, arena);
    rb_record_write_family(r, &family);
    rb_record_write_rows(r, &rows);
    if (!rb_blackbox_parse(path, family.data, family.len, table, rows.data, rows.len, arena, &box, err) ||
        !keep_family(path, &family, err) || !rb_write_file(table, rows.data, rows.len, err))
        return false;
    rb_info("%s: %d rows to %d%s, best %s %g, median %g; family: %s", table, box.n_rows, box.max_resource,
            box.unit_s ? " with their seconds" : "", box.metric_name, box.best, box.median, path);
    return true;
}

static bool is_enough(const struct rb_record *r, struct rb_err *err)
{
    if (r->n_left_out > 0)
        rb_warn("%d trial%s left out: only trials that trained to the end, and reported after every unit, are rows; a "
                "run with "
                "`scheduler.type: random` has them all",
                r->n_left_out, r->n_left_out == 1 ? " is" : "s are");
    return r->n_rows >= 3 ||
           rb_err_set(err, RB_E_BLACKBOX_JOB, "--record: expected at least 3 whole curves, got %d", r->n_rows);
}

bool rb_sim_record(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_record_finish) struct rb_record r = {0};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const char *table = rb_args_string(args, "record", NULL);
    if (args->n_given > 1)
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--record: expected runs and no other option");
    if (!family_of(table, &arena))
        return rb_err_set(err, RB_E_OPTION_VALUE, "--record %s: expected FAMILY_TASK.csv, such as digits_first.csv",
                          table);
    if (args->n_args == 0)
        return rb_err_set(err, RB_E_OPERANDS, "--record: expected a run: rbsim --record %s RUN (see rbrun list)",
                          table);
    for (int i = 0; i < args->n_args; i++)
        if (!add_run(&r, args->args[i], &arena, err))
            return false;
    return is_enough(&r, err) && save(&r, table, &arena, err);
}
