// What a mock account may do and use: Service Quotas, parameters of Systems Manager, permissions of a project.
#include "base/document/doc.h"
#include "clouds.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/gcp/mock_gcp.h"
#include "signed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define QUOTAS "ServiceQuotasV20190624."
#define HOST   "127.0.0.1:8900"

static const char more[] = "quotas:\n"
                           "  - {name: G on demand, code: L-DB2E81BA, infra: aws, unit: vcpus, max: 64}\n"
                           "  - {name: nameless, infra: aws, unit: vcpus, max: 9}\n"
                           "  - {name: G spot, code: L-3819A6DF, infra: aws/us-west-2, unit: vcpus, max: 8}\n"
                           "  - {name: P on demand, code: L-417A185B, infra: aws, unit: vcpus, max: 0}\n"
                           "parameters: {/aws/service/x: ami-0123456789abcdef0}\n"
                           "denied: [compute.instances.delete]\n";

static struct small_cloud w;
static const struct rb_mock_key test_key = {"test", "test"};
static struct rb_mock_ec2 ec2;
static struct rb_mock_gcp *gcp;
static struct rb_exchange_answer answer;

static int setup(void **state)
{
    (void)state;
    small_cloud_setup(&w, more, 0);
    ec2 = (struct rb_mock_ec2){.cloud = w.cloud, .keys = {&test_key, 1}};
    gcp = rb_mock_gcp_create(w.cloud, NULL, "test");
    answer = (struct rb_exchange_answer){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rb_mock_gcp_destroy(gcp);
    small_cloud_teardown(&w);
    rb_buf_finish(&answer.body);
    return 0;
}

static const char *ask(const char *target, const char *service, const char *body)
{
    static const struct signing signing = {"test", "test", "us-east-1", T0, HOST};
    ask_json(&ec2, &signing, service, target, body, &answer);
    return rb_buf_str(&answer.body);
}

static const char *ask_project(const char *path, const char *body)
{
    ask_google(gcp, "POST", path, "", body, T0, &answer);
    return rb_buf_str(&answer.body);
}

static void quotas_with_a_code_are_listed(void **state)
{
    (void)state;
    const char *body = ask(QUOTAS "ListServiceQuotas", "servicequotas", "{\"ServiceCode\":\"ec2\"}");
    expect_words(&answer, 200, "\"QuotaCode\":\"L-DB2E81BA\",\"QuotaName\":\"G on demand\",\"Value\":64");
    expect_words(&answer, 200, "\"QuotaArn\":\"arn:aws:servicequotas:us-east-1:123456789012:ec2/L-417A185B\"");
    assert_null(strstr(body, "nameless"));
    assert_null(strstr(body, "L-3819A6DF")); // of another region
    assert_null(strstr(body, "NextToken"));
}

static void lists_have_pages(void **state)
{
    (void)state;
    const char *body = ask(QUOTAS "ListServiceQuotas", "servicequotas", "{\"ServiceCode\":\"ec2\",\"MaxResults\":1}");
    expect_words(&answer, 200, "\"NextToken\":\"page0000000000000001\"");
    assert_null(strstr(body, "L-417A185B"));
    body = ask(QUOTAS "ListServiceQuotas", "servicequotas",
               "{\"ServiceCode\":\"ec2\",\"MaxResults\":1,\"NextToken\":\"page0000000000000001\"}");
    expect_words(&answer, 200, "L-417A185B");
    assert_null(strstr(body, "NextToken"));
}

static void defaults_are_none(void **state)
{
    (void)state;
    ask(QUOTAS "ListAWSDefaultServiceQuotas", "servicequotas", "{\"ServiceCode\":\"ec2\"}");
    expect_words(&answer, 200, "{\"Quotas\":[]}");
}

static void parameters_are_those_of_the_cloud_file(void **state)
{
    (void)state;
    ask("AmazonSSM.GetParameter", "ssm", "{\"Name\":\"/aws/service/x\"}");
    expect_words(&answer, 200, "\"Value\":\"ami-0123456789abcdef0\"");
    ask("AmazonSSM.GetParameter", "ssm", "{\"Name\":\"/aws/service/y\"}");
    expect_words(&answer, 400, "\"__type\":\"ParameterNotFound\"");
}

static void what_is_not_asked_for_rightly_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *target, *service, *body, *words;
    } cases[] = {
        {QUOTAS "ListServiceQuotas", "ec2", "{\"ServiceCode\":\"ec2\"}", "InvalidSignatureException"},
        {QUOTAS "ListServiceQuotas", "servicequotas", "{}", "NoSuchResourceException"},
        {QUOTAS "ListServiceQuotas", "servicequotas", "{\"ServiceCode\":\"s3\"}", "NoSuchResourceException"},
        {QUOTAS "ListServiceQuotas", "servicequotas", "{\"ServiceCode\":\"ec2\",\"Quux\":1}",
         "IllegalArgumentException"},
        {QUOTAS "ListServiceQuotas", "servicequotas", "{\"ServiceCode\":\"ec2\",\"MaxResults\":101}", "1..100"},
        {QUOTAS "ListServiceQuotas", "servicequotas", "{\"ServiceCode\":\"ec2\",\"NextToken\":\"page0\"}",
         "InvalidPaginationTokenException"},
        {QUOTAS "RequestServiceQuotaIncrease", "servicequotas", "{}", "UnknownOperationException"},
        {"AmazonSSM.GetParameter", "ssm", "{\"Name\":\"/aws/service/x\",\"Quux\":1}", "ValidationException"},
        {"AmazonSSM.GetParameter", "ssm", "{}", "ValidationException"},
        {"AmazonSSM.GetParameter", "ssm", "[]", "SerializationException"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask(cases[i].target, cases[i].service, cases[i].body);
        expect_words(&answer, 400, cases[i].words);
    }
}

static void permissions_are_held_unless_denied(void **state)
{
    (void)state;
    const char *path = "/v1/projects/test:testIamPermissions";
    const char *body =
        ask_project(path, "{\"permissions\":[\"compute.instances.create\",\"compute.instances.delete\"]}");
    expect_words(&answer, 200, "compute.instances.create");
    assert_null(strstr(body, "delete"));
    body = ask_project(path, "{\"permissions\":[\"compute.instances.delete\"]}");
    expect_words(&answer, 200, "{");
    assert_null(strstr(body, "permissions"));
}

static void questions_about_permissions_are_strict(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body;
        int status;
    } cases[] = {
        {"/v1/projects/test:testIamPermissions", "{}", 400},
        {"/v1/projects/test:testIamPermissions", "{\"permissions\":[\"compute.*\"]}", 400},
        {"/v1/projects/test:testIamPermissions", "{\"permissions\":[7]}", 400},
        {"/v1/projects/test:testIamPermissions", "{\"permissions\":[],\"quux\":1}", 400},
        {"/v1/projects/other:testIamPermissions", "{\"permissions\":[]}", 404},
        {"/v1/projects/test:setIamPolicy", "{}", 404},
        {"/v1/projects/test", "{}", 404},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask_project(cases[i].path, cases[i].body);
        expect_words(&answer, cases[i].status, "\"error\"");
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(quotas_with_a_code_are_listed),
        TEST(lists_have_pages),
        TEST(defaults_are_none),
        TEST(parameters_are_those_of_the_cloud_file),
        TEST(what_is_not_asked_for_rightly_is_refused),
        TEST(permissions_are_held_unless_denied),
        TEST(questions_about_permissions_are_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
