// The EC2 front without sockets: every request here is signed, decoded, answered and read back as XML.
#include "base/stream.h"
#include "clouds.h"
#include "providers/mock/cloud/ledger.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/wire/digest.h"
#include "providers/wire/xml.h"
#include "signed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HOST "127.0.0.1:8900"

static struct small_cloud w;
static const struct rb_mock_key test_key = {"test", "test"};
static struct rb_mock_ec2 ec2;
static int64_t now_us;
static struct signing signing;
static struct rb_arena answers; // XML read in a test
static int status;              // of the last answer

static int setup(void **state)
{
    (void)state;
    small_cloud_setup(&w,
                      "capacity: {g5.xlarge: 40}\n"
                      "reservations:\n"
                      "  - {id: cr-00000001, zone: us-east-1a, instance_type: g5.xlarge, count: 1, end_after_s: 7200}\n"
                      "  - {id: cr-00000002, zone: us-east-1a, instance_type: g5.xlarge, count: 1, start_after_s: 7200,\n"
                      "     end_after_s: 10800, capacity_block: true}\n"
                      "  - {id: cr-00000003, zone: us-east-1b, instance_type: g5.xlarge, count: 1, match: open,\n"
                      "     start_after_s: 7200}\n",
                      0);
    ec2 = (struct rb_mock_ec2){.cloud = w.cloud, .keys = {&test_key, 1}};
    now_us = T0;
    signing = (struct signing){"test", "test", "us-east-1", T0, HOST};
    rb_arena_init(&answers);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    small_cloud_teardown(&w);
    rb_arena_finish(&answers);
    return 0;
}

static const struct rb_xml *exchange(const struct rb_exchange_request *r)
{
    struct rb_exchange_answer answer = {0};
    struct rb_err err;
    const struct rb_xml *root;
    rb_mock_ec2_answer(&ec2, r, now_us, signing.unix_us, &answer);
    status = answer.status;
    if (!rb_xml_parse(rb_buf_str(&answer.body), answer.body.len, &answers, &root, &err))
        fail_msg("not XML (%s): %s", err.message, rb_buf_str(&answer.body));
    if (status == 200)
        assert_non_null(strstr(rb_buf_str(&answer.body), "xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\""));
    rb_buf_finish(&answer.body);
    return root;
}

static const struct rb_xml *post(const char *body)
{
    RB_AUTO(rb_buf_finish) struct rb_buf authorization = RB_BUF_INIT;
    char date[17];
    amz_date(signing.unix_us, date);
    sign_form(&signing, body, &authorization);
    const struct rb_sigv4_header headers[] = {{"Host", HOST},
                                              {"Content-Type", FORM_TYPE},
                                              {"X-Amz-Date", date},
                                              {"Authorization", rb_buf_str(&authorization)}};
    return exchange(&(struct rb_exchange_request){.method = "POST",
                                                  .path = "/",
                                                  .query = "",
                                                  .headers = headers,
                                                  .n_headers = 4,
                                                  .body = body,
                                                  .body_len = strlen(body)});
}

// `Action=...&Version=...` and the rest as given.
static const struct rb_xml *call(const char *action, const char *rest)
{
    char body[32768];
    snprintf(body, sizeof body, "Action=%s&Version=2016-11-15%s%s", action, *rest ? "&" : "", rest);
    return post(body);
}

static const char *error_code(const struct rb_xml *root)
{
    const struct rb_xml *error = rb_xml_child(rb_xml_child(root, "Errors"), "Error");
    assert_non_null(rb_xml_text(root, "RequestID"));
    return rb_xml_text(error, "Code");
}

static void expect_error(const char *action, const char *rest, const char *code, int http_status)
{
    const struct rb_xml *root = call(action, rest);
    if (status == 200)
        fail_msg("%s %s: expected %s, got success", action, rest, code);
    if (strcmp(error_code(root), code) != 0 || status != http_status)
        fail_msg("%s %s: expected %s (%d), got %s (%d)", action, rest, code, http_status, error_code(root), status);
}

static const struct rb_xml *ok(const char *action, const char *rest)
{
    const struct rb_xml *root = call(action, rest);
    if (status != 200)
        fail_msg("%s %s: %s: %s", action, rest, error_code(root),
                 rb_xml_text(rb_xml_child(rb_xml_child(root, "Errors"), "Error"), "Message"));
    assert_non_null(rb_xml_text(root, "requestId"));
    return root;
}

#define PLAIN "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=1&MaxCount=1"

static const char *run(const char *rest)
{
    char all[4096];
    snprintf(all, sizeof all, PLAIN "%s%s", *rest ? "&" : "", rest);
    const struct rb_xml *set = rb_xml_child(ok("RunInstances", all), "instancesSet");
    return rb_xml_text(rb_xml_child(set, "item"), "instanceId");
}

static int n_items(const struct rb_xml *set)
{
    int n = 0;
    for (const struct rb_xml *i = rb_xml_child(set, "item"); i; i = rb_xml_next(i, "item"))
        n++;
    return n;
}

// How many instances DescribeInstances finds.
static int n_found(const char *rest)
{
    int n = 0;
    const struct rb_xml *set = rb_xml_child(ok("DescribeInstances", rest), "reservationSet");
    for (const struct rb_xml *r = rb_xml_child(set, "item"); r; r = rb_xml_next(r, "item"))
        n += n_items(rb_xml_child(r, "instancesSet"));
    return n;
}

static const struct rb_xml *describe(const char *id)
{
    char rest[64];
    snprintf(rest, sizeof rest, "InstanceId.1=%s", id);
    const struct rb_xml *r = rb_xml_child(rb_xml_child(ok("DescribeInstances", rest), "reservationSet"), "item");
    return rb_xml_child(rb_xml_child(r, "instancesSet"), "item");
}

// --- authentication ---

static void wrong_signatures_are_refused(void **state)
{
    (void)state;
    ok("DescribeRegions", "");
    signing.secret_key = "Test";
    expect_error("DescribeRegions", "", "SignatureDoesNotMatch", 403);
    signing.secret_key = "test";
    signing.access_key = "stranger";
    expect_error("DescribeRegions", "", "AuthFailure", 401);
    signing.access_key = "test";
    signing.region = "eu-north-1"; // not in the price list
    expect_error("DescribeRegions", "", "AuthFailure", 401);
    signing.host = "127.0.0.1:1"; // signed for another host than it was sent to
    signing.region = "us-east-1";
    expect_error("DescribeRegions", "", "SignatureDoesNotMatch", 403);
}

static void unsigned_requests_are_refused(void **state)
{
    (void)state;
    const char *body = "Action=DescribeRegions&Version=2016-11-15";
    const struct rb_xml *root = exchange(&(struct rb_exchange_request){
        .method = "POST", .path = "/", .query = "", .body = body, .body_len = strlen(body)});
    assert_int_equal(status, 403);
    assert_string_equal(error_code(root), "MissingAuthenticationToken");
}

static void a_changed_body_is_noticed(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf authorization = RB_BUF_INIT;
    char date[17];
    amz_date(T0, date);
    sign_form(&signing, "Action=DescribeRegions&Version=2016-11-15", &authorization);
    const struct rb_sigv4_header headers[] = {{"Host", HOST},
                                              {"Content-Type", FORM_TYPE},
                                              {"X-Amz-Date", date},
                                              {"Authorization", rb_buf_str(&authorization)}};
    const char *body = "Action=DescribeRegions&Version=2016-11-15&AllRegions=true";
    const struct rb_xml *root = exchange(&(struct rb_exchange_request){.method = "POST",
                                                                       .path = "/",
                                                                       .query = "",
                                                                       .headers = headers,
                                                                       .n_headers = 4,
                                                                       .body = body,
                                                                       .body_len = strlen(body)});
    assert_string_equal(error_code(root), "SignatureDoesNotMatch");
}

static void the_clock_may_be_off_by_fifteen_minutes(void **state)
{
    (void)state;
    static const struct {
        int64_t off_s;
        bool fine;
    } rows[] = {{0, true}, {899, true}, {-899, true}, {901, false}, {-901, false}, {86400, false}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char date[17];
        RB_AUTO(rb_buf_finish) struct rb_buf authorization = RB_BUF_INIT;
        struct signing off = signing;
        struct rb_exchange_answer answer = {0};
        const char *body = "Action=DescribeRegions&Version=2016-11-15";
        off.unix_us += rows[k].off_s * S;
        amz_date(off.unix_us, date);
        sign_form(&off, body, &authorization);
        const struct rb_sigv4_header headers[] = {{"Host", HOST},
                                                  {"Content-Type", FORM_TYPE},
                                                  {"X-Amz-Date", date},
                                                  {"Authorization", rb_buf_str(&authorization)}};
        rb_mock_ec2_answer(&ec2,
                           &(struct rb_exchange_request){.method = "POST",
                                                         .path = "/",
                                                         .query = "",
                                                         .headers = headers,
                                                         .n_headers = 4,
                                                         .body = body,
                                                         .body_len = strlen(body)},
                           T0, T0, &answer);
        assert_int_equal(answer.status, rows[k].fine ? 200 : 400);
        assert_int_equal(strstr(rb_buf_str(&answer.body), "RequestExpired") != NULL, !rows[k].fine);
        rb_buf_finish(&answer.body);
    }
}

// AWS's own example of a presigned request has this shape; here GET and everything in the query.
static void a_signature_in_the_query_is_as_good(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf query = RB_BUF_INIT;
    char date[17], signature[65];
    amz_date(T0, date);
    rb_buf_printf(&query,
                  "Action=DescribeRegions&Version=2016-11-15&X-Amz-Algorithm=AWS4-HMAC-SHA256"
                  "&X-Amz-Credential=test%%2F20260101%%2Fus-east-1%%2Fec2%%2Faws4_request&X-Amz-Date=%s"
                  "&X-Amz-Expires=60&X-Amz-SignedHeaders=host",
                  date);
    const struct rb_sigv4_header host = {"host", HOST};
    rb_sigv4_signature(&(struct rb_sigv4_request){.method = "GET",
                                                  .path = "/",
                                                  .query = rb_buf_str(&query), // already in canonical order
                                                  .headers = &host,
                                                  .n_headers = 1,
                                                  .body = "",
                                                  .amz_date = date,
                                                  .region = "us-east-1",
                                                  .service = "ec2"},
                       "test", signature, NULL);
    rb_buf_printf(&query, "&X-Amz-Signature=%s", signature);
    struct rb_exchange_request r = {
        .method = "GET", .path = "/", .query = rb_buf_str(&query), .headers = &host, .n_headers = 1, .body = ""};
    exchange(&r);
    assert_int_equal(status, 200);
    query.data[query.len - 1] ^= 1;
    exchange(&r);
    assert_int_equal(status, 403);
}

// --- RunInstances ---

static void run_instances_refuses_nonsense(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *code;
        int status;
    } rows[] = {
        {"", "MissingParameter", 400},
        {"InstanceType=g5.xlarge&MinCount=1&MaxCount=1", "MissingParameter", 400},
        {PLAIN "&Frobnicate=1", "UnknownParameter", 400},
        {PLAIN "&LaunchTemplate.LaunchTemplateName=x", "UnknownParameter", 400},
        {PLAIN "&SecurityGroupId.2=sg-12345678", "UnknownParameter", 400}, // a list begins at 1
        {"ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=2&MaxCount=1", "InvalidParameterValue", 400},
        {"ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=0&MaxCount=1", "InvalidParameterValue", 400},
        {"ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=1x&MaxCount=1", "InvalidParameterValue", 400},
        {"ImageId=ami-ffffffffffffffff0&InstanceType=g5.xlarge&MinCount=1&MaxCount=1", "InvalidAMIID.NotFound", 400},
        {"ImageId=debian&InstanceType=g5.xlarge&MinCount=1&MaxCount=1", "InvalidAMIID.Malformed", 400},
        {"ImageId=ami-00000000000000000&InstanceType=p99.huge&MinCount=1&MaxCount=1", "InvalidParameterValue", 400},
        {"ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=41&MaxCount=41", "InsufficientInstanceCapacity",
         500},
        {PLAIN "&KeyName=mine", "InvalidKeyPair.NotFound", 400},
        {PLAIN "&SubnetId=there", "InvalidSubnetID.NotFound", 400},
        {PLAIN "&SecurityGroupId.1=default", "InvalidGroupId.Malformed", 400},
        {PLAIN "&SubnetId=subnet-12345678&NetworkInterface.1.DeviceIndex=0", "InvalidParameterCombination", 400},
        {PLAIN "&Placement.AvailabilityZone=us-east-1q", "InvalidParameterValue", 400},
        {PLAIN "&UserData=%21%21", "InvalidUserData.Malformed", 400},
        {PLAIN "&InstanceInitiatedShutdownBehavior=hibernate", "InvalidParameterValue", 400},
        {PLAIN "&InstanceMarketOptions.MarketType=auction", "InvalidParameterValue", 400},
        {PLAIN "&InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time", "MissingParameter", 400},
        {PLAIN "&InstanceMarketOptions.MarketType=spot&InstanceMarketOptions.SpotOptions.MaxPrice=0.4",
         "SpotMaxPriceTooLow", 400},
        {PLAIN "&TagSpecification.1.ResourceType=moon&TagSpecification.1.Tag.1.Key=a", "InvalidParameterValue", 400},
        {PLAIN "&TagSpecification.1.Tag.1.Key=a", "MissingParameter", 400},
        {PLAIN "&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=aws:x", "InvalidParameterValue",
         400},
        {PLAIN "&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a&TagSpecification.1."
               "Tag.2.Key=a",
         "InvalidParameterValue", 400},
        {PLAIN "&ClientToken=caf%C3%A9", "InvalidParameterValue", 400},
        {PLAIN "&ClientToken=12345678901234567890123456789012345678901234567890123456789012345",
         "InvalidParameterValue", 400},
        {PLAIN "&DryRun=true", "DryRunOperation", 412},
        {PLAIN "&DryRun=true&Frobnicate=1", "UnknownParameter", 400},
        {PLAIN "&MinCount=1", "MalformedQueryString", 400}, // given twice
        {PLAIN "&A=%GG", "MalformedQueryString", 400},
        {PLAIN "&A=%FF", "MalformedQueryString", 400}, // not UTF-8
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        expect_error("RunInstances", rows[k].rest, rows[k].code, rows[k].status);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 0);
}

static void tokens_compare_all_parameters_but_the_zone(void **state)
{
    (void)state;
    RB_AUTO(rb_auto_free) char *first = rb_xstrdup(run("ClientToken=T"));
    assert_string_equal(run("ClientToken=T"), first);
    assert_string_equal(run("ClientToken=T&"), first); // an empty piece is nothing
    // The order of parameters means nothing.
    const struct rb_xml *set = rb_xml_child(
        ok("RunInstances", "MaxCount=1&ClientToken=T&MinCount=1&InstanceType=g5.xlarge&ImageId=ami-00000000000000000"),
        "instancesSet");
    assert_string_equal(rb_xml_text(rb_xml_child(set, "item"), "instanceId"), first);
    expect_error("RunInstances", PLAIN "&ClientToken=T&Monitoring.Enabled=true", "IdempotentParameterMismatch", 400);
    expect_error("RunInstances",
                 "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=1&MaxCount=2&ClientToken=T",
                 "IdempotentParameterMismatch", 400);
    RB_AUTO(rb_auto_free) char *zonal = rb_xstrdup(run("ClientToken=T&Placement.AvailabilityZone=us-east-1a"));
    assert_string_not_equal(zonal, first);
    assert_string_equal(run("ClientToken=T&Placement.AvailabilityZone=us-east-1a"), zonal);
    assert_string_not_equal(run("ClientToken=T&Placement.AvailabilityZone=us-east-1b"), zonal);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 3);
}

static void a_subnet_implies_its_zone(void **state)
{
    (void)state;
    RB_AUTO(rb_auto_free) char *first = rb_xstrdup(run("ClientToken=T&SubnetId=subnet-12345678"));
    assert_string_equal(run("ClientToken=T&SubnetId=subnet-12345678"), first);
    const char *zone = rb_cloud_find(w.cloud, first)->zone;
    char other[256];
    snprintf(other, sizeof other, PLAIN "&SubnetId=subnet-12345678&Placement.AvailabilityZone=us-east-1%c",
             zone[9] == 'a' ? 'b' : 'a');
    expect_error("RunInstances", other, "InvalidParameterValue", 400);
}

// User data of n bytes of comment, as a parameter.
static void add_user_data(struct rb_buf *form, const char *text, size_t n)
{
    RB_AUTO(rb_auto_free) char *encoded = rb_xcalloc(4 * ((n + 2) / 3) + 1, 1);
    rb_base64_encode(text, n, encoded);
    add_parameter(form, "UserData", encoded);
}

static void user_data_is_limited_and_searched(void **state)
{
    (void)state;
    static char long_text[16385] = "#cloud-config\n#";
    RB_AUTO(rb_buf_finish) struct rb_buf form = RB_BUF_INIT;
    memset(long_text + 15, 'x', sizeof long_text - 15);
    rb_buf_puts(&form, PLAIN);
    add_user_data(&form, long_text, 16384);
    ok("RunInstances", rb_buf_str(&form));
    rb_buf_clear(&form);
    rb_buf_puts(&form, PLAIN);
    add_user_data(&form, long_text, 16385);
    expect_error("RunInstances", rb_buf_str(&form), "InvalidParameterValue", 400);
    rb_buf_clear(&form);
    rb_buf_puts(&form, PLAIN);
    add_user_data(&form, "#!/bin/sh\n/sbin/shutdown -h +5\n", 31);
    expect_error("RunInstances", rb_buf_str(&form), "InvalidUserData.HostPath", 400);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 1);
}

// --- DescribeInstances ---

static void filters_select(void **state)
{
    (void)state;
    RB_AUTO(rb_auto_free)
    char *tagged =
        rb_xstrdup(run("ClientToken=one&Placement.AvailabilityZone=us-east-1a&TagSpecification.1.ResourceType=instance"
                       "&TagSpecification.1.Tag.1.Key=rb%3Arun-id&TagSpecification.1.Tag.1.Value=r%2B1%20%E2%82%AC"
                       "&TagSpecification.2.ResourceType=volume&TagSpecification.2.Tag.1.Key=disk&TagSpecification.2."
                       "Tag.1.Value=x"));
    run("InstanceMarketOptions.MarketType=spot&Placement.AvailabilityZone=us-east-1b");
    ok("RunInstances", "ImageId=ami-00000000000000000&InstanceType=g5.12xlarge&MinCount=1&MaxCount=1");
    const struct {
        const char *rest;
        int n;
    } rows[] = {
        {"", 3},
        {"Filter.1.Name=tag%3Arb%3Arun-id&Filter.1.Value.1=r%2B1%20%E2%82%AC", 1},
        {"Filter.1.Name=tag%3Arb%3Arun-id&Filter.1.Value.1=r%2B2", 0},
        {"Filter.1.Name=tag%3Arb%3Arun-id&Filter.1.Value.1=*", 1},
        {"Filter.1.Name=tag-key&Filter.1.Value.1=rb%3A*", 1},
        {"Filter.1.Name=tag-key&Filter.1.Value.1=disk", 0}, // the volume's
        {"Filter.1.Name=client-token&Filter.1.Value.1=one", 1},
        {"Filter.1.Name=client-token&Filter.1.Value.1=One", 0},
        {"Filter.1.Name=instance-state-name&Filter.1.Value.1=pending", 3},
        {"Filter.1.Name=instance-state-name&Filter.1.Value.1=running&Filter.1.Value.2=terminated", 0},
        {"Filter.1.Name=instance-lifecycle&Filter.1.Value.1=spot", 1},
        {"Filter.1.Name=availability-zone&Filter.1.Value.1=us-east-1a", 1},
        {"Filter.1.Name=availability-zone&Filter.1.Value.1=us-east-1%3F", 3},
        {"Filter.1.Name=instance-type&Filter.1.Value.1=g5.*", 3},
        {"Filter.1.Name=instance-type&Filter.1.Value.1=*.12x*e", 1},
        {"Filter.1.Name=instance-type&Filter.1.Value.1=g5.xlarge&Filter.2.Name=instance-lifecycle&Filter.2."
         "Value.1=spot",
         1},
        {"Filter.1.Name=instance-type&Filter.1.Value.1=g5.%5C%2A", 0}, // a quoted star is a star
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (n_found(rows[k].rest) != rows[k].n)
            fail_msg("%s: found %d, expected %d", rows[k].rest, n_found(rows[k].rest), rows[k].n);
    const struct rb_xml *tags = rb_xml_child(describe(tagged), "tagSet");
    assert_int_equal(n_items(tags), 1);
    assert_string_equal(rb_xml_text(rb_xml_child(tags, "item"), "value"), "r+1 \xe2\x82\xac");
    expect_error("DescribeInstances", "Filter.1.Name=colour&Filter.1.Value.1=red", "InvalidParameterValue", 400);
    expect_error("DescribeInstances", "Filter.1.Name=tag%3A&Filter.1.Value.1=red", "InvalidParameterValue", 400);
    expect_error("DescribeInstances", "Filter.1.Name=tag-key", "InvalidParameterValue", 400);
    expect_error("DescribeInstances", "Filter.1.Value.1=x", "InvalidParameterValue", 400);
    signing.region = "us-west-2";
    assert_int_equal(n_found(""), 0);
}

static void pages_cover_everything_once(void **state)
{
    (void)state;
    char rest[128] = "MaxResults=5", seen[17][20];
    int n = 0, n_pages = 0;
    ok("RunInstances", "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=12&MaxCount=12");
    ok("RunInstances", "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=5&MaxCount=5");
    for (const char *token = ""; token; n_pages++) {
        const struct rb_xml *root = ok("DescribeInstances", rest);
        const struct rb_xml *r = rb_xml_child(rb_xml_child(root, "reservationSet"), "item");
        for (; r; r = rb_xml_next(r, "item"))
            for (const struct rb_xml *i = rb_xml_child(rb_xml_child(r, "instancesSet"), "item"); i;
                 i = rb_xml_next(i, "item"))
                snprintf(seen[n++], 20, "%s", rb_xml_text(i, "instanceId"));
        token = rb_xml_text(root, "nextToken");
        if (token)
            snprintf(rest, sizeof rest, "MaxResults=5&NextToken=%s", token);
        assert_true(n == 17 || n % 5 == 0);
    }
    assert_int_equal(n_pages, 4);
    assert_int_equal(n, 17);
    for (int a = 0; a < n; a++)
        assert_string_equal(seen[a], rb_cloud_instance(w.cloud, a)->id);

    expect_error("DescribeInstances", "MaxResults=4", "InvalidParameterValue", 400);
    expect_error("DescribeInstances", "MaxResults=1001", "InvalidParameterValue", 400);
    expect_error("DescribeInstances", "MaxResults=5&NextToken=made-up", "InvalidParameterValue", 400);
    snprintf(rest, sizeof rest, "MaxResults=5&InstanceId.1=%s", seen[0]);
    expect_error("DescribeInstances", rest, "InvalidParameterCombination", 400);
    expect_error("DescribeInstances", "InstanceId.1=i-0123456789abcdeg", "InvalidInstanceID.Malformed", 400);
    expect_error("DescribeInstances", "InstanceId.1=i-0000000000000000d", "InvalidInstanceID.NotFound", 400);
}

// --- termination and the bill ---

static void terminate_is_all_or_nothing(void **state)
{
    (void)state;
    char rest[128];
    RB_AUTO(rb_auto_free) char *id = rb_xstrdup(run(""));
    snprintf(rest, sizeof rest, "InstanceId.1=%s&InstanceId.2=i-0000000000000000d", id);
    expect_error("TerminateInstances", rest, "InvalidInstanceID.NotFound", 400);
    assert_int_equal(rb_cloud_find(w.cloud, id)->state, RB_CLOUD_PENDING);
    expect_error("TerminateInstances", "", "MissingParameter", 400);
    snprintf(rest, sizeof rest, "InstanceId.1=%s&DryRun=true", id);
    expect_error("TerminateInstances", rest, "DryRunOperation", 412);
    snprintf(rest, sizeof rest, "InstanceId.1=%s", id);
    for (int k = 0; k < 2; k++) { // each repeat succeeds
        const struct rb_xml *item = rb_xml_child(rb_xml_child(ok("TerminateInstances", rest), "instancesSet"), "item");
        assert_string_equal(rb_xml_text(rb_xml_child(item, "currentState"), "name"), "shutting-down");
        assert_string_equal(rb_xml_text(rb_xml_child(item, "previousState"), "name"), k ? "shutting-down" : "pending");
    }
}

static void a_client_can_reconstruct_the_bill(void **state)
{
    (void)state;
    char rest[64];
    now_us = T0 + 123456;
    RB_AUTO(rb_auto_free)
    char *id = rb_xstrdup(run("BlockDeviceMapping.1.DeviceName=%2Fdev%2Fsda1"
                              "&BlockDeviceMapping.1.Ebs.VolumeSize=200"));
    assert_string_equal(rb_xml_text(describe(id), "launchTime"), "2026-01-01T00:00:00.000Z"); // of the request
    now_us = T0 + 10 * S;
    assert_string_equal(rb_xml_text(describe(id), "launchTime"), "2026-01-01T00:00:05.000Z"); // of running
    now_us = T0 + 3700 * S + 999999;
    snprintf(rest, sizeof rest, "InstanceId.1=%s", id);
    ok("TerminateInstances", rest);
    struct rb_cloud_order order;
    while (rb_cloud_next_order(w.cloud, &order))
        if (order.what == RB_CLOUD_END)
            rb_cloud_node_gone(w.cloud, order.instance, now_us);
    now_us += 10 * S;
    const struct rb_xml *i = describe(id);
    assert_string_equal(rb_xml_text(rb_xml_child(i, "instanceState"), "name"), "terminated");
    assert_string_equal(rb_xml_text(i, "reason"), "User initiated (2026-01-01 01:01:40 GMT)");
    assert_string_equal(rb_xml_text(rb_xml_child(i, "stateReason"), "code"), "Client.UserInitiatedShutdown");
    const struct rb_billing billing = {
        .rate = {1006000}, .disk_rate = {100}, .disk_gb = 200}; // what the price list says
    struct rb_bill bill = rb_bill_node(&billing, T0 + 5 * S, T0 + 3700 * S);
    assert_int_equal(rb_cloud_bill(rb_cloud_find(w.cloud, id), now_us).total_uusd, bill.total_uusd);

    RB_AUTO(rb_buf_finish) struct rb_buf ledger = RB_BUF_INIT;
    char total[64];
    rb_ledger_write(w.cloud, now_us, &ledger);
    snprintf(total, sizeof total, "\"total_uusd\": %lld", (long long)bill.total_uusd);
    assert_non_null(strstr(rb_buf_str(&ledger), total));
    assert_non_null(strstr(rb_buf_str(&ledger), "\"instances_left\": 0"));
}

// EC2 gives the second of the request, and libcloud falls over an instance without. Nothing is billed all the same.
static void what_never_ran_has_a_launch_time(void **state)
{
    (void)state;
    char rest[64];
    now_us = T0 + 123456;
    RB_AUTO(rb_auto_free) char *id = rb_xstrdup(run(""));
    snprintf(rest, sizeof rest, "InstanceId.1=%s", id);
    ok("TerminateInstances", rest);
    now_us += 10 * S;
    assert_string_equal(rb_xml_text(describe(id), "launchTime"), "2026-01-01T00:00:00.000Z");
    assert_int_equal(rb_cloud_bill(rb_cloud_find(w.cloud, id), now_us).total_uusd, 0);
    assert_null(rb_xml_text(describe(id), "ipAddress"));
}

// --- placement groups ---

static void groups_hold_instances_together(void **state)
{
    (void)state;
    static const char in_a[] = "GroupName=together&Strategy=cluster&TagSpecification.1.ResourceType=placement-group"
                               "&TagSpecification.1.Tag.1.Key=rb%3Arun-id&TagSpecification.1.Tag.1.Value=r";
    static const char by_tag[] = "Filter.1.Name=tag%3Arb%3Arun-id&Filter.1.Value.1=r";
    char zone[32], rest[512];
    expect_error("RunInstances", PLAIN "&Placement.GroupName=together", "InvalidPlacementGroup.Unknown", 400);
    expect_error("CreatePlacementGroup", "GroupName=g&Strategy=spread", "InvalidParameterValue", 400);
    expect_error("CreatePlacementGroup", "Strategy=cluster", "MissingParameter", 400);
    ok("CreatePlacementGroup", in_a);
    expect_error("CreatePlacementGroup", in_a, "InvalidPlacementGroup.Duplicate", 400);
    const char *first = run("Placement.GroupName=together&ClientToken=one");
    const struct rb_xml *placement = rb_xml_child(describe(first), "placement");
    assert_string_equal(rb_xml_text(placement, "groupName"), "together");
    snprintf(zone, sizeof zone, "%s", rb_xml_text(placement, "availabilityZone"));
    for (int i = 0; i < 8; i++) // alone, they would be in any zone
        assert_string_equal(
            rb_xml_text(rb_xml_child(describe(run("Placement.GroupName=together")), "placement"), "availabilityZone"),
            zone);
    assert_string_equal(run("Placement.GroupName=together&ClientToken=one"), first);
    snprintf(rest, sizeof rest, PLAIN "&Placement.GroupName=together&Placement.AvailabilityZone=us-east-1%c",
             zone[9] == 'a' ? 'b' : 'a');
    expect_error("RunInstances", rest, "InvalidParameterCombination", 400);

    assert_int_equal(n_items(rb_xml_child(ok("DescribePlacementGroups", by_tag), "placementGroupSet")), 1);
    assert_int_equal(n_items(rb_xml_child(ok("DescribePlacementGroups", "Filter.1.Name=tag-key&Filter.1.Value.1=x"),
                                          "placementGroupSet")),
                     0);
    expect_error("DeletePlacementGroup", "GroupName=together", "InvalidPlacementGroup.InUse", 400);
    for (int k = 0; k < rb_cloud_n_instances(w.cloud); k++) {
        snprintf(rest, sizeof rest, "InstanceId.1=%s", rb_cloud_instance(w.cloud, k)->id);
        ok("TerminateInstances", rest);
    }
    expect_error("DeletePlacementGroup", "GroupName=together", "InvalidPlacementGroup.InUse",
                 400); // not before they are gone
    now_us += 3600 * S;
    for (struct rb_cloud_order o; rb_cloud_advance(w.cloud, now_us), rb_cloud_next_order(w.cloud, &o);)
        if (o.what == RB_CLOUD_END)
            rb_cloud_node_gone(w.cloud, o.instance, now_us);
    now_us += 3600 * S;
    signing.unix_us = now_us;
    ok("DeletePlacementGroup", "GroupName=together");
    expect_error("DeletePlacementGroup", "GroupName=together", "InvalidPlacementGroup.Unknown", 400);
    assert_int_equal(n_items(rb_xml_child(ok("DescribePlacementGroups", ""), "placementGroupSet")), 0);
}

// --- reservations ---

#define INTO "&CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId="

static const char *state_of(const char *id)
{
    char rest[128];
    snprintf(rest, sizeof rest, "CapacityReservationId.1=%s", id);
    return rb_xml_text(rb_xml_child(rb_xml_child(ok("DescribeCapacityReservations", rest), "capacityReservationSet"), "item"),
                       "state");
}

static void advance_to(int64_t at_us)
{
    now_us = signing.unix_us = at_us;
    rb_cloud_advance(w.cloud, now_us);
}

static void reservations_hold_what_is_launched_into_them(void **state)
{
    (void)state;
    static const char odcr[] = "cr-00000001", block[] = "cr-00000002", open[] = "cr-00000003";
    struct rb_cloud_instance *i;
    assert_string_equal(state_of(odcr), "active");
    assert_string_equal(state_of(block), "scheduled");
    expect_error("DescribeCapacityReservations", "CapacityReservationId.1=cr-00000009",
                 "InvalidCapacityReservationId.NotFound", 400);
    expect_error("DescribeCapacityReservations", "CapacityReservationId.1=x", "InvalidCapacityReservationId.Malformed", 400);
    assert_int_equal(n_items(rb_xml_child(ok("DescribeCapacityReservations", "MaxResults=2"), "capacityReservationSet")), 2);

    // Paid for until its end, then as on demand, which it goes on to be.
    run("Placement.AvailabilityZone=us-east-1a" INTO "cr-00000001");
    i = rb_cloud_instance(w.cloud, rb_cloud_n_instances(w.cloud) - 1);
    expect_error("RunInstances", PLAIN "&Placement.AvailabilityZone=us-east-1a" INTO "cr-00000001",
                 "ReservationCapacityExceeded", 400);
    expect_error("RunInstances", PLAIN "&Placement.AvailabilityZone=us-east-1b" INTO "cr-00000001", "InvalidParameterValue",
                 400);
    expect_error("RunInstances", PLAIN "&Placement.AvailabilityZone=us-east-1a" INTO "cr-00000002", "InvalidParameterValue",
                 400);
    expect_error("RunInstances",
                 PLAIN "&InstanceMarketOptions.MarketType=capacity-block&Placement.AvailabilityZone=us-east-1a" INTO
                       "cr-00000002",
                 "ReservationCapacityExceeded", 400); // not begun
    expect_error("RunInstances", PLAIN "&InstanceMarketOptions.MarketType=capacity-block", "MissingParameter", 400);
    expect_error("RunInstances", PLAIN "&InstanceMarketOptions.MarketType=spot" INTO "cr-00000001",
                 "InvalidParameterCombination", 400);
    advance_to(T0 + 7200 * S);
    assert_string_equal(state_of(odcr), "expired");
    assert_int_equal(rb_cloud_bill(i, now_us).total_uusd, 0);
    assert_int_equal(i->state, RB_CLOUD_RUNNING);
    assert_true(rb_cloud_bill(i, now_us + 3600 * S).machine_uusd == i->offer->rate.uusd_per_hour);

    // A block's instances are ended half an hour before it ends.
    run("InstanceMarketOptions.MarketType=capacity-block&Placement.AvailabilityZone=us-east-1a" INTO "cr-00000002");
    i = rb_cloud_instance(w.cloud, rb_cloud_n_instances(w.cloud) - 1);
    advance_to(T0 + (10800 - 1800) * S - 1);
    assert_int_equal(i->state, RB_CLOUD_RUNNING);
    advance_to(T0 + (10800 - 1800) * S);
    assert_int_equal(i->state, RB_CLOUD_SHUTTING_DOWN);
    assert_int_equal(rb_cloud_bill(i, now_us).total_uusd, 0);
    expect_error("RunInstances",
                 PLAIN "&InstanceMarketOptions.MarketType=capacity-block&Placement.AvailabilityZone=us-east-1a" INTO
                       "cr-00000002",
                 "ReservationCapacityExceeded", 400);

    // An open one takes what names none.
    run("Placement.AvailabilityZone=us-east-1b");
    i = rb_cloud_instance(w.cloud, rb_cloud_n_instances(w.cloud) - 1);
    assert_string_equal(i->reserved->id, open);
    assert_null(rb_xml_text(rb_xml_child(describe(i->id), "capacityReservationSpecification"), "capacityReservationTarget"));
    run("Placement.AvailabilityZone=us-east-1b"); // it is full
    assert_null(rb_cloud_instance(w.cloud, rb_cloud_n_instances(w.cloud) - 1)->reserved);
}

// --- the catalogue ---

static void instance_types_come_from_the_price_list(void **state)
{
    (void)state;
    const struct rb_xml *set = rb_xml_child(ok("DescribeInstanceTypes", ""), "instanceTypeSet");
    assert_int_equal(n_items(set), 3);
    set = rb_xml_child(ok("DescribeInstanceTypes", "InstanceType.1=g5.12xlarge"), "instanceTypeSet");
    const struct rb_xml *type = rb_xml_child(set, "item"), *gpus = rb_xml_child(type, "gpuInfo");
    const struct rb_xml *gpu = rb_xml_child(rb_xml_child(gpus, "gpus"), "item");
    assert_string_equal(rb_xml_text(rb_xml_child(type, "vCpuInfo"), "defaultVCpus"), "48");
    assert_string_equal(rb_xml_text(rb_xml_child(type, "memoryInfo"), "sizeInMiB"), "196608");
    assert_string_equal(rb_xml_text(gpu, "name"), "A10G");
    assert_string_equal(rb_xml_text(gpu, "manufacturer"), "NVIDIA");
    assert_string_equal(rb_xml_text(gpu, "count"), "4");
    assert_string_equal(rb_xml_text(rb_xml_child(gpu, "memoryInfo"), "sizeInMiB"), "22886"); // 22.35 GiB
    assert_int_equal(n_items(rb_xml_child(type, "supportedUsageClasses")), 1);
    set = rb_xml_child(ok("DescribeInstanceTypes", "Filter.1.Name=supported-usage-class&Filter.1.Value.1=spot"),
                       "instanceTypeSet");
    assert_int_equal(n_items(set), 1);
    set = rb_xml_child(ok("DescribeInstanceTypes", "Filter.1.Name=instance-type&Filter.1.Value.1=c5.*"),
                       "instanceTypeSet");
    assert_null(rb_xml_child(rb_xml_child(set, "item"), "gpuInfo"));
    expect_error("DescribeInstanceTypes", "InstanceType.1=p99.huge", "InvalidInstanceType", 400);
}

static void types_are_offered_where_they_are_sold(void **state)
{
    (void)state;
    static const char by_zone[] = "LocationType=availability-zone&Filter.1.Name=instance-type&Filter.1.Value.1=g5.*";
    const struct rb_xml *set = rb_xml_child(ok("DescribeInstanceTypeOfferings", by_zone), "instanceTypeOfferingSet");
    assert_int_equal(n_items(set), 4); // g5.xlarge in three zones, g5.12xlarge in one
    set = rb_xml_child(ok("DescribeInstanceTypeOfferings", "Filter.1.Name=location&Filter.1.Value.1=us-east-1"),
                       "instanceTypeOfferingSet");
    assert_int_equal(n_items(set), 3);
    expect_error("DescribeInstanceTypeOfferings", "LocationType=planet", "InvalidParameterValue", 400);
}

// Asked from now on, each pool answers with its current price; asked from earlier on, with those before it as well.
static void spot_prices_have_a_history(void **state)
{
    (void)state;
    static const char now[] = "StartTime=2026-01-01T00:00:00Z&", last_week[] = "StartTime=2025-12-25T00:00:00Z&";
    char rest[128];
    snprintf(rest, sizeof rest, "%sInstanceType.1=g5.xlarge&ProductDescription.1=Linux%%2FUNIX", now);
    const struct rb_xml *set = rb_xml_child(ok("DescribeSpotPriceHistory", rest), "spotPriceHistorySet");
    assert_int_equal(n_items(set), 3);
    assert_string_equal(rb_xml_text(rb_xml_child(set, "item"), "spotPrice"), "0.412500");
    snprintf(rest, sizeof rest, "%sAvailabilityZone=us-east-1b", now);
    assert_int_equal(n_items(rb_xml_child(ok("DescribeSpotPriceHistory", rest), "spotPriceHistorySet")), 1);
    snprintf(rest, sizeof rest, "%sProductDescription.1=Windows", now);
    assert_int_equal(n_items(rb_xml_child(ok("DescribeSpotPriceHistory", rest), "spotPriceHistorySet")), 0);
    snprintf(rest, sizeof rest, "%sAvailabilityZone=us-east-1b", last_week);
    set = rb_xml_child(ok("DescribeSpotPriceHistory", rest), "spotPriceHistorySet");
    assert_in_range(n_items(set), 28, 31); // four a day, today's, and the one that held when the week began
    assert_string_equal(rb_xml_text(rb_xml_child(set, "item"), "spotPrice"), "0.412500"); // newest first
    expect_error("DescribeSpotPriceHistory", "StartTime=yesterday", "InvalidParameterValue", 400);
}

// What a pool's steps cost so far, newest first, and before them what was drawn; the other zones are as they were.
static void spot_prices_follow_a_pool(void **state)
{
    (void)state;
    static const struct rb_capacity_step steps[] = {{0, 9, 360000}, {60 * S, 9, 720000}, {9000 * S, 9, 990000}};
    static const struct rb_cloud_pool pool = {
        .scope = {.infra = "*", .instance_type = "g5.xlarge", .market = RB_MARKET_SPOT}, .zone = "us-east-1a", .steps = steps, .n_steps = 3};
    char rest[160];
    w.config.limits.pools = &pool;
    w.config.limits.n_pools = 1;
    now_us = w.config.epoch_us + 600 * S;
    snprintf(rest, sizeof rest, "StartTime=2025-12-25T00:00:00Z&AvailabilityZone=us-east-1a");
    const struct rb_xml *set = rb_xml_child(ok("DescribeSpotPriceHistory", rest), "spotPriceHistorySet");
    const struct rb_xml *first = rb_xml_child(set, "item"), *second = first->next, *third = second->next;
    assert_string_equal(rb_xml_text(first, "spotPrice"), "0.720000");
    assert_string_equal(rb_xml_text(second, "spotPrice"), "0.360000");
    assert_string_equal(rb_xml_text(third, "spotPrice"), "0.412500");
    snprintf(rest, sizeof rest, "StartTime=2026-01-01T00:00:00Z&AvailabilityZone=us-east-1b");
    set = rb_xml_child(ok("DescribeSpotPriceHistory", rest), "spotPriceHistorySet");
    assert_string_equal(rb_xml_text(rb_xml_child(set, "item"), "spotPrice"), "0.412500");
}

static void spot_prices_come_in_pages(void **state)
{
    (void)state;
    const struct rb_xml *page = ok("DescribeSpotPriceHistory", "StartTime=2026-01-01T00:00:00Z&MaxResults=2");
    assert_int_equal(n_items(rb_xml_child(page, "spotPriceHistorySet")), 2);
    char rest[128];
    snprintf(rest, sizeof rest, "StartTime=2026-01-01T00:00:00Z&MaxResults=2&NextToken=%s",
             rb_xml_text(page, "nextToken"));
    page = ok("DescribeSpotPriceHistory", rest);
    assert_int_equal(n_items(rb_xml_child(page, "spotPriceHistorySet")), 1);
    assert_null(rb_xml_text(page, "nextToken"));
}

// The same cloud with a chaos file.
static void with_chaos(const char *rules)
{
    struct rb_err err;
    const char *yaml = rb_arena_printf(&w.arena, "format: rb-chaos/1\nrules:\n%s", rules);
    if (!rb_chaos_parse("chaos.yaml", yaml, strlen(yaml), &w.arena, &w.config.chaos, &err))
        fail_msg("%s: %s", err.key, err.message);
    rb_cloud_destroy(w.cloud);
    ec2.cloud = w.cloud = rb_cloud_create(&w.config);
}

static void errors_strike_before_or_after_the_deed(void **state)
{
    (void)state;
    with_chaos(
        "  - {what: {error: {status: 500, code: InsufficientInstanceCapacity}}, where: {action: RunInstances}, "
        "times: 1}\n"
        "  - {what: {error: {status: 500, code: InternalError, after_effect: true}}, where: {action: RunInstances, "
        "instance_type: g5.xlarge}, when: {call: 2}, times: 1}\n"
        "  - {what: throttle, where: {action: TerminateInstances, region: us-east-1}, times: 1}\n");
    expect_error("RunInstances", PLAIN "&ClientToken=a", "InsufficientInstanceCapacity", 500);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 0);
    expect_error("RunInstances", PLAIN "&ClientToken=a", "InternalError", 500);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 1);
    ok("RunInstances", PLAIN "&ClientToken=a"); // the token finds what was launched unseen
    assert_int_equal(rb_cloud_n_instances(w.cloud), 1);
    char rest[64];
    snprintf(rest, sizeof rest, "InstanceId.1=%s", rb_cloud_instance(w.cloud, 0)->id);
    expect_error("TerminateInstances", rest, "RequestLimitExceeded", 503);
    ok("TerminateInstances", rest);
}

static void a_skewed_clock_refuses_honest_signatures(void **state)
{
    (void)state;
    with_chaos("  - {what: {clock_skew: {by: 20m}}, where: {front: ec2}, times: 1}\n");
    expect_error("DescribeRegions", "", "RequestExpired", 400);
    ok("DescribeRegions", "");
}

static void pages_may_be_short_and_empty(void **state)
{
    (void)state;
    with_chaos("  - {what: {partial_page: {items: 0}}, where: {action: DescribeInstances}, times: 1}\n"
               "  - {what: {partial_page: {items: 2}}, where: {action: DescribeInstances}, when: {call: 2}}\n");
    ok("RunInstances", "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=3&MaxCount=3");
    int counts[3], n = 0;
    char rest[64] = "";
    for (const char *token = ""; token; n++) {
        const struct rb_xml *page = ok("DescribeInstances", rest);
        const struct rb_xml *item = rb_xml_child(rb_xml_child(page, "reservationSet"), "item");
        counts[n] = item ? n_items(rb_xml_child(item, "instancesSet")) : 0;
        token = rb_xml_text(page, "nextToken");
        snprintf(rest, sizeof rest, "NextToken=%s", token ? token : "");
    }
    assert_int_equal(n, 3);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 2);
    assert_int_equal(counts[2], 1);
}

static void places_and_images(void **state)
{
    (void)state;
    assert_int_equal(n_items(rb_xml_child(ok("DescribeRegions", ""), "regionInfo")), 2);
    assert_int_equal(n_items(rb_xml_child(ok("DescribeAvailabilityZones", ""), "availabilityZoneInfo")), 3);
    assert_int_equal(n_items(rb_xml_child(ok("DescribeImages", "Owner.1=amazon"), "imagesSet")), 1);
    assert_int_equal(n_items(rb_xml_child(ok("DescribeImages", "Owner.1=999999999999"), "imagesSet")), 0);
    expect_error("DescribeImages", "ImageId.1=ami-12345678", "InvalidAMIID.NotFound", 400);
    expect_error("DescribeFlowers", "", "InvalidAction", 400);
}

static void tags_can_be_added_later(void **state)
{
    (void)state;
    char rest[128];
    RB_AUTO(rb_auto_free) char *id = rb_xstrdup(run(""));
    snprintf(rest, sizeof rest, "ResourceId.1=%s&Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=b&Tag.2.Value=", id);
    ok("CreateTags", rest);
    snprintf(rest, sizeof rest, "ResourceId.1=%s&Tag.1.Key=a&Tag.1.Value=2", id);
    ok("CreateTags", rest);
    assert_int_equal(n_found("Filter.1.Name=tag%3Aa&Filter.1.Value.1=2"), 1);
    const struct rb_xml *set = rb_xml_child(ok("DescribeTags", "Filter.1.Name=key&Filter.1.Value.1=a"), "tagSet");
    assert_int_equal(n_items(set), 1);
    assert_string_equal(rb_xml_text(rb_xml_child(set, "item"), "resourceId"), id);
    expect_error("CreateTags", "ResourceId.1=i-0000000000000000d&Tag.1.Key=a", "InvalidInstanceID.NotFound", 400);
}

#define V "Version=2016-11-15&"

// Bodies made by cutting, repeating and corrupting good ones: whatever comes, the answer is XML.
static void garbage_gets_an_answer(void **state)
{
    (void)state;
    static const char *const seeds[] = {
        "Action=RunInstances&" V PLAIN
        "&UserData=I2Nsb3VkLWNvbmZpZwo%3D&TagSpecification.1.ResourceType=instance&ClientToken=x",
        "Action=DescribeInstances&" V
        "Filter.1.Name=tag%3Aa&Filter.1.Value.1=*&MaxResults=5&NextToken=page0000000000000001",
        "Action=DescribeSpotPriceHistory&" V "InstanceType.1=g5.xlarge&MaxResults=1&ProductDescription.1=%EF%BF%BF",
        "Action=CreateTags&" V "ResourceId.1=i-00000000000000000&Tag.1.Key=a&Tag.1.Value=%3C%26%0D%01",
    };
    struct rb_stream random;
    rb_stream_init(&random, &(struct rb_stream_key){.seed = 7, .purpose = RB_DRAW_SEARCH});
    for (int k = 0; k < 3000; k++) {
        char body[1024];
        int n = snprintf(body, sizeof body, "%s", seeds[rb_stream_below(&random, 4)]);
        for (uint64_t changes = 1 + rb_stream_below(&random, 4); changes > 0 && n > 2; changes--) {
            int at = (int)rb_stream_below(&random, (uint64_t)n),
                len = (int)rb_stream_below(&random, (uint64_t)(n - at));
            switch (rb_stream_below(&random, 4)) {
            case 0: // another byte
                body[at] = (char)(1 + rb_stream_below(&random, 255));
                break;
            case 1: // a piece less
                memmove(body + at, body + at + len, (size_t)(n - at - len) + 1);
                n -= len;
                break;
            case 2: // a piece twice
                if (n + len < (int)sizeof body) {
                    memmove(body + at + len, body + at, (size_t)(n - at) + 1);
                    n += len;
                }
                break;
            case 3: // the end cut off
                body[n = at] = '\0';
                break;
            }
        }
        const struct rb_xml *root = post(body);
        if (status != 200)
            assert_non_null(error_code(root));
        rb_arena_finish(&answers);
        rb_arena_init(&answers);
    }
}

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*c", "abc", true},
        {"a*c", "abd", false},
        {"a*b*c", "axbxbxc", true},
        {"?", "", false},
        {"?", "a", true},
        {"a?c", "ac", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a\\", "a\\", true},
        {"*?", "", false},
        {"**a**", "a", true},
        {"*ab", "aab", true},
        {"[a]", "a", false},
        {"[a]", "[a]", true},
        {"a*", "b", false},
        {"*a", "ab", false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rb_mock_glob(rows[k].pattern, rows[k].text) != rows[k].matches)
            fail_msg("%s on %s", rows[k].pattern, rows[k].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_signatures_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(unsigned_requests_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_body_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(the_clock_may_be_off_by_fifteen_minutes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signature_in_the_query_is_as_good, setup, teardown),
        cmocka_unit_test_setup_teardown(run_instances_refuses_nonsense, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens_compare_all_parameters_but_the_zone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_subnet_implies_its_zone, setup, teardown),
        cmocka_unit_test_setup_teardown(user_data_is_limited_and_searched, setup, teardown),
        cmocka_unit_test_setup_teardown(filters_select, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_cover_everything_once, setup, teardown),
        cmocka_unit_test_setup_teardown(terminate_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_can_reconstruct_the_bill, setup, teardown),
        cmocka_unit_test_setup_teardown(what_never_ran_has_a_launch_time, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_hold_instances_together, setup, teardown),
        cmocka_unit_test_setup_teardown(instance_types_come_from_the_price_list, setup, teardown),
        cmocka_unit_test_setup_teardown(types_are_offered_where_they_are_sold, setup, teardown),
        cmocka_unit_test_setup_teardown(reservations_hold_what_is_launched_into_them, setup, teardown),
        cmocka_unit_test_setup_teardown(spot_prices_have_a_history, setup, teardown),
        cmocka_unit_test_setup_teardown(spot_prices_follow_a_pool, setup, teardown),
        cmocka_unit_test_setup_teardown(spot_prices_come_in_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_strike_before_or_after_the_deed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_skewed_clock_refuses_honest_signatures, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_may_be_short_and_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(places_and_images, setup, teardown),
        cmocka_unit_test_setup_teardown(tags_can_be_added_later, setup, teardown),
        cmocka_unit_test_setup_teardown(garbage_gets_an_answer, setup, teardown),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
