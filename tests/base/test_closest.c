// "Did you mean": what is close enough to offer, and what is not.
#include "base/text/closest.h"

#include "check.h"

static void offers_the_closest_name(void **state)
{
    (void)state;
    static const char *const names[] = {"scheduler", "search",    "resources", "deadline", "budget",
                                        "objective", "max_nodes", "eta",       "metric",   "mode"};
    static const struct {
        const char *word, *expected;
    } cases[] = {
        {"schedular", "scheduler"},
        {"shceduler", "scheduler"},
        {"deadlin", "deadline"},
        {"budgte", "budget"},
        {"Budget", "budget"},
        {"max-nodes", "max_nodes"},
        {"maxnodes", "max_nodes"},
        {"resource", "resources"},
        {"eat", "eta"},
        {"mod", "mode"},
        {"metrics", "metric"},
        {"dead", "deadline"}, // a beginning, although "seed" would be as close
        {"sch", "scheduler"},
        {"se", NULL},
        {"zzz", NULL},
        {"", NULL},
        {"x", NULL},
        {"gpu", NULL},
        {"accelerators", NULL},
        {"a_very_long_word_that_no_one_would_ever_type_as_a_key_in_a_job_file_at_all", NULL},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const char *got = rb_closest(cases[i].word, names, N_OF(names));
        if (cases[i].expected ? !got || strcmp(got, cases[i].expected) != 0 : got != NULL)
            fail_msg("\"%s\" gave %s, expected %s", cases[i].word, got ? got : "nothing",
                     cases[i].expected ? cases[i].expected : "nothing");
    }
}

static void ties_go_to_the_first_and_gaps_are_skipped(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "", "spot", "spat"};
    assert_string_equal(rb_closest("spt", names, N_OF(names)), "spot");
    assert_null(rb_closest("spt", names, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers_the_closest_name),
        cmocka_unit_test(ties_go_to_the_first_and_gaps_are_skipped),
    };
    return cmocka_run_group_tests_name("closest", tests, NULL, NULL);
}
