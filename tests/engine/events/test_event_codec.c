// Events as JSON: what is written is read back, NaN and infinities too, and what is no event is refused with its place.
#include "engine/events/event.h"

#include "check.h"

#include <math.h>

static void write_event(const struct rb_event *e, struct rb_buf *out)
{
    struct rb_json j;
    rb_buf_clear(out);
    rb_json_init(&j, out, false);
    rb_event_write(e, &j);
}

// What the event points to lasts until the next one.
static bool read_event(const char *text, struct rb_event *out, struct rb_err *err)
{
    static struct rb_arena kept;
    struct rb_doc doc;
    rb_arena_reset(&kept);
    if (!rb_doc_parse_json(&doc, "events.jsonl", text, strlen(text), err))
        return false;
    const bool ok = rb_event_read(doc.root, &kept, out, err);
    rb_doc_finish(&doc);
    return ok;
}

static void every_kind_has_its_text(void **state)
{
    (void)state;
    static const struct rb_stage_change one_change[] = {{2, 1, 4, 3}};
    static const struct {
        struct rb_event event;
        const char *text;
    } cases[] = {
        {{.kind = RB_EVENT_START}, "{\"time_us\":0,\"event\":\"start\"}"},
        {{.kind = RB_EVENT_START, .rules = RB_RULES_NOW}, "{\"time_us\":0,\"event\":\"start\",\"rules\":1}"},
        {{.kind = RB_EVENT_NODE_RUNNING, .time_us = 5, .node = 3, .attempt = 1},
         "{\"time_us\":5,\"event\":\"node_running\",\"node\":3,\"attempt\":1}"},
        {{.kind = RB_EVENT_NODE_READY, .time_us = 5, .node = 3, .data_us = 7, .pull_us = 9},
         "{\"time_us\":5,\"event\":\"node_ready\",\"node\":3,\"attempt\":0,\"data_us\":7,\"pull_us\":9}"},
        {{.kind = RB_EVENT_NODE_READY, .time_us = 5, .node = 3},
         "{\"time_us\":5,\"event\":\"node_ready\",\"node\":3,\"attempt\":0}"},
        {{.kind = RB_EVENT_NODE_REFUSED, .node = 1, .attempt = 2},
         "{\"time_us\":0,\"event\":\"node_refused\",\"node\":1,\"attempt\":2}"},
        {{.kind = RB_EVENT_NODE_LOST, .node = 1}, "{\"time_us\":0,\"event\":\"node_lost\",\"node\":1,\"attempt\":0}"},
        {{.kind = RB_EVENT_REPORT, .trial = 7, .attempt = 1, .resource = 3, .metric = 0.1},
         "{\"time_us\":0,\"event\":\"report\",\"trial\":7,\"attempt\":1,\"resource\":3,\"metric\":0.1}"},
        {{.kind = RB_EVENT_REPORT,
          .trial = 7,
          .resource = 3,
          .metric = 0.1,
          .steps = {.has_noise = true, .noise = {0.5, -2}, .step_s = 0.25, .has_sync = true}},
         "{\"time_us\":0,\"event\":\"report\",\"trial\":7,\"attempt\":0,\"resource\":3,\"metric\":0.1,"
         "\"grad_sqr\":0.5,\"grad_var\":-2,\"step_s\":0.25,\"sync_s\":0}"},
        {{.kind = RB_EVENT_TRIAL_ENDED, .trial = 7, .outcome = RB_OUTCOME_HUNG},
         "{\"time_us\":0,\"event\":\"trial_ended\",\"trial\":7,\"attempt\":0,\"outcome\":\"hung\"}"},
        {{.kind = RB_EVENT_TRIAL_ENDED,
          .trial = 7,
          .outcome = RB_OUTCOME_FAILED,
          .signature = UINT64_C(0xfedcba9876543210)},
         "{\"time_us\":0,\"event\":\"trial_ended\",\"trial\":7,\"attempt\":0,\"outcome\":\"failed\","
         "\"signature\":\"fedcba9876543210\"}"},
        {{.kind = RB_EVENT_TIME, .time_us = RB_LIMIT_TIME_US}, "{\"time_us\":9467280000000000,\"event\":\"time\"}"},
        {{.kind = RB_EVENT_ADVICE,
          .changes = one_change,
          .n_changes = 1,
          .because = "it is late"},
         "{\"time_us\":0,\"event\":\"advice\",\"stages\":[{\"stage\":2,\"offer\":1,\"gpus_per_trial\":4,\"nodes\":3}],"
         "\"because\":\"it is late\"}"},
        {{.kind = RB_EVENT_ADVICE, .admit_until_us = 90},
         "{\"time_us\":0,\"event\":\"advice\",\"stages\":[],\"admit_until_us\":90}"},
        {{.kind = RB_EVENT_STOP, .reason = RB_STOP_BUDGET}, "{\"time_us\":0,\"event\":\"stop\",\"reason\":\"budget\"}"},
        {{.kind = RB_EVENT_LENT, .node = 2, .gpus = UINT64_C(1) << 63 | 5},
         "{\"time_us\":0,\"event\":\"lent\",\"node\":2,\"gpus\":[0,2,63]}"},
        {{.kind = RB_EVENT_RESUME}, "{\"time_us\":0,\"event\":\"resume\"}"},
    };
    struct rb_buf text = RB_BUF_INIT;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_event back;
        struct rb_err err;
        write_event(&cases[i].event, &text);
        assert_string_equal(rb_buf_str(&text), cases[i].text);
        if (!read_event(cases[i].text, &back, &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        write_event(&back, &text);
        assert_string_equal(rb_buf_str(&text), cases[i].text);
    }
    rb_buf_finish(&text);
}

static void names_go_both_ways(void **state)
{
    (void)state;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_event back;
    for (int outcome = RB_OUTCOME_REACHED; outcome <= RB_OUTCOME_EVICTED; outcome++) {
        write_event(&(struct rb_event){.kind = RB_EVENT_TRIAL_ENDED, .outcome = (enum rb_outcome)outcome}, &text);
        assert_true(read_event(rb_buf_str(&text), &back, NULL));
        assert_int_equal(back.outcome, outcome);
    }
    for (int reason = RB_STOP_USER; reason <= RB_STOP_RELEASED; reason++) {
        write_event(&(struct rb_event){.kind = RB_EVENT_STOP, .reason = (enum rb_stop_reason)reason}, &text);
        assert_true(read_event(rb_buf_str(&text), &back, NULL));
        assert_int_equal(back.reason, reason);
    }
    rb_buf_finish(&text);
}

static void what_was_said_survives(void **state)
{
    (void)state;
    static const char text[] =
        "{\"time_us\":0,\"event\":\"trial_ended\",\"trial\":1,\"attempt\":0,\"outcome\":\"failed\","
        "\"signature\":\"0000000000000007\",\"said\":\"exit code 1: \\\"x\\\" | ?\"}";
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_event e;
    assert_true(rb_doc_parse_json(&doc, "events.jsonl", text, strlen(text), NULL));
    assert_true(rb_event_read(doc.root, &doc.arena, &e, NULL));
    assert_string_equal(e.said, "exit code 1: \"x\" | ?");
    write_event(&e, &again);
    assert_string_equal(rb_buf_str(&again), text);
}

static void a_suggestion_survives(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"time_us\":0,\"event\":\"suggested\",\"trial\":4,\"origin\":\"tpe\",\"values\":{\"lr\":1.0,\"opt\":\"sgd\",\"n\":3,"
        "\"amp\":true},\"because\":\"x\"}",
        "{\"time_us\":0,\"event\":\"suggested\",\"trial\":4,\"origin\":\"command\"}",
    };
    for (size_t i = 0; i < N_OF(texts); i++) {
        RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
        RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
        struct rb_event e;
        assert_true(rb_doc_parse_json(&doc, "events.jsonl", texts[i], strlen(texts[i]), NULL));
        assert_true(rb_event_read(doc.root, &doc.arena, &e, NULL));
        assert_int_equal(e.n_values, i == 0 ? 4 : 0);
        write_event(&e, &again);
        assert_string_equal(rb_buf_str(&again), texts[i]);
    }
}

static void a_save_survives(void **state)
{
    (void)state;
    static const char text[] = "{\"time_us\":9,\"event\":\"saved\",\"trial\":4,\"attempt\":1,\"resource\":7}";
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_event e;
    assert_true(rb_doc_parse_json(&doc, "events.jsonl", text, strlen(text), NULL));
    assert_true(rb_event_read(doc.root, &doc.arena, &e, NULL));
    assert_int_equal(e.kind, RB_EVENT_TRIAL_SAVED);
    assert_int_equal(e.resource, 7);
    write_event(&e, &again);
    assert_string_equal(rb_buf_str(&again), text);
}

static void any_metric_survives(void **state)
{
    (void)state;
    static const double metrics[] = {0, -0.0, 0.1, 1e-300, 1.7e308, 12345678901234567890.0, NAN, INFINITY, -INFINITY};
    struct rb_buf text = RB_BUF_INIT;
    for (size_t i = 0; i < N_OF(metrics); i++) {
        const struct rb_event event = {.kind = RB_EVENT_REPORT, .resource = 1, .metric = metrics[i]};
        struct rb_event back;
        write_event(&event, &text);
        assert_true(read_event(rb_buf_str(&text), &back, NULL));
        assert_true(isnan(metrics[i]) ? isnan(back.metric) : memcmp(&back.metric, &metrics[i], sizeof(double)) == 0);
    }
    rb_buf_finish(&text);
}

static void what_is_no_event_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[]", "map"},
        {"{\"event\":\"start\"}", "time_us"},
        {"{\"time_us\":-1,\"event\":\"start\"}", "time_us"},
        {"{\"time_us\":0}", "event"},
        {"{\"time_us\":0,\"event\":\"begin\"}", "event"},
        {"{\"time_us\":0,\"event\":\"start\",\"node\":1}", "node"},
        {"{\"time_us\":0,\"event\":\"node_ready\",\"attempt\":0}", "node"},
        {"{\"time_us\":0,\"event\":\"node_ready\",\"node\":99999999,\"attempt\":0}", "node"},
        {"{\"time_us\":0,\"event\":\"report\",\"trial\":0,\"attempt\":0,\"resource\":1,\"metric\":\"big\"}", "metric"},
        {"{\"time_us\":0,\"event\":\"report\",\"trial\":0,\"attempt\":0,\"resource\":-1,\"metric\":1}", "resource"},
        {"{\"time_us\":0,\"event\":\"trial_ended\",\"trial\":0,\"attempt\":0,\"outcome\":\"died\"}", "outcome"},
        {"{\"time_us\":0,\"event\":\"trial_ended\",\"trial\":0,\"attempt\":0,\"outcome\":\"failed\",\"signature\":7}",
         "signature"},
        {"{\"time_us\":0,\"event\":\"trial_ended\",\"trial\":0,\"attempt\":0,\"outcome\":\"failed\",\"signature\":"
         "\"0x1\"}",
         "16 hexadecimal digits"},
        {"{\"time_us\":0,\"event\":\"start\",\"rules\":99}", "use the newer rbrun"},
        {"{\"time_us\":0,\"event\":\"stop\",\"reason\":\"bored\"}", "reason"},
        {"{\"time_us\":0,\"event\":\"stop\",\"reason\":\"broken_script\"}", "reason"}, // the engine's own: no event
        {"{\"time_us\":0,\"event\":\"advice\",\"stage\":64}", "stage"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_event out = {.kind = RB_EVENT_RESUME, .time_us = 77};
        struct rb_err err = {0};
        assert_false(read_event(cases[i].text, &out, &err));
        assert_says(&err, cases[i].says);
        assert_string_equal(err.file, "events.jsonl");
        assert_int_equal(out.time_us, 77); // untouched
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_text),     cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(what_was_said_survives),      cmocka_unit_test(a_save_survives), cmocka_unit_test(any_metric_survives),
        cmocka_unit_test(a_suggestion_survives),
        cmocka_unit_test(what_is_no_event_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
