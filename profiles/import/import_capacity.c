#include "profiles/import/import_capacity.h"

#include "profiles/fit/market_fit.h"

bool rb_markets_from_csv(const struct rb_csv *csv, const struct rb_capacity_options *o, struct rb_arena *arena,
                         const struct rb_spot_market **out, int *out_n, struct rb_err *err)
{
    struct rb_capacity_table t;
    if (!rb_capacity_from_csv(csv, o->set, arena, &t, err))
        return false;
    struct rb_spot_market *markets = rb_arena_array(arena, (size_t)t.n, sizeof *markets);
    for (int i = 0; i < t.n; i++) {
        struct rb_err cause;
        markets[i] = (struct rb_spot_market){.infra = t.markets[i].infra, .instance_type = t.markets[i].instance_type};
        if (!rb_market_fit(t.markets, t.n, i, o->sampled_s, o->has_together ? o->together : -1, arena,
                           &markets[i].spells, &cause))
            return rb_err_set_at(err, rb_err_number(&cause), (struct rb_place){.file = csv->file}, NULL, "%s",
                                 cause.message);
    }
    *out = markets;
    *out_n = t.n;
    return true;
}
