// CreatePlacementGroup, DescribePlacementGroups, DeletePlacementGroup. Cluster groups only: others are refused, because
// the mock has no racks to spread anything over.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <string.h>

#define MAX_NAME 255

static bool read_name(struct rb_mock_call *call, const char **out)
{
    *out = rb_form_get(call->form, "GroupName");
    if (!*out)
        return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter GroupName");
    for (const char *c = *out; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e || c - *out >= MAX_NAME)
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "GroupName: at most %d ASCII characters",
                                  MAX_NAME);
    return true;
}

static void write_group(struct rb_mock_call *call, const char *element, const struct rb_cloud_group *g)
{
    struct rb_buf *out = call->out;
    rb_mock_xml_open(out, element);
    rb_mock_xml_put(out, "groupName:%s groupId:%s strategy:cluster state:available", g->name, g->id);
    rb_mock_write_tag_set(out, g->tags, g->n_tags);
    rb_mock_xml_close(out, element);
}

bool rb_mock_create_placement_group(struct rb_mock_call *call)
{
    static const char *const kinds[] = {"placement-group", NULL};
    const struct rb_cloud_tag *tags;
    const char *name, *strategy = rb_form_get(call->form, "Strategy");
    int n_tags;
    if (!read_name(call, &name) || !rb_mock_read_tags(call, kinds, kinds[0], &tags, &n_tags) ||
        !rb_mock_call_checked(call))
        return false;
    if (!strategy || strcmp(strategy, "cluster") != 0)
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "Strategy: this cloud has cluster");
    if (rb_cloud_create_group(call->cloud, call->region, name, tags, n_tags) != RB_CLOUD_OK)
        return rb_mock_refuse(call, 400, "InvalidPlacementGroup.Duplicate",
                              "The Placement Group '%.100s' already exists.", name);
    write_group(call, "placementGroup", rb_cloud_find_group(call->cloud, call->region, name));
    return true;
}

bool rb_mock_describe_placement_groups(struct rb_mock_call *call)
{
    static const char *const known[] = {"group-name", "state", "strategy", "tag-key", "tag:", NULL};
    struct rb_mock_filters filters;
    const char *const *names;
    const int n = rb_form_list(call->form, "GroupName", call->arena, &names);
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_call_checked(call))
        return false;
    for (int k = 0; k < n; k++)
        if (!rb_cloud_find_group(call->cloud, call->region, names[k]))
            return rb_mock_refuse(call, 400, "InvalidPlacementGroup.Unknown",
                                  "The Placement Group '%.100s' is unknown.", names[k]);
    rb_mock_xml_open(call->out, "placementGroupSet");
    for (int k = 0; k < rb_cloud_n_groups(call->cloud); k++) {
        const struct rb_cloud_group *g = rb_cloud_group(call->cloud, k);
        const struct rb_mock_fact facts[] = {
            {"group-name", g->name}, {"state", "available"}, {"strategy", "cluster"}, {0}};
        if (!g->deleted && strcmp(g->region, call->region) == 0 && rb_mock_is_among(g->name, names, n) &&
            rb_mock_filters_match(&filters, facts, g->tags, g->n_tags))
            write_group(call, "item", g);
    }
    rb_mock_xml_close(call->out, "placementGroupSet");
    return true;
}

bool rb_mock_delete_placement_group(struct rb_mock_call *call)
{
    const char *name;
    if (!read_name(call, &name) || !rb_mock_call_checked(call))
        return false;
    switch (rb_cloud_delete_group(call->cloud, call->region, name, call->now_us)) {
    case RB_CLOUD_OK:
        rb_mock_write_done(call);
        return true;
    case RB_CLOUD_GROUP_IN_USE:
        return rb_mock_refuse(call, 400, "InvalidPlacementGroup.InUse",
                              "The placement group '%.100s' is in use and may not be deleted.", name);
    default:
        return rb_mock_refuse(call, 400, "InvalidPlacementGroup.Unknown", "The Placement Group '%.100s' is unknown.",
                              name);
    }
}
