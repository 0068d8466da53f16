#include "executor/run/infras.h"

#include "profiles/catalog/infra.h"

#include <stdio.h>
#include <string.h>

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
