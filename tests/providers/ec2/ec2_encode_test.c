// Request bodies, byte by byte.
#include "base/limits.h"
#include "launches.h"
#include "providers/ec2/ec2_encode.h"
#include "tests/base/check.h"

static void expect(struct rb_buf *body, const char *expected)
{
    assert_string_equal(rb_buf_str(body), expected);
    rb_buf_finish(body);
}

static void plain_launch(void **state)
{
    (void)state;
    struct rb_buf body = RB_BUF_INIT;
    rb_ec2_encode_run(&launch_plain, "ami-1", NULL, &body);
    expect(&body,
           "Action=RunInstances&Version=2016-11-15&ClientToken=0123abcd&ImageId=ami-1&InstanceType=g5.xlarge"
           "&MinCount=1&MaxCount=1&InstanceInitiatedShutdownBehavior=terminate&MetadataOptions.HttpTokens=required"
           "&MetadataOptions.HttpEndpoint=enabled&MetadataOptions.HttpPutResponseHopLimit=1");
}

static void full_launch(void **state)
{
    (void)state;
    struct rb_buf body = RB_BUF_INIT;
    rb_ec2_encode_run(&launch_full, "ami-2", "/dev/sda1", &body);
    expect(&body,
           "Action=RunInstances&Version=2016-11-15&ClientToken=tok&ImageId=ami-2&InstanceType=g5.12xlarge"
           "&MinCount=1&MaxCount=1&InstanceInitiatedShutdownBehavior=terminate&MetadataOptions.HttpTokens=required"
           "&MetadataOptions.HttpEndpoint=enabled&MetadataOptions.HttpPutResponseHopLimit=1"
           "&InstanceMarketOptions.MarketType=spot&InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time"
           "&InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior=terminate"
           "&Placement.AvailabilityZone=us-east-1a&SubnetId=subnet-1&SecurityGroupId.1=sg-1&SecurityGroupId.2=sg-2"
           "&IamInstanceProfile.Name=rb-node&BlockDeviceMapping.1.DeviceName=%2Fdev%2Fsda1"
           "&BlockDeviceMapping.1.Ebs.VolumeSize=200&BlockDeviceMapping.1.Ebs.VolumeType=gp3"
           "&BlockDeviceMapping.1.Ebs.DeleteOnTermination=true"
           "&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=rb%3Arun-id"
           "&TagSpecification.1.Tag.1.Value=r%201%262&TagSpecification.1.Tag.2.Key=rb%3Aowner"
           "&TagSpecification.1.Tag.2.Value=ann"
           "&TagSpecification.2.ResourceType=volume&TagSpecification.2.Tag.1.Key=rb%3Arun-id"
           "&TagSpecification.2.Tag.1.Value=r%201%262&TagSpecification.2.Tag.2.Key=rb%3Aowner"
           "&TagSpecification.2.Tag.2.Value=ann"
           "&TagSpecification.3.ResourceType=spot-instances-request&TagSpecification.3.Tag.1.Key=rb%3Arun-id"
           "&TagSpecification.3.Tag.1.Value=r%201%262&TagSpecification.3.Tag.2.Key=rb%3Aowner"
           "&TagSpecification.3.Tag.2.Value=ann"
           "&UserData=IyEvYmluL3NoCg%3D%3D");
}

static void a_gang_is_all_or_nothing(void **state)
{
    (void)state;
    struct rb_launch l = launch_plain;
    struct rb_buf body = RB_BUF_INIT;
    l.count = 4;
    assert_true(rb_ec2_check_launch(&l, NULL));
    rb_ec2_encode_run(&l, "ami-1", NULL, &body);
    assert_non_null(strstr(body.data, "&MinCount=4&MaxCount=4&"));
    rb_buf_finish(&body);
    l.count = -1;
    assert_false(rb_ec2_check_launch(&l, NULL));
}

static void profile_by_arn(void **state)
{
    (void)state;
    struct rb_launch l = launch_plain;
    l.instance_profile = "arn:aws:iam::1:instance-profile/x";
    struct rb_buf body = RB_BUF_INIT;
    rb_ec2_encode_run(&l, "ami-1", NULL, &body);
    assert_non_null(strstr(body.data, "&IamInstanceProfile.Arn=arn%3Aaws%3Aiam%3A%3A1%3Ainstance-profile%2Fx"));
    rb_buf_finish(&body);
}

static void into_a_reservation(void **state)
{
    (void)state;
    struct rb_reservation r = {.id = "cr-0123456789abcdef0"};
    struct rb_launch l = launch_plain;
    struct rb_buf body = RB_BUF_INIT;
    l.market = RB_MARKET_RESERVED;
    l.reservation = &r;
    rb_ec2_encode_run(&l, "ami-1", NULL, &body);
    assert_non_null(strstr(body.data, "&CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId="
                                      "cr-0123456789abcdef0"));
    assert_null(strstr(body.data, "InstanceMarketOptions"));
    rb_buf_clear(&body);
    r.is_block = true;
    rb_ec2_encode_run(&l, "ami-1", NULL, &body);
    assert_non_null(strstr(body.data, "&InstanceMarketOptions.MarketType=capacity-block&"));
    rb_buf_clear(&body);
    rb_ec2_encode_reservations("p", &body);
    assert_string_equal(body.data, "Action=DescribeCapacityReservations&Version=2016-11-15&Filter.1.Name=state"
                                   "&Filter.1.Value.1=active&Filter.1.Value.2=scheduled&MaxResults=1000&NextToken=p");
    rb_buf_finish(&body);
}

static void questions(void **state)
{
    (void)state;
    static const char *const types[] = {"g5.xlarge", "p3.2xlarge"};
    struct rb_buf body = RB_BUF_INIT;
    rb_ec2_encode_list("r-1", NULL, &body);
    expect(&body, "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag%3Arb%3Arun-id&Filter.1.Value.1=r-1"
                  "&MaxResults=1000");
    rb_ec2_encode_list(NULL, "p/2=", &body);
    expect(&body, "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag-key&Filter.1.Value.1=rb%3Aowner"
                  "&MaxResults=1000&NextToken=p%2F2%3D");
    rb_ec2_encode_terminate("i-1", &body);
    expect(&body, "Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i-1");
    struct rb_launch grouped = launch_full;
    grouped.placement_group = "rb-r 1-p4d.24xlarge";
    rb_ec2_encode_create_group(&grouped, &body);
    expect(&body, "Action=CreatePlacementGroup&Version=2016-11-15&GroupName=rb-r%201-p4d.24xlarge&Strategy=cluster"
                  "&TagSpecification.1.ResourceType=placement-group&TagSpecification.1.Tag.1.Key=rb%3Arun-id"
                  "&TagSpecification.1.Tag.1.Value=r%201%262&TagSpecification.1.Tag.2.Key=rb%3Aowner"
                  "&TagSpecification.1.Tag.2.Value=ann");
    rb_ec2_encode_groups("r-1", &body);
    expect(&body, "Action=DescribePlacementGroups&Version=2016-11-15&Filter.1.Name=tag%3Arb%3Arun-id"
                  "&Filter.1.Value.1=r-1");
    rb_ec2_encode_delete_group("rb-1", &body);
    expect(&body, "Action=DeletePlacementGroup&Version=2016-11-15&GroupName=rb-1");
    rb_ec2_encode_image("ami-1", &body);
    expect(&body, "Action=DescribeImages&Version=2016-11-15&ImageId.1=ami-1");
    rb_ec2_encode_machines(types, 2, NULL, &body);
    expect(&body, "Action=DescribeInstanceTypes&Version=2016-11-15&InstanceType.1=g5.xlarge&InstanceType.2=p3.2xlarge");
    rb_ec2_encode_machines(NULL, 0, "x", &body);
    expect(&body, "Action=DescribeInstanceTypes&Version=2016-11-15&MaxResults=100&NextToken=x");
    rb_ec2_encode_spot_prices(types, 1, INT64_C(1767225600000000), NULL, &body);
    expect(&body, "Action=DescribeSpotPriceHistory&Version=2016-11-15&InstanceType.1=g5.xlarge"
                  "&ProductDescription.1=Linux%2FUNIX&StartTime=2026-01-01T00%3A00%3A00Z&MaxResults=1000");
}

static void impossible_launches(void **state)
{
    (void)state;
    static char long_token[66], long_data[RB_LIMIT_USER_DATA + 2];
    memset(long_token, 'a', sizeof long_token - 1);
    memset(long_data, 'a', sizeof long_data - 1);
    struct rb_launch bad[6];
    for (size_t i = 0; i < N_OF(bad); i++)
        bad[i] = launch_plain;
    bad[0].token = NULL;
    bad[1].token = long_token;
    bad[2].token = "t\xc3\xa9";
    bad[3].user_data = long_data;
    bad[4].disk_gb = -1;
    bad[5].instance_type = "";
    static const char *const says[] = {"token", "RB3026 1..64 ASCII", "ASCII", "RB_LIMIT_USER_DATA", "disk", "instance type"};
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct rb_err err = {0};
        assert_false(rb_ec2_check_launch(&bad[i], &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_says(&err, says[i]);
    }
    long_token[64] = '\0';
    long_data[RB_LIMIT_USER_DATA] = '\0';
    assert_true(rb_ec2_check_launch(&bad[1], NULL));
    assert_true(rb_ec2_check_launch(&bad[3], NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_launch),   cmocka_unit_test(full_launch), cmocka_unit_test(a_gang_is_all_or_nothing),
        cmocka_unit_test(profile_by_arn), cmocka_unit_test(into_a_reservation), cmocka_unit_test(questions),   cmocka_unit_test(impossible_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
