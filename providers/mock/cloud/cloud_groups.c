// Placement groups: names that hold instances together.
#include "providers/mock/cloud/cloud_state.h"

#include <string.h>

static struct rb_cloud_group *find(const struct rb_cloud *c, const char *region, const char *name)
{
    for (int k = 0; k < c->n_groups; k++)
        if (!c->groups[k]->deleted && strcmp(c->groups[k]->region, region) == 0 &&
            strcmp(c->groups[k]->name, name) == 0)
            return c->groups[k];
    return NULL;
}

const struct rb_cloud_group *rb_cloud_find_group(const struct rb_cloud *c, const char *region, const char *name)
{
    return find(c, region, name);
}

int rb_cloud_n_groups(const struct rb_cloud *c)
{
    return c->n_groups;
}

const struct rb_cloud_group *rb_cloud_group(const struct rb_cloud *c, int k)
{
    return c->groups[k];
}

const char *rb_cloud_group_zone(const struct rb_cloud *c, const struct rb_cloud_group *g)
{
    for (int k = 0; k < c->n_active; k++)
        if (c->instances[c->active[k]]->group == g)
            return c->instances[c->active[k]]->zone;
    return NULL;
}

enum rb_cloud_answer rb_cloud_create_group(struct rb_cloud *c, const char *region, const char *name,
                                           const struct rb_cloud_tag *tags, int n_tags)
{
    if (find(c, region, name))
        return RB_CLOUD_GROUP_EXISTS;
    struct rb_cloud_group *g = rb_arena_alloc(&c->arena, sizeof *g);
    *g = (struct rb_cloud_group){.name = rb_arena_strdup(&c->arena, name),
                                 .region = rb_arena_strdup(&c->arena, region),
                                 .tags = rb_cloud_copy_tags(c, tags, n_tags),
                                 .n_tags = n_tags};
    rb_cloud_make_id(c, "pg", g->id);
    c->groups = rb_cloud_grown(c->groups, c->n_groups, &c->cap_groups, sizeof(struct rb_cloud_group *));
    c->groups[c->n_groups++] = g;
    rb_cloud_changed(c);
    return RB_CLOUD_OK;
}

enum rb_cloud_answer rb_cloud_delete_group(struct rb_cloud *c, const char *region, const char *name, int64_t now_us)
{
    rb_cloud_advance(c, now_us);
    struct rb_cloud_group *g = find(c, region, name);
    if (!g)
        return RB_CLOUD_NO_SUCH_GROUP;
    if (rb_cloud_group_zone(c, g))
        return RB_CLOUD_GROUP_IN_USE;
    g->deleted = true;
    rb_cloud_changed(c);
    return RB_CLOUD_OK;
}
