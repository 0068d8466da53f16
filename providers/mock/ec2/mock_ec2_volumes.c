// DescribeVolumes: the root volumes of given size. They are made and end with their instances.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <stdio.h>
#include <string.h>

void rb_mock_volume_id(const struct rb_cloud_instance *i, char out[static 24])
{
    snprintf(out, 24, "vol-%s", i->id + strlen("i-"));
}

static bool has_volume(const struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    return i->disk_gb > 0 && i->state != RB_CLOUD_TERMINATED && rb_cloud_listed(i, call->region, call->now_us);
}

static bool exists(const struct rb_mock_call *call, const char *id)
{
    for (int k = 0; k < rb_cloud_n_instances(call->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(call->cloud, k);
        char own[24];
        rb_mock_volume_id(i, own);
        if (strcmp(own, id) == 0)
            return has_volume(call, i);
    }
    return false;
}

static bool check_ids(struct rb_mock_call *call, const char *const *ids, int n)
{
    for (int k = 0; k < n; k++) {
        if (!rb_mock_well_formed_id(ids[k], "vol-"))
            return rb_mock_refuse(call, 400, "InvalidParameterValue",
                                  "Value (%.60s) for parameter volumes is invalid. Expected: 'vol-...'.", ids[k]);
        if (!exists(call, ids[k]))
            return rb_mock_refuse(call, 400, "InvalidVolume.NotFound", "The volume '%.60s' does not exist.", ids[k]);
    }
    return true;
}

static void write_volume(struct rb_mock_call *call, const struct rb_cloud_instance *i, const char *id)
{
    struct rb_buf *out = call->out;
    const struct rb_cloud_traits *t = &i->traits;
    const int64_t made_us = i->requested_us - i->requested_us % RB_US_PER_S;
    rb_mock_xml_open(out, "item");
    rb_mock_xml_put(out,
                    "volumeId:%s size:%jd availabilityZone:%s status:in-use createTime@%jd "
                    "attachmentSet{item{volumeId:%s instanceId:%s device:%s status:attached attachTime@%jd "
                    "deleteOnTermination:true}}",
                    id, i->disk_gb, i->zone, made_us, id, i->id, RB_MOCK_ROOT_DEVICE, made_us);
    rb_mock_write_tag_set(out, t->volume_tags, t->n_volume_tags);
    rb_mock_xml_put(out, "volumeType:%s iops:%jd", t->volume_type, t->volume_iops);
    if (t->volume_throughput > 0)
        rb_mock_xml_put(out, "throughput:%jd", t->volume_throughput);
    rb_mock_xml_put(out, "encrypted:false multiAttachEnabled:false");
    rb_mock_xml_close(out, "item");
}

bool rb_mock_describe_volumes(struct rb_mock_call *call)
{
    static const char *const known[] = {
        "attachment.instance-id", "availability-zone", "status", "tag-key", "tag:", "volume-id", NULL};
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    const char *const *ids;
    const int n_ids = rb_form_list(call->form, "VolumeId", call->arena, &ids);
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_read_page(call, 5, 1000, &page) ||
        !rb_mock_call_checked(call) || !check_ids(call, ids, n_ids))
        return false;
    rb_mock_xml_open(call->out, "volumeSet");
    for (int k = 0; k < rb_cloud_n_instances(call->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(call->cloud, k);
        char id[24];
        rb_mock_volume_id(i, id);
        const struct rb_mock_fact facts[] = {{"volume-id", id},
                                             {"attachment.instance-id", i->id},
                                             {"availability-zone", i->zone},
                                             {"status", "in-use"},
                                             {0}};
        if (has_volume(call, i) && rb_mock_is_among(id, ids, n_ids) &&
            rb_mock_filters_match(&filters, facts, i->traits.volume_tags, i->traits.n_volume_tags) &&
            rb_mock_page_take(&page, k))
            write_volume(call, i, id);
    }
    rb_mock_xml_close(call->out, "volumeSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
