// --market FILE[:SET][@START]: spot markets from a table of capacity, which begins at START of it.
#include "commands/rbsim/rbsim.h"

#include <string.h>

static bool read_option(struct rb_sim_command *c, const char *text, struct rb_capacity_table *out, int64_t *out_from_us,
                        struct rb_err *err)
{
    char *path = rb_arena_strdup(&c->in.arena, text), *start = strrchr(path, '@');
    struct rb_csv csv;
    struct rb_err cause;
    *out_from_us = 0;
    if (start && !rb_parse_duration(start + 1, out_from_us, &cause))
        return rb_err_set(err, RB_E_OPTION_VALUE, "--market %.80s: expected FILE[:SET][@START], as in capacity.csv@36h: %s",
                          text, cause.message);
    if (start)
        *start = '\0';
    char *set = strrchr(path, ':');
    if (set)
        *set++ = '\0';
    if (!rb_csv_read(&csv, path, err))
        return false;
    const bool ok = rb_capacity_from_csv(&csv, set, &c->in.arena, out, err);
    rb_csv_finish(&csv);
    return ok;
}

static bool is_asked(const struct rb_capacity_table *t, const struct rb_plan *plan)
{
    for (int i = 0; i < plan->n_offers; i++) {
        if (rb_capacity_find(t, &plan->offers[i]))
            return true;
    }
    return false;
}

bool rb_sim_open_market(struct rb_sim_command *c, struct rb_err *err)
{
    const char *text = rb_args_string(c->args, "market", NULL);
    struct rb_capacity_table *t = rb_arena_array(&c->in.arena, 1, sizeof *t);
    struct rb_market_replay *replay = rb_arena_array(&c->in.arena, 1, sizeof *replay);
    if (!text)
        return true;
    *replay = (struct rb_market_replay){.table = t};
    if (!read_option(c, text, t, &replay->from_us, err))
        return false;
    for (int i = 0; i < c->sim.n_variants; i++) {
        if (!is_asked(t, &c->sim.variants[i].plan))
            return rb_err_set(err, RB_E_OPTION_VALUE,
                              "--market %.80s: expected a spot offer of the plan among its zones and types, such as %.80s "
                              "%.60s: name the zone in resources.infra, or the prices of zones",
                              text, t->markets[0].infra, t->markets[0].instance_type);
    }
    c->sim.market = replay;
    return true;
}
