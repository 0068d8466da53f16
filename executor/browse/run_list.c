#include "executor/browse/run_list.h"

#include "executor/away/whereabouts.h"
#include "executor/journal/handover.h"
#include "executor/journal/run_dir.h"
#include "executor/journal/run_files.h"
#include "executor/report/shared_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The files that a row was read from, as they were then. Zeroes: the row must be read again.
struct rb_run_stamp {
    struct timespec changed[3];
    off_t size[3];
};

// ---- stamps

static void stamp_file(struct rb_run_stamp *s, int i, const struct stat *st)
{
    s->changed[i] = st->st_mtim;
    s->size[i] = st->st_size;
}

// sqlite writes into the second file first.
static struct rb_run_stamp stamp_of_own(const char *dir)
{
    static const char *const names[] = {"journal.db", "journal.db-wal", "plan.json"};
    struct rb_run_stamp stamp = {0};
    for (int i = 0; i < 3; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
        struct stat st;
        rb_buf_printf(&path, "%s/%s", dir, names[i]);
        if (stat(rb_buf_str(&path), &st) == 0)
            stamp_file(&stamp, i, &st);
    }
    return stamp;
}

static struct rb_run_stamp stamp_of_shared(const char *folder, const char *run)
{
    struct rb_run_stamp stamp = {0};
    struct stat st;
    if (rb_shared_report_stat(folder, run, &st))
        stamp_file(&stamp, 0, &st);
    return stamp;
}

static bool same_stamp(const struct rb_run_stamp *a, const struct rb_run_stamp *b)
{
    for (int i = 0; i < 3; i++)
        if (a->size[i] != b->size[i] || a->changed[i].tv_sec != b->changed[i].tv_sec ||
            a->changed[i].tv_nsec != b->changed[i].tv_nsec)
            return false;
    return true;
}

// ---- reading

struct reader {
    const struct rb_run_list *before; // may be NULL
    struct rb_run_list *to;
    const char *root;   // of own runs
    const char *folder; // of shared reports
    int cap;
};

static bool same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

// A run that is not over, and one that cannot be read, may change without its files: by who executes it, by who may
// read it.
static const struct rb_run_row *find_known(const struct reader *r, const char *run, const struct rb_run_stamp *stamp)
{
    for (int i = 0; r->before && i < r->before->n; i++) {
        const struct rb_run_row *row = &r->before->rows[i];
        if (strcmp(row->run, run) == 0 && same_text(row->from, r->folder))
            return row->error || strcmp(row->outcome, "running") == 0 || strcmp(row->outcome, "interrupted") == 0 ||
                           !same_stamp(&r->before->stamps[i], stamp)
                       ? NULL
                       : row;
    }
    return NULL;
}

static void add(struct reader *r, const struct rb_run_row *row, const struct rb_run_stamp *stamp)
{
    struct rb_run_list *l = r->to;
    if (l->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        l->rows = rb_xrealloc(l->rows, (size_t)r->cap, sizeof *l->rows);
        l->stamps = rb_xrealloc(l->stamps, (size_t)r->cap, sizeof *l->stamps);
    }
    l->rows[l->n] = *row;
    l->stamps[l->n++] = *stamp;
}

// *out_is: the run goes on on another host, or is on its way there.
static bool read_move(const struct rb_run_files *f, struct rb_journal *journal, struct rb_elsewhere *out, bool *out_is,
                      struct rb_err *err)
{
    struct rb_handover h;
    if (!rb_handover_latest(journal, &h, err))
        return false;
    *out_is = rb_handover_is_away(&h);
    *out = (struct rb_elsewhere){.lock = -1, .begun = h.state == RB_HANDOVER_AWAY};
    snprintf(out->run_id, sizeof out->run_id, "%s", f->run_id);
    snprintf(out->place, sizeof out->place, "%s", h.place);
    return true;
}

static struct rb_run_row read_own(struct reader *r, const char *run)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal = NULL;
    struct rb_report report;
    struct rb_run_row row;
    struct rb_err err;
    struct rb_run_lock lock;
    struct rb_elsewhere moved;
    bool is_away = false;
    char where[RB_WHEREABOUTS_BYTES];
    if (rb_run_files_open_listed(&f, r->root, run, &journal, &err) && read_move(&f, journal, &moved, &is_away, &err) &&
        is_away) {
        row = rb_run_row_elsewhere(&moved, &r->to->arena);
    } else if (journal && rb_run_lock_look(f.journal, &lock, &err) &&
        rb_report_make(journal, &f.plan, &f.arena, &report, &err)) {
        rb_run_row_of_report(&report, lock.state == RB_RUN_LOCK_HELD, &r->to->arena, &row);
        rb_whereabouts(&lock, run, where);
        row.controller = where[0] ? rb_arena_strdup(&r->to->arena, where) : NULL;
    } else {
        rb_run_say_what_helps(&err);
        row = rb_run_row_unreadable(run, &err, &r->to->arena);
    }
    rb_journal_close(journal);
    return row;
}

static void take_own(void *ctx, const char *run, const char *dir)
{
    struct reader *r = ctx;
    const struct rb_run_stamp stamp = stamp_of_own(dir);
    const struct rb_run_row *known = find_known(r, run, &stamp);
    struct rb_run_row row;
    if (known)
        rb_run_row_copy(known, &r->to->arena, &row);
    else
        row = read_own(r, run);
    row.run = rb_arena_strdup(&r->to->arena, run);
    add(r, &row, &stamp);
}

// One that has come here since has a row of its own.
static void take_elsewhere(void *ctx, const struct rb_elsewhere *e)
{
    RB_AUTO(rb_buf_finish) struct rb_buf own = RB_BUF_INIT;
    struct reader *r = ctx;
    rb_buf_printf(&own, "%s/%s/journal.db", r->root, e->run_id);
    if (access(rb_buf_str(&own), F_OK) == 0)
        return;
    const struct rb_run_row row = rb_run_row_elsewhere(e, &r->to->arena);
    add(r, &row, &(struct rb_run_stamp){0});
}

static bool read_shared(struct reader *r, const char *run, struct rb_run_row *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    size_t n;
    struct rb_doc doc;
    rb_buf_printf(&path, "%s/%s/report.json", r->folder, run);
    if (!rb_shared_report_read(r->folder, run, &bytes, &n, err) ||
        !rb_doc_parse_json(&doc, rb_buf_str(&path), bytes, n, err))
        return false;
    const bool ok = rb_run_row_read(doc.root, &r->to->arena, out, err);
    rb_doc_finish(&doc);
    return ok;
}

static void take_shared(void *ctx, const char *name)
{
    struct reader *r = ctx;
    const struct rb_run_stamp stamp = stamp_of_shared(r->folder, name);
    const struct rb_run_row *known = find_known(r, name, &stamp);
    struct rb_run_row row = {0};
    struct rb_err err;
    if (known)
        rb_run_row_copy(known, &r->to->arena, &row);
    else if (!read_shared(r, name, &row, &err))
        row = rb_run_row_unreadable(name, &err, &r->to->arena);
    row.run = rb_arena_strdup(&r->to->arena, name);
    row.from = rb_arena_strdup(&r->to->arena, r->folder);
    add(r, &row, &stamp);
}

static int newest_first(const void *a, const void *b)
{
    const struct rb_run_row *x = a, *y = b;
    const int by_name = rb_run_dir_newest_first(x->run, y->run);
    return by_name ? by_name : strcmp(x->from ? x->from : "", y->from ? y->from : "");
}

// Rows and stamps in one order.
static void sort(struct rb_run_list *l)
{
    struct entry {
        struct rb_run_row row;
        struct rb_run_stamp stamp;
    };
    RB_AUTO(rb_auto_free) struct entry *all = rb_xcalloc((size_t)l->n + 1, sizeof *all);
    for (int i = 0; i < l->n; i++)
        all[i] = (struct entry){l->rows[i], l->stamps[i]};
    qsort(all, (size_t)l->n, sizeof *all, newest_first); // a row begins each entry
    for (int i = 0; i < l->n; i++) {
        l->rows[i] = all[i].row;
        l->stamps[i] = all[i].stamp;
    }
}

bool rb_run_list_read(const struct rb_run_sources *sources, const struct rb_run_list *before, struct rb_run_list *out,
                      struct rb_err *err)
{
    char root[4096];
    *out = (struct rb_run_list){0};
    rb_arena_init(&out->arena);
    struct reader r = {.before = before, .to = out, .root = root};
    if (!sources->without_own &&
        (!rb_run_dir_root(sources->state_dir, root, sizeof root, err) || !rb_run_dir_each(root, take_own, &r, err) ||
         !rb_elsewhere_each(root, take_elsewhere, &r, err)))
        return false;
    for (int i = 0; i < sources->n_folders; i++) {
        r.folder = sources->folders[i];
        if (!rb_shared_report_each(r.folder, take_shared, &r, err))
            return false;
    }
    sort(out);
    return true;
}

void rb_run_list_finish(struct rb_run_list *l)
{
    rb_arena_finish(&l->arena);
    free(l->rows);
    free(l->stamps);
    *l = (struct rb_run_list){0};
}

void rb_run_list_write(const struct rb_run_list *l, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "format", "rb-runs/1");
    rb_json_karray(j, "runs");
    for (int i = 0; i < l->n; i++)
        rb_run_row_write(&l->rows[i], j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}
