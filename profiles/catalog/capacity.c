#include "profiles/catalog/capacity.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/catalog/infra.h"

#include <string.h>

#define MAX_MINUTES   1e8 // 190 years
#define S_PER_MIN     60.0
#define EC2_NOTICE_US (120 * RB_US_PER_S)
#define GCP_NOTICE_US (30 * RB_US_PER_S)

enum { SET, KIND, ZONE, TYPE, START, CAPACITY, PRICE, N_COLUMNS };
const char *const rb_capacity_columns[] = {"set", "kind", "zone", "instance_type", "start_min", "capacity", "usd_per_hour",
                                            NULL};

struct table {
    const struct rb_csv *csv;
    int columns[N_COLUMNS];
    struct rb_arena *arena;
    struct rb_capacity *zones; // [n]
    int n;
};

static const char *cell(const struct table *t, int row, int column)
{
    return t->csv->cells[row][t->columns[column]];
}

static bool refuse(const struct table *t, int row, int column, struct rb_err *err, const char *what)
{
    return rb_csv_error(t->csv, row, t->columns[column], err, "%s, got \"%s\"", what, cell(t, row, column));
}

static bool find_columns(struct table *t, struct rb_err *err)
{
    static const bool required[N_COLUMNS] = {true, true, true, true, true, true, false};
    if (!rb_csv_check_columns(t->csv, rb_capacity_columns, required, N_COLUMNS, err))
        return false;
    for (int i = 0; i < N_COLUMNS; i++)
        t->columns[i] = rb_csv_column(t->csv, rb_capacity_columns[i]);
    return true;
}

// --- which rows

static bool is_wanted(const struct table *t, int row, const char *set)
{
    return !set || strcmp(cell(t, row, SET), set) == 0;
}

// Times of different sets have nothing to do with each other.
static bool check_sets(const struct table *t, const char *set, struct rb_err *err)
{
    bool found = false;
    for (int row = 0; row < t->csv->n_rows; row++) {
        found = found || is_wanted(t, row, set);
        if (!set && strcmp(cell(t, row, SET), cell(t, 0, SET)) != 0)
            return rb_csv_error(t->csv, row, t->columns[SET], err,
                                "expected rows of one set, got \"%s\" and \"%s\": choose one with --set",
                                cell(t, 0, SET), cell(t, row, SET));
    }
    return found ||
           rb_csv_error(t->csv, 0, t->columns[SET], err, "expected rows of the set \"%s\" (--set), got none", set);
}

// --- zones

// "us-east-1c" lies in us-east-1 of AWS, "us-east1-b" in us-east1 of Google.
static bool is_google(const char *zone)
{
    return zone[strlen(zone) - 2] == '-';
}

static bool find_region(const struct table *t, int row, const char **out, struct rb_err *err)
{
    const char *zone = cell(t, row, ZONE);
    const size_t n = strlen(zone);
    if (n < 4 || zone[n - 1] < 'a' || zone[n - 1] > 'z')
        return refuse(t, row, ZONE, err, "expected a zone of AWS or Google, such as us-east-1c or us-east1-b");
    *out = rb_arena_strndup(t->arena, zone, is_google(zone) ? n - 2 : n - 1);
    return true;
}

static bool same_zone(const struct table *t, int a, int b)
{
    return strcmp(cell(t, a, ZONE), cell(t, b, ZONE)) == 0 && strcmp(cell(t, a, TYPE), cell(t, b, TYPE)) == 0 &&
           strcmp(cell(t, a, SET), cell(t, b, SET)) == 0;
}

static bool check_new(const struct table *t, int row, struct rb_err *err)
{
    for (int i = 0; i < t->n; i++) {
        if (strcmp(t->zones[i].zone, cell(t, row, ZONE)) == 0 &&
            strcmp(t->zones[i].instance_type, cell(t, row, TYPE)) == 0)
            return refuse(t, row, ZONE, err, "expected the rows of one zone and type in one piece");
    }
    return cell(t, row, TYPE)[0] != '\0' || refuse(t, row, TYPE, err, "expected an instance type");
}

static bool check_kind(const struct table *t, int row, struct rb_err *err)
{
    const char *kind = cell(t, row, KIND);
    return strcmp(kind, "availability") == 0 || strcmp(kind, "preemption") == 0 ||
           refuse(t, row, KIND, err, "expected availability (probes) or preemption (machines that ran)");
}

// A table has a price in each of its rows but those that end a zone, or has none.
static bool read_price(const struct table *t, int row, bool ended, int64_t *out, struct rb_err *err)
{
    struct rb_rate rate;
    struct rb_err why;
    *out = 0;
    if (t->columns[PRICE] < 0)
        return true;
    if (ended)
        return cell(t, row, PRICE)[0] == '\0' ||
               refuse(t, row, PRICE, err, "expected no price in the row that ends a zone");
    if (!rb_parse_rate(cell(t, row, PRICE), false, &rate, &why))
        return refuse(t, row, PRICE, err, "expected dollars an hour of one node");
    *out = rate.uusd_per_hour;
    return true;
}

// One row of a zone; *out_ended: its last.
static bool read_step(const struct table *t, int row, struct rb_capacity *zone, struct rb_capacity_step *out,
                      bool *out_ended, struct rb_err *err)
{
    double minute;
    int64_t up = 0, uusd_per_hour;
    *out_ended = strcmp(cell(t, row, CAPACITY), "end") == 0;
    if (!check_kind(t, row, err) || !rb_csv_double(t->csv, row, t->columns[START], 0, MAX_MINUTES, &minute, err) ||
        (!*out_ended && !rb_csv_int(t->csv, row, t->columns[CAPACITY], 0, RB_LIMIT_NODES, &up, err)) ||
        !read_price(t, row, *out_ended, &uusd_per_hour, err))
        return false;
    const int64_t at_us = rb_us_from_seconds(minute * S_PER_MIN);
    if (zone->n_steps > 0 && at_us <= out[-1].at_us)
        return refuse(t, row, START, err, "expected a later minute than in the row before");
    *out = (struct rb_capacity_step){at_us, (int)up, uusd_per_hour};
    zone->end_us = at_us;
    return true;
}

// From `row` on; *out_n: how many rows.
static bool read_zone(struct table *t, int row, int *out_n, struct rb_err *err)
{
    struct rb_capacity zone = {.zone = rb_arena_strdup(t->arena, cell(t, row, ZONE)),
                               .instance_type = rb_arena_strdup(t->arena, cell(t, row, TYPE))};
    bool ended = false;
    int n = 0;
    if (!find_region(t, row, &zone.region, err) || !check_new(t, row, err))
        return false;
    while (row + n < t->csv->n_rows && same_zone(t, row, row + n))
        n++;
    struct rb_capacity_step *steps = rb_arena_array(t->arena, (size_t)n, sizeof *steps);
    for (int i = 0; i < n && !ended; i++) {
        if (!read_step(t, row + i, &zone, &steps[i], &ended, err))
            return false;
        zone.n_steps += !ended;
        *out_n = i + 1;
    }
    if (!ended || zone.n_steps == 0 || *out_n < n)
        return refuse(t, row + *out_n - 1, CAPACITY, err, "expected `end` in the last row of a zone and in no other");
    zone.steps = steps;
    zone.infra = rb_arena_printf(t->arena, "%s/%s/%s", is_google(zone.zone) ? "gcp" : "aws", zone.region, zone.zone);
    t->zones[t->n++] = zone;
    return true;
}

static bool read_zones(struct table *t, const char *set, struct rb_err *err)
{
    t->zones = rb_arena_array(t->arena, (size_t)t->csv->n_rows, sizeof *t->zones);
    for (int row = 0, n = 1; row < t->csv->n_rows; row += n) {
        n = 1;
        if (is_wanted(t, row, set) && !read_zone(t, row, &n, err))
            return false;
    }
    return true;
}

bool rb_capacity_from_csv(const struct rb_csv *csv, const char *set, struct rb_arena *arena,
                          struct rb_capacity_table *out, struct rb_err *err)
{
    struct table t = {.csv = csv, .arena = arena};
    if (!find_columns(&t, err) || !check_sets(&t, set, err) || !read_zones(&t, set, err))
        return false;
    *out = (struct rb_capacity_table){t.zones, t.n};
    return true;
}

// --- what it says

static const char *zone_of(const char *infra)
{
    const char *region = strchr(infra, '/'), *zone = region ? strchr(region + 1, '/') : NULL;
    return zone ? zone + 1 : NULL;
}

const struct rb_capacity *rb_capacity_find(const struct rb_capacity_table *t, const struct rb_offer *offer)
{
    const char *zone = zone_of(offer->infra);
    for (int i = 0; zone && offer->market == RB_MARKET_SPOT && i < t->n; i++) {
        if (strcmp(t->markets[i].zone, zone) == 0 && strcmp(t->markets[i].instance_type, offer->instance_type) == 0)
            return &t->markets[i];
    }
    return NULL;
}

int rb_capacity_at(const struct rb_capacity_step *steps, int n, int64_t at_us)
{
    int up = -1;
    for (int i = 0; i < n && steps[i].at_us <= at_us; i++)
        up = steps[i].up;
    return up;
}

bool rb_capacity_has_prices(const struct rb_capacity_step *steps, int n)
{
    int known = 0;
    for (int i = 0; i < n; i++)
        known += steps[i].uusd_per_hour > 0;
    return n > 0 && known == n;
}

int64_t rb_capacity_next_us(const struct rb_capacity_step *steps, int n, int64_t after_us)
{
    for (int i = 0; i < n; i++) {
        if (steps[i].at_us > after_us)
            return steps[i].at_us;
    }
    return INT64_MAX;
}

int64_t rb_spot_notice_us(const char *infra)
{
    return rb_infra_within(infra, "gcp") ? GCP_NOTICE_US : EC2_NOTICE_US;
}
