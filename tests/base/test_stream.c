// Random streams: the published answers of the generator, and the promises the keys make.
#include "base/stream.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

// Source: Random123 1.14, kat_vectors, "philox4x32 10".
static void philox_gives_the_published_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < N_OF(vectors); i++) {
        uint32_t out[4];
        rb_philox4x32_10(vectors[i].counter, vectors[i].key, out);
        assert_memory_equal(out, vectors[i].out, sizeof out);
    }
}

static uint64_t first_of(struct rb_stream_key key)
{
    struct rb_stream s;
    rb_stream_init(&s, &key);
    return rb_stream_u64(&s);
}

static void a_stream_depends_on_its_key_only(void **state)
{
    (void)state;
    const struct rb_stream_key key_a = {.seed = 7, .purpose = RB_DRAW_WITHIN, .stage = 1, .index = 2};
    const struct rb_stream_key key_b = {.seed = 7, .purpose = RB_DRAW_WITHIN, .stage = 1, .index = 3};
    uint64_t alone_a[16], alone_b[16];
    struct rb_stream a, b;
    rb_stream_init(&a, &key_a);
    rb_stream_init(&b, &key_b);
    for (int i = 0; i < 16; i++)
        alone_a[i] = rb_stream_u64(&a);
    for (int i = 0; i < 16; i++)
        alone_b[i] = rb_stream_u64(&b);
    rb_stream_init(&b, &key_b);
    rb_stream_init(&a, &key_a);
    for (int i = 0; i < 16; i++) { // now interleaved, and b before a
        assert_int_equal(rb_stream_u64(&b), alone_b[i]);
        assert_int_equal(rb_stream_u64(&a), alone_a[i]);
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Every field counts, at both ends of its range, and no two fields run into each other.
static void different_keys_give_different_streams(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0, 1, UINT64_C(1) << 32, UINT64_MAX};
    static const uint32_t purposes[] = {0, 1, 255}, shorts[] = {0, 1, 65535}, words[] = {0, 1, 65536, UINT32_MAX};
    static uint64_t seen[4 * 3 * 3 * 3 * 4 * 4];
    size_t n = 0;
    for (size_t s = 0; s < N_OF(seeds); s++)
        for (size_t p = 0; p < N_OF(purposes); p++)
            for (size_t g = 0; g < N_OF(shorts); g++)
                for (size_t a = 0; a < N_OF(shorts); a++)
                    for (size_t i = 0; i < N_OF(words); i++)
                        for (size_t r = 0; r < N_OF(words); r++)
                            seen[n++] = first_of((struct rb_stream_key){.seed = seeds[s],
                                                                        .purpose = purposes[p],
                                                                        .stage = shorts[g],
                                                                        .attempt = shorts[a],
                                                                        .index = words[i],
                                                                        .replicate = words[r]});
    assert_int_equal(n, N_OF(seen));
    qsort(seen, n, sizeof seen[0], by_value);
    for (size_t i = 1; i < n; i++)
        assert_true(seen[i] != seen[i - 1]);
}

// Plans and journals made today must mean the same tomorrow.
static void the_packing_never_changes(void **state)
{
    (void)state;
    const struct rb_stream_key key = {.seed = UINT64_C(0x0123456789abcdef),
                                      .purpose = RB_DRAW_INIT,
                                      .stage = 0x1111,
                                      .index = 0x22222222,
                                      .attempt = 0x3333,
                                      .replicate = 0x44444444};
    const uint32_t counter[4] = {0x02000000, 0x11113333, 0x22222222, 0x44444444};
    const uint32_t next_counter[4] = {0x02000001, 0x11113333, 0x22222222, 0x44444444};
    const uint32_t cipher_key[2] = {0x89abcdef, 0x01234567};
    uint32_t expected[8];
    rb_philox4x32_10(counter, cipher_key, expected);
    rb_philox4x32_10(next_counter, cipher_key, expected + 4);
    struct rb_stream s;
    rb_stream_init(&s, &key);
    for (int i = 0; i < 8; i++)
        assert_int_equal(rb_stream_u32(&s), expected[i]);
}

static void uniform_stays_inside_and_is_even(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 42, .purpose = RB_DRAW_SEARCH});
    double sum = 0, sum_squares = 0;
    for (int i = 0; i < N; i++) {
        const double u = rb_stream_uniform(&s);
        assert_true(u > 0 && u < 1);
        sum += u;
        sum_squares += u * u;
    }
    assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N)); // five standard errors
    assert_true(fabs(sum_squares / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N));
}

static void the_first_uniform_is_that_of_a_stream(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        struct rb_stream s;
        const struct rb_stream_key key = {
            .seed = 9, .purpose = 1 + i % 7, .stage = i % 11, .index = i, .replicate = 3 * i};
        rb_stream_init(&s, &key);
        const double first = rb_stream_uniform(&s), alone = rb_stream_first_uniform(&key);
        assert_memory_equal(&first, &alone, sizeof first);
    }
}

static void uniform_reaches_neither_end(void **state)
{
    (void)state;
    // Words given by hand: all zeros, then all ones.
    struct rb_stream s = {.out = {0, 0, UINT32_MAX, UINT32_MAX}};
    const double lowest = rb_stream_uniform(&s), highest = rb_stream_uniform(&s);
    assert_true(lowest > 0 && lowest < 0x1p-52);
    assert_true(highest < 1 && highest > 1 - 0x1p-52);
}

static void below_is_unbiased_and_in_range(void **state)
{
    (void)state;
    int counts[7] = {0};
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 43, .purpose = RB_DRAW_SEARCH});
    for (int i = 0; i < 70000; i++)
        counts[rb_stream_below(&s, 7)]++;
    double chi2 = 0;
    for (int i = 0; i < 7; i++)
        chi2 += (counts[i] - 10000.0) * (counts[i] - 10000.0) / 10000.0;
    assert_true(chi2 < 30); // p below 1e-4 at 6 degrees of freedom
    assert_int_equal(rb_stream_below(&s, 1), 0);
    // 2^64 mod (2^63 + 1) = 2^63 - 1: nearly half of the values must be thrown away.
    const uint64_t n = (UINT64_C(1) << 63) + 1;
    struct rb_stream by_hand = {.out = {0, 5, 0x80000000, 3}}; // 5 is below the excess, the next is not
    assert_true(rb_stream_below(&by_hand, n) == ((UINT64_C(1) << 63) + 3) % n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),    cmocka_unit_test(a_stream_depends_on_its_key_only),
        cmocka_unit_test(different_keys_give_different_streams), cmocka_unit_test(the_packing_never_changes),
        cmocka_unit_test(uniform_stays_inside_and_is_even),      cmocka_unit_test(uniform_reaches_neither_end),
        cmocka_unit_test(the_first_uniform_is_that_of_a_stream), cmocka_unit_test(below_is_unbiased_and_in_range),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
