// What a mock cloud says its machines cost: AWS's Price List and Cloud Billing's. Who asks otherwise than the clouds are asked
// is refused, not humoured.
#include "clouds.h"
#include "providers/mock/gcp/mock_gcp.h"
#include "signed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define GET_PRODUCTS         "AWSPriceListService.GetProducts"
#define FILTER(field, value) "{\"Type\":\"TERM_MATCH\",\"Field\":\"" field "\",\"Value\":\"" value "\"}"
#define OF_EC2(rest)         "{\"ServiceCode\":\"AmazonEC2\"" rest "}"

static struct small_cloud w;
static struct rb_arena arena; // of the built-in cloud, which sells at Compute Engine's prices
static struct rb_cloud_config built_in;
static struct rb_cloud *cloud;
static const struct rb_mock_key test_key = {"test", "test"};
static struct rb_mock_ec2 ec2;
static struct rb_mock_gcp *gcp;
static struct signing signing;
static struct rb_exchange_answer answer;

static int setup(void **state)
{
    (void)state;
    small_cloud_setup(&w, "", 0);
    ec2 = (struct rb_mock_ec2){.cloud = w.cloud, .keys = {&test_key, 1}};
    assert_true(rb_cloud_config_default(&arena, &built_in, NULL));
    built_in.epoch_us = T0;
    cloud = rb_cloud_create(&built_in);
    gcp = rb_mock_gcp_create(cloud, NULL, "test");
    signing = (struct signing){"test", "test", "us-east-1", T0, "127.0.0.1:8900"};
    answer = (struct rb_exchange_answer){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rb_mock_gcp_destroy(gcp);
    rb_cloud_destroy(cloud);
    rb_arena_finish(&arena);
    small_cloud_teardown(&w);
    rb_buf_finish(&answer.body);
    return 0;
}

static const char *ask(const char *body)
{
    ask_json(&ec2, &signing, "pricing", GET_PRODUCTS, body, &answer);
    return rb_buf_str(&answer.body);
}

static const char *ask_skus(const char *path, const char *query)
{
    ask_google(gcp, "GET", path, query, "", T0, &answer);
    return rb_buf_str(&answer.body);
}

static int count(const char *text, const char *words)
{
    int n = 0;
    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}

static void products_are_the_rows_on_demand(void **state)
{
    (void)state;
    // g5.xlarge, g5.12xlarge and c5.xlarge in us-east-1, g5.xlarge in us-west-2; each as three products.
    assert_int_equal(count(ask(OF_EC2("")), "priceDimensions"), 12);
    const char *one = ask(OF_EC2(",\"Filters\":[" FILTER("instanceType", "g5.xlarge") "," FILTER(
        "regionCode", "us-west-2") "," FILTER("operatingSystem", "Linux") "," FILTER("capacitystatus", "Used") "]"));
    expect_words(&answer, 200, "\\\"USD\\\":\\\"1.0060000000\\\"");
    assert_int_equal(count(one, "priceDimensions"), 1);
    assert_null(strstr(one, "0.4125")); // spot prices stand elsewhere
    assert_null(strstr(one, "NextToken"));
    assert_int_equal(count(ask(OF_EC2(",\"Filters\":[" FILTER("instanceType", "p99.huge") "]")), "priceDimensions"), 0);
    expect_words(&answer, 200, "\"PriceList\":[]");
}

static void pages_cover_everything_once(void **state)
{
    (void)state;
    int n = 0;
    char body[256] = OF_EC2(",\"MaxResults\":5"), token[64];
    for (int page = 0;; page++) {
        const char *next = strstr(ask(body), "\"NextToken\":\"");
        assert_int_equal(answer.status, 200);
        n += count(rb_buf_str(&answer.body), "priceDimensions");
        if (!next) {
            assert_int_equal(page, 2);
            break;
        }
        assert_int_equal(sscanf(next, "\"NextToken\":\"%63[^\"]", token), 1);
        snprintf(body, sizeof body, OF_EC2(",\"MaxResults\":5,\"NextToken\":\"%s\""), token);
    }
    assert_int_equal(n, 12);
}

static void wrong_questions_about_products_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *code;
    } cases[] = {
        {"{}", "NotFoundException"},
        {"{\"ServiceCode\":\"AmazonS3\"}", "NotFoundException"},
        {OF_EC2(",\"MaxResults\":101"), "InvalidParameterException"},
        {OF_EC2(",\"MaxResults\":0"), "InvalidParameterException"},
        {OF_EC2(",\"FormatVersion\":\"aws_v9\""), "InvalidParameterException"},
        {OF_EC2(",\"Quux\":1"), "InvalidParameterException"},
        {OF_EC2(",\"Filters\":{}"), "InvalidParameterException"},
        {OF_EC2(",\"Filters\":[" FILTER("colour", "red") "]"), "InvalidParameterException"},
        {OF_EC2(",\"Filters\":[{\"Type\":\"ANY_OF\",\"Field\":\"tenancy\",\"Value\":\"Shared\"}]"),
         "InvalidParameterException"},
        {OF_EC2(",\"Filters\":[{\"Field\":\"tenancy\",\"Value\":\"Shared\"}]"), "InvalidParameterException"},
        {OF_EC2(",\"NextToken\":\"7\""), "InvalidNextTokenException"},
        {OF_EC2(",\"NextToken\":\"page-3\""), "InvalidNextTokenException"},
        {"[]", "SerializationException"},
        {"{", "SerializationException"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask(cases[i].body);
        expect_words(&answer, 400, cases[i].code);
    }
    signing.region = "us-west-2"; // sells machines, but serves no price list
    ask(OF_EC2(""));
    expect_words(&answer, 400, "InvalidSignatureException");
    signing.region = "us-east-1";
    signing.secret_key = "Test";
    ask(OF_EC2(""));
    expect_words(&answer, 400, "InvalidSignatureException");
}

static void skus_are_parts_that_add_up(void **state)
{
    (void)state;
    const char *path = "/v1/services/6F81-5844-456A/skus";
    ask_skus(path, "currencyCode=USD&pageSize=5000");
    expect_words(&answer, 200, "\"description\": \"G2 Instance Core running in Americas\"");
    // 9 parts on 2 markets, and 3 look-alikes of each.
    assert_int_equal(count(rb_buf_str(&answer.body), "\"skuId\""), 72);
    expect_words(&answer, 200, "\"nextPageToken\": \"\"");
    ask_skus(path, "pageSize=5&pageToken=70");
    assert_int_equal(count(rb_buf_str(&answer.body), "\"skuId\""), 2);
    ask_skus(path, "pageSize=5");
    expect_words(&answer, 200, "\"nextPageToken\": \"5\"");
}

static void wrong_questions_about_skus_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *query;
        int status;
    } cases[] = {
        {"/v1/services/0000-0000-0000/skus", "", 404},
        {"/v1/services/6F81-5844-456A", "", 404},
        {"/compute/v1/services/6F81-5844-456A/skus", "", 404},
        {"/v1/services/6F81-5844-456A/skus", "pageSize=5001", 400},
        {"/v1/services/6F81-5844-456A/skus", "pageToken=x", 400},
        {"/v1/services/6F81-5844-456A/skus", "currencyCode=EUR", 400},
        {"/v1/services/6F81-5844-456A/skus", "quux=1", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask_skus(cases[i].path, cases[i].query);
        expect_words(&answer, cases[i].status, "\"error\"");
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_are_the_rows_on_demand),
        TEST(pages_cover_everything_once),
        TEST(wrong_questions_about_products_are_refused),
        TEST(skus_are_parts_that_add_up),
        TEST(wrong_questions_about_skus_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
