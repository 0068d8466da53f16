// The grammar provider[/region[/zone]]: what passes, what is refused and with which words, and what lies
// within what.
#include "check.h"

#include "profiles/catalog/infra.h"
#include "profiles/catalog/machine_names.h"

static void test_forms_that_pass(void **state)
{
    (void)state;
    static const char *const good[] = {
        "aws",
        "aws/us-east-1",
        "aws/us-east-1/us-east-1a",
        "aws/ap-southeast-2",
        "aws/us-west-2/us-west-2-lax-1a",
        "gcp",
        "gcp/us-central1",
        "gcp/us-central1/us-central1-a",
        "gcp/northamerica-northeast1",
        "k8s/my.lab_1",
        "local",
        "mock",
        "mock/us-east-1",
        "mock/us-east-1/us-east-1b",
        "slurm",
        "slurm/gpu",
    };
    for (size_t i = 0; i < N_OF(good); i++) {
        struct rb_err err = {0};
        if (!rb_infra_check(good[i], &err))
            fail_msg("%s: %s", good[i], err.message);
    }
}

static void test_forms_that_do_not(void **state)
{
    (void)state;
    static const struct {
        const char *infra, *says;
    } bad[] = {
        {"", "expected provider[/region[/zone]]"},
        {"awss", "did you mean \"aws\""},
        {"amazon/us-east-1", "expected provider[/region[/zone]]"},
        {"aws/", "is not a region of aws"},
        {"aws/us-east", "is not a region of aws"},
        {"aws/us-east-1.evil.example", "is not a region of aws"},
        {"aws/us-east-1@evil", "is not a region of aws"},
        {"aws/US-EAST-1", "is not a region of aws"},
        {"aws/us-east-1/us-east-2a", "is not a zone of aws/us-east-1"},
        {"aws/us-east-1/", "is not a zone of aws/us-east-1"},
        {"aws/us-east-1/us-east-1a/x", "is not a zone of aws/us-east-1"},
        {"gcp/us-east-1", "is not a region of gcp"},
        {"gcp/us-central1/us-central1a", "is not a zone of gcp/us-central1"},
        {"local/here", "is not a region of local"},
        {"slurm/gpu/node", "is not a zone of slurm/gpu"},
        {"k8s/arn:aws:eks", "is not a region of k8s"},
        {"k8s/lab/node", "is not a zone of k8s/lab"},
        {"mock/../etc", "is not a region of mock"},
    };
    char too_long[200];
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct rb_err err = {0};
        if (rb_infra_check(bad[i].infra, &err))
            fail_msg("%s was accepted", bad[i].infra);
        assert_says(&err, bad[i].says);
    }
    memset(too_long, 'a', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    struct rb_err err = {0};
    assert_false(rb_infra_check(too_long, &err));
    assert_says(&err, "at most 120 characters");
}

static void test_within(void **state)
{
    (void)state;
    assert_true(rb_infra_within("aws/us-east-1/us-east-1a", "aws/us-east-1"));
    assert_true(rb_infra_within("aws/us-east-1", "aws"));
    assert_true(rb_infra_within("aws/us-east-1", "*"));
    assert_true(rb_infra_within("local", "local"));
    assert_false(rb_infra_within("aws/us-east-1", "aws/us-east-1/us-east-1a"));
    assert_false(rb_infra_within("aws/us-east-10", "aws/us-east-1"));
    assert_false(rb_infra_within("awsome", "aws"));
    assert_false(rb_infra_within("mock/us-east-1", "aws"));
}

static void test_region_and_zone(void **state)
{
    (void)state;
    const struct {
        const char *infra, *region, *zone;
    } cases[] = {{"aws/us-east-1/us-east-1a", "us-east-1", "us-east-1a"}, {"k8s/lab", "lab", ""}, {"local", "", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rb_infra_place place = rb_infra_place(cases[i].infra);
        assert_string_equal(place.region, cases[i].region);
        assert_string_equal(place.zone, cases[i].zone);
    }
}

static void test_same_region(void **state)
{
    (void)state;
    assert_true(rb_infra_same_region("aws/us-east-1/us-east-1a", "aws/us-east-1/us-east-1b"));
    assert_true(rb_infra_same_region("aws/us-east-1", "aws/us-east-1/us-east-1b"));
    assert_true(rb_infra_same_region("local", "local"));
    assert_false(rb_infra_same_region("aws/us-east-1/us-east-1a", "aws/us-east-2/us-east-1a"));
    assert_false(rb_infra_same_region("aws/us-east-1/a", "aws/us-east-10/a"));
    assert_false(rb_infra_same_region("mock/us-east-1", "aws/us-east-1"));
    assert_false(rb_infra_same_region("aws", "aws/us-east-1"));
}

static void test_prices_need_a_region(void **state)
{
    (void)state;
    assert_false(rb_infra_is_priceable("aws"));
    assert_false(rb_infra_is_priceable("mock"));
    assert_true(rb_infra_is_priceable("aws/us-east-1"));
    assert_true(rb_infra_is_priceable("local"));
    assert_true(rb_infra_is_priceable("slurm"));
    assert_false(rb_infra_is_priceable("k8s"));
}

static void test_clusters_that_are_there_anyway(void **state)
{
    (void)state;
    assert_true(rb_infra_may_be_free("slurm/gpu") && rb_infra_may_be_free("k8s/lab") && rb_infra_may_be_free("local"));
    assert_true(rb_infra_may_be_free("pool"));
    assert_false(rb_infra_may_be_free("aws/us-east-1"));
}

static void test_providers_are_sorted(void **state)
{
    (void)state;
    for (int i = 1; rb_infra_providers[i]; i++)
        assert_true(strcmp(rb_infra_providers[i - 1], rb_infra_providers[i]) < 0);
}

static void names_like_one_that_is_not_there(void **state)
{
    (void)state;
    static const char *const names[] = {"g5.xlarge",   "g5.xlarge",     "g5.12xlarge",  "p4d.24xlarge",
                                        "p5.48xlarge", "a2-highgpu-1g", "a2-highgpu-2g"};
    static const struct {
        const char *type, *like; // NULL: nothing is
    } cases[] = {
        {"g5.xlrage", "g5.xlarge"},       {"g5.metal", "g5.xlarge or g5.12xlarge"}, {"p4de.24xlarge", "p4d.24xlarge"},
        {"p5en.48xlarge", "p5.48xlarge"}, {"a2-highgpu-16g", "a2-highgpu-1g"},      {"zz.unlike", NULL},
    };
    struct rb_arena arena;
    rb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *like = rb_machine_names_like(cases[i].type, names, sizeof names / sizeof names[0], &arena);
        assert_string_equal(like ? like : "-", cases[i].like ? cases[i].like : "-");
    }
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_like_one_that_is_not_there), cmocka_unit_test(test_forms_that_pass),
        cmocka_unit_test(test_forms_that_do_not),           cmocka_unit_test(test_within),
        cmocka_unit_test(test_region_and_zone), cmocka_unit_test(test_same_region),                 cmocka_unit_test(test_prices_need_a_region),
        cmocka_unit_test(test_clusters_that_are_there_anyway),        cmocka_unit_test(test_providers_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
