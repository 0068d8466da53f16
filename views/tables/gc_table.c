#include "views/tables/gc_table.h"

#include "base/file.h"
#include "base/document/json.h"
#include "base/errors/log.h"
#include "base/text/units.h"
#include "views/tables/text_table.h"

#include <stdio.h>
#include <unistd.h>

static int count_ended(const struct rb_gc *gc)
{
    int n = 0;
    for (int i = 0; i < gc->n_found; i++)
        n += gc->found[i].ended;
    return n;
}

static const char *word_of(const struct rb_gc *gc, const struct rb_gc_instance *f)
{
    if (f->ended || !f->in_use)
        return f->ended ? "ended" : "left over";
    return !gc->by_lease ? "in use elsewhere" : f->lapsed ? "just lapsed" : f->expires_at[0] ? "in use" : "no lease";
}

static void write_table(const struct rb_gc *gc, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"instance", false, 0}, {"where", false, 4}, {"type", false, 2},
                                                    {"age", true, 1},       {"run", false, 3},   {"", false, 0}};
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_text_table t;
    rb_text_table_init(&t, columns, (int)(sizeof columns / sizeof *columns));
    for (int i = 0; i < gc->n_found; i++) {
        const struct rb_gc_instance *f = &gc->found[i];
        char age[32] = "unknown";
        if (f->age_us >= 0)
            rb_format_duration(f->age_us, age);
        rb_text_table_cell(&t, "%s", f->id);
        rb_text_table_cell(&t, "%s", gc->infras[f->infra]);
        rb_text_table_cell(&t, "%s", f->instance_type);
        rb_text_table_cell(&t, "%s", age);
        rb_text_table_cell(&t, "%s", f->run_id);
        rb_text_table_cell(&t, "%s", word_of(gc, f));
    }
    if (gc->n_found > 0)
        rb_text_table_write(&t, &style, out);
    rb_text_table_finish(&t);
}

// Reports that none is left over only if that is certain.
static void write_sum(const struct rb_gc *gc, struct rb_buf *out)
{
    const int n_left = rb_gc_count(gc, false), n_in_use = rb_gc_count(gc, true);
    rb_buf_printf(out, "%d region%s looked at, ", gc->n_infras, gc->n_infras == 1 ? "" : "s");
    if (rb_gc_is_certain(gc))
        rb_buf_printf(out, "%d instance%s left over", n_left, n_left == 1 ? "" : "s");
    else
        rb_buf_printf(out, "at least %d instance%s left over (not everything could be seen)", n_left,
                      n_left == 1 ? "" : "s");
    rb_buf_printf(out, ", %d ended", count_ended(gc));
    if (n_in_use > 0)
        rb_buf_printf(out, "; %d in use elsewhere", n_in_use);
    if (gc->n_spared > 0)
        rb_buf_printf(out, "; %d more left alone, too young to tell", gc->n_spared);
    rb_buf_putc(out, '\n');
}

void rb_gc_explain_spared(const struct rb_gc *gc, const struct rb_gc_instance *f)
{
    const char *infra = gc->infras[f->infra];
    if (!f->in_use)
        return;
    if (f->lapsed)
        rb_info("%s in %s: the lease of run %s lapsed at %s, a short time ago: left alone for now", f->id, infra,
                f->run_id, f->expires_at);
    else if (!f->expires_at[0])
        rb_info("%s in %s: run %s gave it no lease, so nothing shows whether it is in use: left alone; to end it, run "
                "`rbrun gc --infra %s --end-in-use %s` as its owner",
                f->id, infra, f->run_id, infra, f->id);
}

static void explain_in_use(const struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_found; i++) {
        const struct rb_gc_instance *f = &gc->found[i];
        if (f->in_use && !f->ended && !f->expires_at[0])
            rb_info("%s in %s: run %s is not one of this machine, and nothing shows whether a process elsewhere "
                    "executes it: "
                    "left alone; to end it nevertheless, add --end-in-use %s",
                    f->id, gc->infras[f->infra], f->run_id, f->id);
        else if (f->in_use && !f->ended)
            rb_info("%s in %s: a process elsewhere executes run %s: its lease lasts until %s, and is renewed: left "
                    "alone; to end "
                    "it nevertheless, add --end-in-use %s",
                    f->id, gc->infras[f->infra], f->run_id, f->expires_at, f->id);
    }
}

static bool print_table(const struct rb_gc *gc, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    for (int i = 0; gc->by_lease && i < gc->n_found; i++)
        rb_gc_explain_spared(gc, &gc->found[i]);
    if (!gc->by_lease)
        explain_in_use(gc);
    write_table(gc, &out);
    write_sum(gc, &out);
    if (gc->n_infras == 0)
        rb_info("nothing was launched from this machine so far; to look elsewhere, add --infra aws/REGION");
    return rb_print(&out, err);
}

static void write_instances(const struct rb_gc *gc, bool in_use, struct rb_json *j)
{
    rb_json_begin_array(j);
    for (int i = 0; i < gc->n_found; i++) {
        const struct rb_gc_instance *f = &gc->found[i];
        if (f->in_use != in_use)
            continue;
        rb_json_put(j, "{id: %s|null infra: %s|null run: %s", f->id, gc->infras[f->infra], f->run_id);
        if (in_use)
            rb_json_kstring(j, "lease_expires_at", f->expires_at[0] ? f->expires_at : NULL);
        rb_json_put(j, "ended: %i}", f->ended);
    }
    rb_json_end_array(j);
}

static bool print_json(const struct rb_gc *gc, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    rb_json_put(&j, "{format: 'rb-gc/1' ended: %d certain: %i left_over:", count_ended(gc), rb_gc_is_certain(gc));
    write_instances(gc, false, &j);
    rb_json_key(&j, "in_use_elsewhere");
    write_instances(gc, true, &j);
    rb_json_put(&j, "unknown: [");
    for (int i = 0; i < gc->n_unknown; i++)
        rb_json_put(&j, "{run: %s error: %s}", gc->unknown[i].run_id, gc->unknown[i].why);
    rb_json_put(&j, "]}");
    rb_buf_putc(&text, '\n');
    return rb_print(&text, err);
}

static bool say_unknown(const struct rb_gc *gc, struct rb_err *err)
{
    for (int i = 0; i < gc->n_unknown; i++)
        rb_warn("%s", gc->unknown[i].why);
    return gc->n_unknown == 0 ||
           rb_err_set(err, RB_E_GC_UNSURE,
                      "%d run%s cannot be read (%s%s), so it is not certain that nothing is left over", gc->n_unknown,
                      gc->n_unknown == 1 ? "" : "s", gc->unknown[0].run_id, gc->n_unknown > 1 ? ", ..." : "");
}

bool rb_gc_show(const struct rb_gc *gc, bool json, int *out_code, struct rb_err *err)
{
    if (gc->failure.code != RB_ERR_NONE && json) { // one document: the error
        *err = gc->failure;
        return rb_err_prefix(err, "%d of %d instances that were left over were ended, and something failed",
                             count_ended(gc), rb_gc_count(gc, false));
    }
    if (!(json ? print_json(gc, err) : print_table(gc, err)))
        return false;
    *out_code = gc->n_unknown > 0; // where it is no error: there is one document
    if (gc->failure.code == RB_ERR_NONE)
        return json || say_unknown(gc, err);
    say_unknown(gc, err);
    *err = gc->failure;
    return false;
}
