// Places in ascending numbers, against counting one by one.
#include "base/order.h"

#include "check.h"

static void counts_are_those_of_one_by_one(void **state)
{
    (void)state;
    static const double values[] = {-2, 0, 0, 0, 1.5, 7};
    static const double at[] = {-3, -2, -1, 0, 1, 1.5, 6, 7, 8};
    for (int n = 0; n <= (int)N_OF(values); n++) {
        for (size_t k = 0; k < N_OF(at); k++) {
            int below = 0, up_to = 0;
            for (int i = 0; i < n; i++) {
                below += values[i] < at[k];
                up_to += values[i] <= at[k];
            }
            assert_int_equal(rb_count_below(values, n, at[k]), below);
            assert_int_equal(rb_count_up_to(values, n, at[k]), up_to);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_those_of_one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
