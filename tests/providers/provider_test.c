// From the name of an infra to a provider and its region.
#include "providers/provider.h"
#include "tests/base/check.h"

static void found(void **state)
{
    (void)state;
    static const struct {
        const char *infra, *name, *region;
    } cases[] = {
        {"aws/us-east-1", "aws", "us-east-1"},
        {"aws/us-east-1/us-east-1b", "aws", "us-east-1"},
        {"gcp/us-central1", "gcp", "us-central1"},
        {"gcp/us-central1/us-central1-a", "gcp", "us-central1"},
        {"mock/lab", "mock", "lab"},
        {"local", "local", ""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_provider_ops *ops;
        char region[64];
        struct rb_err err;
        if (!rb_provider_find(cases[i].infra, &ops, region, &err))
            fail_msg("%s", err.message);
        assert_string_equal(ops->name, cases[i].name);
        assert_string_equal(region, cases[i].region);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *infra, *reason;
    } cases[] = {
        {"asw/us-east-1", "did you mean \"aws\"?"}, {"gcp", "such as gcp/us-central1"},
        {"slurm/gpu/a", "not a zone"},              {"aws", "expected a region"},
        {"aws/us-east-1.evil.com", "not a region"}, {"", "expected provider"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_provider_ops *ops;
        char region[64];
        struct rb_err err = {0};
        assert_false(rb_provider_find(cases[i].infra, &ops, region, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_says(&err, cases[i].reason);
    }
}

static void the_table_is_sorted_and_whole(void **state)
{
    (void)state;
    for (const struct rb_provider_ops *const *p = rb_provider_table; *p; p++) {
        assert_true((*p)->create && (*p)->destroy && (*p)->launch && (*p)->list && (*p)->terminate);
        assert_non_null((*p)->is_harmless);
        if (p[1])
            assert_true(strcmp((*p)->name, p[1]->name) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found),
        cmocka_unit_test(refused),
        cmocka_unit_test(the_table_is_sorted_and_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
