// Options of scripts: what is read, what is passed over, and that no text harms, however it ends.
#include "profiles/python_options.h"

#include "check.h"

#include <string.h>

static const char script[] = "import argparse\n"
                             "'''add_argument(\"--quoted\")'''\n"
                             "p.add_argument(\"--lr\", '-l', type=float, default=1e-3, help='a (small, step')\n"
                             "p.add_argument('--sizes', default=[1, 2], # , \"\n"
                             "    choices=[\"a,b\", (1, 2)])\n"
                             "# p.add_argument(\"--comment\")\n"
                             "p.add_argument(\"-s\")\n"
                             "p.add_argument(\"input\", type=str)\n"
                             "p.add_argument(\"--flag\", action = 'store_true')\n";

static void expect(const struct rb_python_option *o, const char *name, const char *type, const char *value,
                   const char *choices, bool is_switch)
{
    assert_string_equal(o->name, name);
    const char *const got[] = {o->type, o->default_value, o->choices}, *const want[] = {type, value, choices};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got[i] == NULL, want[i] == NULL);
        if (want[i])
            assert_string_equal(got[i], want[i]);
    }
    assert_int_equal(o->is_switch, is_switch);
}

static void literals_are_read(void **unused)
{
    (void)unused;
    struct rb_arena arena;
    const struct rb_python_option *found;
    rb_arena_init(&arena);
    assert_int_equal(rb_python_options_read(script, &arena, &found), 3);
    expect(&found[0], "lr", "float", "1e-3", NULL, false);
    expect(&found[1], "sizes", NULL, "[1, 2]", "[\"a,b\", (1, 2)]", false);
    expect(&found[2], "flag", NULL, NULL, NULL, true);
    rb_arena_finish(&arena);
}

// In memory of its own, so that a step beyond the end is seen.
static void a_text_may_end_anywhere(void **unused)
{
    (void)unused;
    for (size_t n = 0; n < sizeof script; n++) {
        char *start = strndup(script, n);
        struct rb_arena arena;
        const struct rb_python_option *found;
        rb_arena_init(&arena);
        assert_in_range(rb_python_options_read(start, &arena, &found), 0, 4);
        rb_arena_finish(&arena);
        free(start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_are_read),
        cmocka_unit_test(a_text_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
