// CreateTags, DeleteTags and DescribeTags, on instances.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <string.h>

#define MAX_TAGS_LISTED 65536 // CreateTags may add to the 50 of a launch, a form of 1 MiB cannot name more

bool rb_mock_create_tags(struct rb_mock_call *call)
{
    const char *const *ids;
    int n_ids, n_tags = 0, bad;
    struct rb_cloud_tag *tags = rb_arena_array(call->arena, (size_t)call->form->n + 1, sizeof *tags);
    if (!rb_mock_read_ids(call, "ResourceId", "i-", &ids, &n_ids))
        return false;
    const int first = rb_form_first(call->form, "Tag");
    while (rb_form_has_prefix(call->form, "Tag.%d.", first + n_tags)) {
        struct rb_cloud_tag *tag = &tags[n_tags];
        tag->key = rb_form_get(call->form, "Tag.%d.Key", first + n_tags);
        tag->value = rb_form_get(call->form, "Tag.%d.Value", first + n_tags);
        n_tags++;
        if (!tag->key || !*tag->key)
            return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter Tag.%d.Key",
                                  first + n_tags - 1);
        if (!tag->value)
            tag->value = "";
    }
    if (n_tags == 0)
        return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter Tag");
    if (!rb_mock_call_checked(call))
        return false;
    if (rb_cloud_set_tags(call->cloud, call->region, ids, n_ids, tags, n_tags, &bad) != RB_CLOUD_OK)
        return rb_mock_refuse(call, 400, "InvalidInstanceID.NotFound", "The instance ID '%.40s' does not exist",
                              ids[bad]);
    rb_mock_xml_bool(call->out, "return", true);
    return true;
}

// A tag without Value goes whatever its value; EC2 takes a repeat without complaint.
bool rb_mock_delete_tags(struct rb_mock_call *call)
{
    const char *const *ids;
    int n_ids, n_tags = 0, bad;
    struct rb_cloud_tag *tags = rb_arena_array(call->arena, (size_t)call->form->n + 1, sizeof *tags);
    if (!rb_mock_read_ids(call, "ResourceId", "i-", &ids, &n_ids))
        return false;
    const int first = rb_form_first(call->form, "Tag");
    for (; rb_form_has_prefix(call->form, "Tag.%d.", first + n_tags); n_tags++) {
        tags[n_tags].key = rb_form_get(call->form, "Tag.%d.Key", first + n_tags);
        tags[n_tags].value = rb_form_get(call->form, "Tag.%d.Value", first + n_tags);
        if (!tags[n_tags].key || !*tags[n_tags].key)
            return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter Tag.%d.Key",
                                  first + n_tags);
    }
    if (!rb_mock_call_checked(call))
        return false;
    if (rb_cloud_delete_tags(call->cloud, call->region, ids, n_ids, tags, n_tags, &bad) != RB_CLOUD_OK)
        return rb_mock_refuse(call, 400, "InvalidInstanceID.NotFound", "The instance ID '%.40s' does not exist",
                              ids[bad]);
    rb_mock_xml_bool(call->out, "return", true);
    return true;
}

static bool matches(const struct rb_mock_filters *filters, const struct rb_cloud_instance *i,
                    const struct rb_cloud_tag *tag)
{
    for (int k = 0; k < filters->n; k++) {
        const char *name = filters->filters[k].name;
        const char *text = strcmp(name, "key") == 0           ? tag->key
                           : strcmp(name, "value") == 0       ? tag->value
                           : strcmp(name, "resource-id") == 0 ? i->id
                                                              : "instance";
        if (!rb_mock_filter_matches(&filters->filters[k], text))
            return false;
    }
    return true;
}

bool rb_mock_describe_tags(struct rb_mock_call *call)
{
    static const char *const known[] = {"key", "resource-id", "resource-type", "value", NULL};
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_read_page(call, 5, 1000, &page) ||
        !rb_mock_call_checked(call))
        return false;
    rb_mock_xml_open(call->out, "tagSet");
    for (int k = 0; k < rb_cloud_n_instances(call->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(call->cloud, k);
        int n;
        const struct rb_cloud_tag *tags = rb_cloud_tags(call->cloud, i, call->now_us, &n);
        for (int t = 0; t < n && rb_cloud_listed(i, call->region, call->now_us); t++) {
            // Where it stands does not depend on the tags of others that fade between two pages.
            int64_t position = (int64_t)k * MAX_TAGS_LISTED + (&tags[t] - i->tags);
            if (!matches(&filters, i, &tags[t]) || !rb_mock_page_take(&page, position))
                continue;
            rb_mock_xml_open(call->out, "item");
            rb_mock_xml_text(call->out, "resourceId", i->id);
            rb_mock_xml_text(call->out, "resourceType", "instance");
            rb_mock_xml_text(call->out, "key", tags[t].key);
            rb_mock_xml_text(call->out, "value", tags[t].value);
            rb_mock_xml_close(call->out, "item");
        }
    }
    rb_mock_xml_close(call->out, "tagSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
