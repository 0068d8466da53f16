// The table of providers, and the way from "aws/us-east-1" into it.
#include "providers/provider.h"

#include "profiles/infra.h"
#include "providers/ec2.h"
#include "providers/local.h"

#include <stdio.h>
#include <string.h>

const struct rb_provider_ops *const rb_provider_table[] = {
    &rb_provider_aws,
    &rb_provider_local,
    &rb_provider_mock,
    NULL,
};

static const struct rb_provider_ops *find(const char *name, size_t len)
{
    for (const struct rb_provider_ops *const *ops = rb_provider_table; *ops; ops++)
        if (strncmp((*ops)->name, name, len) == 0 && (*ops)->name[len] == '\0')
            return *ops;
    return NULL;
}

bool rb_provider_find(const char *infra, const struct rb_provider_ops **out, char out_region[static 64],
                      struct rb_err *err)
{
    if (!rb_infra_check(infra, err))
        return rb_err_prefix(err, "infra");
    const size_t name_len = strcspn(infra, "/");
    const struct rb_provider_ops *ops = find(infra, name_len);
    if (!ops)
        return rb_err_set(err, RB_ERR_INVALID, "infra %s: not supported yet; expected aws/REGION, mock/REGION or local",
                          infra);
    if (!rb_infra_is_priceable(infra))
        return rb_err_set(err, RB_ERR_INVALID, "infra %s: expected a region, such as %s/us-east-1", infra, infra);
    const char *region = infra[name_len] ? infra + name_len + 1 : "";
    snprintf(out_region, 64, "%.*s", (int)strcspn(region, "/"), region);
    *out = ops;
    return true;
}
