// DescribeVpcs, DescribeSubnets, DescribeSecurityGroups. RunInstances takes other subnets and groups as well and does
// not look them up; these actions do not know them.
#include "providers/mock/ec2/mock_ec2_network.h"
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>

#define LOOPBACK "127.0.0.0/8" // where the nodes' addresses are

static void make_id(const char *kind, const char *place, char out[static RB_MOCK_EC2_ID])
{
    char text[128], digest[65];
    const int n = snprintf(text, sizeof text, "%s of %s", kind, place);
    rb_digest_sha256(text, (size_t)n, digest);
    snprintf(out, RB_MOCK_EC2_ID, "%s-%.17s", kind, digest);
}

void rb_mock_vpc_id(const char *region, char out[static RB_MOCK_EC2_ID])
{
    make_id("vpc", region, out);
}

void rb_mock_subnet_id(const char *zone, char out[static RB_MOCK_EC2_ID])
{
    make_id("subnet", zone, out);
}

void rb_mock_security_group_id(const char *region, char out[static RB_MOCK_EC2_ID])
{
    make_id("sg", region, out);
}

// The common part of every Describe: ids (in the list named `parameter`), filters, a page. All ids must be known.
struct question {
    const char *const *ids;
    int n_ids;
    struct rb_mock_filters filters;
    struct rb_mock_page page;
};

static bool read_question(struct rb_mock_call *call, const char *parameter, const char *const *known_filters,
                          struct question *q)
{
    q->n_ids = rb_form_list(call->form, parameter, call->arena, &q->ids);
    return rb_mock_read_filters(call, known_filters, &q->filters) && rb_mock_read_page(call, 5, 1000, &q->page) &&
           rb_mock_call_checked(call);
}

static bool check_ids(struct rb_mock_call *call, const struct question *q, const char *const *known, int n_known,
                      const char *code, const char *what)
{
    for (int k = 0; k < q->n_ids; k++)
        if (n_known == 0 || !rb_mock_is_among(q->ids[k], known, n_known))
            return rb_mock_refuse(call, 400, code, "The %s '%.60s' does not exist", what, q->ids[k]);
    return true;
}

bool rb_mock_describe_vpcs(struct rb_mock_call *call)
{
    static const char *const known[] = {"vpc-id", "is-default", "isDefault", "state", "cidr", "owner-id", NULL};
    struct question q;
    char id[RB_MOCK_EC2_ID];
    rb_mock_vpc_id(call->region, id);
    if (!read_question(call, "VpcId", known, &q) ||
        !check_ids(call, &q, (const char *const[]){id}, 1, "InvalidVpcID.NotFound", "vpc ID"))
        return false;
    const struct rb_mock_fact facts[] = {{"vpc-id", id},
                                         {"is-default", "true"},
                                         {"isDefault", "true"},
                                         {"state", "available"},
                                         {"cidr", LOOPBACK},
                                         {"owner-id", RB_MOCK_ACCOUNT},
                                         {0}};
    rb_mock_xml_open(call->out, "vpcSet");
    if (rb_mock_filters_match(&q.filters, facts, NULL, 0) && rb_mock_page_take(&q.page, 0))
        rb_mock_xml_put(call->out,
                        "item{vpcId:%s ownerId:%s state:available cidrBlock:%s instanceTenancy:default isDefault:true}",
                        id, RB_MOCK_ACCOUNT, LOOPBACK);
    rb_mock_xml_close(call->out, "vpcSet");
    rb_mock_write_next_token(call, &q.page);
    return true;
}

static void write_subnet(struct rb_mock_call *call, const char *id, const char *vpc, const char *zone, int number)
{
    const struct rb_cloud_config *config = rb_cloud_config_of(call->cloud);
    rb_mock_xml_put(call->out,
                    "item{subnetId:%s subnetArn:'arn:aws:ec2:%s:" RB_MOCK_ACCOUNT
                    ":subnet/%s' state:available vpcId:%s "
                    "ownerId:%s cidrBlock:%s availableIpAddressCount:%jd availabilityZone:%s "
                    "availabilityZoneId:'mock1-az%d' defaultForAz:true mapPublicIpOnLaunch:true}",
                    id, call->region, id, vpc, RB_MOCK_ACCOUNT, LOOPBACK,
                    (int64_t)config->n_addresses - rb_cloud_n_instances(call->cloud), zone, number);
}

bool rb_mock_describe_subnets(struct rb_mock_call *call)
{
    static const char *const known[] = {"subnet-id", "vpc-id", "availability-zone", "default-for-az", "defaultForAz",
                                        "state",     NULL};
    const struct rb_cloud_region *region = rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region);
    struct question q;
    char vpc[RB_MOCK_EC2_ID];
    const char **ids = rb_arena_array(call->arena, (size_t)region->n_zones, sizeof *ids);
    rb_mock_vpc_id(call->region, vpc);
    for (int z = 0; z < region->n_zones; z++) {
        char *id = rb_arena_alloc(call->arena, RB_MOCK_EC2_ID);
        rb_mock_subnet_id(region->zones[z], id);
        ids[z] = id;
    }
    if (!read_question(call, "SubnetId", known, &q) ||
        !check_ids(call, &q, ids, region->n_zones, "InvalidSubnetID.NotFound", "subnet ID"))
        return false;
    rb_mock_xml_open(call->out, "subnetSet");
    for (int z = 0; z < region->n_zones; z++) {
        const struct rb_mock_fact facts[] = {{"subnet-id", ids[z]},
                                             {"vpc-id", vpc},
                                             {"availability-zone", region->zones[z]},
                                             {"default-for-az", "true"},
                                             {"defaultForAz", "true"},
                                             {"state", "available"},
                                             {0}};
        if (rb_mock_is_among(ids[z], q.ids, q.n_ids) && rb_mock_filters_match(&q.filters, facts, NULL, 0) &&
            rb_mock_page_take(&q.page, z))
            write_subnet(call, ids[z], vpc, region->zones[z], z + 1);
    }
    rb_mock_xml_close(call->out, "subnetSet");
    rb_mock_write_next_token(call, &q.page);
    return true;
}

bool rb_mock_describe_security_groups(struct rb_mock_call *call)
{
    static const char *const known[] = {"group-id", "group-name", "vpc-id", "owner-id", NULL};
    struct question q;
    const char *const *names;
    char id[RB_MOCK_EC2_ID], vpc[RB_MOCK_EC2_ID];
    const int n_names = rb_form_list(call->form, "GroupName", call->arena, &names);
    rb_mock_security_group_id(call->region, id);
    rb_mock_vpc_id(call->region, vpc);
    if (!read_question(call, "GroupId", known, &q) ||
        !check_ids(call, &q, (const char *const[]){id}, 1, "InvalidGroup.NotFound", "security group"))
        return false;
    for (int k = 0; k < n_names; k++)
        if (strcmp(names[k], "default") != 0)
            return rb_mock_refuse(call, 400, "InvalidGroup.NotFound", "The security group '%.60s' does not exist",
                                  names[k]);
    const struct rb_mock_fact facts[] = {
        {"group-id", id}, {"group-name", "default"}, {"vpc-id", vpc}, {"owner-id", RB_MOCK_ACCOUNT}, {0}};
    rb_mock_xml_open(call->out, "securityGroupInfo");
    if (rb_mock_filters_match(&q.filters, facts, NULL, 0) && rb_mock_page_take(&q.page, 0))
        rb_mock_xml_put(call->out,
                        "item{ownerId:%s groupId:%s groupName:default groupDescription:'default VPC security group' "
                        "vpcId:%s ipPermissions{item{ipProtocol:-1 ipRanges{item{cidrIp:%s}}}} "
                        "ipPermissionsEgress{item{ipProtocol:-1 ipRanges{item{cidrIp:0.0.0.0/0}}}}}",
                        RB_MOCK_ACCOUNT, id, vpc, LOOPBACK);
    rb_mock_xml_close(call->out, "securityGroupInfo");
    rb_mock_write_next_token(call, &q.page);
    return true;
}
