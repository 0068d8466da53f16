#include "profiles/catalog/reservation.h"

#include "base/limits.h"
#include "base/text/pattern.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/keys.h"

#include <string.h>

// --- reading

// How the clouds that have reservations name them.
static const struct cloud {
    const char *infra;
    bool has_blocks;
    const char *id, *example; // extended regular expression
} clouds[] = {
    {"aws", true, "^cr-[0-9a-f]{8,17}$", "cr-0123456789abcdef0"},
    {"gcp", false, "^(projects/[a-z][-a-z0-9]{4,28}[a-z0-9]/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
     "my-reservation"},
    {"mock", true, "^cr-[0-9a-f]{8,17}$", "cr-0123456789abcdef0"},
};

static const struct cloud *cloud_of(const char *infra)
{
    for (size_t i = 0; i < sizeof clouds / sizeof clouds[0]; i++)
        if (rb_infra_within(infra, clouds[i].infra))
            return &clouds[i];
    return NULL;
}

static bool read_place(struct rb_map *m, struct rb_arena *arena, struct rb_reservation *r, struct rb_err *err)
{
    struct rb_err why;
    if (!rb_keys_need_text(m, "infra", arena, &r->infra, err))
        return false;
    if (!rb_infra_check(r->infra, &why))
        return rb_node_refuse(rb_map_get(m, "infra"), err, rb_err_number(&why), "%s", why.message);
    const char *region = strchr(r->infra, '/');
    if (!cloud_of(r->infra) || !region || !strchr(region + 1, '/'))
        return rb_node_refuse(rb_map_get(m, "infra"), err, RB_E_RESERVATION,
                              "expected a zone of aws or gcp, such as aws/us-east-1/us-east-1a, got \"%.60s\"", r->infra);
    return true;
}

static bool read_id(struct rb_map *m, struct rb_arena *arena, struct rb_reservation *r, struct rb_err *err)
{
    const struct cloud *cloud = cloud_of(r->infra);
    if (!rb_keys_need_text(m, "id", arena, &r->id, err))
        return false;
    return rb_pattern_matches(r->id, cloud->id) ||
           rb_node_refuse(rb_map_get(m, "id"), err, RB_E_RESERVATION,
                          "expected the id of a reservation there, such as %s, got \"%.60s\"", cloud->example, r->id);
}

static bool read_instant(struct rb_map *m, const char *key, int64_t *out_us, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    const char *text;
    struct rb_err why;
    *out_us = -1;
    if (!node)
        return true;
    if (!rb_node_string(node, &text, err))
        return false;
    return rb_parse_instant(text, out_us, &why) || rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
}

static bool read_price(struct rb_map *m, struct rb_reservation *r, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "price");
    if (!node || (node->kind == RB_NODE_STRING && strcmp(node->text, "prepaid") == 0))
        return true;
    return rb_node_money(node, &r->uusd_per_hour, err);
}

static bool read_block(struct rb_map *m, struct rb_reservation *r, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "capacity_block");
    if (node && !rb_node_bool(node, &r->is_block, err))
        return false;
    return !r->is_block || cloud_of(r->infra)->has_blocks ||
           rb_node_refuse(node, err, RB_E_RESERVATION, "expected false: only EC2 has Capacity Blocks, not %.60s", r->infra);
}

static int64_t closes_at_us(const struct rb_reservation *r)
{
    return r->ends_at_us - (r->is_block ? RB_RESERVATION_BLOCK_ENDS_US : 0);
}

static bool check_window(struct rb_map *m, const struct rb_reservation *r, struct rb_err *err)
{
    char text[32];
    if (r->ends_at_us < 0 || closes_at_us(r) - r->notice_us > r->starts_at_us)
        return true;
    return rb_node_refuse(rb_map_get(m, "end"), err, RB_E_RESERVATION,
                          "expected a later end, got %s: from start to end there is no more time than the notice%s",
                          rb_format_instant(r->ends_at_us, text),
                          r->is_block ? " and the half hour in which EC2 ends the instances of a block" : "");
}

static bool read_one(const struct rb_node *node, struct rb_arena *arena, struct rb_reservation *out, struct rb_err *err)
{
    static const char *const keys[] = {"infra", "instance_type", "id",     "count",          "start",
                                       "end",   "price",         "notice", "capacity_block", NULL};
    struct rb_reservation r = {0};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !read_place(&m, arena, &r, err) ||
        !rb_keys_need_text(&m, "instance_type", arena, &r.instance_type, err) || !read_id(&m, arena, &r, err) ||
        !rb_map_need_count(&m, "count", 1, RB_LIMIT_NODES, &r.count, err) ||
        !read_instant(&m, "start", &r.starts_at_us, err) || !read_instant(&m, "end", &r.ends_at_us, err) ||
        !rb_keys_duration(&m, "notice", RB_RESERVATION_NOTICE_US, &r.notice_us, err) || !read_price(&m, &r, err) ||
        !read_block(&m, &r, err) || !check_window(&m, &r, err))
        return false;
    r.opens_us = r.starts_at_us < 0 ? 0 : INT64_MAX; // until it is settled
    r.closes_us = r.ends_at_us < 0 ? -1 : 0;
    *out = r;
    return true;
}

bool rb_reservations_read(const struct rb_node *list, struct rb_arena *arena, struct rb_reservation **out, int *out_n,
                          struct rb_err *err)
{
    *out = NULL;
    *out_n = 0;
    if (!list)
        return true;
    if (!rb_node_list_of(list, RB_RESERVATIONS_MAX, "entries", err))
        return false;
    struct rb_reservation *all = rb_arena_array(arena, (size_t)list->n_children, sizeof *all);
    int n = 0;
    for (const struct rb_node *item = list->first; item; item = item->next, n++) {
        if (!read_one(item, arena, &all[n], err))
            return false;
        for (int i = 0; i < n; i++)
            if (strcmp(all[i].id, all[n].id) == 0 && strcmp(all[i].infra, all[n].infra) == 0)
                return rb_node_refuse(item, err, RB_E_LIST_REPEATED, "%.60s is listed twice; remove one", all[n].id);
    }
    *out = all;
    *out_n = n;
    return true;
}

// --- writing

static void write_instant(struct rb_json *j, const char *key, int64_t unix_us)
{
    char text[32];
    rb_json_kstring(j, key, unix_us < 0 ? NULL : rb_format_instant(unix_us, text));
}

static void write_one(const struct rb_reservation *r, struct rb_json *j)
{
    char notice[32], price[32];
    rb_json_put(j, "{infra: %s instance_type: %s id: %s count: %d", r->infra, r->instance_type, r->id, r->count);
    write_instant(j, "start", r->starts_at_us);
    write_instant(j, "end", r->ends_at_us);
    rb_json_kstring(j, "price", r->uusd_per_hour ? rb_format_money_exact(r->uusd_per_hour, price) : "prepaid");
    rb_json_kstring(j, "notice", rb_format_duration_exact(r->notice_us, notice));
    rb_json_kbool(j, "capacity_block", r->is_block);
    rb_json_put(j, "}");
}

void rb_reservations_write(const struct rb_reservation *all, int n, struct rb_json *j)
{
    rb_json_begin_array(j);
    for (int i = 0; i < n; i++)
        write_one(&all[i], j);
    rb_json_end_array(j);
}

// --- its time

void rb_reservation_settle(struct rb_reservation *r, int64_t start_unix_us)
{
    const int64_t closes_us = closes_at_us(r) - start_unix_us;
    r->opens_us = r->starts_at_us > start_unix_us ? r->starts_at_us - start_unix_us : 0;
    r->closes_us = r->ends_at_us < 0 ? -1 : closes_us > 0 ? closes_us : 0;
}

int64_t rb_reservation_notice_at_us(const struct rb_reservation *r)
{
    if (r->closes_us < 0)
        return INT64_MAX;
    return r->closes_us > r->notice_us ? r->closes_us - r->notice_us : 0;
}

bool rb_reservation_is_open(const struct rb_reservation *r, int64_t run_us)
{
    return run_us >= r->opens_us && run_us < rb_reservation_notice_at_us(r);
}

bool rb_offer_closes(const struct rb_offer *o)
{
    return o->reservation && (o->reservation->opens_us > 0 || o->reservation->closes_us >= 0);
}

int rb_offer_most_nodes(const struct rb_offer *o, int max_nodes)
{
    return o->reservation && o->reservation->count < max_nodes ? o->reservation->count : max_nodes;
}

struct rb_offer rb_reservation_offer(struct rb_reservation *r, const struct rb_offer *like)
{
    struct rb_offer o = *like;
    o.infra = r->infra;
    o.market = RB_MARKET_RESERVED;
    o.rate = (struct rb_rate){.uusd_per_hour = r->uusd_per_hour};
    o.declared_free = r->uusd_per_hour == 0;
    o.source = "resources.reservations";
    o.fetched_at_us = -1;
    o.reservation = r;
    return o;
}
