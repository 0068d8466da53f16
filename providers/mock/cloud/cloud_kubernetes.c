#include "providers/mock/cloud/cloud_kubernetes.h"
#include "profiles/catalog/infra.h"
#include "providers/mock/cloud/members.h"
#include "providers/mock/k8s/quantity.h"

#include <stdlib.h>
#include <string.h>

#define MAX_S         1e8
#define DEFAULT_MINOR 30
#define MAX_MINOR     99
#define MAX_GPUS      1000000

struct raw {
    const char *space, *version, *sidecar, *queue, *place;
    int pod_security;
    bool exec_while_terminating;
    double release_s, unreachable_s;
    int64_t queue_gpus;
    const struct rb_node *denied, *granted, *quota, *limits;
};

#define AT(field) offsetof(struct raw, field)

static const struct rb_member queue[] = {
    {"name", RB_MEMBER_TEXT, AT(queue), .needed = true, .refusal = "expected the name of a LocalQueue"},
    {"gpus", RB_MEMBER_INT, AT(queue_gpus), .needed = true, .max = MAX_GPUS},
    {0},
};
static const struct rb_member members[] = {
    {"namespace", RB_MEMBER_TEXT, AT(space), .refusal = "expected the name of a namespace"},
    {"version", RB_MEMBER_TEXT, AT(version), .refusal = "expected 1.MINOR, in quotes"},
    {"pod_security", RB_MEMBER_CHOICE, AT(pod_security), .choices = {"restricted", "baseline", "privileged"}},
    {"denied", RB_MEMBER_LIST, AT(denied)},
    {"granted", RB_MEMBER_LIST, AT(granted)},
    {"quota", RB_MEMBER_MAP, AT(quota)},
    {"limits", RB_MEMBER_MAP, AT(limits)},
    {"exec_while_terminating", RB_MEMBER_BOOL, AT(exec_while_terminating)},
    {"release_s", RB_MEMBER_DOUBLE, AT(release_s), .max = MAX_S},
    {"unreachable_s", RB_MEMBER_DOUBLE, AT(unreachable_s), .max = MAX_S},
    {"sidecar", RB_MEMBER_TEXT, AT(sidecar), .refusal = "expected the name of a container"},
    {"place", RB_MEMBER_TEXT, AT(place), .refusal = "expected a zone, such as aws/us-east-1/us-east-1a"},
    {"queue", RB_MEMBER_MAP, RB_MEMBER_IGNORED, .members = queue},
    {0},
};

static bool read_rights(const struct rb_node *list, struct rb_arena *arena, const char *const **out, struct rb_err *err)
{
    const char **texts = rb_arena_array(arena, (size_t)(list ? list->n_children : 0) + 1, sizeof *texts);
    int n = 0;
    for (const struct rb_node *child = list ? list->first : NULL; child; child = child->next) {
        const char *text, *blank;
        if (!rb_node_string(child, &text, err))
            return false;
        blank = strchr(text, ' ');
        if (!blank || blank == text || !blank[1] || strchr(blank + 1, ' '))
            return rb_node_refuse(child, err, RB_E_MOCK_CLOUD,
                                  "expected a verb and a resource, such as \"create pods/exec\"");
        texts[n++] = rb_arena_strdup(arena, text);
    }
    *out = texts;
    return true;
}

static bool read_amounts(const struct rb_node *map, struct rb_arena *arena, struct rb_cloud_amounts *out,
                         struct rb_err *err)
{
    struct rb_cloud_amount *list = rb_arena_array(arena, (size_t)(map ? map->n_children : 0) + 1, sizeof *list);
    for (const struct rb_node *child = map ? map->first : NULL; child; child = child->next) {
        struct rb_quantity q;
        if (!child->text || !rb_quantity_parse(child->text, &q))
            return rb_node_refuse(child, err, RB_E_MOCK_CLOUD, "expected a quantity, such as 8, 500m or 16Gi");
        list[out->n++] =
            (struct rb_cloud_amount){rb_arena_strdup(arena, child->key), q.milli, rb_arena_strdup(arena, child->text)};
    }
    out->list = list;
    return true;
}

static bool check_place(const struct rb_node *node, const char *place, struct rb_err *err)
{
    struct rb_err why;
    const char *slash = place ? strchr(place, '/') : NULL;
    return !place || (rb_infra_check(place, &why) && slash && strchr(slash + 1, '/')) ||
           rb_node_refuse(rb_node_member(node, "place"), err, RB_E_MOCK_CLOUD,
                          "expected a zone, such as aws/us-east-1/us-east-1a");
}

static bool read_version(const struct rb_node *node, const char *text, int *out, struct rb_err *err)
{
    char *end;
    *out = DEFAULT_MINOR;
    if (!text)
        return true;
    const long minor = strncmp(text, "1.", 2) == 0 ? strtol(text + 2, &end, 10) : -1;
    if (minor < 0 || minor > MAX_MINOR || *end || end == text + 2)
        return rb_node_refuse(rb_node_member(node, "version"), err, RB_E_MOCK_CLOUD,
                              "expected 1.MINOR in quotes, such as \"1.30\"");
    *out = (int)minor;
    return true;
}

bool rb_cloud_kubernetes_read(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_kubernetes *out,
                              struct rb_err *err)
{
    struct raw raw = {.space = "rb", .exec_while_terminating = true, .release_s = 600, .unreachable_s = 300};
    struct rb_cloud_kubernetes k = *out;
    if ((node && !rb_members_read(node, members, arena, &raw, err)) ||
        !read_version(node, raw.version, &k.minor, err) || !read_rights(raw.denied, arena, &k.denied, err) ||
        !read_rights(raw.granted, arena, &k.granted, err) || !read_amounts(raw.quota, arena, &k.quota, err) ||
        !read_amounts(raw.limits, arena, &k.limits, err) || !check_place(node, raw.place, err))
        return false;
    k.space = raw.space;
    k.pod_security = raw.pod_security;
    k.exec_while_terminating = raw.exec_while_terminating;
    k.release_us = rb_us_from_seconds(raw.release_s);
    k.unreachable_us = rb_us_from_seconds(raw.unreachable_s);
    k.sidecar = raw.sidecar;
    k.place = raw.place;
    k.queue = raw.queue;
    k.queue_gpus = raw.queue_gpus;
    *out = k;
    return true;
}

bool rb_cloud_kubernetes_take(struct rb_catalog *from, struct rb_arena *arena, struct rb_cloud_kubernetes *out)
{
    int n = 0;
    out->catalog =
        (struct rb_catalog){.offers = rb_arena_array(arena, (size_t)from->n_offers + 1, sizeof *from->offers)};
    for (int k = 0; k < from->n_offers; k++) {
        const struct rb_offer *o = &from->offers[k];
        if (!rb_infra_within(o->infra, "k8s")) {
            from->offers[n++] = *o;
            continue;
        }
        const char *name = o->infra + strlen("k8s/");
        if (out->name && strcmp(out->name, name) != 0)
            return false;
        out->name = name;
        out->catalog.offers[out->catalog.n_offers++] = *o;
    }
    from->n_offers = n;
    return true;
}
