// CreateTags, DeleteTags and DescribeTags, on instances.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <string.h>

#define MAX_TAGS_LISTED 65536 // CreateTags may add to the 50 of a launch, a form of 1 MiB cannot name more

// The resources and tags of a request. Values may be NULL.
struct change {
    const char *const *ids;
    struct rb_cloud_tag *tags;
    int n_ids, n_tags;
};

static bool read_change(struct rb_mock_call *call, struct change *c)
{
    c->tags = rb_arena_array(call->arena, (size_t)call->form->n + 1, sizeof *c->tags);
    c->n_tags = 0;
    if (!rb_mock_read_ids(call, "ResourceId", "i-", &c->ids, &c->n_ids))
        return false;
    const int first = rb_form_first(call->form, "Tag");
    for (; rb_form_has_prefix(call->form, "Tag.%d.", first + c->n_tags); c->n_tags++) {
        struct rb_cloud_tag *tag = &c->tags[c->n_tags];
        tag->key = rb_form_get(call->form, "Tag.%d.Key", first + c->n_tags);
        tag->value = rb_form_get(call->form, "Tag.%d.Value", first + c->n_tags);
        if (!tag->key || !*tag->key)
            return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter Tag.%d.Key",
                                  first + c->n_tags);
    }
    return true;
}

static bool answer_change(struct rb_mock_call *call, const struct change *c, enum rb_cloud_answer answer, int bad)
{
    if (answer != RB_CLOUD_OK)
        return rb_mock_refuse(call, 400, "InvalidInstanceID.NotFound", "The instance ID '%.40s' does not exist",
                              c->ids[bad]);
    rb_mock_write_done(call);
    return true;
}

bool rb_mock_create_tags(struct rb_mock_call *call)
{
    struct change c;
    int bad = 0;
    if (!read_change(call, &c))
        return false;
    if (c.n_tags == 0)
        return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter Tag");
    for (int k = 0; k < c.n_tags; k++)
        c.tags[k].value = c.tags[k].value ? c.tags[k].value : "";
    return rb_mock_call_checked(call) &&
           answer_change(call, &c, rb_cloud_set_tags(call->cloud, call->region, c.ids, c.n_ids, c.tags, c.n_tags, &bad),
                         bad);
}

// A tag without Value goes whatever its value; EC2 takes a repeat without complaint.
bool rb_mock_delete_tags(struct rb_mock_call *call)
{
    struct change c;
    int bad = 0;
    return read_change(call, &c) && rb_mock_call_checked(call) &&
           answer_change(call, &c,
                         rb_cloud_delete_tags(call->cloud, call->region, c.ids, c.n_ids, c.tags, c.n_tags, &bad), bad);
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
            // Its position does not depend on the tags of others that fade between two pages.
            int64_t position = (int64_t)k * MAX_TAGS_LISTED + (&tags[t] - i->tags);
            const struct rb_mock_fact facts[] = {{"key", tags[t].key},
                                                 {"value", tags[t].value},
                                                 {"resource-id", i->id},
                                                 {"resource-type", "instance"},
                                                 {0}};
            if (rb_mock_filters_match(&filters, facts, NULL, 0) && rb_mock_page_take(&page, position))
                rb_mock_xml_put(call->out, "item{resourceId:%s resourceType:instance key:%s value:%s}", i->id,
                                tags[t].key, tags[t].value);
        }
    }
    rb_mock_xml_close(call->out, "tagSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
