// Which endpoint a service is spoken to at, and which are refused.
#include "home.h"
#include "providers/aws/aws_endpoint.h"
#include "tests/base/check.h"

#include <stdlib.h>

static void expect(const char *service, const char *region, bool loopback_only, const char *url)
{
    char out[256];
    struct rb_err err;
    if (!rb_aws_endpoint(service, region, loopback_only, out, sizeof out, &err))
        fail_msg("%s", err.message);
    assert_string_equal(out, url);
}

static void expect_refused(const char *region, bool loopback_only, const char *reason)
{
    char out[256] = "untouched";
    struct rb_err err = {0};
    if (rb_aws_endpoint("ec2", region, loopback_only, out, sizeof out, &err))
        fail_msg("%s was accepted as %s", region, out);
    assert_string_equal(out, "untouched");
    assert_int_equal(err.code, RB_ERR_INVALID);
    assert_says(&err, reason);
}

static void public_hosts(void **state)
{
    (void)state;
    expect("ec2", "us-east-1", false, "https://ec2.us-east-1.amazonaws.com");
    expect("ssm", "eu-central-2", false, "https://ssm.eu-central-2.amazonaws.com");
    expect("ec2", "cn-north-1", false, "https://ec2.cn-north-1.amazonaws.com.cn");
    expect("ec2", "us-gov-west-1", false, "https://ec2.us-gov-west-1.amazonaws.com");
}

static void regions_cannot_smuggle_hosts(void **state)
{
    (void)state;
    static const char *const regions[] = {
        "",        "us-east-1.evil.com", "evil.com/us-east-1", "us-east-1/", "US-EAST-1",
        "us-east", "us-east-1\n",        "@evil-com-1",        "xx-east-1",  "us-east-1a"};
    for (size_t i = 0; i < N_OF(regions); i++)
        expect_refused(regions[i], false, "expected a region such as us-east-1");
    setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
    expect_refused("a/b", true, "expected a region");
    expect("ec2", "nowhere-7", true, "http://127.0.0.1:1"); // the mock cloud names its own regions
}

static void overrides_in_order(void **state)
{
    (void)state;
    home_write("config", "[default]\nendpoint_url = http://127.0.0.1:1\n", 0644);
    expect("ec2", "us-east-1", false, "http://127.0.0.1:1");
    home_write("config",
               "[default]\nendpoint_url = http://127.0.0.1:1\nservices = mine\n"
               "[services mine]\nec2 =\n  endpoint_url = http://127.0.0.1:2\n",
               0644);
    expect("ec2", "us-east-1", false, "http://127.0.0.1:2");
    expect("ssm", "us-east-1", false, "http://127.0.0.1:1");
    setenv("AWS_ENDPOINT_URL", "http://localhost:3/", 1);
    expect("ec2", "us-east-1", false, "http://localhost:3");
    setenv("AWS_ENDPOINT_URL_EC2", "https://vpce.example.com", 1);
    expect("ec2", "us-east-1", false, "https://vpce.example.com");
    expect("ssm", "us-east-1", false, "http://localhost:3");
    setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
    expect("ec2", "us-east-1", false, "https://ec2.us-east-1.amazonaws.com");
    expect_refused("us-east-1", true, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
}

static void profiles_can_ignore_overrides(void **state)
{
    (void)state;
    home_write("config", "[default]\nendpoint_url = http://127.0.0.1:1\nignore_configured_endpoint_urls = true\n",
               0644);
    expect("ec2", "us-east-1", false, "https://ec2.us-east-1.amazonaws.com");
}

static void unsafe_urls_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url, *reason;
    } cases[] = {
        {"http://ec2.us-east-1.amazonaws.com", "loopback"},
        {"ftp://127.0.0.1", "https://"},
        {"https://user@example.com", "expected https://"},
        {"https://example.com/path", "no path"},
        {"https://example.com/?a=b", "no path"},
        {"127.0.0.1:4566", "AWS_ENDPOINT_URL"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        setenv("AWS_ENDPOINT_URL", cases[i].url, 1);
        expect_refused("us-east-1", false, cases[i].reason);
    }
}

static void mock_clouds_stay_on_loopback(void **state)
{
    (void)state;
    expect_refused("us-east-1", true, "start rbmock and set AWS_ENDPOINT_URL");
    setenv("AWS_ENDPOINT_URL", "https://ec2.us-east-1.amazonaws.com", 1);
    expect_refused("us-east-1", true, "RB3023 not on loopback");
    setenv("AWS_ENDPOINT_URL", "http://[::1]:8080", 1);
    expect("ec2", "us-east-1", true, "http://[::1]:8080");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, home_set_up, home_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(public_hosts),
        TEST(regions_cannot_smuggle_hosts),
        TEST(overrides_in_order),
        TEST(profiles_can_ignore_overrides),
        TEST(unsafe_urls_are_refused),
        TEST(mock_clouds_stay_on_loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
