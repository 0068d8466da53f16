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
    to->tags.name = copy_or_null(a, from->tags.name);
    to->tags.run_id = copy_or_null(a, from->tags.run_id);
    to->tags.launch_id = copy_or_null(a, from->tags.launch_id);
    to->tags.owner = copy_or_null(a, from->tags.owner);
    to->tags.expires_at = copy_or_null(a, from->tags.expires_at);
    const char **groups = rb_arena_array(a, (size_t)from->n_security_groups, sizeof *groups);
    for (int i = 0; i < from->n_security_groups; i++)
        groups[i] = rb_arena_strdup(a, from->security_groups[i]);
    to->security_groups = groups;
}

void rb_launch_wipe(struct rb_launch *copy)
{
    if (copy->user_data)
        explicit_bzero((char *)copy->user_data, strlen(copy->user_data));
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

int rb_tags_list(const struct rb_tags *tags, struct rb_tag out[static RB_TAGS])
{
    const struct rb_tag all[RB_TAGS] = {{RB_TAG_NAME, tags->name},
                                        {RB_TAG_RUN, tags->run_id},
                                        {RB_TAG_LAUNCH, tags->launch_id},
                                        {RB_TAG_OWNER, tags->owner},
                                        {RB_LEASE_TAG, tags->expires_at}};
    int n = 0;
    for (int i = 0; i < RB_TAGS; i++)
        if (all[i].value)
            out[n++] = all[i];
    return n;
}

void rb_instance_read_tags(struct rb_instance *i, const char *(*value)(void *from, const char *key), void *from)
{
    i->owner = value(from, RB_TAG_OWNER);
    i->run_id = value(from, RB_TAG_RUN);
    i->launch_id = value(from, RB_TAG_LAUNCH);
    i->expires_at = value(from, RB_LEASE_TAG);
}

bool rb_instance_is_another(const struct rb_provider *p, const char *address, const struct rb_instance *now)
{
    return p->ops->keeps_addresses && now->state <= RB_INSTANCE_RUNNING && address[0] && now->address &&
           strcmp(address, now->address) != 0;
}
