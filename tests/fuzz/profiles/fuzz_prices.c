// Any bytes as a price list: refused with a place, or a sorted catalogue without an unknown price.
#include "fuzz.h"

#include "profiles/catalog/catalog.h"
#include "profiles/catalog/infra.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool parse(const char *bytes, size_t n, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err)
{
    struct rb_csv csv;
    if (!rb_csv_parse(&csv, "prices.csv", bytes, n, err))
        return false;
    const bool ok = rb_catalog_from_csv(&csv, arena, out, err);
    rb_csv_finish(&csv);
    return ok;
}

static void check_offers(const struct rb_catalog *c)
{
    for (int i = 0; i < c->n_offers; i++) {
        const struct rb_offer *o = &c->offers[i];
        require(o->gpus >= 1 && o->instance_type[0] && o->accelerator[0]);
        require(o->rate.uusd_per_hour > 0 || (o->declared_free && rb_infra_may_be_free(o->infra)));
        require(i == 0 || strcmp(c->offers[i - 1].infra, o->infra) <= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_catalog catalog;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    if (parse((const char *)bytes, n, &arena, &catalog, &err))
        check_offers(&catalog);
    else
        require(err.code == RB_ERR_INVALID && strcmp(err.file, "prices.csv") == 0 && err.message[0]);
    rb_arena_finish(&arena);
    return 0;
}
