// One reader per format, each a table of its columns and a function for one row.
#include "profiles/import/import.h"

#include "base/document/csv.h"
#include "base/document/doc.h"
#include "base/limits.h"
#include "profiles/catalog/infra.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIME_S  RB_DIST_MAX_MEAN // longer than any latency the program plans with
#define MAX_BATCH   1e9
#define MAX_NAME    100 // bytes of a profile's name
#define MAX_COLUMNS 8

// Index into cells by the order of the format's column names.
struct row {
    const struct rb_csv *csv;
    int number;
    int columns[MAX_COLUMNS];
};

static const char *cell(const struct row *r, int column)
{
    return r->csv->cells[r->number][r->columns[column]];
}

static bool needed_text(const struct row *r, int column, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    if (cell(r, column)[0] == '\0')
        return rb_csv_error(r->csv, r->number, r->columns[column], err, "expected a text, got nothing");
    *out = rb_arena_strdup(arena, cell(r, column));
    return true;
}

// Reprints an error of another reader with the place of the cell.
static bool cell_error(const struct row *r, int column, const struct rb_err *cause, struct rb_err *err)
{
    return rb_csv_error(r->csv, r->number, r->columns[column], err, "%s", cause->message);
}

static bool needed_infra(const struct row *r, int column, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    struct rb_err cause;
    if (!rb_infra_check(cell(r, column), &cause))
        return cell_error(r, column, &cause, err);
    *out = rb_arena_strdup(arena, cell(r, column));
    return true;
}

static bool needed_double(const struct row *r, int column, double min, double max, double *out, struct rb_err *err)
{
    return rb_csv_double(r->csv, r->number, r->columns[column], min, max, out, err);
}

enum { PLACEMENT, LOCAL_BSZ, STEP_TIME, SYNC_TIME };
static const char *const throughput_columns[] = {"placement", "local_bsz", "step_time", "sync_time", NULL};

// "211": two GPUs on the first node, one on each of two more.
static bool read_placement(const struct row *r, struct rb_throughput_sample *out, struct rb_err *err)
{
    int nodes = 0, gpus = 0;
    for (const char *c = cell(r, PLACEMENT); *c; c++, nodes++) {
        if (*c < '1' || *c > '9') {
            return rb_csv_error(r->csv, r->number, r->columns[PLACEMENT], err,
                                "expected one digit 1..9 per node, the GPUs used there, got \"%s\"",
                                cell(r, PLACEMENT));
        }
        gpus += *c - '0';
    }
    if (nodes == 0)
        return rb_csv_error(r->csv, r->number, r->columns[PLACEMENT], err, "expected at least one digit, got nothing");
    out->nodes = nodes;
    out->gpus = gpus;
    return true;
}

static bool read_throughput(const struct row *r, struct rb_import *import, struct rb_err *err)
{
    struct rb_throughput_sample s = {0};
    if (!read_placement(r, &s, err) || !needed_double(r, LOCAL_BSZ, 1e-9, MAX_BATCH, &s.local_batch, err) ||
        !needed_double(r, STEP_TIME, 1e-9, MAX_TIME_S, &s.step_s, err) ||
        !needed_double(r, SYNC_TIME, 0, MAX_TIME_S, &s.sync_s, err))
        return false;
    if (s.sync_s >= s.step_s) {
        return rb_csv_error(r->csv, r->number, r->columns[SYNC_TIME], err,
                            "expected less than step_time, of which it is a part, got %g of %g s", s.sync_s, s.step_s);
    }
    import->throughputs[r->number] = s;
    return true;
}

enum { P_INFRA, P_TYPE, P_MARKET, P_QUEUE, P_INIT, P_OUTCOME };
static const char *const provision_columns[] = {"infra",  "instance_type", "market", "queue_s",
                                                "init_s", "outcome",       NULL};

static bool read_outcome(const struct row *r, const char **out, struct rb_err *err)
{
    static const char *const outcomes[] = {"ok", "capacity", "timeout"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(cell(r, P_OUTCOME), outcomes[i]) == 0) {
            *out = outcomes[i];
            return true;
        }
    }
    return rb_csv_error(r->csv, r->number, r->columns[P_OUTCOME], err, "expected ok, capacity or timeout, got \"%s\"",
                        cell(r, P_OUTCOME));
}

static bool read_provision_time(const struct row *r, int column, bool ok, double *out, struct rb_err *err)
{
    if (ok)
        return needed_double(r, column, 0, MAX_TIME_S, out, err);
    *out = -1;
    return cell(r, column)[0] == '\0' ||
           rb_csv_error(r->csv, r->number, r->columns[column], err,
                        "expected nothing: a request that ended with \"%s\" has no such time", cell(r, P_OUTCOME));
}

static bool read_provision(const struct row *r, struct rb_import *import, struct rb_err *err)
{
    struct rb_provision_sample p = {.measured_at_us = -1};
    enum rb_market market;
    struct rb_err cause;
    if (!needed_infra(r, P_INFRA, &import->arena, &p.infra, err) ||
        !needed_text(r, P_TYPE, &import->arena, &p.instance_type, err) || !read_outcome(r, &p.outcome, err))
        return false;
    if (!rb_market_parse(cell(r, P_MARKET), &market, &cause))
        return cell_error(r, P_MARKET, &cause, err);
    p.market = rb_market_name(market);
    const bool ok = strcmp(p.outcome, "ok") == 0;
    if (!read_provision_time(r, P_QUEUE, ok, &p.queue_s, err) || !read_provision_time(r, P_INIT, ok, &p.init_s, err))
        return false;
    import->provisions[r->number] = p;
    return true;
}

enum { S_INFRA, S_TYPE, S_TIMESTAMP, S_PRICE, S_PREEMPTED };
static const char *const spot_columns[] = {"infra", "instance_type", "timestamp", "usd_per_hour", "preempted", NULL};

static bool read_spot(const struct row *r, struct rb_import *import, struct rb_err *err)
{
    struct rb_spot_price s;
    struct rb_err cause;
    if (!needed_infra(r, S_INFRA, &import->arena, &s.infra, err) ||
        !needed_text(r, S_TYPE, &import->arena, &s.instance_type, err))
        return false;
    if (!rb_parse_instant(cell(r, S_TIMESTAMP), &s.at_us, &cause))
        return cell_error(r, S_TIMESTAMP, &cause, err);
    if (!rb_parse_rate(cell(r, S_PRICE), false, &s.rate, &cause))
        return cell_error(r, S_PRICE, &cause, err);
    const char *preempted = cell(r, S_PREEMPTED);
    if (preempted[0] != '\0' && strcmp(preempted, "0") != 0 && strcmp(preempted, "1") != 0) {
        return rb_csv_error(r->csv, r->number, r->columns[S_PREEMPTED], err,
                            "expected 1 (the node was lost since the row before), 0 (it was not) or nothing (unknown), "
                            "got \"%s\"",
                            preempted);
    }
    s.preempted = preempted[0] == '\0' ? -1 : preempted[0] - '0';
    import->spots[r->number] = s;
    return true;
}

static const struct csv_format {
    enum rb_import_format format;
    const char *name;
    const char *const *columns; // all required; NULL: read by the catalogue
    const char *mark;           // a column no other format has
    bool (*read_row)(const struct row *r, struct rb_import *import, struct rb_err *err);
} csv_formats[] = {
    {RB_IMPORT_PRICES, "prices-csv", NULL, "gpu_memory_gb", NULL},
    {RB_IMPORT_PROVISION, "provision-csv", provision_columns, "outcome", read_provision},
    {RB_IMPORT_SPOT, "spot-csv", spot_columns, "preempted", read_spot},
    {RB_IMPORT_CAPACITY, "capacity-csv", NULL, "capacity", NULL},
    {RB_IMPORT_THROUGHPUT, "throughput-csv", throughput_columns, "placement", read_throughput},
};
#define N_CSV_FORMATS ((int)(sizeof(csv_formats) / sizeof(csv_formats[0])))

static const struct csv_format *format_of(enum rb_import_format format)
{
    for (int i = 0; i < N_CSV_FORMATS; i++)
        if (csv_formats[i].format == format)
            return &csv_formats[i];
    return NULL;
}

const char *rb_import_format_name(enum rb_import_format format)
{
    const struct csv_format *f = format_of(format);
    return f ? f->name : "profile";
}

bool rb_import_format_parse(const char *s, enum rb_import_format *out, struct rb_err *err)
{
    const char *names[N_CSV_FORMATS];
    for (int i = 0; i < N_CSV_FORMATS; i++) {
        names[i] = csv_formats[i].name;
        if (strcmp(s, names[i]) == 0) {
            *out = csv_formats[i].format;
            return true;
        }
    }
    const char *closest = rb_closest(s, names, N_CSV_FORMATS);
    return rb_err_set(
        err, RB_E_OPTION_VALUE,
        "--format: expected prices-csv, provision-csv, spot-csv, capacity-csv or throughput-csv, got \"%s\"%s%s%s", s,
        closest ? ": did you mean " : "", closest ? closest : "", closest ? "?" : "");
}

static bool detect(const struct rb_csv *csv, const struct csv_format **out, struct rb_err *err)
{
    for (int i = 0; i < N_CSV_FORMATS; i++) {
        if (rb_csv_column(csv, csv_formats[i].mark) >= 0) {
            *out = &csv_formats[i];
            return true;
        }
    }
    return rb_err_set_at(
        err, RB_E_IMPORT_KIND, (struct rb_place){csv->file, 1, 0}, NULL,
        "this CSV is of no known kind: expected a header with placement (throughput-csv), outcome "
        "(provision-csv), preempted (spot-csv), capacity (capacity-csv) or gpu_memory_gb (prices-csv); or give "
        "--format");
}

static bool find_columns(const struct rb_csv *csv, const struct csv_format *f, struct row *r, struct rb_err *err)
{
    bool required[MAX_COLUMNS];
    int n = 0;
    for (; f->columns[n]; n++)
        required[n] = true;
    if (!rb_csv_check_columns(csv, f->columns, required, n, err))
        return false;
    for (int i = 0; i < n; i++)
        r->columns[i] = rb_csv_column(csv, f->columns[i]);
    return true;
}

static bool check_throughput_options(const struct rb_import_options *o, const char *file, struct rb_err *err)
{
    const char *missing = !o->name                    ? "--name P"
                          : !o->accelerator           ? "--accelerator A"
                          : !(o->batch > 0)           ? "--batch B"
                          : !(o->units_per_epoch > 0) ? "--units-per-epoch U"
                                                      : NULL;
    if (missing) {
        return rb_err_set_at(
            err, RB_E_IMPORT_KIND, (struct rb_place){.file = file}, NULL,
            "a throughput-csv does not contain what was trained: give %s (all of --name, --accelerator, "
            "--batch per GPU and --units-per-epoch are needed)",
            missing);
    }
    return true;
}

static bool check_name(const char *name, struct rb_err *err)
{
    size_t n = 0;
    for (; name[n] != '\0'; n++)
        if ((unsigned char)name[n] < 0x20 || name[n] == 0x7f || n == MAX_NAME)
            return rb_err_set(err, RB_E_OPTION_VALUE, "--name: expected 1..%d printable characters", MAX_NAME);
    return n > 0 ||
           rb_err_set(err, RB_E_OPTION_VALUE, "--name: expected 1..%d printable characters, got none", MAX_NAME);
}

static void make_array(struct rb_import *import)
{
    const size_t n = (size_t)import->n_rows;
    if (import->format == RB_IMPORT_THROUGHPUT)
        import->throughputs = rb_arena_array(&import->arena, n, sizeof(*import->throughputs));
    else if (import->format == RB_IMPORT_PROVISION)
        import->provisions = rb_arena_array(&import->arena, n, sizeof(*import->provisions));
    else
        import->spots = rb_arena_array(&import->arena, n, sizeof(*import->spots));
}

static bool read_rows(const struct rb_csv *csv, const struct csv_format *f, struct rb_import *import,
                      struct rb_err *err)
{
    struct row r = {.csv = csv};
    if (!find_columns(csv, f, &r, err))
        return false;
    import->n_rows = csv->n_rows;
    make_array(import);
    for (; r.number < csv->n_rows; r.number++)
        if (!f->read_row(&r, import, err))
            return false;
    return true;
}

static bool read_prices(const struct rb_csv *csv, struct rb_import *import, struct rb_err *err)
{
    if (!rb_catalog_from_csv(csv, &import->arena, &import->prices, err))
        return false;
    import->n_rows = import->prices.n_offers + import->prices.n_disks;
    return true;
}

static bool read_capacity(const struct rb_csv *csv, const struct rb_import_options *o, struct rb_import *import,
                          struct rb_err *err)
{
    if (!o->name || !(o->capacity.sampled_s > 0))
        return rb_err_set_at(err, RB_E_IMPORT_KIND, (struct rb_place){.file = csv->file}, NULL,
                             "a capacity-csv does not say whose spot machines it describes, nor how often the market "
                             "was looked at: give %s (both --name and --sampled-every are needed)",
                             o->name ? "--sampled-every S" : "--name P");
    import->n_rows = csv->n_rows;
    import->profile_name = rb_arena_strdup(&import->arena, o->name);
    return check_name(o->name, err) &&
           rb_markets_from_csv(csv, &o->capacity, &import->arena, &import->markets, &import->n_markets, err);
}

static bool read_csv(const char *path, const struct rb_import_options *o, struct rb_import *import, struct rb_err *err)
{
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    if (!rb_csv_read(&csv, path, err))
        return false;
    const struct csv_format *f = format_of(o->format);
    if (!f && !detect(&csv, &f, err))
        return false;
    import->format = f->format;
    if (csv.n_rows == 0) {
        return rb_err_set_at(err, RB_E_CSV_EMPTY, (struct rb_place){.file = path}, NULL,
                             "expected at least one row below the header, got none");
    }
    if (f->format == RB_IMPORT_PRICES)
        return read_prices(&csv, import, err);
    if (f->format == RB_IMPORT_CAPACITY)
        return read_capacity(&csv, o, import, err);
    if (f->format == RB_IMPORT_THROUGHPUT) {
        if (!check_throughput_options(o, path, err) || !check_name(o->name, err))
            return false;
        import->profile_name = rb_arena_strdup(&import->arena, o->name);
        import->accelerator = rb_arena_strdup(&import->arena, o->accelerator);
        import->batch = o->batch;
        import->units_per_epoch = o->units_per_epoch;
    }
    return read_rows(&csv, f, import, err);
}

static bool read_profile(const char *path, const struct rb_import_options *o, struct rb_import *import,
                         struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    import->format = RB_IMPORT_PROFILE;
    import->n_rows = 1;
    if (!rb_doc_read(&doc, path, err) || !rb_profile_read(doc.root, o->name, rb_profile_stem(path, &import->arena),
                                                          &import->arena, &import->profile, err))
        return false;
    import->profile_name = import->profile.name;
    return true;
}

bool rb_import_read(const char *path, const struct rb_import_options *options, struct rb_import *out,
                    struct rb_err *err)
{
    struct rb_import import = {0};
    RB_AUTO(rb_auto_free) char *absolute = realpath(path, NULL);
    import.source = rb_arena_strdup(&import.arena, absolute ? absolute : path);
    const bool is_csv = (options->format != RB_IMPORT_DETECT && options->format != RB_IMPORT_PROFILE) ||
                        rb_has_ending(path, ".csv") || rb_has_ending(path, ".csv.gz");
    if (!(is_csv ? read_csv(path, options, &import, err) : read_profile(path, options, &import, err))) {
        rb_import_finish(&import);
        return false;
    }
    *out = import;
    return true;
}

void rb_import_finish(struct rb_import *i)
{
    rb_arena_finish(&i->arena);
    *i = (struct rb_import){0};
}

static bool store_rows(const struct rb_import *i, struct rb_store *s, struct rb_err *err)
{
    bool ok = true;
    for (int k = 0; k < i->n_rows && ok; k++) {
        if (i->format == RB_IMPORT_THROUGHPUT) {
            ok = rb_store_add_throughput(s, i->profile_name, i->accelerator, i->batch, i->units_per_epoch,
                                         &i->throughputs[k], err);
        } else if (i->format == RB_IMPORT_PROVISION) {
            ok = rb_store_add_provision(s, &i->provisions[k], err);
        } else {
            const struct rb_spot_price *p = &i->spots[k];
            ok = rb_store_add_spot(s, p->infra, p->instance_type, p->at_us, p->rate, p->preempted, err);
        }
    }
    return ok;
}

bool rb_import_store(const struct rb_import *i, struct rb_store *s, int64_t now_us, struct rb_err *err)
{
    rb_store_stamp(s, now_us, i->source);
    switch (i->format) {
    case RB_IMPORT_PROFILE:
        return rb_store_put_profile(s, &i->profile, err);
    case RB_IMPORT_PRICES:
        return rb_store_put_prices(s, &i->prices, err);
    case RB_IMPORT_CAPACITY:
        return rb_store_put_markets(s, i->profile_name, i->markets, i->n_markets, err);
    default:
        return rb_store_forget(s, i->profile_name, i->source, err) && store_rows(i, s, err);
    }
}
