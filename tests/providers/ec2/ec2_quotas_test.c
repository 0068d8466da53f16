// What counts against which of an EC2 account's quotas.
#include "base/arena.h"
#include "base/text/buf.h"
#include "home.h"
#include "providers/ec2/ec2.h"
#include "providers/provider.h"
#include "scripted_cloud.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define QUOTA(code, value) "{\"QuotaCode\": \"" code "\", \"QuotaName\": \"n\", \"Value\": " #value "}"
#define LIST(quotas, rest)                                          \
    {                                                               \
        .status = 200, .body = "{\"Quotas\": [" quotas "]" rest "}" \
    }
#define NOTHING LIST("", "")
#define MACHINE(type, market_, moment_, count_, vcpus_)                                                              \
    {                                                                                                                \
        .moment = moment_, .count = count_, .instance_type = type, .accelerator = "X", .market = market_, .gpus = 1, \
        .vcpus = vcpus_                                                                                              \
    }

static void ask(struct scripted_cloud *w, const struct rb_demand *demands, int n_demands, const struct step *steps,
                int n)
{
    scripted_ec2_begin(w, "eu-west-1", steps, n);
    scripted_quotas(w, demands, n_demands);
}

static void families_and_markets_have_quotas_of_their_own(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {
        MACHINE("g5.12xlarge", RB_MARKET_ON_DEMAND, 0, 2, 48), MACHINE("g6.xlarge", RB_MARKET_ON_DEMAND, 0, 1, 4),
        MACHINE("g5.12xlarge", RB_MARKET_SPOT, 0, 1, 48),      MACHINE("p4d.24xlarge", RB_MARKET_SPOT, 0, 1, 96),
        MACHINE("p5.48xlarge", RB_MARKET_SPOT, 0, 1, 192),     MACHINE("inf2.xlarge", RB_MARKET_ON_DEMAND, 0, 1, 4),
        MACHINE("m5.large", RB_MARKET_ON_DEMAND, 0, 1, 2),     MACHINE("trn1.2xlarge", RB_MARKET_SPOT, 0, 1, 8),
    };
    struct scripted_cloud w;
    const struct step steps[] = {
        LIST(QUOTA("L-DB2E81BA", 64.0) ", " QUOTA("L-0", 5) ", " QUOTA("L-3819A6DF", 0), ", \"NextToken\": \"t+2\""),
        LIST(QUOTA("L-7212CCBC", 96) ", " QUOTA("L-C4BD4855", 192) ", " QUOTA("L-1945791B", 8), ""),
        LIST(QUOTA("L-1216C47A", 5) ", " QUOTA("L-DB2E81BA", 1), ""),
    };
    ask(&w, demands, N_OF(demands), steps, 3);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(rb_buf_str(&w.said), "Running On-Demand G and VT instances (L-DB2E81BA): 100/64 (-1) vCPUs\n"
                                             "All G and VT Spot Instance Requests (L-3819A6DF): 48/0 (-1) vCPUs\n"
                                             "All P4, P3 and P2 Spot Instance Requests (L-7212CCBC): 96/96 (-1) vCPUs\n"
                                             "All P5 Spot Instance Requests (L-C4BD4855): 192/192 (-1) vCPUs\n"
                                             "Running On-Demand Standard instances (L-1216C47A): 2/5 (-1) vCPUs\n"
                                             "Running On-Demand Inf instances (L-1945791B): 4/8 (-1) vCPUs\n"
                                             "All Trn Spot Instance Requests (L-6B0D517C): 8/-1 (-1) vCPUs\n");
    scripted_expect(&w.s, 0, "\r\nX-Amz-Target: ServiceQuotasV20190624.ListServiceQuotas\r\n");
    scripted_expect(&w.s, 0, "/eu-west-1/servicequotas/aws4_request");
    scripted_expect(&w.s, 0, "\r\n\r\n{\"ServiceCode\":\"ec2\",\"MaxResults\":100}");
    scripted_expect(&w.s, 1, "\"NextToken\":\"t+2\"}");
    scripted_expect(&w.s, 2, "\r\nX-Amz-Target: ServiceQuotasV20190624.ListAWSDefaultServiceQuotas\r\n");
    scripted_cloud_end(&w);
}

static void defaults_are_not_asked_for_where_all_is_known(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {MACHINE("g5.xlarge", RB_MARKET_SPOT, 0, 4, 4),
                                        MACHINE("g5.xlarge", RB_MARKET_SPOT, 1, 6, 4)};
    struct scripted_cloud w;
    const struct step steps[] = {LIST(QUOTA("L-3819A6DF", 64), ", \"NextToken\": null")};
    ask(&w, demands, 2, steps, 1);
    assert_string_equal(rb_buf_str(&w.said), "All G and VT Spot Instance Requests (L-3819A6DF): 24/64 (-1) vCPUs\n");
    assert_int_equal(script_server_n_requests(w.s.server), 1);
    scripted_cloud_end(&w);
}

static void what_no_one_counts_is_unknown_not_unlimited(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {MACHINE("p6-b200.48xlarge", RB_MARKET_SPOT, 0, 1, 192),
                                        MACHINE("quux.large", RB_MARKET_ON_DEMAND, 0, 2, 2),
                                        MACHINE("g", RB_MARKET_ON_DEMAND, 0, 1, 1)};
    struct scripted_cloud w;
    const struct step steps[] = {NOTHING, NOTHING};
    ask(&w, demands, 3, steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(rb_buf_str(&w.said), "Running On-Demand G and VT instances (L-DB2E81BA): 1/-1 (-1) vCPUs\n"
                                             "families that no known quota counts: 196/-1 (-1) vCPUs\n");
    scripted_cloud_end(&w);
}

#define TYPE(name, n)                                                                                                  \
    "<item><instanceType>" name "</instanceType><supportedUsageClasses><item>on-demand</item></supportedUsageClasses>" \
    "<vCpuInfo><defaultVCpus>" n                                                                                       \
    "</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>1024</sizeInMiB></memoryInfo></item>"
#define TYPES(items)                                                                                         \
    {                                                                                                        \
        .status = 200, .body = "<DescribeInstanceTypesResponse><instanceTypeSet>" items "</instanceTypeSet>" \
                               "</DescribeInstanceTypesResponse>"                                            \
    }

static void vcpus_that_a_plan_does_not_hold_are_asked_for(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {MACHINE("m5.large", RB_MARKET_ON_DEMAND, 0, 3, -1),
                                        MACHINE("m5.large", RB_MARKET_SPOT, 0, 1, -1)};
    struct scripted_cloud w;
    const struct step steps[] = {TYPES(TYPE("m5.large", "2")),
                                 LIST(QUOTA("L-1216C47A", 5) ", " QUOTA("L-34B43A08", 5), "")};
    ask(&w, demands, 2, steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(rb_buf_str(&w.said), "Running On-Demand Standard instances (L-1216C47A): 6/5 (-1) vCPUs\n"
                                             "All Standard Spot Instance Requests (L-34B43A08): 2/5 (-1) vCPUs\n");
    scripted_expect(&w.s, 0, "Action=DescribeInstanceTypes&Version=2016-11-15&InstanceType.1=m5.large");
    scripted_cloud_end(&w);
}

static void a_type_that_no_one_describes(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {MACHINE("m5.large", RB_MARKET_ON_DEMAND, 0, 3, -1)};
    struct scripted_cloud w;
    const struct step steps[] = {TYPES("")};
    ask(&w, demands, 1, steps, 1);
    assert_int_equal(w.s.err.code, RB_ERR_NOT_FOUND);
    assert_says(&w.s.err, "EC2 does not describe m5.large here");
    scripted_cloud_end(&w);
}

static void refusals(void **state)
{
    (void)state;
    const struct {
        struct step answer;
        enum rb_err_code code;
        const char *words;
    } cases[] = {
        {{.status = 400, .body = "{\"__type\": \"AccessDeniedException\", \"Message\": \"not authorized\"}"},
         RB_ERR_DENIED,
         "ListServiceQuotas: status 400: AccessDeniedException: not authorized"},
        {{.status = 200, .body = "{}"}, RB_ERR_IO, "ListServiceQuotas"},
        {LIST(QUOTA("L-DB2E81BA", "many"), ""), RB_ERR_IO, "ListServiceQuotas: expected a number"},
        {{.status = 200, .body = "{\"Quotas\": [], \"NextToken\": 7}"}, RB_ERR_IO, "ListServiceQuotas: expected text"},
    };
    const struct rb_demand demands[] = {MACHINE("g5.xlarge", RB_MARKET_ON_DEMAND, 0, 4, 4)};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct scripted_cloud w;
        const struct step steps[] = {cases[i].answer, cases[i].answer, cases[i].answer};
        ask(&w, demands, 1, steps, 3);
        assert_int_equal(w.s.err.code, cases[i].code);
        assert_says(&w.s.err, cases[i].words);
        assert_string_equal(rb_buf_str(&w.said), "");
        scripted_cloud_end(&w);
    }
}

static void an_endpoint_that_may_not_be_spoken_to(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {MACHINE("g5.xlarge", RB_MARKET_ON_DEMAND, 0, 4, 4)};
    struct scripted_cloud w;
    scripted_ec2_begin(&w, "eu-west-1", NULL, 0);
    setenv("AWS_ENDPOINT_URL_SERVICE_QUOTAS", "http://quotas.example", 1);
    scripted_quotas(&w, demands, 1);
    assert_int_equal(w.s.err.code, RB_ERR_INVALID);
    assert_says(&w.s.err, "AWS_ENDPOINT_URL_SERVICE_QUOTAS");
    scripted_cloud_end(&w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, home_set_up_with_keys, home_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(families_and_markets_have_quotas_of_their_own),
        TEST(defaults_are_not_asked_for_where_all_is_known),
        TEST(what_no_one_counts_is_unknown_not_unlimited),
        TEST(vcpus_that_a_plan_does_not_hold_are_asked_for),
        TEST(a_type_that_no_one_describes),
        TEST(refusals),
        TEST(an_endpoint_that_may_not_be_spoken_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
