// The last lines of a process: which are kept, how they read, and which failures are alike.
#include "executor/launcher/last_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void what_varies_is_left_out(void **unused)
{
    (void)unused;
    static const char *const lines[][2] = {
        {"ModuleNotFoundError: No module named 'torch'", "ModuleNotFoundError: No module named 'torch'"},
        {"  File \"/tmp/rb-x/work/train.py\", line 12, in <module>", "File train.py\", line #, in <module>"},
        {"2026-11-23 16:21:32,123 ERROR loss=-0.52", "# # ERROR loss=#"},
        {"2026-11-23T16:21:32.5Z done", "#-#-#T#Z done"},
        {"pid=4711 lr=1e-05 took 0.25s", "pid=# lr=# took #s"},
        {"<object at 0x7f3a00ff>", "<object at #>"},
        {"run 3fa85f64-5717-4562-b3fc-2c963f66afa6 failed", "run # failed"},
        {"commit deadbeef1 is bad", "commit # is bad"},
        {"facade decade", "facade decade"},
        {"cuda:0 out of memory (rank1)", "cuda:# out of memory (rank#)"},
        {"torch 2.1.0+cu118", "torch #+cu#"},
        {"  \t  many    blanks \t ", "many blanks"},
        {"epoch 3/10", "epoch #"},
        {"/", "/"},
        {"dir/", "dir/"},
        {"1.", "#."},
        {"1e", "#e"},
        {"0x", "#x"},
        {"-", "-"},
        {"", ""},
    };
    char out[RB_LAST_LINE];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_string_equal(rb_last_lines_normalise(lines[i][0], out, sizeof out), lines[i][1]);
    assert_string_equal(rb_last_lines_normalise("abcdef", out, 4), "abc"); // no room: cut
}

static struct rb_last_lines printed(const char *text)
{
    struct rb_last_lines l = {0};
    for (const char *s = text; *s;) {
        const size_t n = strcspn(s, "\n");
        rb_last_lines_take(&l, s, n);
        s += n + (s[n] == '\n');
    }
    return l;
}

static bool alike(const char *a, int code_a, const char *b, int code_b)
{
    const struct rb_last_lines la = printed(a), lb = printed(b);
    const uint64_t sa = rb_last_lines_signature(&la, code_a), sb = rb_last_lines_signature(&lb, code_b);
    return sa != 0 && sa == sb;
}

static void failures_are_compared(void **unused)
{
    (void)unused;
    static const struct {
        const char *a, *b;
        int code_a, code_b;
        bool alike;
    } table[] = {
        {"begin 12:01\nKeyError: 'lr'", "begin 12:07\nKeyError: 'lr'", 1, 1, true},
        {"KeyError: 'lr'", "KeyError: 'lr'", 1, 2, false},
        {"KeyError: 'lr'", "KeyError: 'width'", 1, 1, false},
        {"one\ntwo\nthree\nfour", "other\ntwo\nthree\nfour", 1, 1, true}, // the last three
        {"one\ntwo\nthree", "one\n\n  \ntwo\n\x01\nthree\n", 1, 1, true}, // empty ones do not count
        {"", "", 1, 1, true},                                             // silent, both
        {"", "x", 1, 1, false},
        {"segfault", "segfault", 139, 139, true},
        {"killed", "killed", 137, 137, false}, // by something else
        {"killed", "killed", 143, 143, false},
        {"x", "x", 130, 130, false},
        {"no report", "no report", 0, 0, true},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (alike(table[i].a, table[i].code_a, table[i].b, table[i].code_b) != table[i].alike)
            fail_msg("row %zu: \"%s\", \"%s\"", i, table[i].a, table[i].b);
}

static void the_last_lines_are_reported(void **unused)
{
    (void)unused;
    char out[64], small[8];
    struct rb_last_lines l = {0};
    assert_string_equal(rb_last_lines_text(&l, out, sizeof out), "");
    l = printed("a\nb\nc\nd\ne\nf");
    assert_string_equal(rb_last_lines_text(&l, out, sizeof out), "b | c | d | e | f");
    l = printed("evil \x1b[31m red\n\xff\xfe bytes");
    assert_string_equal(rb_last_lines_text(&l, out, sizeof out), "evil ?[31m red | ?? bytes");
    assert_string_equal(rb_last_lines_text(&l, small, sizeof small), "?? byte"); // cut
    l = printed("first line\nlast");
    assert_string_equal(rb_last_lines_text(&l, small, sizeof small), "last");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_varies_is_left_out),
        cmocka_unit_test(failures_are_compared),
        cmocka_unit_test(the_last_lines_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
