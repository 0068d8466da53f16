// Commands of job files as a shell reads them: which $RB_ARGS stands for words, which words name programs and files, and
// that no text harms, however it ends. tests/launchers runs the commands.
#include "profiles/script/shell_text.h"

#include "check.h"

#include <string.h>

#define WORDS "'--a=x y' --b=1"

// NULL: stays as it is.
static const struct {
    const char *command, *becomes;
} replaced[] = {
    {"python train.py $RB_ARGS", "python train.py " WORDS},
    {"python train.py ${RB_ARGS} --epochs 3", "python train.py " WORDS " --epochs 3"},
    {"$RB_ARGS", WORDS},
    {"a $RB_ARGS;b $RB_ARGS|c $RB_ARGS&&d $RB_ARGS>f", "a " WORDS ";b " WORDS "|c " WORDS "&&d " WORDS ">f"},
    {"(a $RB_ARGS)", "(a " WORDS ")"},
    {"x=\"$(a $RB_ARGS)\"", "x=\"$(a " WORDS ")\""},
    {"torchrun --nnodes=$RB_NUM_NODES \\\n  train.py \\\n  $RB_ARGS\n",
     "torchrun --nnodes=$RB_NUM_NODES \\\n  train.py \\\n  " WORDS "\n"},
    {"for a in $RB_ARGS; do b $a; done", "for a in " WORDS "; do b $a; done"},
    {"case $x in a) b $RB_ARGS;; (c) d $RB_ARGS;; esac", "case $x in a) b " WORDS ";; (c) d " WORDS ";; esac"},
    {"a $(case x in x) echo y;; esac) $RB_ARGS", "a $(case x in x) echo y;; esac) " WORDS},
    {"a <<E $RB_ARGS\nit's $RB_ARGS\nE\nb $RB_ARGS", "a <<E " WORDS "\nit's $RB_ARGS\nE\nb " WORDS},
    {"a <<-'E'\n\t$RB_ARGS\n\tE\nb $RB_ARGS", "a <<-'E'\n\t$RB_ARGS\n\tE\nb " WORDS},
    {"a $((1<<2)) $RB_ARGS", "a $((1<<2)) " WORDS},
    {"a <<<x $RB_ARGS", "a <<<x " WORDS},
    {"a # it's\nb $RB_ARGS", "a # it's\nb " WORDS},
    {"a $# $RB_ARGS", "a $# " WORDS},
    {"a x#y $RB_ARGS", "a x#y " WORDS},
    {"a \"${x:-it's}\" $RB_ARGS",
     "a \"${x:-it's}\" $RB_ARGS"}, // quotes in ${} in quotes are taken for quotes: not whole
    {"echo a \\' $RB_ARGS", "echo a \\' " WORDS},
    {"python train.py \"$RB_ARGS\"", NULL},
    {"python train.py '$RB_ARGS'", NULL},
    {"python train.py \\$RB_ARGS", NULL},
    {"python train.py --args=$RB_ARGS", NULL},
    {"python train.py $RB_ARGS,x", NULL},
    {"python train.py ${RB_ARGS:-none}", NULL},
    {"python train.py ${#RB_ARGS}", NULL},
    {"python train.py $RB_ARGS_2", NULL},
    {"X=$RB_ARGS python train.py", NULL},
    {"sh -c 'python train.py $RB_ARGS'", NULL},
    {"sh -c \"python train.py $RB_ARGS\"", NULL},
    {"eval python train.py $RB_ARGS", NULL},
    {"ssh host python train.py $RB_ARGS", NULL},
    {"case $RB_ARGS in *) ;; esac", NULL},
    {"a >$RB_ARGS", NULL},
    {"a 2> $RB_ARGS", NULL},
    {"a `b $RB_ARGS`", NULL},
    {"# a $RB_ARGS", NULL},
    {"a 'not closed $RB_ARGS", NULL},
    {"a $RB_ARGS \"not closed", NULL},
    {"a $(b $RB_ARGS", NULL},
    {"a <<E\n$RB_ARGS\n", NULL},
    {"", NULL},
};

static void only_whole_words_are_replaced(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < N_OF(replaced); i++) {
        struct rb_buf got = RB_BUF_INIT;
        rb_shell_replace(replaced[i].command, "RB_ARGS", WORDS, &got);
        assert_string_equal(rb_buf_str(&got), replaced[i].becomes ? replaced[i].becomes : replaced[i].command);
        rb_buf_finish(&got);
    }
}

static void every_use_is_seen(void **unused)
{
    (void)unused;
    static const char command[] =
        "a \"$RB_A\" '$RB_B' `$RB_C` ${RB_D:-$RB_E} $(b $RB_F) x=${RB_G} <<E\n$RB_H\nE\n# $RB_I\n";
    static const char *const names[] = {"RB_A", "RB_B", "RB_C", "RB_D", "RB_E", "RB_F", "RB_G", "RB_H"};
    struct rb_arena arena;
    struct rb_shell_text text;
    rb_arena_init(&arena);
    rb_shell_read(command, &arena, &text);
    assert_true(text.is_whole);
    assert_int_equal(text.n_uses, (int)N_OF(names));
    for (size_t i = 0; i < N_OF(names); i++) {
        assert_string_equal(text.uses[i].name, names[i]);
        assert_int_equal(command[text.uses[i].at], '$');
        assert_int_equal(text.uses[i].is_default, strcmp(names[i], "RB_D") == 0);
    }
    rb_arena_finish(&arena);
}

// Words in the order of the text, names of commands in brackets; what the shell expands is a *.
static void expect_words(const char *command, const char *expected)
{
    struct rb_arena arena;
    struct rb_shell_text text;
    struct rb_buf got = RB_BUF_INIT;
    rb_arena_init(&arena);
    rb_shell_read(command, &arena, &text);
    for (int i = 0; i < text.n_words; i++) {
        const char *plain = rb_shell_plain(command, text.words[i], &arena);
        rb_buf_printf(&got, text.words[i].is_first ? "%s[%s]" : "%s%s", i ? " " : "", plain ? plain : "*");
    }
    assert_string_equal(rb_buf_str(&got), expected);
    rb_buf_finish(&got);
    rb_arena_finish(&arena);
}

static void words_are_those_of_commands(void **unused)
{
    (void)unused;
    expect_words("python3 'my script.py' --x \"a\\\"b\" c\\ d $E *.py ~/f",
                 "[python3] my script.py --x a\"b c d * * *");
    expect_words("A=1 B=\"x y\" exec python train.py >log 2>&1 </dev/null", "[exec] python train.py");
    expect_words("cd src && ! ./a.sh; if b; then c d; fi & (e f)", "[cd] src [./a.sh] [b] [c] d [e] f");
    expect_words("a $(b c) d\ne f", "[a] * d [e] f");
    expect_words("python train.py \\\n --x", "[python] train.py --x");
}

// In memory of its own, so that a step beyond the end is seen.
static void a_command_may_end_anywhere(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < N_OF(replaced); i++) {
        for (size_t n = 0; n <= strlen(replaced[i].command); n++) {
            char *start = strndup(replaced[i].command, n);
            struct rb_buf got = RB_BUF_INIT;
            rb_shell_replace(start, "RB_ARGS", "", &got);
            assert_true(got.len <= n);
            rb_buf_finish(&got);
            free(start);
        }
    }
}

static void depth_is_bounded(void **unused)
{
    (void)unused;
    struct rb_buf deep = RB_BUF_INIT, got = RB_BUF_INIT;
    for (int i = 0; i < 100000; i++)
        rb_buf_puts(&deep, i % 2 ? "$(\"" : "${x:-");
    rb_shell_replace(rb_buf_str(&deep), "RB_ARGS", "", &got);
    assert_string_equal(rb_buf_str(&got), rb_buf_str(&deep));
    rb_buf_finish(&deep);
    rb_buf_finish(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_words_are_replaced),
        cmocka_unit_test(every_use_is_seen),
        cmocka_unit_test(words_are_those_of_commands),
        cmocka_unit_test(a_command_may_end_anywhere),
        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
