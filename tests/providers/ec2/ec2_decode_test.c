// Answers in the shape the API reference shows, and what must not be accepted as one.
#include "providers/ec2/ec2_decode.h"
#include "tests/base/check.h"

#include <stdio.h>

#define NS      "xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\""
#define NOON_US INT64_C(1767268800000000) // 2026-01-01T12:00:00Z

static const char run_answer[] =
    "<RunInstancesResponse " NS "><requestId>7a62</requestId><reservationId>r-1</reservationId><ownerId>1</ownerId>"
    "<groupSet/><instancesSet><item><instanceId>i-0abc</instanceId><imageId>ami-1</imageId>"
    "<instanceState><code>0</code><name>pending</name></instanceState><privateDnsName/><dnsName/><reason/>"
    "<amiLaunchIndex>0</amiLaunchIndex><instanceType>g5.xlarge</instanceType>"
    "<launchTime>2026-01-01T12:00:00.000Z</launchTime><placement><availabilityZone>us-east-1a</availabilityZone>"
    "<groupName/><tenancy>default</tenancy></placement><privateIpAddress>10.0.0.5</privateIpAddress>"
    "<clientToken>tok</clientToken><tagSet><item><key>rb:run-id</key><value>r-9</value></item>"
    "<item><key>rb:launch-id</key><value>l-1</value></item></tagSet></item></instancesSet></RunInstancesResponse>";

static void launched_instance(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_instance i;
    assert_true(rb_ec2_decode_run(run_answer, sizeof run_answer - 1, 1, "us-east-1", &arena, &i, NULL));
    assert_string_equal(i.id, "i-0abc");
    assert_int_equal(i.state, RB_INSTANCE_PENDING);
    assert_string_equal(i.address, "10.0.0.5");
    assert_string_equal(i.private_address, "10.0.0.5");
    assert_string_equal(i.instance_type, "g5.xlarge");
    assert_string_equal(i.zone, "us-east-1a");
    assert_string_equal(i.region, "us-east-1");
    assert_int_equal(i.market, RB_MARKET_ON_DEMAND);
    assert_string_equal(i.token, "tok");
    assert_string_equal(i.run_id, "r-9");
    assert_string_equal(i.launch_id, "l-1");
    assert_null(i.owner);
    assert_null(i.state_reason);
    assert_int_equal(i.running_at_us, -1); // not billed while pending
    assert_int_equal(i.terminated_at_us, -1);
    rb_arena_finish(&arena);
}

static char *list_of(struct rb_arena *a, const char *instances, const char *rest)
{
    return rb_arena_printf(a,
                           "<DescribeInstancesResponse " NS "><reservationSet><item><instancesSet>%s</instancesSet>"
                           "</item></reservationSet>%s</DescribeInstancesResponse>",
                           instances, rest);
}

static void listed_instances(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_instance_page page;
    const char *body =
        list_of(&arena,
                "<item><instanceState><code>272</code></instanceState><ipAddress>54.1.2.3</ipAddress>"
                "<privateIpAddress>10.0.0.5</privateIpAddress><instanceLifecycle>spot</instanceLifecycle>"
                "<launchTime>2026-01-01T12:00:00.000Z</launchTime><instanceId>i-1</instanceId></item>"
                "<item><instanceId>i-2</instanceId><instanceState><code>48</code></instanceState>"
                "<launchTime>2026-01-01T12:00:00.000Z</launchTime>"
                "<reason>User initiated (2026-01-01 12:00:07 GMT)</reason>"
                "<stateReason><code>Client.UserInitiatedShutdown</code><message>m</message></stateReason></item>"
                "<item><instanceId>i-3</instanceId><instanceState><code>48</code></instanceState>"
                "<reason>Server.SpotInstanceTermination: Spot instance termination</reason>"
                "<stateReason><code>Server.SpotInstanceTermination</code></stateReason></item>"
                "<item><instanceId>i-4</instanceId><instanceState><code>48</code></instanceState>"
                "<launchTime>2026-01-01T12:00:00.000Z</launchTime>"
                "<reason>Server.InsufficientInstanceCapacity (2026-01-01 12:00:03 GMT)</reason>"
                "<stateReason><code>Server.InsufficientInstanceCapacity</code></stateReason></item>",
                "<nextToken>abc=</nextToken>");
    assert_true(rb_ec2_decode_list(body, strlen(body), "us-east-1", &arena, &page, NULL));
    assert_int_equal(page.n, 4);
    assert_string_equal(page.next_page, "abc=");
    const struct rb_instance *i = page.instances;
    assert_int_equal(i[0].state, RB_INSTANCE_RUNNING); // 272 = 16 with a bit in the internal byte
    assert_string_equal(i[0].address, "54.1.2.3");
    assert_string_equal(i[0].private_address, "10.0.0.5");
    assert_int_equal(i[0].market, RB_MARKET_SPOT);
    assert_int_equal(i[0].running_at_us, NOON_US);
    assert_int_equal(i[0].terminated_at_us, -1);
    assert_int_equal(i[1].state, RB_INSTANCE_TERMINATED);
    assert_int_equal(i[1].terminated_at_us, NOON_US + 7000000);
    assert_string_equal(i[1].state_reason, "Client.UserInitiatedShutdown");
    assert_null(i[1].address);
    assert_int_equal(i[2].terminated_at_us, -1); // this reason does not say when
    assert_int_equal(i[2].running_at_us, -1);
    assert_false(i[2].sold_out);
    assert_true(i[3].sold_out);
    assert_int_equal(i[3].running_at_us, -1); // launchTime is the request's: it never ran
    assert_int_equal(i[3].terminated_at_us, NOON_US + 3000000);
    rb_arena_finish(&arena);
}

static void reservations(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_reservation_page page;
    struct rb_instance_page list;
    struct rb_err err;
    const char *format =
        "<DescribeCapacityReservationsResponse " NS "><requestId>1</requestId><capacityReservationSet>"
        "<item><capacityReservationId>cr-0a</capacityReservationId><instanceType>p5.48xlarge</instanceType>"
        "<availabilityZone>us-east-1a</availabilityZone><totalInstanceCount>4</totalInstanceCount>"
        "<availableInstanceCount>%s</availableInstanceCount><state>active</state>"
        "<startDate>2026-01-01T12:00:00.000Z</startDate><endDateType>unlimited</endDateType></item>"
        "<item><capacityReservationId>cr-0b</capacityReservationId><instanceType>p5.48xlarge</instanceType>"
        "<availabilityZone>us-east-1b</availabilityZone><totalInstanceCount>2</totalInstanceCount>"
        "<availableInstanceCount>0</availableInstanceCount><state>scheduled</state>"
        "<startDate>2026-01-01T12:00:00.000Z</startDate><endDate>2026-01-01T12:00:07Z</endDate>"
        "<reservationType>capacity-block</reservationType></item></capacityReservationSet>"
        "<nextToken>t</nextToken></DescribeCapacityReservationsResponse>";
    char *body = rb_arena_printf(&arena, "%.*s3%s", (int)(strstr(format, "%s") - format), format,
                                 strstr(format, "%s") + 2);
    assert_true(rb_ec2_decode_reservations(body, strlen(body), "aws/us-east-1", &arena, &page, &err));
    assert_int_equal(page.n, 2);
    assert_string_equal(page.next_page, "t");
    const struct rb_reservation *r = page.reservations;
    assert_string_equal(r[0].infra, "aws/us-east-1/us-east-1a");
    assert_int_equal(r[0].count, 3); // what no one uses
    assert_int_equal(r[0].starts_at_us, -1);
    assert_int_equal(r[0].ends_at_us, -1);
    assert_false(r[0].is_block);
    assert_int_equal(r[1].count, 2);
    assert_int_equal(r[1].starts_at_us, NOON_US);
    assert_int_equal(r[1].ends_at_us, NOON_US + 7000000);
    assert_true(r[1].is_block);
    assert_false(rb_ec2_decode_reservations(format, strlen(format), "aws/us-east-1", &arena, &page, &err)); // "%s"
    assert_says(&err, "availableInstanceCount: expected a number");

    // Only one that was launched into its reservation is on that market.
    body = list_of(&arena,
                   "<item><instanceId>i-1</instanceId><instanceState><code>16</code></instanceState>"
                   "<capacityReservationId>cr-0a</capacityReservationId><capacityReservationSpecification>"
                   "<capacityReservationPreference>open</capacityReservationPreference>"
                   "</capacityReservationSpecification></item>"
                   "<item><instanceId>i-2</instanceId><instanceState><code>16</code></instanceState>"
                   "<instanceLifecycle>capacity-block</instanceLifecycle><capacityReservationSpecification>"
                   "<capacityReservationTarget><capacityReservationId>cr-0b</capacityReservationId>"
                   "</capacityReservationTarget></capacityReservationSpecification></item>", "");
    assert_true(rb_ec2_decode_list(body, strlen(body), "us-east-1", &arena, &list, &err));
    assert_int_equal(list.instances[0].market, RB_MARKET_ON_DEMAND);
    assert_int_equal(list.instances[1].market, RB_MARKET_RESERVED);
    rb_arena_finish(&arena);
}

static void states_are_distinguished(void **state)
{
    (void)state;
    static const struct {
        int code, expected;
    } cases[] = {
        {0, RB_INSTANCE_PENDING},
        {16, RB_INSTANCE_RUNNING},
        {32, RB_INSTANCE_STOPPING},
        {48, RB_INSTANCE_TERMINATED},
        {64, RB_INSTANCE_STOPPING},
        {80, RB_INSTANCE_STOPPED},
        {17, -1},
        {-1, -1},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct rb_arena arena = {0};
        struct rb_instance_page page;
        const char *item = rb_arena_printf(&arena,
                                           "<item><instanceId>i-1</instanceId><instanceState><code>%d</code>"
                                           "</instanceState></item>",
                                           cases[c].code);
        const char *body = list_of(&arena, item, "");
        const bool ok = rb_ec2_decode_list(body, strlen(body), "r", &arena, &page, NULL);
        assert_int_equal(ok ? (int)page.instances[0].state : -1, cases[c].expected);
        rb_arena_finish(&arena);
    }
}

static void empty_lists_end(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "<DescribeInstancesResponse " NS "><reservationSet/></DescribeInstancesResponse>",
        "<DescribeInstancesResponse><reservationSet/><nextToken/></DescribeInstancesResponse>",
        ("<DescribeInstancesResponse><reservationSet><item><instancesSet/></item></reservationSet>"
         "</DescribeInstancesResponse>"),
    };
    for (size_t b = 0; b < N_OF(bodies); b++) {
        struct rb_arena arena = {0};
        struct rb_instance_page page;
        assert_true(rb_ec2_decode_list(bodies[b], strlen(bodies[b]), "r", &arena, &page, NULL));
        assert_int_equal(page.n, 0);
        assert_null(page.next_page);
        rb_arena_finish(&arena);
    }
}

static void expect_no_list(const char *body, const char *reason)
{
    struct rb_arena arena = {0};
    struct rb_instance_page page;
    struct rb_err err = {0};
    assert_false(rb_ec2_decode_list(body, strlen(body), "r", &arena, &page, &err));
    assert_int_equal(err.code, RB_ERR_IO);
    assert_says(&err, reason);
    rb_arena_finish(&arena);
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    expect_no_list("<RunInstancesResponse/>", "expected <DescribeInstancesResponse>, got <RunInstancesResponse>");
    expect_no_list("<DescribeInstancesResponse/>", "reservationSet");
    expect_no_list("<DescribeInstancesResponse><reservationSet><item>", "no element found");

    static const struct {
        const char *item, *reason;
    } cases[] = {
        {"<item/>", "instanceId"},
        {"<item><instanceId>-oProxyCommand=x</instanceId><instanceState><code>0</code></instanceState></item>",
         "instanceId"},
        {"<item><instanceId>i-1 i-2</instanceId><instanceState><code>0</code></instanceState></item>", "instanceId"},
        {"<item><instanceId>i-1</instanceId></item>", "i-1: answer: instanceState/code"},
        {"<item><instanceId>i-1</instanceId><instanceState><code>x</code></instanceState></item>", "a number"},
        {"<item><instanceId>i-1</instanceId><instanceState><code>16</code></instanceState>"
         "<ipAddress>-oProxyCommand=evil</ipAddress></item>",
         "ipAddress: expected a numeric IP address"},
        {"<item><instanceId>i-1</instanceId><instanceState><code>16</code></instanceState>"
         "<privateIpAddress>host.example</privateIpAddress></item>",
         "privateIpAddress"},
        {"<item><instanceId>i-1</instanceId><instanceState><code>16</code></instanceState>"
         "<launchTime>yesterday</launchTime></item>",
         "launchTime"},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct rb_arena arena = {0};
        expect_no_list(list_of(&arena, cases[c].item, ""), cases[c].reason);
        rb_arena_finish(&arena);
    }
}

static void a_launch_is_as_many_instances_as_it_asked_for(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "<RunInstancesResponse><instancesSet/></RunInstancesResponse>",
        "<RunInstancesResponse/>",
        "<RunInstancesResponse><instancesSet><item/><item/></instancesSet></RunInstancesResponse>",
    };
    for (size_t b = 0; b < N_OF(bodies); b++) {
        struct rb_arena arena = {0};
        struct rb_instance i;
        struct rb_err err = {0};
        assert_false(rb_ec2_decode_run(bodies[b], strlen(bodies[b]), 1, "r", &arena, &i, &err));
        assert_says(&err, "expected 1 instances");
        rb_arena_finish(&arena);
    }
}

#define MEMBER(id, index)                                                                \
    "<item><instanceId>" id "</instanceId><instanceState><code>0</code></instanceState>" \
    "<amiLaunchIndex>" index "</amiLaunchIndex></item>"
#define GANG(items) "<RunInstancesResponse><instancesSet>" items "</instancesSet></RunInstancesResponse>"

static void a_gang_is_distinguished_by_launch_index(void **state)
{
    (void)state;
    static const char in_any_order[] = GANG(MEMBER("i-c", "2") MEMBER("i-a", "0") MEMBER("i-b", "1"));
    static const struct {
        const char *body, *reason;
    } broken[] = {
        {GANG(MEMBER("i-a", "0") MEMBER("i-b", "1")), "expected 3 instances, got 2"},
        {GANG(MEMBER("i-a", "0") MEMBER("i-b", "1") MEMBER("i-c", "1")), "one instance at each place"},
        {GANG(MEMBER("i-a", "0") MEMBER("i-b", "1") MEMBER("i-c", "3")), "one instance at each place"},
        {GANG(MEMBER("i-a", "0") MEMBER("i-b", "1") MEMBER("i-c", "-1")), "amiLaunchIndex"},
        {GANG(MEMBER("i-a", "0") MEMBER("i-b", "1") MEMBER("i-c", "last")), "amiLaunchIndex"},
    };
    struct rb_arena arena = {0};
    struct rb_instance gang[3] = {{.id = "untouched"}};
    struct rb_err err = {0};
    for (size_t b = 0; b < N_OF(broken); b++) {
        assert_false(rb_ec2_decode_run(broken[b].body, strlen(broken[b].body), 3, "r", &arena, gang, &err));
        assert_says(&err, broken[b].reason);
        assert_string_equal(gang[0].id, "untouched");
    }
    assert_true(rb_ec2_decode_run(in_any_order, sizeof in_any_order - 1, 3, "r", &arena, gang, NULL));
    assert_string_equal(gang[0].id, "i-a");
    assert_string_equal(gang[1].id, "i-b");
    assert_string_equal(gang[2].id, "i-c");
    assert_int_equal(gang[2].member, 2);
    rb_arena_finish(&arena);
}

static void terminations(void **state)
{
    (void)state;
    static const struct {
        const char *item;
        bool ok, never_ran;
    } cases[] = {
        {"<item><instanceId>i-1</instanceId><currentState><code>32</code></currentState></item>", true, false},
        {"<item><instanceId>i-1</instanceId><currentState><code>48</code></currentState></item>", true, false},
        {"<item><instanceId>i-1</instanceId><currentState><code>32</code></currentState><previousState><code>0</code>"
         "</previousState></item>",
         true, true},
        {"<item><instanceId>i-1</instanceId><currentState><code>32</code></currentState><previousState><code>16</code>"
         "</previousState></item>",
         true, false},
        {"<item><instanceId>i-1</instanceId><currentState><code>32</code></currentState><previousState><code>x</code>"
         "</previousState></item>",
         false, false},
        {"<item><instanceId>i-1</instanceId><currentState><code>16</code></currentState></item>", false, false},
        {"<item><instanceId>i-2</instanceId><currentState><code>32</code></currentState></item>", false, false},
        {"<item><instanceId>i-1</instanceId></item>", false, false},
        {"", false, false},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        char body[512];
        const int n = snprintf(body, sizeof body,
                               "<TerminateInstancesResponse><instancesSet>%s</instancesSet>"
                               "</TerminateInstancesResponse>",
                               cases[c].item);
        bool never_ran = false;
        assert_int_equal(rb_ec2_decode_terminate(body, (size_t)n, "i-1", &never_ran, NULL), cases[c].ok);
        assert_int_equal(never_ran, cases[c].never_ran);
    }
}

static void images(void **state)
{
    (void)state;
    static const char body[] = "<DescribeImagesResponse><imagesSet><item><imageId>ami-1</imageId>"
                               "<rootDeviceName>/dev/xvda</rootDeviceName></item><item><imageId>ami-2</imageId></item>"
                               "</imagesSet></DescribeImagesResponse>";
    struct rb_arena arena = {0};
    struct rb_err err = {0};
    const char *device = NULL;
    assert_true(rb_ec2_decode_image(body, sizeof body - 1, "ami-1", &arena, &device, NULL));
    assert_string_equal(device, "/dev/xvda");
    assert_false(rb_ec2_decode_image(body, sizeof body - 1, "ami-2", &arena, &device, &err));
    assert_says(&err, "rootDeviceName");
    assert_false(rb_ec2_decode_image(body, sizeof body - 1, "ami-3", &arena, &device, &err));
    assert_int_equal(err.code, RB_ERR_NOT_FOUND);
    assert_says(&err, "ami-3");
    rb_arena_finish(&arena);
}

#define TYPE(name, gpus)                                                                                  \
    "<item><instanceType>" name "</instanceType><vCpuInfo><defaultVCpus>48</defaultVCpus></vCpuInfo>"     \
    "<memoryInfo><sizeInMiB>196608</sizeInMiB></memoryInfo><supportedUsageClasses><item>on-demand</item>" \
    "<item>spot</item></supportedUsageClasses>" gpus "</item>"
#define GPUS(name, count)                                                                                   \
    "<gpuInfo><gpus><item><name>" name "</name><manufacturer>NVIDIA</manufacturer><count>" count "</count>" \
    "<memoryInfo><sizeInMiB>24576</sizeInMiB></memoryInfo></item></gpus></gpuInfo>"

static void machines(void **state)
{
    (void)state;
    static const char body[] =
        "<DescribeInstanceTypesResponse " NS "><instanceTypeSet>" TYPE("g5.12xlarge", GPUS("A10G", "4"))
            TYPE("c5.12xlarge", "") TYPE("p5e.48xlarge", GPUS("NVIDIA", "1")) TYPE("p3dn.24xlarge", GPUS("V100", "8"))
                TYPE("g6f.large", GPUS("L4", "0")) "</instanceTypeSet></DescribeInstanceTypesResponse>";
    struct rb_arena arena = {0};
    struct rb_ec2_machines page;
    assert_true(rb_ec2_decode_machines(body, sizeof body - 1, &arena, &page, NULL));
    assert_int_equal(page.n, 4); // a fraction of a GPU is left out
    assert_string_equal(page.machines[0].accelerator, "A10G");
    assert_int_equal(page.machines[0].gpus, 4);
    assert_true(page.machines[0].gpu_memory_gb > 23.99 && page.machines[0].gpu_memory_gb < 24.01);
    assert_true(page.machines[0].memory_gb > 191.99 && page.machines[0].memory_gb < 192.01);
    assert_true(page.machines[0].on_demand && page.machines[0].spot);
    assert_string_equal(page.machines[1].accelerator, "CPU");
    assert_int_equal(page.machines[1].gpus, 1);
    assert_string_equal(page.machines[2].accelerator, "H200"); // which the API calls "NVIDIA", and says there is one
    assert_int_equal(page.machines[2].gpus, 8);
    assert_true(page.machines[2].gpu_memory_gb > 140.9);
    assert_string_equal(page.machines[3].accelerator, "V100-32GB"); // its count is right
    assert_int_equal(page.machines[3].gpus, 8);
    rb_arena_finish(&arena);
}

static void spot_prices(void **state)
{
    (void)state;
    static const struct {
        const char *price;
        int64_t uusd;
    } cases[] = {
        {"0.3510000", 351000}, {"0.3510001", 351001}, {"12", 12000000}, {"0", -1}, {"-1", -1}, {"cheap", -1}, {"", -1},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct rb_arena arena = {0};
        struct rb_ec2_spot_prices page;
        const char *body =
            rb_arena_printf(&arena,
                            "<DescribeSpotPriceHistoryResponse><spotPriceHistorySet><item>"
                            "<instanceType>g5.xlarge</instanceType><availabilityZone>us-east-1a</availabilityZone>"
                            "<spotPrice>%s</spotPrice></item></spotPriceHistorySet><nextToken/>"
                            "</DescribeSpotPriceHistoryResponse>",
                            cases[c].price);
        const bool ok = rb_ec2_decode_spot_prices(body, strlen(body), &arena, &page, NULL);
        assert_int_equal(ok ? page.prices[0].rate.uusd_per_hour : -1, cases[c].uusd);
        rb_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launched_instance),
        cmocka_unit_test(listed_instances),
        cmocka_unit_test(reservations), cmocka_unit_test(states_are_distinguished),
        cmocka_unit_test(empty_lists_end),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(a_launch_is_as_many_instances_as_it_asked_for),
        cmocka_unit_test(a_gang_is_distinguished_by_launch_index),
        cmocka_unit_test(terminations),
        cmocka_unit_test(images),
        cmocka_unit_test(machines),
        cmocka_unit_test(spot_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
