#include "executor/campaign/price_fetch.h"

#include "executor/run/infras.h"
#include "executor/transport/loop_uv.h"
#include "providers/provider.h"
#include "providers/wire/http.h"

#include <string.h>

struct fetch {
    const char *infra;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider provider;
    rb_prices_fn *fn; // of one of them
    rb_reservations_found_fn *found;
    rb_spot_history_found_fn *changed;
    void *ctx;
    bool ok;
    struct rb_err err; // if not ok
};

static void finish(struct fetch *f)
{
    if (f->provider.ops)
        f->provider.ops->destroy(&f->provider);
    rb_http_destroy(f->http);
    rb_loop_uv_destroy(f->uv);
}

static bool open_provider(struct fetch *f, const struct rb_catalog *known, struct rb_err *err)
{
    const struct rb_provider_ops *ops;
    char region[64];
    if (!rb_provider_find(f->infra, &ops, region, err))
        return false;
    if (f->fn && (!ops->offers || ops->is_in_process))
        return rb_err_set(err, RB_E_NO_PRICE_LIST,
                          "--infra %s: no cloud has prices for it; import your own with --from FILE", f->infra);
    if (f->found && !ops->reservations)
        return rb_err_set(err, RB_E_RESERVATIONS_UNLISTED,
                          "--infra %s: rbprofile cannot list reservations there (it can on aws and gcp); write yours into the job: "
                          "resources.reservations",
                          f->infra);
    if (f->changed && !ops->spot_history)
        return rb_err_set(err, RB_E_NO_SPOT_HISTORY,
                          "--infra %s: there is no history of spot prices there (only EC2 has one); with a table of your own: "
                          "rbprofile import CAPACITY.csv",
                          f->infra);
    if (strcmp(f->infra + strlen(ops->name) + 1, region) != 0)
        return rb_err_set(err, RB_E_REGION_EXPECTED, "--infra %s: expected a region, not a zone: %s/%s", f->infra, ops->name,
                          region);
    f->uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(f->uv), &f->http, err))
        return false;
    const struct rb_provider_config config = {
        .loop = rb_loop_uv_loop(f->uv),
        .http = f->http,
        .prices = known,
    };
    return rb_infra_open(f->infra, &config, &f->provider, err);
}

static void offered(void *arg, const struct rb_err *err, const struct rb_catalog *catalog)
{
    struct fetch *f = arg;
    if (err)
        f->err = *err;
    f->ok = !err && f->fn(f->ctx, catalog, &f->err);
    rb_loop_uv_stop(f->uv);
}

static void found(void *arg, const struct rb_err *err, const struct rb_reservation *all, int n)
{
    struct fetch *f = arg;
    if (err)
        f->err = *err;
    f->ok = !err && f->found(f->ctx, all, n, &f->err);
    rb_loop_uv_stop(f->uv);
}

bool rb_reservations_fetch(const char *infra, rb_reservations_found_fn *fn, void *ctx, struct rb_err *err)
{
    RB_AUTO(finish) struct fetch f = {.infra = infra, .found = fn, .ctx = ctx};
    if (!open_provider(&f, NULL, err))
        return false;
    f.provider.ops->reservations(&f.provider, found, &f);
    rb_loop_uv_run(f.uv);
    if (!f.ok)
        *err = f.err;
    return f.ok;
}

static void changes_found(void *arg, const struct rb_err *err, const struct rb_spot_change *all, int n)
{
    struct fetch *f = arg;
    if (err)
        f->err = *err;
    f->ok = !err && f->changed(f->ctx, all, n, &f->err);
    rb_loop_uv_stop(f->uv);
}

bool rb_spot_history_fetch(const char *infra, const char *const *types, int n_types, int64_t from_unix_us,
                           rb_spot_history_found_fn *fn, void *ctx, struct rb_err *err)
{
    RB_AUTO(finish) struct fetch f = {.infra = infra, .changed = fn, .ctx = ctx};
    if (!open_provider(&f, NULL, err))
        return false;
    f.provider.ops->spot_history(&f.provider, types, n_types, from_unix_us, changes_found, &f);
    rb_loop_uv_run(f.uv);
    if (!f.ok)
        *err = f.err;
    return f.ok;
}

bool rb_prices_fetch(const char *infra, const char *const *types, int n_types, const struct rb_catalog *known,
                     rb_prices_fn *fn, void *ctx, struct rb_err *err)
{
    RB_AUTO(finish) struct fetch f = {.infra = infra, .fn = fn, .ctx = ctx};
    if (!open_provider(&f, known, err))
        return false;
    f.provider.ops->offers(&f.provider, types, n_types, offered, &f);
    rb_loop_uv_run(f.uv);
    if (!f.ok)
        *err = f.err;
    return f.ok;
}
