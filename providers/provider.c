// The table of providers, and the way from "aws/us-east-1" into it.
#include "providers/provider.h"

#include "profiles/catalog/infra.h"
#include "profiles/job/job.h"
#include "providers/ec2/ec2.h"
#include "providers/gcp/gcp.h"
#include "providers/k8s/k8s.h"
#include "providers/local/local.h"
#include "providers/slurm/slurm.h"

#include <stdio.h>
#include <string.h>

const struct rb_provider_ops *const rb_provider_table[] = {
    &rb_provider_aws, &rb_provider_gcp, &rb_provider_k8s, &rb_provider_local, &rb_provider_mock, &rb_provider_slurm, NULL,
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
        return rb_err_set(err, RB_E_LENT_ELSEWHERE,
                          "infra %s: its nodes are lent by the run that owns them: rbrun --pool", infra);
    if (!rb_infra_is_priceable(infra))
        return rb_err_set(err, RB_E_REGION, "infra %s: expected a region, such as %s/%s", infra, infra,
                          strcmp(ops->name, "gcp") == 0 ? "us-central1" : "us-east-1");
    const char *region = infra[name_len] ? infra + name_len + 1 : "";
    snprintf(out_region, 64, "%.*s", (int)strcspn(region, "/"), region);
    *out = ops;
    return true;
}

static const char *copy_or_null(struct rb_arena *a, const char *s)
{
    return s ? rb_arena_strdup(a, s) : NULL;
}

void rb_launch_copy(struct rb_arena *a, const struct rb_launch *from, struct rb_launch *to)
{
    *to = *from;
    to->token = copy_or_null(a, from->token);
    to->region = copy_or_null(a, from->region);
    to->zone = copy_or_null(a, from->zone);
    to->instance_type = copy_or_null(a, from->instance_type);
    to->image_id = copy_or_null(a, from->image_id);
    to->user_data = copy_or_null(a, from->user_data);
    to->subnet = copy_or_null(a, from->subnet);
    to->instance_profile = copy_or_null(a, from->instance_profile);
    to->placement_group = copy_or_null(a, from->placement_group);
    if (from->reservation) {
        struct rb_reservation *r = rb_arena_alloc(a, sizeof *r);
        *r = *from->reservation;
        r->infra = copy_or_null(a, r->infra);
        r->instance_type = copy_or_null(a, r->instance_type);
        r->id = copy_or_null(a, r->id);
        to->reservation = r;
    }
    struct rb_tag *tags = rb_arena_array(a, (size_t)from->n_tags, sizeof *tags);
    for (int i = 0; i < from->n_tags; i++)
        tags[i] = (struct rb_tag){rb_arena_strdup(a, from->tags[i].key), rb_arena_strdup(a, from->tags[i].value)};
    const char **groups = rb_arena_array(a, (size_t)from->n_security_groups, sizeof *groups);
    for (int i = 0; i < from->n_security_groups; i++)
        groups[i] = rb_arena_strdup(a, from->security_groups[i]);
    to->tags = tags;
    to->security_groups = groups;
}

void rb_launch_take(struct rb_launch *launch, const struct rb_resources *resources)
{
    launch->security_groups = resources->security_groups.items;
    launch->n_security_groups = resources->security_groups.n;
    launch->subnet = resources->subnets.n > 0 ? resources->subnets.items[0] : NULL;
    launch->instance_profile = resources->instance_profile;
}

int rb_launch_count(const struct rb_launch *launch)
{
    return launch->count > 1 ? launch->count : 1;
}

const char *rb_launch_tag(const struct rb_launch *launch, const char *key)
{
    for (int i = 0; i < launch->n_tags; i++)
        if (strcmp(launch->tags[i].key, key) == 0)
            return launch->tags[i].value;
    return NULL;
}

bool rb_instance_is_another(const struct rb_provider *p, const char *address, const struct rb_instance *now)
{
    return p->ops->keeps_addresses && now->state <= RB_INSTANCE_RUNNING && address[0] && now->address &&
           strcmp(address, now->address) != 0;
}
