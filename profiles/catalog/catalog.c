// Price lists as CSV, checked row by row. A price that is absent, negative or not a number is an error at its place.
#include "profiles/catalog/catalog.h"

#include "base/limits.h"
#include "base/text/number.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_GIGABYTES 1e6 // of one machine
#define MAX_VCPUS     1e5

// --- markets ---

static const char *const market_names[] = {"on_demand", "spot", "reserved"};
enum { N_MARKETS = 2 }; // on which machines are on sale

bool rb_offer_is_old(const struct rb_offer *o, int64_t now_us)
{
    const int64_t days = o->market == RB_MARKET_SPOT ? RB_OLD_SPOT_DAYS : RB_OLD_ON_DEMAND_DAYS;
    return !o->declared_free && o->fetched_at_us >= 0 && now_us - o->fetched_at_us > days * 86400 * RB_US_PER_S;
}

const char *rb_market_name(enum rb_market m)
{
    return market_names[m];
}

const char *rb_market_mark(enum rb_market m)
{
    static const char *const marks[] = {"", " (spot)", " (reserved)"};
    return marks[m];
}

bool rb_market_parse(const char *s, enum rb_market *out, struct rb_err *err)
{
    for (int i = 0; i < N_MARKETS; i++) {
        if (strcmp(s, market_names[i]) == 0) {
            *out = (enum rb_market)i;
            return true;
        }
    }
    const char *close = rb_closest(s, market_names, N_MARKETS);
    return rb_err_set(err, RB_E_CHOICE, "expected on_demand or spot, got \"%.60s\"%s%s%s", s,
                      close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
}

// --- columns ---

enum column {
    INFRA,
    INSTANCE_TYPE,
    ACCELERATOR,
    GPUS,
    GPU_MEMORY,
    VCPUS,
    MEMORY,
    MARKET,
    PRICE,
    SOURCE,
    FETCHED_AT,
    N_COLUMNS,
};
static const char *const column_names[N_COLUMNS] = {"infra",         "instance_type", "accelerator", "gpus",
                                                    "gpu_memory_gb", "vcpus",         "memory_gb",   "market",
                                                    "usd_per_hour",  "source",        "fetched_at"};
static const bool column_required[N_COLUMNS] = {true, true, true, true, true, true, true, true, true, false, false};

// The file being read, with its columns found.
struct reader {
    const struct rb_csv *csv;
    int columns[N_COLUMNS]; // index in the file, -1: absent
    struct rb_arena *arena;
    struct rb_err *err;
};

static const char *cell(const struct reader *r, int row, enum column c)
{
    return r->columns[c] >= 0 ? r->csv->cells[row][r->columns[c]] : "";
}

static bool cell_error(const struct reader *r, int row, enum column c, const char *why)
{
    return rb_csv_error(r->csv, row, r->columns[c], r->err, "%s", why);
}

static bool read_text(const struct reader *r, int row, enum column c, const char *example, const char **out)
{
    const char *text = cell(r, row, c);
    if (!*text)
        return rb_csv_error(r->csv, row, r->columns[c], r->err, "expected text such as \"%s\", got an empty cell",
                            example);
    *out = rb_arena_strdup(r->arena, text);
    return true;
}

// Lists are usually sorted by infra, and checking one takes longer than the rest of its row.
static bool read_infra(const struct reader *r, int row, const char **out)
{
    struct rb_err why;
    const char *infra = cell(r, row, INFRA);
    const bool known = row > 0 && strcmp(cell(r, row - 1, INFRA), infra) == 0;
    if (!known && !rb_infra_check(infra, &why))
        return cell_error(r, row, INFRA, why.message);
    if (!rb_infra_is_priceable(infra))
        return rb_csv_error(r->csv, row, r->columns[INFRA], r->err,
                            "expected a region, as in \"%s/us-east-1\": prices differ by region", infra);
    *out = rb_arena_strdup(r->arena, infra);
    return true;
}

static bool read_rate(const struct reader *r, int row, bool may_be_free, struct rb_rate *out)
{
    struct rb_err why;
    return rb_parse_rate(cell(r, row, PRICE), may_be_free, out, &why) || cell_error(r, row, PRICE, why.message);
}

static bool read_fetched_at(const struct reader *r, int row, int64_t *out_us)
{
    struct rb_err why;
    const char *text = cell(r, row, FETCHED_AT);
    int64_t us = -1;
    if (*text && !rb_parse_instant(text, &us, &why))
        return cell_error(r, row, FETCHED_AT, why.message);
    if (*text && us < 0)
        return cell_error(r, row, FETCHED_AT, "expected an instant after 1970");
    *out_us = us;
    return true;
}

// --- rows ---

static bool read_machine(const struct reader *r, int row, struct rb_offer *o)
{
    int64_t gpus;
    const int *at = r->columns;
    if (!read_text(r, row, INSTANCE_TYPE, "g5.12xlarge", &o->instance_type) ||
        !read_text(r, row, ACCELERATOR, "A10G\" (\"CPU\" where there is none)", &o->accelerator) ||
        !rb_csv_int(r->csv, row, at[GPUS], 1, RB_LIMIT_GPUS_PER_NODE, &gpus, r->err) ||
        !rb_csv_double(r->csv, row, at[GPU_MEMORY], 0, MAX_GIGABYTES, &o->gpu_memory_gb, r->err) ||
        !rb_csv_double(r->csv, row, at[VCPUS], 0, MAX_VCPUS, &o->vcpus, r->err) ||
        !rb_csv_double(r->csv, row, at[MEMORY], 0, MAX_GIGABYTES, &o->memory_gb, r->err))
        return false;
    o->gpus = (int)gpus;
    return true;
}

static bool read_offer(const struct reader *r, int row, struct rb_offer *out)
{
    struct rb_offer o = {.fetched_at_us = -1};
    struct rb_err why;
    if (!read_infra(r, row, &o.infra) || !read_machine(r, row, &o))
        return false;
    if (!rb_market_parse(cell(r, row, MARKET), &o.market, &why))
        return cell_error(r, row, MARKET, why.message);
    if (!read_rate(r, row, rb_infra_may_be_free(o.infra), &o.rate) || !read_fetched_at(r, row, &o.fetched_at_us))
        return false;
    o.declared_free = o.rate.uusd_per_hour == 0;
    o.source = rb_arena_strdup(r->arena, cell(r, row, SOURCE));
    *out = o;
    return true;
}

// Columns without a meaning for a disk must be empty: a number there would be a misunderstanding.
static bool read_disk(const struct reader *r, int row, struct rb_disk_price *out)
{
    static const enum column meaningless[] = {ACCELERATOR, GPUS, GPU_MEMORY, VCPUS, MEMORY, MARKET};
    struct rb_disk_price disk;
    for (size_t i = 0; i < sizeof meaningless / sizeof meaningless[0]; i++)
        if (*cell(r, row, meaningless[i]))
            return cell_error(r, row, meaningless[i], "expected an empty cell: this row prices a GB-hour of disk");
    if (!read_infra(r, row, &disk.infra) || !read_rate(r, row, rb_infra_may_be_free(disk.infra), &disk.per_gb))
        return false;
    *out = disk;
    return true;
}

// --- order and duplicates ---

struct numbered_offer {
    struct rb_offer offer;
    int row;
};

int rb_offer_compare(const struct rb_offer *a, const struct rb_offer *b)
{
    int order = strcmp(a->infra, b->infra);
    if (order == 0)
        order = strcmp(a->instance_type, b->instance_type);
    if (order == 0)
        order = (int)a->market - (int)b->market;
    return order || !a->reservation || !b->reservation ? order : strcmp(a->reservation->id, b->reservation->id);
}

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered_offer *x = a, *y = b;
    const int order = rb_offer_compare(&x->offer, &y->offer);
    return order ? order : x->row - y->row;
}

static bool sort_offers(const struct reader *r, struct numbered_offer *rows, struct rb_catalog *c)
{
    qsort(rows, (size_t)c->n_offers, sizeof *rows, compare_numbered);
    for (int i = 1; i < c->n_offers; i++)
        if (rb_offer_compare(&rows[i - 1].offer, &rows[i].offer) == 0)
            return rb_csv_error(r->csv, rows[i].row, r->columns[INSTANCE_TYPE], r->err,
                                "%s %s %s has a price on line %d already; remove one", rows[i].offer.infra,
                                rows[i].offer.instance_type, rb_market_name(rows[i].offer.market),
                                r->csv->row_line[rows[i - 1].row]);
    for (int i = 0; i < c->n_offers; i++)
        c->offers[i] = rows[i].offer;
    return true;
}

// Disks are one row a region: few enough to insert one by one.
static bool add_disk(const struct reader *r, int row, const struct rb_disk_price *disk, struct rb_catalog *c)
{
    int i = c->n_disks;
    for (; i > 0 && strcmp(c->disks[i - 1].infra, disk->infra) >= 0; i--) {
        if (strcmp(c->disks[i - 1].infra, disk->infra) == 0)
            return cell_error(r, row, INFRA, "the disk of this infra has a price already; remove one");
        c->disks[i] = c->disks[i - 1];
    }
    c->disks[i] = *disk;
    c->n_disks++;
    return true;
}

static bool read_rows(const struct reader *r, struct numbered_offer *rows, struct rb_catalog *c)
{
    for (int row = 0; row < r->csv->n_rows; row++) {
        struct rb_disk_price disk;
        if (strcmp(cell(r, row, INSTANCE_TYPE), "disk") == 0) {
            if (!read_disk(r, row, &disk) || !add_disk(r, row, &disk, c))
                return false;
            continue;
        }
        rows[c->n_offers].row = row;
        if (!read_offer(r, row, &rows[c->n_offers].offer))
            return false;
        c->n_offers++;
    }
    return sort_offers(r, rows, c);
}

// --- lists together ---

static bool has_offer(const struct rb_catalog *c, const struct rb_offer *offer)
{
    for (int i = 0; i < c->n_offers; i++) {
        if (rb_offer_compare(&c->offers[i], offer) == 0)
            return true;
    }
    return false;
}

static bool has_disk(const struct rb_catalog *c, const char *infra)
{
    for (int i = 0; i < c->n_disks; i++) {
        if (strcmp(c->disks[i].infra, infra) == 0)
            return true;
    }
    return false;
}

void rb_catalog_add(struct rb_catalog *c, const struct rb_catalog *more, struct rb_arena *arena)
{
    struct rb_catalog all = *c;
    all.offers = rb_arena_array(arena, (size_t)(c->n_offers + more->n_offers) + 1, sizeof *all.offers);
    all.disks = rb_arena_array(arena, (size_t)(c->n_disks + more->n_disks) + 1, sizeof *all.disks);
    if (c->n_offers > 0)
        memcpy(all.offers, c->offers, (size_t)c->n_offers * sizeof *all.offers);
    if (c->n_disks > 0)
        memcpy(all.disks, c->disks, (size_t)c->n_disks * sizeof *all.disks);
    for (int i = 0; i < more->n_offers; i++) {
        if (!has_offer(c, &more->offers[i]))
            all.offers[all.n_offers++] = more->offers[i];
    }
    for (int i = 0; i < more->n_disks; i++) {
        if (!has_disk(c, more->disks[i].infra))
            all.disks[all.n_disks++] = more->disks[i];
    }
    *c = all;
}

static int compare_in_place(const void *a, const void *b)
{
    return rb_offer_compare(a, b);
}

void rb_catalog_sort(struct rb_catalog *c)
{
    if (c->n_offers > 0)
        qsort(c->offers, (size_t)c->n_offers, sizeof *c->offers, compare_in_place);
}

// --- files ---

bool rb_catalog_from_csv(const struct rb_csv *csv, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err)
{
    struct reader r = {.csv = csv, .arena = arena, .err = err};
    if (!rb_csv_check_columns(csv, column_names, column_required, N_COLUMNS, err))
        return false;
    for (int c = 0; c < N_COLUMNS; c++)
        r.columns[c] = rb_csv_column(csv, column_names[c]);
    if (csv->n_rows == 0)
        return rb_err_set_at(err, RB_E_CSV_EMPTY, (struct rb_place){.file = csv->file}, NULL,
                             "expected at least one row below the header");
    const size_t n = (size_t)csv->n_rows;
    struct rb_catalog c = {.offers = rb_arena_array(arena, n, sizeof *c.offers),
                           .disks = rb_arena_array(arena, n, sizeof *c.disks)};
    RB_AUTO(rb_auto_free) struct numbered_offer *rows = rb_xcalloc(n, sizeof *rows);
    if (!read_rows(&r, rows, &c))
        return false;
    *out = c;
    return true;
}

// --- this machine, and disks ---

static double memory_of_this_machine(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (double)pages * (double)bytes / 1073741824.0 : 0;
}

void rb_catalog_add_local(struct rb_catalog *c, struct rb_arena *arena, const char *accelerator, int slots)
{
    const struct rb_offer local = {.infra = "local",
                                   .instance_type = "local",
                                   .accelerator = rb_arena_strdup(arena, accelerator),
                                   .gpus = slots,
                                   .vcpus = slots,
                                   .memory_gb = memory_of_this_machine(),
                                   .market = RB_MARKET_ON_DEMAND,
                                   .declared_free = true,
                                   .source = "declared",
                                   .fetched_at_us = -1};
    struct rb_offer *offers = rb_arena_array(arena, (size_t)c->n_offers + 1, sizeof *offers);
    int at = 0;
    while (at < c->n_offers && rb_offer_compare(&c->offers[at], &local) < 0)
        at++;
    if (at < c->n_offers && rb_offer_compare(&c->offers[at], &local) == 0)
        return; // a price list knows more about this machine than we do
    if (at > 0)
        memcpy(offers, c->offers, (size_t)at * sizeof *offers);
    offers[at] = local;
    if (at < c->n_offers)
        memcpy(offers + at + 1, c->offers + at, (size_t)(c->n_offers - at) * sizeof *offers);
    c->offers = offers;
    c->n_offers++;
}

bool rb_catalog_disk_rate(const struct rb_catalog *c, const char *infra, struct rb_rate *out, struct rb_err *err)
{
    const struct rb_disk_price *best = NULL; // a zone's own price before its region's
    for (int i = 0; i < c->n_disks; i++)
        if (rb_infra_within(infra, c->disks[i].infra) && (!best || strlen(c->disks[i].infra) > strlen(best->infra)))
            best = &c->disks[i];
    if (!best && !rb_infra_may_be_free(infra))
        return rb_err_set(err, RB_E_DISK_PRICE,
                          "no price for a disk in %s; import a price row with instance_type \"disk\", or leave out "
                          "resources.disk_size",
                          infra);
    *out = best ? best->per_gb : (struct rb_rate){0};
    return true;
}
