// Reads rb-chaos/1 strictly. A fault is a word, or a map of one word to its parameters; a parameter that the fault has
// no use for is an unknown key.
#include "providers/mock/cloud/chaos.h"
#include "providers/mock/cloud/members.h"

#include <string.h>

#define MAX_RULES     256
#define MAX_COUNT     1000000000
#define MAX_FACTOR    1e6
#define MAX_BYTES_S   1000000000
#define MAX_PAGE      1000
#define DEFAULT_DRIP  64
#define MAX_CUT       1000000000000
#define DEFAULT_SKEW  (20 * 60 * RB_US_PER_S) // beyond the 15 minutes that EC2 forgives
#define DEFAULT_DEATH (7 * 60 * RB_US_PER_S)

// --- what: parameters of each fault ---

#define AT(field) offsetof(struct rb_chaos_rule, field)
#define NAME      .refusal = "expected a word, got nothing; leave the key out to mean any"

static const struct rb_member no_parameters[] = {{0}},
                              after_effect[] = {{"after_effect", RB_MEMBER_BOOL, AT(after_effect)}, {0}},
                              skew[] = {{"by", RB_MEMBER_DURATION, AT(delay_us)}, {0}},
                              moment[] = {{"after", RB_MEMBER_DURATION, AT(delay_us)}, {0}},
                              code[] = {{"code", RB_MEMBER_TEXT, AT(code), NAME}, {0}},
                              fraction[] = {{"fraction", RB_MEMBER_DOUBLE, AT(fraction), .max = 0.999}, {0}},
                              factor[] = {{"factor", RB_MEMBER_DOUBLE, AT(factor), .max = MAX_FACTOR}, {0}},
                              page[] = {{"items", RB_MEMBER_INT, AT(items), .max = MAX_PAGE}, {0}};
static const struct rb_member drip[] = {{"bytes_per_s", RB_MEMBER_INT, AT(bytes_per_s), .min = 1, .max = MAX_BYTES_S},
                                        {0}};
static const struct rb_member unreachable[] = {{"zone", RB_MEMBER_TEXT, AT(unreachable_zone), .needed = true, NAME},
                                               {0}};
static const struct rb_member field[] = {{"field", RB_MEMBER_TEXT, AT(field), .needed = true, NAME}, {0}};
static const struct rb_member cut[] = {{"bytes", RB_MEMBER_INT, AT(bytes), .max = MAX_CUT}, {0}};
static const struct rb_member error[] = {
    {"code", RB_MEMBER_TEXT, AT(code), .needed = true, NAME},
    {"status", RB_MEMBER_INT, AT(status), .min = 400, .max = 599},
    {"message", RB_MEMBER_TEXT, AT(message), NAME},
    {"after_effect", RB_MEMBER_BOOL, AT(after_effect)},
    {0},
};

static const struct {
    const char *name;
    const struct rb_member *parameters;
    bool needs_parameters;
    int64_t delay_us; // the default
} faults[RB_CHAOS_N_FAULTS] = {
    [RB_CHAOS_CLOCK_SKEW] = {"clock_skew", skew, false, DEFAULT_SKEW},
    [RB_CHAOS_THROTTLE] = {"throttle", no_parameters},
    [RB_CHAOS_ERROR] = {"error", error, true},
    [RB_CHAOS_HTML_502] = {"html_502", after_effect},
    [RB_CHAOS_CONNECTION_RESET] = {"connection_reset", no_parameters},
    [RB_CHAOS_LOST_RESPONSE] = {"lost_response", no_parameters},
    [RB_CHAOS_TRUNCATED_BODY] = {"truncated_body", fraction},
    [RB_CHAOS_SLOW_DRIP] = {"slow_drip", drip},
    [RB_CHAOS_PARTIAL_PAGE] = {"partial_page", page},
    [RB_CHAOS_UNREACHABLE] = {"unreachable", unreachable, true},
    [RB_CHAOS_DROPPED_FIELD] = {"dropped_field", field, true},
    [RB_CHAOS_EXEC_CUT] = {"exec_cut", cut},
    [RB_CHAOS_NO_STATUS] = {"no_status", no_parameters},
    [RB_CHAOS_FAILS_TO_START] = {"fails_to_start", code},
    [RB_CHAOS_NEVER_BOOTS] = {"never_boots", no_parameters},
    [RB_CHAOS_BOOTS_SLOWLY] = {"boots_slowly", factor},
    [RB_CHAOS_DIES_AT] = {"dies_at", moment, false, DEFAULT_DEATH},
    [RB_CHAOS_WRONG_MARKET] = {"wrong_market", no_parameters},
    [RB_CHAOS_INTERRUPTED] = {"interrupted", moment, false, DEFAULT_DEATH},
    [RB_CHAOS_REPLACED] = {"replaced", moment, false, DEFAULT_DEATH},
};

const char *rb_chaos_fault_name(enum rb_chaos_fault fault)
{
    return faults[fault].name;
}

static bool find_fault(const struct rb_node *node, const char *name, struct rb_chaos_rule *r, struct rb_err *err)
{
    const char *names[RB_CHAOS_N_FAULTS];
    for (int k = 0; k < RB_CHAOS_N_FAULTS; k++) {
        names[k] = faults[k].name;
        if (strcmp(names[k], name) == 0) {
            r->fault = (enum rb_chaos_fault)k;
            r->delay_us = faults[k].delay_us;
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
    if (node->kind != RB_NODE_MAP)
        return rb_node_string(node, &name, err) && find_fault(node, name, r, err) &&
               (!faults[r->fault].needs_parameters ||
                rb_node_refuse(node, err, RB_E_CHAOS, "%s needs its parameters: {%s: {...}}", name, name));
    if (node->n_children != 1)
        return rb_node_refuse(node, err, RB_E_CHAOS, "expected one fault, got %d; make it a rule each",
                              node->n_children);
    return find_fault(node->first, node->first->key, r, err) &&
           rb_members_read(node->first, faults[r->fault].parameters, arena, r, err);
}

// --- where and when ---

_Static_assert(RB_MARKET_ON_DEMAND == 0 && RB_MARKET_SPOT == 1, "a choice of markets is a market");
_Static_assert(sizeof(enum rb_market) == sizeof(int), "a choice is an int");

static const struct rb_member where[] = {
    {"front", RB_MEMBER_WORD, AT(front), .choices = {"ec2", "gcp", "k8s"}},
    {"market", RB_MEMBER_CHOICE, AT(market), .choices = {"on_demand", "spot"}},
    {"action", RB_MEMBER_TEXT, AT(action), NAME},
    {"region", RB_MEMBER_TEXT, AT(region), NAME},
    {"zone", RB_MEMBER_TEXT, AT(zone), NAME},
    {"instance_type", RB_MEMBER_TEXT, AT(instance_type), NAME},
    {0},
};
static const struct rb_member when[] = {
    {"after", RB_MEMBER_DURATION, AT(after_us)},
    {"until", RB_MEMBER_DURATION, AT(until_us)},
    {"call", RB_MEMBER_INT, AT(call), .min = 1, .max = MAX_COUNT},
    {"every", RB_MEMBER_INT, AT(every), .min = 1, .max = MAX_COUNT},
    {"probability", RB_MEMBER_DOUBLE, AT(probability), .max = 1},
    {0},
};

static bool read_rule(const struct rb_node *node, struct rb_arena *arena, struct rb_chaos_rule *r, struct rb_err *err)
{
    static const struct rb_member simple[] = {
        {"name", RB_MEMBER_TEXT, AT(name), NAME},
        {"where", RB_MEMBER_MAP, RB_MEMBER_IGNORED, .members = where},
        {"when", RB_MEMBER_MAP, RB_MEMBER_IGNORED, .members = when},
        {"times", RB_MEMBER_INT, AT(times), .min = 1, .max = MAX_COUNT},
        {0},
    };
    struct rb_map m;
    const struct rb_node *what;
    *r = (struct rb_chaos_rule){.name = "unnamed",
                                .until_us = INT64_MAX,
                                .call = 1,
                                .every = 1,
                                .probability = 1,
                                .times = INT64_MAX,
                                .status = 500,
                                .message = "We are sorry",
                                .fraction = 0.5,
                                .factor = 2,
                                .bytes_per_s = DEFAULT_DRIP,
                                .items = 1};
    if (!rb_map_begin(&m, node, err) || !rb_members_get(&m, simple, arena, r, err))
        return false;
    r->has_market = rb_node_member(rb_node_member(node, "where"), "market") != NULL;
    if (r->until_us <= r->after_us)
        return rb_node_refuse(rb_map_get(&m, "when"), err, RB_E_CHAOS, "`until` must be later than `after`");
    return rb_map_need(&m, "what", &what, err) && read_what(what, arena, r, err) && rb_map_end(&m, err);
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
