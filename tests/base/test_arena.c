// Arenas: what they hand out is zeroed, aligned, separate, and stays.
#include "base/arena.h"

#include "check.h"

#include <stdalign.h>
#include <stdlib.h>

static void memory_is_zeroed_aligned_and_separate(void **state)
{
    (void)state;
    enum { N = 3000 };
    static unsigned char *pieces[N];
    static size_t sizes[N];
    struct rb_arena a;
    rb_arena_init(&a);
    size_t asked = 0;
    for (size_t i = 0; i < N; i++) {
        sizes[i] = i % 500 == 499 ? 300000 : i % 97; // now and then a piece that needs a block of its own
        asked += sizes[i];
        pieces[i] = rb_arena_alloc(&a, sizes[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i % 255) + 1, sizes[i]);
    }
    assert_int_equal(a.used_bytes, asked);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i % 255 + 1);
    rb_arena_finish(&a);
    assert_null(a.blocks);
    assert_int_equal(a.used_bytes, 0);
    rb_arena_finish(&a); // twice is harmless
}

static void a_reset_arena_keeps_its_memory_and_zeroes_it(void **state)
{
    (void)state;
    struct rb_arena a;
    rb_arena_init(&a);
    rb_arena_reset(&a); // nothing in it yet
    const struct rb_arena_block *kept = NULL;
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < 400; i++) {
            const size_t size = 1 + i * 37;
            unsigned char *p = rb_arena_alloc(&a, size);
            for (size_t k = 0; k < size; k++)
                assert_int_equal(p[k], 0);
            memset(p, 0xa5, size);
        }
        if (round > 1)
            assert_ptr_equal(a.blocks, kept);
        rb_arena_reset(&a);
        assert_int_equal(a.used_bytes, 0);
        kept = a.blocks;
    }
    rb_arena_finish(&a);
}

static void memory_is_zeroed_again_after_a_reset(void **state)
{
    (void)state;
    struct rb_arena a;
    rb_arena_init(&a);
    for (int round = 0; round < 3; round++) {
        double *room = rb_arena_array(&a, 1000, sizeof *room);
        memset(room, 0xa5, 1000 * sizeof *room);
        assert_int_equal(a.used_bytes, 1000 * sizeof *room);
        const double *zeros = rb_arena_array(&a, 1000, sizeof *zeros);
        for (int i = 0; i < 1000; i++)
            assert_true(zeros[i] == 0);
        memset(room, 0xa5, 1000 * sizeof *room);
        rb_arena_reset(&a);
    }
    rb_arena_finish(&a);
}

static void strings_are_copied(void **state)
{
    (void)state;
    struct rb_arena a;
    rb_arena_init(&a);
    char text[] = "rung";
    const char *copy = rb_arena_strdup(&a, text), *part = rb_arena_strndup(&a, text, 2);
    text[0] = 'h';
    assert_string_equal(copy, "rung");
    assert_string_equal(part, "ru");
    assert_memory_equal(rb_arena_strndup(&a, "a\0b", 3), "a\0b", 4);
    assert_string_equal(rb_arena_printf(&a, "%s-%d", "node", 7), "node-7");
    const char *long_text = rb_arena_printf(&a, "%5000d", 1);
    assert_int_equal(strlen(long_text), 5000);
    assert_string_equal(rb_arena_strdup(&a, ""), "");
    rb_arena_finish(&a);
}

static void arrays_grow_and_keep_their_items(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena a = {0};
    int *on_heap = NULL, *in_arena = NULL;
    for (int n = 0; n < 1000; n++) {
        on_heap = rb_grow(on_heap, n, sizeof *on_heap);
        in_arena = rb_arena_grow(&a, in_arena, n, sizeof *in_arena);
        assert_int_equal(in_arena[n], 0);
        on_heap[n] = in_arena[n] = n + 1;
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(on_heap[i], i + 1);
        assert_int_equal(in_arena[i], i + 1);
    }
    assert_true(a.used_bytes < 3 * 1024 * sizeof(int)); // each copy is twice as large as the one before
    free(on_heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_separate),
        cmocka_unit_test(a_reset_arena_keeps_its_memory_and_zeroes_it),
        cmocka_unit_test(memory_is_zeroed_again_after_a_reset),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(arrays_grow_and_keep_their_items),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
