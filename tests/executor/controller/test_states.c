// The drawings of docs/explanation/launch-states.md against the tables of executor/controller/states.c: the same states,
// the same arrows. Usage: test_states PAGE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executor/controller/states.h"
#include "executor/journal/journal.h"

#include <stdio.h>
#include <string.h>

static const struct rb_states *const tables[] = {&rb_launch_states, &rb_link_states,    &rb_end_states,
                                                 &rb_task_states,   &rb_process_states, &rb_phases};
enum { N_TABLES = sizeof tables / sizeof *tables };
static const char *page;

static int n_states(const struct rb_states *s)
{
    int n = 0;
    while (n < RB_STATES_MAX && s->of[n].name)
        n++;
    return n;
}

// -1: no such state.
static int state_of(const struct rb_states *s, const char *name)
{
    for (int i = 0; i < n_states(s); i++)
        if (strcmp(s->of[i].name, name) == 0)
            return i;
    return -1;
}

static const struct rb_states *table_of(const char *object)
{
    for (int i = 0; i < N_TABLES; i++)
        if (strcmp(tables[i]->object, object) == 0)
            return tables[i];
    fail_msg("%s draws `%s`, which states.c does not know", page, object);
    return NULL;
}

// Reads the arrows of every drawing into drawn, as in next.
static void read_drawings(unsigned drawn[N_TABLES][RB_STATES_MAX])
{
    const struct rb_states *s = NULL;
    char line[256], from[64], to[64];
    FILE *f = fopen(page, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, " state %63[a-z] %1[{]", from, to) == 2)
            s = table_of(from);
        if (sscanf(line, " %63s --> %63[^: \n]", from, to) != 2 || strcmp(from, "[*]") == 0 || strcmp(to, "[*]") == 0)
            continue;
        assert_non_null(s);
        const int a = state_of(s, from), b = state_of(s, to);
        if (a < 0 || b < 0 || !rb_states_follow(s, a, b))
            fail_msg("%s: %s draws %s --> %s, which states.c does not allow", page, s->object, from, to);
        for (int i = 0; i < N_TABLES; i++)
            drawn[i][a] |= tables[i] == s ? 1u << b : 0;
    }
    fclose(f);
}

static void test_drawings_show_every_transition(void **unused)
{
    (void)unused;
    unsigned drawn[N_TABLES][RB_STATES_MAX] = {0};
    read_drawings(drawn);
    for (int i = 0; i < N_TABLES; i++)
        for (int from = 0; from < n_states(tables[i]); from++)
            for (int to = 0; to < n_states(tables[i]); to++)
                if (rb_states_follow(tables[i], from, to) && !(drawn[i][from] & (1u << to)))
                    fail_msg("%s: %s lacks %s --> %s", page, tables[i]->object, tables[i]->of[from].name,
                             tables[i]->of[to].name);
}

// A state without an arrow would not be drawn.
static void test_every_state_has_an_arrow(void **unused)
{
    (void)unused;
    for (int i = 0; i < N_TABLES; i++) {
        const struct rb_states *s = tables[i];
        for (int k = 0; k < n_states(s); k++) {
            unsigned touched = s->of[k].next;
            for (int from = 0; from < n_states(s); from++)
                touched |= rb_states_follow(s, from, k) ? 1u << from : 0;
            assert_true(touched != 0);
        }
    }
}

static void test_journalled_states_have_the_journals_names(void **unused)
{
    (void)unused;
    assert_int_equal(n_states(&rb_launch_states), RB_LAUNCH_GONE + 1);
    for (int i = 0; i <= RB_LAUNCH_GONE; i++)
        assert_string_equal(rb_launch_states.of[i].name, rb_launch_state_name((enum rb_launch_state)i));
    assert_int_equal(n_states(&rb_task_states), RB_TASK_KILLED + 1);
    for (int i = 0; i <= RB_TASK_KILLED; i++)
        assert_string_equal(rb_task_states.of[i].name, rb_task_state_name((enum rb_task_state)i));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s PAGE\n", argv[0]);
        return 2;
    }
    page = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawings_show_every_transition),
        cmocka_unit_test(test_every_state_has_an_arrow),
        cmocka_unit_test(test_journalled_states_have_the_journals_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
