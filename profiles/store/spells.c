#include "profiles/store/spells.h"

#include "base/text/units.h"
#include "profiles/job/keys.h"

#define MAX_STEPS         64 // ages at which the hazard changes
#define MAX_DAYS          36500.0
#define MAX_REGION_FACTOR 1e6

static bool need_dist(struct rb_map *m, const char *key, struct rb_arena *arena, struct rb_dist *out,
                      struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_dist_read(node, arena, out, err);
}

// Shorter spells are no market, but a refusal of every request.
static bool check_up(struct rb_map *m, const struct rb_dist *up_s, struct rb_err *err)
{
    return rb_dist_mean(up_s) >= 1 || rb_node_refuse(rb_map_get(m, "up_s"), err, RB_E_OUT_OF_RANGE,
                                                     "expected a mean of at least 1 second, got %g", rb_dist_mean(up_s));
}

static bool read_step(const struct rb_node *node, struct rb_hazard_step *out, struct rb_err *err)
{
    static const char *const keys[] = {"from_s", "per_hour", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) &&
           rb_map_need_double(&m, "from_s", 0, RB_DIST_MAX_MEAN, &out->from_s, err) &&
           rb_map_need_double(&m, "per_hour", 0, RB_MAX_PREEMPTIONS, &out->per_hour, err);
}

static bool check_age(const struct rb_node *node, const struct rb_hazard_step *step,
                      const struct rb_hazard_step *before, struct rb_err *err)
{
    if (!before && step->from_s > 0)
        return rb_node_refuse(node, err, RB_E_ORDER, "expected from_s 0 first: nodes begin at that age");
    return !before || step->from_s > before->from_s ||
           rb_node_refuse(node, err, RB_E_ORDER, "expected a from_s above %g, that of the entry before",
                          before->from_s);
}

static bool read_hazard(const struct rb_node *list, struct rb_arena *arena, struct rb_hazard *out, struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > MAX_STEPS)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d entries {from_s, per_hour}, got %d",
                              MAX_STEPS, list->n_children);
    struct rb_hazard_step *steps = rb_arena_array(arena, (size_t)list->n_children, sizeof *steps);
    int n = 0;
    for (const struct rb_node *child = list->first; child; child = child->next, n++) {
        if (!read_step(child, &steps[n], err) || !check_age(child, &steps[n], n > 0 ? &steps[n - 1] : NULL, err))
            return false;
    }
    *out = (struct rb_hazard){.per_hour = steps[0].per_hour, .later = steps + 1, .n_later = n - 1};
    return true;
}

static bool need_price(struct rb_map *m, const char *key, int64_t least_uusd, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_money(node, out, err) &&
           (*out >= least_uusd ||
            rb_node_refuse(node, err, RB_E_SPOT_PRICE, "expected 0 < p5 <= p95 and 0 < mean, in dollars an hour"));
}

// Absent: not known.
static bool read_price(const struct rb_node *node, struct rb_price_range *out, struct rb_err *err)
{
    static const char *const keys[] = {"mean", "p5", "p95", NULL};
    struct rb_map m;
    *out = (struct rb_price_range){0};
    return !node || (rb_keys_begin(&m, node, keys, err) && need_price(&m, "mean", 1, &out->mean_uusd, err) &&
                     need_price(&m, "p5", 1, &out->p5_uusd, err) &&
                     need_price(&m, "p95", out->p5_uusd, &out->p95_uusd, err));
}

bool rb_spells_read(const struct rb_node *node, struct rb_arena *arena, struct rb_spells *out, struct rb_err *err)
{
    static const char *const keys[] = {"sampled_s", "days",          "up_s",   "down_s",
                                       "together",  "region_factor", "hazard", "price", NULL};
    struct rb_spells s;
    struct rb_map m;
    const struct rb_node *hazard;
    if (!rb_keys_begin(&m, node, keys, err) ||
        !rb_map_need_double(&m, "sampled_s", 0, RB_DIST_MAX_MEAN, &s.sampled_s, err) ||
        !rb_map_need_double(&m, "days", 0, MAX_DAYS, &s.days, err) || !need_dist(&m, "up_s", arena, &s.up_s, err) ||
        !check_up(&m, &s.up_s, err) || !need_dist(&m, "down_s", arena, &s.down_s, err) ||
        !rb_map_need_double(&m, "together", 0, 1, &s.together, err) ||
        !rb_keys_double(&m, "region_factor", 0, MAX_REGION_FACTOR, -1, &s.region_factor, err) ||
        !rb_map_need(&m, "hazard", &hazard, err) || !read_hazard(hazard, arena, &s.hazard, err) ||
        !read_price(rb_keys_given(&m, "price"), &s.price, err))
        return false;
    *out = s;
    return true;
}

static double dollars(int64_t uusd)
{
    return (double)uusd / (double)RB_UUSD;
}

void rb_spells_write(const struct rb_spells *s, struct rb_json *j)
{
    rb_json_put(j, "{sampled_s: %g days: %g", s->sampled_s, s->days);
    rb_json_key(j, "up_s");
    rb_dist_write(&s->up_s, j);
    rb_json_key(j, "down_s");
    rb_dist_write(&s->down_s, j);
    rb_json_kdouble(j, "together", s->together);
    if (s->region_factor >= 0)
        rb_json_kdouble(j, "region_factor", s->region_factor);
    rb_json_put(j, "hazard: [{from_s: %d per_hour: %g}", 0, s->hazard.per_hour);
    for (int i = 0; i < s->hazard.n_later; i++)
        rb_json_put(j, "{from_s: %g per_hour: %g}", s->hazard.later[i].from_s, s->hazard.later[i].per_hour);
    rb_json_put(j, "]");
    if (s->price.mean_uusd > 0)
        rb_json_put(j, "price: {mean: %g p5: %g p95: %g}", dollars(s->price.mean_uusd), dollars(s->price.p5_uusd),
                    dollars(s->price.p95_uusd));
    rb_json_put(j, "}");
}
