// AWS's price list: what is asked, what is taken out of an answer, and what is refused. The products are cut down from real
// ones; what must not be taken for a machine's price stands beside it.
#include "base/arena.h"
#include "providers/aws/aws_price_list.h"
#include "tests/base/check.h"

#include <stdlib.h>

static void a_question_names_the_machine_and_nothing_that_is_not_it(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf all = RB_BUF_INIT, one = RB_BUF_INIT;
    rb_aws_price_list_encode("us-east-1", NULL, "t/+=", &all);
    assert_string_equal(rb_buf_str(&all), "{\"ServiceCode\":\"AmazonEC2\",\"FormatVersion\":\"aws_v1\",\"Filters\":["
                                          "{\"Type\":\"TERM_MATCH\",\"Field\":\"regionCode\",\"Value\":\"us-east-1\"},"
                                          "{\"Type\":\"TERM_MATCH\",\"Field\":\"operatingSystem\",\"Value\":\"Linux\"},"
                                          "{\"Type\":\"TERM_MATCH\",\"Field\":\"tenancy\",\"Value\":\"Shared\"},"
                                          "{\"Type\":\"TERM_MATCH\",\"Field\":\"capacitystatus\",\"Value\":\"Used\"},"
                                          "{\"Type\":\"TERM_MATCH\",\"Field\":\"preInstalledSw\",\"Value\":\"NA\"}],"
                                          "\"MaxResults\":100,\"NextToken\":\"t/+=\"}");
    rb_aws_price_list_encode("us-east-1", "p5.48xlarge", NULL, &one);
    assert_non_null(
        strstr(rb_buf_str(&one), "{\"Type\":\"TERM_MATCH\",\"Field\":\"instanceType\",\"Value\":\"p5.48xlarge\"}"));
    assert_null(strstr(rb_buf_str(&one), "NextToken"));
}

// A product in a string: its quotes are escaped once more.
#define Q "\\\""
#define PRODUCT(type, region, system, status, market, dimensions)                                                      \
    "\"{" Q "product" Q ":{" Q "attributes" Q ":{" Q "instanceType" Q ":" Q type Q "," Q "regionCode" Q ":" Q region Q \
    "," Q "operatingSystem" Q ":" Q system Q "," Q "tenancy" Q ":" Q "Shared" Q "," Q "capacitystatus" Q               \
    ":" Q status Q "," Q "preInstalledSw" Q ":" Q "NA" Q market "}}," Q "terms" Q ":{" Q "OnDemand" Q ":{" Q "X.Y" Q   \
    ":{" Q "priceDimensions" Q ":{" dimensions "}}}," Q "Reserved" Q ":{" Q "R" Q ":{" Q "priceDimensions" Q ":{" Q    \
    "R1" Q ":{" Q "unit" Q ":" Q "Hrs" Q "," Q "pricePerUnit" Q ":{" Q "USD" Q ":" Q "0.1" Q "}}}}}}}\""
#define PRICED(unit, currency, price) \
    Q "X.Y.Z" Q ":{" Q "unit" Q ":" Q unit Q "," Q "pricePerUnit" Q ":{" Q currency Q ":" Q price Q "}}"
#define MACHINE(type, price) PRODUCT(type, "us-east-1", "Linux", "Used", "", PRICED("Hrs", "USD", price))
#define PAGE(products, rest) "{\"FormatVersion\":\"aws_v1\",\"PriceList\":[" products "]" rest "}"

// What stands beside a machine and is not it.
#define WINDOWS   PRODUCT("g5.xlarge", "us-east-1", "Windows", "Used", "", PRICED("Hrs", "USD", "1.19"))
#define ELSEWHERE PRODUCT("g5.xlarge", "us-east-2", "Linux", "Used", "", PRICED("Hrs", "USD", "0.9"))
#define RESERVED  PRODUCT("g5.xlarge", "us-east-1", "Linux", "UnusedCapacityReservation", "", PRICED("Hrs", "USD", "7"))
#define BLOCK     "," Q "marketoption" Q ":" Q "CapacityBlock" Q
#define LOCAL     "," Q "locationType" Q ":" Q "AWS Local Zone" Q
#define AHEAD     PRODUCT("p5.48xlarge", "us-east-1", "Linux", "Used", BLOCK, PRICED("Hrs", "USD", "31.464"))
#define NEARBY    PRODUCT("g5.xlarge", "us-east-1", "Linux", "Used", LOCAL, PRICED("Hrs", "USD", "1.2"))
#define ELSE      WINDOWS "," ELSEWHERE "," RESERVED "," AHEAD "," NEARBY "," MACHINE("z1d.metal", "0.0000000000")
#define MACHINES  MACHINE("g5.xlarge", "1.0060000000") "," MACHINE("p4d.24xlarge", "21.9576420001")

static void prices_are_those_of_the_machines(void **state)
{
    (void)state;
    static const char body[] = PAGE(MACHINES "," ELSE "," MACHINE("g5.xlarge", "1.006"), ",\"NextToken\":\"more\"");
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_aws_prices page;
    struct rb_err err = {0};
    if (!rb_aws_price_list_decode(body, sizeof body - 1, "us-east-1", &arena, &page, &err))
        fail_msg("%s", err.message);
    assert_int_equal(page.n, 2); // the rest is something else, or costs nothing
    assert_string_equal(page.prices[0].instance_type, "g5.xlarge");
    assert_int_equal(page.prices[0].rate.uusd_per_hour, 1006000);
    assert_string_equal(page.prices[1].instance_type, "p4d.24xlarge");
    assert_int_equal(page.prices[1].rate.uusd_per_hour, 21957643); // rounded up
    assert_string_equal(page.next_page, "more");
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *words;
        enum rb_err_code code;
    } cases[] = {
        {PAGE(MACHINE("g5.xlarge", "1.006") "," MACHINE("g5.xlarge", "1.1"), ""), "RB1408 twice, at different prices",
         RB_ERR_PRICE},
        {PAGE(PRODUCT("g5.xlarge", "us-east-1", "Linux", "Used", "", PRICED("Quantity", "USD", "9")), ""),
         "by the hour", RB_ERR_PRICE},
        {PAGE(PRODUCT("g5.xlarge", "us-east-1", "Linux", "Used", "", PRICED("Hrs", "CNY", "9")), ""), "in USD",
         RB_ERR_PRICE},
        {PAGE(MACHINE("g5.xlarge", "-1"), ""), "g5.xlarge", RB_ERR_INVALID},
        {PAGE(MACHINE("-rf", "1"), ""), "instanceType", RB_ERR_IO},
        {PAGE("{}", ""), "PriceList[0]", RB_ERR_IO},
        {PAGE("\"{\"", ""), "PriceList[0]", RB_ERR_INVALID},
        {"{\"PriceList\":7}", "RB3020 PriceList: expected a list", RB_ERR_IO},
        {"<html>", "", RB_ERR_INVALID},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_aws_prices page;
        struct rb_err err = {0};
        assert_false(rb_aws_price_list_decode(cases[i].body, strlen(cases[i].body), "us-east-1", &arena, &page, &err));
        assert_says(&err, cases[i].words);
        if (err.code != cases[i].code)
            fail_msg("case %zu: code %d: %s", i, err.code, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_names_the_machine_and_nothing_that_is_not_it),
        cmocka_unit_test(prices_are_those_of_the_machines),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
