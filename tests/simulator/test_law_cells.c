// The sums behind transforms: against sums of cosines and sines one by one, and the same bits with and without AVX2.
#include "check.h"

#include "simulator/one_wave/law_cells.h"

#include <math.h>

#define CELLS 136

struct sums {
    double re[RB_CELLS_FREQUENCIES], im[RB_CELLS_FREQUENCIES];
};

static double angle(int frequency)
{
    return 0.002 + 0.31 * frequency;
}

static struct sums sums_by(rb_sum_cells_fn *sum, const double *mass)
{
    double c[RB_CELLS_FREQUENCIES], s[RB_CELLS_FREQUENCIES];
    struct sums out;
    for (int l = 0; l < RB_CELLS_FREQUENCIES; l++) {
        c[l] = cos(angle(l) / 2);
        s[l] = sin(angle(l) / 2);
    }
    sum(mass, CELLS, (struct rb_half_angles){c, s}, out.re, out.im);
    return out;
}

static void fill(double *mass)
{
    for (int k = 0; k < CELLS; k++)
        mass[k] = k < CELLS - 3 ? exp(-0.5 * pow((k - 60) / 17.0, 2)) / 42 : 0;
}

static void sums_are_those_of_cells(void **state)
{
    (void)state;
    double mass[CELLS];
    fill(mass);
    const struct sums s = sums_by(rb_sum_cells_plain, mass);
    for (int l = 0; l < RB_CELLS_FREQUENCIES; l++) {
        double re = 0, im = 0;
        for (int k = 0; k < CELLS; k++) {
            re += mass[k] * cos(angle(l) * (k + 0.5));
            im += mass[k] * sin(angle(l) * (k + 0.5));
        }
        assert_float_equal(s.re[l], re, 1e-13);
        assert_float_equal(s.im[l], im, 1e-13);
    }
}

static void instruction_sets_give_the_same_bits(void **state)
{
    (void)state;
#ifdef RB_SAMPLER_HAS_AVX2
    if (!__builtin_cpu_supports("avx2"))
        skip();
    double mass[CELLS];
    fill(mass);
    const struct sums plain = sums_by(rb_sum_cells_plain, mass), avx2 = sums_by(rb_sum_cells_avx2, mass);
    assert_memory_equal(&plain, &avx2, sizeof plain);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_cells),
        cmocka_unit_test(instruction_sets_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
