// rbprofile as a user meets it: exit codes, what stands on stdout and what on stderr, files left on disk.
#include "tests/profiles/store_world.h"

#include <sys/wait.h>

struct outcome {
    int code;
    char *out, *err;
};

static char *slurp(struct world *w, const char *path)
{
    char *bytes;
    size_t n;
    assert_ok(rb_read_file(path, 1 << 20, &bytes, &n, &w->err), &w->err);
    char *copy = rb_arena_strndup(&w->arena, bytes, n);
    free(bytes);
    return copy;
}

// Runs it in the test's directory with a shell, so that arguments are written as a user writes them.
static struct outcome run(struct world *w, const char *args)
{
    const char *command = rb_arena_printf(&w->arena, "cd %s && env -u RB_DB XDG_DATA_HOME=%s/data %s %s >out 2>err",
                                          w->dir, w->dir, RBPROFILE, args);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    return (struct outcome){WEXITSTATUS(status), slurp(w, rb_arena_printf(&w->arena, "%s/out", w->dir)),
                            slurp(w, rb_arena_printf(&w->arena, "%s/err", w->dir))};
}

static void assert_in(const char *words, const char *text)
{
    if (!strstr(text, words)) {
        fail_msg("expected \"%s\" in:\n%s", words, text);
    }
}

static void put(struct world *w, const char *name, const char *text)
{
    write_text(rb_arena_printf(&w->arena, "%s/%s", w->dir, name), text);
}

static bool exists(struct world *w, const char *name)
{
    return access(rb_arena_printf(&w->arena, "%s/%s", w->dir, name), F_OK) == 0;
}

static const char profile[] = "format: rb-profile/1\nname: resnet\nunit: epoch\n"
                              "training: [{accelerator: V100, base_s: 30, layouts: [{gpus: 1, nodes: 1, speedup: 1}, "
                              "{gpus: 4, nodes: 1, speedup: 3.4}]}]\n"
                              "noise: {between: 1.0, within: {distribution: lognormal, mean: 1, cv: 0.1}}\n"
                              "startup_s: 8\ncheckpoint_s: 2\n";
static const char prices[] =
    "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at\n"
    "aws/us-east-1,p3.2xlarge,V100,1,16,8,61,on_demand,3.06,test,2026-07-20T00:00:00Z\n"
    "aws/us-west-2,p3.2xlarge,V100,1,16,8,61,on_demand,3.06,test,\n";

static void help_begins_with_examples(void **state)
{
    struct world *w = *state;
    const char *commands[] = {"--help",        "-h",          "import --help", "fit --help",          "show --help",
                              "list --help",   "export -h",   "prices --help", "prices show --help",  "prices update -h",
                              "train --help",  "provision --help"};
    for (int i = 0; i < N_OF(commands); i++) {
        const struct outcome o = run(w, commands[i]);
        assert_int_equal(o.code, 0);
        assert_int_equal(strncmp(o.out, "Examples:\n  rbprofile", 21), 0);
        assert_string_equal(o.err, "");
    }
    assert_in("prices ", run(w, "--help").out);
}

static void wrong_usage_is_exit_2(void **state)
{
    struct world *w = *state;
    const struct { const char *args, *words; } cases[] = {
        {"", "expected a subcommand"},
        {"shwo x", "did you mean show?"},
        {"show", "argument is missing"},
        {"show a b", "unexpected argument"},
        {"list --bd x", "did you mean --db?"},
        {"import", "argument is missing"},
        {"import x.csv --format prices-cvs", "did you mean prices-csv?"},
        {"import x.csv --batch nan", "--batch"},
        {"prices", "expected a subcommand"},
        {"prices update", "--from FILE"},
        {"prices update --infra aws/us-east-1 --from prices.csv", "--from FILE"},
        {"prices update --infra aws/us-esat", "is not a region of aws"},
        {"prices update --infra aws/us-east-1/us-east-1a", "expected a region, not a zone: aws/us-east-1 [RB3562]"},
        {"prices update --infra local", "no cloud has prices for it"},
        {"prices update --infra slurm", "no cloud has prices for it"},
        {"prices update --from prices.csv --instance-type t", "goes with --infra"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const struct outcome o = run(w, cases[i].args);
        assert_int_equal(o.code, 2);
        assert_string_equal(o.out, "");
        assert_in(cases[i].words, o.err);
    }
    assert_false(exists(w, "data"));
}

static void import_then_show_list_and_export(void **state)
{
    struct world *w = *state;
    put(w, "resnet.yaml", profile);
    put(w, "prices.csv", prices);
    struct outcome o = run(w, "import resnet.yaml prices.csv");
    assert_int_equal(o.code, 0);
    assert_string_equal(o.out, "resnet.yaml: profile resnet\nprices.csv: prices-csv, 2 rows\n");
    assert_true(exists(w, "data/rubberband/profiles.db"));
    o = run(w, "show resnet");
    assert_int_equal(o.code, 0);
    assert_in("profile resnet (imported)", o.out);
    assert_in("not covered: V100: more than 4 GPUs on 1 node", o.out);
    assert_in("resnet", run(w, "list").out);
    assert_int_equal(run(w, "export resnet -o copy.yaml").code, 0);
    assert_int_equal(run(w, "import copy.yaml --db other.db").code, 0);
    assert_string_equal(run(w, "export resnet --db other.db").out, run(w, "export resnet").out);
    assert_string_equal(run(w, "export resnet --json --db other.db").out, run(w, "--db other.db export --json resnet").out);
}

static void json_is_one_document(void **state)
{
    struct world *w = *state;
    put(w, "resnet.yaml", profile);
    put(w, "prices.csv", prices);
    const struct { const char *args, *format; } cases[] = {
        {"import resnet.yaml prices.csv --json", "rb-import/1"}, {"show resnet --json", "rb-fit/1"},
        {"list --json", "rb-profiles/1"},                        {"--json prices show", "rb-prices/1"},
        {"export resnet --json", "rb-profile/1"},                {"show stranger --json", "rb-error/1"},
        {"fit resnet --json", "rb-error/1"},                     {"frob --json", "rb-error/1"}};
    for (int i = 0; i < N_OF(cases); i++) {
        const struct outcome o = run(w, cases[i].args);
        struct rb_doc doc;
        struct rb_map m;
        const struct rb_node *format;
        const char *text;
        assert_ok(rb_doc_parse_json(&doc, cases[i].args, o.out, strlen(o.out), &w->err), &w->err);
        assert_true(rb_map_begin(&m, doc.root, &w->err) && rb_map_need(&m, "format", &format, &w->err));
        assert_true(rb_node_string(format, &text, &w->err));
        assert_string_equal(text, cases[i].format);
        assert_string_equal(o.err, "");
        rb_doc_finish(&doc);
    }
}

static void a_bad_file_changes_nothing(void **state)
{
    struct world *w = *state;
    put(w, "resnet.yaml", profile);
    put(w, "bad.yaml", "format: rb-profile/1\nname: bad\ntraning: []\n");
    struct outcome o = run(w, "import resnet.yaml bad.yaml");
    assert_int_equal(o.code, 2);
    assert_in("bad.yaml:3:", o.err);
    assert_in("did you mean", o.err);
    assert_false(exists(w, "data")); // not even an empty store
    assert_int_equal(run(w, "import resnet.yaml --db p.db").code, 0);
    const char *before = run(w, "list --db p.db").out;
    assert_int_equal(run(w, "import bad.yaml --db p.db").code, 2);
    assert_int_equal(run(w, "import missing.csv --db p.db").code, 1);
    assert_string_equal(run(w, "list --db p.db").out, before);
}

static void an_unknown_profile_names_the_known_ones(void **state)
{
    struct world *w = *state;
    struct outcome o = run(w, "show resnet");
    assert_int_equal(o.code, 1);
    assert_in("there is no profile store yet", o.err);
    put(w, "resnet.yaml", profile);
    assert_int_equal(run(w, "import resnet.yaml").code, 0);
    o = run(w, "show resnet50");
    assert_int_equal(o.code, 1);
    assert_in("there is no profile resnet50 (there is: resnet): run `rbprofile train JOB.yaml`", o.err);
    o = run(w, "fit resnet");
    assert_int_equal(o.code, 1);
    assert_in("nothing was measured for it", o.err);
}

static void escape_sequences_do_not_reach_the_terminal(void **state)
{
    struct world *w = *state;
    put(w, "evil.yaml", rb_arena_printf(&w->arena, "%ssource: \"red \\e[31m text\"\n", profile));
    assert_int_equal(run(w, "import evil.yaml").code, 0);
    const struct outcome o = run(w, "show resnet");
    assert_in("red ?[31m text", o.out);
    assert_null(strchr(o.out, 0x1b));
}

static void prices_are_shown_with_their_age(void **state)
{
    struct world *w = *state;
    put(w, "prices.csv", prices);
    assert_int_equal(run(w, "prices update --from prices.csv").code, 0);
    const struct outcome all = run(w, "prices show"), one = run(w, "prices show --infra aws/us-east-1");
    assert_in("aws/us-west-2", all.out);
    assert_in("unknown", all.out);
    assert_null(strstr(one.out, "aws/us-west-2"));
    assert_null(strstr(one.out, "unknown"));
    assert_in("3.06", one.out);
}

static void a_file_that_is_no_store_is_refused(void **state)
{
    struct world *w = *state;
    put(w, "p.db", "not a store at all, but longer than the hundred bytes that a header of a database takes, in all of it");
    const struct outcome o = run(w, "list --db p.db");
    assert_int_equal(o.code, 2);
    assert_in("not a sqlite database", o.err);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(help_begins_with_examples),
        TEST(wrong_usage_is_exit_2),
        TEST(import_then_show_list_and_export),
        TEST(json_is_one_document),
        TEST(a_bad_file_changes_nothing),
        TEST(an_unknown_profile_names_the_known_ones),
        TEST(escape_sequences_do_not_reach_the_terminal),
        TEST(prices_are_shown_with_their_age),
        TEST(a_file_that_is_no_store_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
