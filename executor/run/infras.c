#include "executor/run/infras.h"

#include "profiles/catalog/infra.h"

#include <stdio.h>
#include <string.h>

void rb_infra_without_zone(const char *infra, char out[static 64])
{
    snprintf(out, 64, "%s", infra);
    char *slash = strchr(out, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    if (slash)
        *slash = '\0';
}

int rb_run_infras(const struct rb_plan *plan, char out[][64], int max)
{
    int n = 0;
    for (int i = 0; i < plan->n_offers; i++) {
        char infra[64];
        rb_infra_without_zone(plan->offers[i].infra, infra);
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || strcmp(out[k], infra) == 0;
        if (!known && n < max)
            strcpy(out[n++], infra);
    }
    return n;
}

bool rb_infra_is_harmless(const char *infra)
{
    char region[64];
    const struct rb_provider_ops *ops;
    return rb_provider_find(infra, &ops, region, NULL) && ops->is_harmless(region);
}

bool rb_infra_open(const char *infra, const struct rb_provider_config *with, struct rb_provider *out,
                   struct rb_err *err)
{
    const struct rb_provider_ops *ops;
    char region[64];
    if (!rb_provider_find(infra, &ops, region, err))
        return false;
    struct rb_provider_config config = *with;
    config.region = region;
    config.loopback_only = rb_infra_within(infra, "mock");
    return ops->create(&config, out, err) || rb_err_prefix(err, "%s", infra);
}
