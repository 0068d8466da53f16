// Reads rb-chaos/1 strictly. A fault is a word, or a map of one word to its parameters; a parameter that the fault has
// no use for is an unknown key.
#include "providers/mock/cloud/chaos.h"

#include <string.h>

#define MAX_RULES     256
#define MAX_COUNT     1000000000
#define MAX_FACTOR    1e6
#define MAX_BYTES_S   1000000000
#define MAX_PAGE      1000
#define DEFAULT_DRIP  64
#define DEFAULT_SKEW  (20 * 60 * RB_US_PER_S) // beyond the 15 minutes that EC2 forgives
#define DEFAULT_DEATH (7 * 60 * RB_US_PER_S)

typedef bool parameters_fn(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *out, struct rb_err *err);

// --- optional members; absent: *out stays ---

static bool get_text(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    const char *text;
    if (!node)
        return true;
    if (!rb_node_string(node, &text, err))
        return false;
    if (!*text)
        return rb_node_refuse(node, err, RB_E_CHAOS, "expected a word, got nothing; leave the key out to mean any");
    *out = rb_arena_strdup(arena, text);
    return true;
}

static bool get_int(struct rb_map *m, const char *key, int64_t min, int64_t max, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_int(node, min, max, out, err);
}

static bool get_double(struct rb_map *m, const char *key, double min, double max, double *out, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_double(node, min, max, out, err);
}

static bool get_duration(struct rb_map *m, const char *key, int64_t *out_us, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_duration(node, out_us, err);
}

static bool get_bool(struct rb_map *m, const char *key, bool *out, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_bool(node, out, err);
}

// --- what: parameters of each fault ---

static bool read_error(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    const struct rb_node *code;
    int64_t status = 500;
    r->message = "We are sorry";
    if (!rb_map_need(m, "code", &code, err) || !get_text(m, "code", arena, &r->code, err) ||
        !get_int(m, "status", 400, 599, &status, err) || !get_text(m, "message", arena, &r->message, err) ||
        !get_bool(m, "after_effect", &r->after_effect, err))
        return false;
    r->status = (int)status;
    return true;
}

static bool read_after_effect(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    return get_bool(m, "after_effect", &r->after_effect, err);
}

static bool read_skew(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    r->delay_us = DEFAULT_SKEW;
    return get_duration(m, "by", &r->delay_us, err);
}

static bool read_fraction(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    r->fraction = 0.5;
    return get_double(m, "fraction", 0, 0.999, &r->fraction, err);
}

static bool read_drip(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    r->bytes_per_s = DEFAULT_DRIP;
    return get_int(m, "bytes_per_s", 1, MAX_BYTES_S, &r->bytes_per_s, err);
}

static bool read_page(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    r->items = 1;
    return get_int(m, "items", 0, MAX_PAGE, &r->items, err);
}

static bool read_unreachable(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    const struct rb_node *zone;
    return rb_map_need(m, "zone", &zone, err) && get_text(m, "zone", arena, &r->unreachable_zone, err);
}

static bool read_code(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    return get_text(m, "code", arena, &r->code, err);
}

static bool read_factor(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    r->factor = 2;
    return get_double(m, "factor", 0, MAX_FACTOR, &r->factor, err);
}

static bool read_moment(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)arena;
    r->delay_us = DEFAULT_DEATH;
    return get_duration(m, "after", &r->delay_us, err);
}

static bool read_nothing(struct rb_map *m, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    (void)m, (void)arena, (void)r, (void)err;
    return true;
}

static const struct {
    const char *name;
    parameters_fn *read;
    bool needs_parameters;
} faults[RB_CHAOS_N_FAULTS] = {
    [RB_CHAOS_CLOCK_SKEW] = {"clock_skew", read_skew, false},
    [RB_CHAOS_THROTTLE] = {"throttle", read_nothing, false},
    [RB_CHAOS_ERROR] = {"error", read_error, true},
    [RB_CHAOS_HTML_502] = {"html_502", read_after_effect, false},
    [RB_CHAOS_CONNECTION_RESET] = {"connection_reset", read_nothing, false},
    [RB_CHAOS_LOST_RESPONSE] = {"lost_response", read_nothing, false},
    [RB_CHAOS_TRUNCATED_BODY] = {"truncated_body", read_fraction, false},
    [RB_CHAOS_SLOW_DRIP] = {"slow_drip", read_drip, false},
    [RB_CHAOS_PARTIAL_PAGE] = {"partial_page", read_page, false},
    [RB_CHAOS_UNREACHABLE] = {"unreachable", read_unreachable, true},
    [RB_CHAOS_FAILS_TO_START] = {"fails_to_start", read_code, false},
    [RB_CHAOS_NEVER_BOOTS] = {"never_boots", read_nothing, false},
    [RB_CHAOS_BOOTS_SLOWLY] = {"boots_slowly", read_factor, false},
    [RB_CHAOS_DIES_AT] = {"dies_at", read_moment, false},
    [RB_CHAOS_WRONG_MARKET] = {"wrong_market", read_nothing, false},
    [RB_CHAOS_INTERRUPTED] = {"interrupted", read_moment, false},
};

const char *rb_chaos_fault_name(enum rb_chaos_fault fault)
{
    return faults[fault].name;
}

static bool find_fault(const struct rb_node *node, const char *name, enum rb_chaos_fault *out, struct rb_err *err)
{
    const char *names[RB_CHAOS_N_FAULTS];
    for (int k = 0; k < RB_CHAOS_N_FAULTS; k++) {
        names[k] = faults[k].name;
        if (strcmp(names[k], name) == 0) {
            *out = (enum rb_chaos_fault)k;
            return true;
        }
    }
    const char *closest = rb_closest(name, names, RB_CHAOS_N_FAULTS);
    return rb_node_refuse(node, err, RB_E_CHAOS, "unknown fault %.60s%s%s; docs/formats/chaos.md lists them", name,
                          closest ? ", did you mean " : "", closest ? closest : "");
}

static bool read_what(const struct rb_node *node, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    const char *name;
    if (node->kind != RB_NODE_MAP) {
        static const struct rb_node nothing = {.kind = RB_NODE_MAP};
        struct rb_map none = {.node = &nothing};
        if (!rb_node_string(node, &name, err) || !find_fault(node, name, &r->fault, err))
            return false;
        if (faults[r->fault].needs_parameters)
            return rb_node_refuse(node, err, RB_E_CHAOS, "%s needs its parameters: {%s: {...}}", name, name);
        return faults[r->fault].read(&none, arena, r, err);
    }
    if (node->n_children != 1)
        return rb_node_refuse(node, err, RB_E_CHAOS, "expected one fault, got %d; make it a rule each",
                              node->n_children);
    struct rb_map m;
    return find_fault(node->first, node->first->key, &r->fault, err) && rb_map_begin(&m, node->first, err) &&
           faults[r->fault].read(&m, arena, r, err) && rb_map_end(&m, err);
}

// --- where and when ---

static bool read_where(const struct rb_node *node, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    static const char *const fronts[] = {"ec2", "gcp"}, *const markets[] = {"on_demand", "spot"};
    struct rb_map m;
    int which;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err))
        return false;
    const struct rb_node *front = rb_map_get(&m, "front"), *market = rb_map_get(&m, "market");
    if (front) {
        if (!rb_node_choice(front, fronts, 2, &which, err))
            return false;
        r->front = fronts[which];
    }
    if (market) {
        if (!rb_node_choice(market, markets, 2, &which, err))
            return false;
        r->has_market = true;
        r->market = which == 0 ? RB_MARKET_ON_DEMAND : RB_MARKET_SPOT;
    }
    return get_text(&m, "action", arena, &r->action, err) && get_text(&m, "region", arena, &r->region, err) &&
           get_text(&m, "zone", arena, &r->zone, err) && get_text(&m, "instance_type", arena, &r->instance_type, err) &&
           rb_map_end(&m, err);
}

static bool read_when(const struct rb_node *node, struct rb_chaos_rule *r, struct rb_err *err)
{
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err) || !get_duration(&m, "after", &r->after_us, err) ||
        !get_duration(&m, "until", &r->until_us, err) || !get_int(&m, "call", 1, MAX_COUNT, &r->call, err) ||
        !get_int(&m, "every", 1, MAX_COUNT, &r->every, err) ||
        !get_double(&m, "probability", 0, 1, &r->probability, err) || !rb_map_end(&m, err))
        return false;
    if (r->until_us <= r->after_us)
        return rb_node_refuse(node, err, RB_E_CHAOS, "`until` must be later than `after`");
    return true;
}

static bool read_rule(const struct rb_node *node, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *what;
    *r = (struct rb_chaos_rule){
        .until_us = INT64_MAX, .call = 1, .every = 1, .probability = 1, .times = INT64_MAX, .name = "unnamed"};
    return rb_map_begin(&m, node, err) && get_text(&m, "name", arena, &r->name, err) &&
           read_where(rb_map_get(&m, "where"), arena, r, err) && read_when(rb_map_get(&m, "when"), r, err) &&
           get_int(&m, "times", 1, MAX_COUNT, &r->times, err) && rb_map_need(&m, "what", &what, err) &&
           read_what(what, arena, r, err) && rb_map_end(&m, err);
}

// --- the file ---

static bool read_root(const struct rb_node *root, struct rb_arena *arena, struct rb_chaos_rules *out,
                      struct rb_err *err)
{
    static const char *const formats[] = {"rb-chaos/1"};
    struct rb_map m;
    const struct rb_node *format, *list;
    int which, n = 0;
    if (!rb_map_begin(&m, root, err) || !rb_map_need(&m, "format", &format, err) ||
        !rb_node_choice(format, formats, 1, &which, err) || !rb_map_need(&m, "rules", &list, err) ||
        !rb_node_list(list, err) || !rb_map_end(&m, err))
        return false;
    if (list->n_children > MAX_RULES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected at most %d rules, got %d", MAX_RULES,
                              list->n_children);
    struct rb_chaos_rule *rules = rb_arena_array(arena, (size_t)list->n_children + 1, sizeof *rules);
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read_rule(child, arena, &rules[n++], err))
            return false;
    *out = (struct rb_chaos_rules){.rules = rules, .n = n};
    return true;
}

bool rb_chaos_parse(const char *name, const char *yaml, size_t n, struct rb_arena *arena, struct rb_chaos_rules *out,
                    struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_yaml(&doc, name, yaml, n, err) && read_root(doc.root, arena, out, err);
}

bool rb_chaos_read(const char *path, struct rb_arena *arena, struct rb_chaos_rules *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_read(&doc, path, err) && read_root(doc.root, arena, out, err);
}
