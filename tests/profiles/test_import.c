// Files that people bring: what is recognised, what is refused and with which words, and that a bad file stores nothing.
#include "tests/profiles/store_world.h"

#include "profiles/import/import.h"

#define THROUGHPUT "placement,local_bsz,step_time,sync_time\n"
#define PROVISION  "infra,instance_type,market,queue_s,init_s,outcome\n"
#define SPOT       "infra,instance_type,timestamp,usd_per_hour,preempted\n"
#define PRICES \
    "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at\n"
#define PRICE_ROW "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,1.006,test,2026-07-20T00:00:00Z\n"
#define PROFILE                                                                                 \
    "format: rb-profile/1\n"                                                                    \
    "training: [{accelerator: A10G, base_s: 30, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]\n" \
    "noise: {between: 1.0, within: 1.0}\nstartup_s: 8\ncheckpoint_s: 2\n"

static const struct rb_import_options bert = {
    .name = "bert", .accelerator = "T4", .batch = 12, .units_per_epoch = 7387};
static const struct rb_import_options detect = {0};

static const char *write_file(struct world *w, const char *name, const char *text)
{
    const char *path = rb_arena_printf(&w->arena, "%s/%s", w->dir, name);
    write_text(path, text);
    return path;
}

static struct rb_import read_ok(struct world *w, const char *name, const char *text, const struct rb_import_options *o)
{
    struct rb_import i;
    assert_ok(rb_import_read(write_file(w, name, text), o, &i, &w->err), &w->err);
    return i;
}

static void formats_are_recognised_by_their_header(void **state)
{
    struct world *w = *state;
    const struct {
        const char *name, *text;
        enum rb_import_format format;
        int n_rows;
    } cases[] = {
        {"a.csv", THROUGHPUT "1,4,0.45,0.01\n22,6,0.5,0.1\n", RB_IMPORT_THROUGHPUT, 2},
        {"a.csv", PROVISION "aws/us-east-1,g5.xlarge,spot,12,60,ok\n", RB_IMPORT_PROVISION, 1},
        {"a.csv", SPOT "aws/us-east-1,g5.xlarge,2026-08-01T00:00:00Z,0.4,\n", RB_IMPORT_SPOT, 1},
        {"a.csv", PRICES PRICE_ROW, RB_IMPORT_PRICES, 1},
        {"a.yaml", PROFILE, RB_IMPORT_PROFILE, 1},
        {"no-extension", PROFILE, RB_IMPORT_PROFILE, 1},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        struct rb_import import = read_ok(w, cases[i].name, cases[i].text, &bert);
        assert_int_equal(import.format, cases[i].format);
        assert_int_equal(import.n_rows, cases[i].n_rows);
        rb_import_finish(&import);
    }
}

static void placements_are_gpus_per_node(void **state)
{
    struct world *w = *state;
    struct rb_import i = read_ok(w, "a.csv", THROUGHPUT "4,4,0.45,0.01\n1234,6,0.5,0.1\n", &bert);
    assert_int_equal(i.throughputs[0].nodes, 1);
    assert_int_equal(i.throughputs[0].gpus, 4);
    assert_int_equal(i.throughputs[1].nodes, 4);
    assert_int_equal(i.throughputs[1].gpus, 10);
    assert_close(i.throughputs[1].local_batch, 6, 0);
    assert_close(i.throughputs[1].sync_s, 0.1, 0);
    rb_import_finish(&i);
}

static void names_come_from_the_flag_the_file_or_its_stem(void **state)
{
    struct world *w = *state;
    struct rb_import i = read_ok(w, "stem.v2.yaml", PROFILE, &detect);
    assert_string_equal(i.profile_name, "stem.v2");
    rb_import_finish(&i);
    i = read_ok(w, "stem.yaml", "name: inside\n" PROFILE, &detect);
    assert_string_equal(i.profile_name, "inside");
    rb_import_finish(&i);
    i = read_ok(w, "stem.yaml", "name: inside\n" PROFILE, &bert);
    assert_string_equal(i.profile_name, "bert");
    rb_import_finish(&i);
}

static void a_capacity_failure_has_no_times(void **state)
{
    struct world *w = *state;
    struct rb_import i = read_ok(w, "a.csv", PROVISION "aws/us-east-1,g5.xlarge,spot,,,capacity\n", &detect);
    assert_true(i.provisions[0].queue_s < 0 && i.provisions[0].init_s < 0);
    assert_string_equal(i.provisions[0].outcome, "capacity");
    rb_import_finish(&i);
}

static void spot_rows_know_three_answers(void **state)
{
    struct world *w = *state;
    struct rb_import i = read_ok(w, "a.csv",
                                 SPOT "aws/us-east-1,g5.xlarge,2026-08-01T00:00:00Z,0.4,\n"
                                      "aws/us-east-1,g5.xlarge,2026-08-01T01:00:00Z,0.4000001,0\n"
                                      "aws/us-east-1,g5.xlarge,2026-08-01T02:00:00+02:00,0.4,1\n",
                                 &detect);
    assert_int_equal(i.spots[0].preempted, -1);
    assert_int_equal(i.spots[1].preempted, 0);
    assert_int_equal(i.spots[2].preempted, 1);
    assert_int_equal(i.spots[1].rate.uusd_per_hour, 400001); // decimals beyond the sixth are rounded up
    assert_int_equal(i.spots[2].at_us, i.spots[0].at_us);    // an offset is an offset
    rb_import_finish(&i);
}

static void bad_files_are_refused_with_their_line(void **state)
{
    struct world *w = *state;
    const struct {
        const char *text;
        int line;
        const char *words;
    } cases[] = {
        {THROUGHPUT "1,4,0.45,0.01\n102,4,0.45,0.01\n", 3, "one digit 1..9 per node"},
        {THROUGHPUT ",4,0.45,0.01\n", 2, "at least one digit"},
        {THROUGHPUT "1,4,0.45,0.45\n", 2, "less than step_time"},
        {THROUGHPUT "1,nan,0.45,0.01\n", 2, ""},
        {THROUGHPUT "1,4,-1,0\n", 2, ""},
        {THROUGHPUT "1,4,0.45\n", 2, ""},
        {"placement,local_bsz,step_time,sync_tim\n1,4,1,0\n", 1, "sync_time"},
        {THROUGHPUT, 0, "at least one row"},
        {"", 0, ""},
        {"a,b\n1,2\n", 1, "this CSV is of no known kind"},
        {PROVISION "aws/us-east-1,g5.xlarge,spot,12,60,maybe\n", 2, "expected ok, capacity or timeout"},
        {PROVISION "aws/us-east-1,g5.xlarge,spot,,60,ok\n", 2, ""},
        {PROVISION "aws/us-east-1,g5.xlarge,spot,12,,timeout\n", 2, "has no such time"},
        {PROVISION "aws/us-east-1,g5.xlarge,reserved,12,60,ok\n", 2, "spot"},
        {PROVISION "azure/x,g5.xlarge,spot,12,60,ok\n", 2, "azure"},
        {PROVISION "aws/us-east-1,,spot,12,60,ok\n", 2, "expected a text"},
        {SPOT "aws/us-east-1,g5.xlarge,yesterday,0.4,1\n", 2, ""},
        {SPOT "aws/us-east-1,g5.xlarge,2026-08-01T00:00:00Z,0,1\n", 2, ""},
        {SPOT "aws/us-east-1,g5.xlarge,2026-08-01T00:00:00Z,-0.4,1\n", 2, ""},
        {SPOT "aws/us-east-1,g5.xlarge,2026-08-01T00:00:00Z,0.4,yes\n", 2, "got \"yes\""},
        {PRICES "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,-1.006,test,\n", 2, ""},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const char *path = write_file(w, "bad.csv", cases[i].text);
        struct rb_import import = {.n_rows = 42};
        if (rb_import_read(path, &bert, &import, &w->err)) {
            fail_msg("accepted: %s", cases[i].text);
        }
        assert_int_equal(w->err.code, RB_ERR_INVALID);
        assert_string_equal(w->err.file, path);
        assert_says(&w->err, cases[i].words);
        if (cases[i].line > 0 && w->err.line != cases[i].line) {
            fail_msg("line %d, expected %d: %s: %s", w->err.line, cases[i].line, cases[i].text, w->err.message);
        }
        assert_int_equal(import.n_rows, 42);
    }
}

static void a_throughput_file_needs_what_it_does_not_say(void **state)
{
    struct world *w = *state;
    struct rb_import_options o = bert;
    struct rb_import import;
    const char *path = write_file(w, "a.csv", THROUGHPUT "1,4,0.45,0.01\n");
    o.accelerator = NULL;
    assert_false(rb_import_read(path, &o, &import, &w->err));
    assert_says(&w->err, "--accelerator A");
    o = bert;
    o.batch = 0;
    assert_false(rb_import_read(path, &o, &import, &w->err));
    assert_says(&w->err, "--batch B");
    o = bert;
    o.name = "two\nlines";
    assert_false(rb_import_read(path, &o, &import, &w->err));
    assert_says(&w->err, "printable");
    assert_false(rb_import_read(path, &detect, &import, &w->err));
    assert_says(&w->err, "--name P");
}

static void a_forced_format_is_not_guessed(void **state)
{
    struct world *w = *state;
    struct rb_import_options o = {.format = RB_IMPORT_SPOT};
    struct rb_import import;
    assert_false(
        rb_import_read(write_file(w, "a.csv", PROVISION "aws,g5.xlarge,spot,12,60,ok\n"), &o, &import, &w->err));
    assert_int_equal(w->err.code, RB_ERR_INVALID);
    enum rb_import_format format;
    assert_true(rb_import_format_parse("spot-csv", &format, &w->err));
    assert_int_equal(format, RB_IMPORT_SPOT);
    assert_false(rb_import_format_parse("spot-cvs", &format, &w->err));
    assert_says(&w->err, "did you mean spot-csv?");
}

static void what_is_imported_can_be_planned_with(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_import profile = read_ok(w, "cifar.yaml", PROFILE, &detect);
    struct rb_import prices = read_ok(w, "prices.csv", PRICES PRICE_ROW, &detect);
    struct rb_import nodes = read_ok(w, "nodes.csv",
                                     PROVISION "aws/us-east-1,g5.xlarge,on_demand,12,60,ok\n"
                                               "aws/us-east-1,g5.xlarge,on_demand,,,capacity\n",
                                     &detect);
    for (int round = 0; round < 2; round++) { // the second import changes nothing
        assert_ok(rb_import_store(&profile, s, 1, &w->err), &w->err);
        assert_ok(rb_import_store(&prices, s, 1, &w->err), &w->err);
        assert_ok(rb_import_store(&nodes, s, 1, &w->err), &w->err);
        struct rb_profile p;
        struct rb_catalog catalog;
        assert_ok(rb_store_profile(s, "cifar", &w->arena, &p, &w->err), &w->err);
        assert_ok(rb_store_prices(s, &w->arena, &catalog, &w->err), &w->err);
        assert_close(p.training[0].base_s, 30, 0);
        assert_int_equal(p.n_provisioning, 1);
        assert_close(p.provisioning[0].capacity_failure, 0.5, 1e-12);
        assert_int_equal(catalog.n_offers, 1);
        assert_int_equal(catalog.offers[0].rate.uusd_per_hour, 1006000);
    }
    rb_import_finish(&profile);
    rb_import_finish(&prices);
    rb_import_finish(&nodes);
    rb_store_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(formats_are_recognised_by_their_header),
        TEST(placements_are_gpus_per_node),
        TEST(names_come_from_the_flag_the_file_or_its_stem),
        TEST(a_capacity_failure_has_no_times),
        TEST(spot_rows_know_three_answers),
        TEST(bad_files_are_refused_with_their_line),
        TEST(a_throughput_file_needs_what_it_does_not_say),
        TEST(a_forced_format_is_not_guessed),
        TEST(what_is_imported_can_be_planned_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
