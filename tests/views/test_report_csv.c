// A report as CSV: every cell, the form of RFC 4180, what is unknown, and text that a spreadsheet would take for a formula.
// tests/schemas/report_csv.py reads the CSV of a real run with Python's reader and compares it with the JSON.
#include "tests/base/check.h"

#include "base/arena.h"
#include "views/tables/report_csv.h"

static const char report[] =
    "{\"format\":\"rb-report/1\",\"cost_uusd\":{\"actual\":7,\"by\":{\"train\":5,\"boot\":2}},"
    "\"stages\":[{\"stage\":0,\"trials\":2,\"resource_end\":3,\"gpus_per_trial\":1,\"nodes\":1,\"start_us\":10,\"end_us\":null,"
    "\"predicted_time_us\":null,\"predicted_cost_uusd\":4,\"cost_uusd\":7}],"
    "\"trials\":[{\"trial\":0,\"state\":\"completed\",\"resource\":3,\"metric\":0.5,\"params\":{\"lr\":-0.1,\"opt\":\"a, \\\"b\\\"\","
    "\"flag\":true},\"restarts\":1},{\"trial\":1,\"state\":\"failed\",\"resource\":0,\"metric\":null,\"params\":{\"lr\":1e-05,"
    "\"opt\":\"=1+1\",\"flag\":false},\"restarts\":0}],"
    "\"nodes\":[{\"id\":\"\",\"infra\":\"local\",\"instance_type\":\"local\",\"market\":\"on_demand\",\"state\":\"gone\","
    "\"requested_us\":0,\"running_us\":1,\"ready_us\":null,\"terminated_us\":9,\"cost_uusd\":7}],"
    "\"replans\":[],\"faults\":[{\"at_us\":5,\"text\":\"@x\\nlost\"}],\"warnings\":[{\"at_us\":6,\"text\":\"-late\"}]}";

static void parse(const char *text, struct rb_doc *out)
{
    struct rb_err err = {0};
    if (!rb_doc_parse_json(out, "report", text, strlen(text), &err))
        fail_msg("%s", err.message);
}

static void every_table_is_written_whole(void **state)
{
    static const struct {
        const char *table, *csv;
    } cases[] = {
        {"costs", "part,cost_uusd\r\n\"train\",5\r\n\"boot\",2\r\n"},
        {"nodes", "id,infra,instance_type,market,state,requested_us,running_us,ready_us,terminated_us,cost_uusd\r\n"
                  "\"\",\"local\",\"local\",\"on_demand\",\"gone\",0,1,,9,7\r\n"},
        {"notes", "kind,at_us,text\r\n\"fault\",5,\"'@x\nlost\"\r\n\"warning\",6,\"'-late\"\r\n"},
        {"stages", "stage,trials,resource_end,gpus_per_trial,nodes,start_us,end_us,predicted_time_us,predicted_cost_uusd,"
                   "cost_uusd\r\n0,2,3,1,1,10,,,4,7\r\n"},
        {"trials", "trial,state,resource,metric,restarts,params.lr,params.opt,params.flag\r\n"
                   "0,\"completed\",3,0.5,1,-0.1,\"a, \"\"b\"\"\",true\r\n"
                   "1,\"failed\",0,,0,1e-05,\"'=1+1\",false\r\n"},
    };
    struct rb_doc doc;
    (void)state;
    parse(report, &doc);
    for (int i = 0; i < (int)N_OF(cases); i++) {
        struct rb_buf out = RB_BUF_INIT;
        assert_true(rb_report_csv_write(doc.root, cases[i].table, &out, NULL));
        assert_string_equal(rb_buf_str(&out), cases[i].csv);
        rb_buf_finish(&out);
    }
    rb_doc_finish(&doc);
}

static void an_empty_report_has_headers_alone(void **state)
{
    struct rb_doc doc;
    struct rb_buf out = RB_BUF_INIT;
    (void)state;
    parse("{\"format\":\"rb-report/1\",\"trials\":[],\"faults\":[]}", &doc);
    assert_true(rb_report_csv_write(doc.root, "trials", &out, NULL));
    assert_true(rb_report_csv_write(doc.root, "notes", &out, NULL));
    assert_true(rb_report_csv_write(doc.root, "costs", &out, NULL));
    assert_string_equal(rb_buf_str(&out),
                        "trial,state,resource,metric,restarts\r\nkind,at_us,text\r\npart,cost_uusd\r\n");
    rb_buf_finish(&out);
    rb_doc_finish(&doc);
}

// The second trial has what the first has not.
static void parameters_that_do_not_apply_are_empty_and_reasons_last(void **state)
{
    struct rb_doc doc;
    struct rb_buf out = RB_BUF_INIT;
    (void)state;
    parse("{\"format\":\"rb-report/1\",\"trials\":[{\"trial\":0,\"params\":{\"kind\":\"a\",\"lr\":1.5},\"origin\":\"start\"},"
          "{\"trial\":1,\"params\":{\"kind\":\"b\",\"depth\":3},\"origin\":\"tpe\",\"because\":\"-x, y\"}]}",
          &doc);
    assert_true(rb_report_csv_write(doc.root, "trials", &out, NULL));
    assert_string_equal(rb_buf_str(&out),
                        "trial,state,resource,metric,restarts,params.kind,params.lr,params.depth,origin,because\r\n"
                        "0,,,,,\"a\",1.5,,\"start\",\r\n"
                        "1,,,,,\"b\",,3,\"tpe\",\"'-x, y\"\r\n");
    rb_buf_finish(&out);
    rb_doc_finish(&doc);
}

static void what_is_no_table_or_no_report_is_refused(void **state)
{
    struct rb_doc doc;
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    (void)state;
    parse(report, &doc);
    assert_false(rb_report_csv_write(doc.root, "trial", &out, &err));
    assert_says(&err, "--csv: expected costs, nodes, notes, stages or trials, got \"trial\"");
    rb_doc_finish(&doc);
    parse("{\"format\":\"rb-plan/1\"}", &doc);
    assert_false(rb_report_csv_write(doc.root, "trials", &out, &err));
    assert_says(&err, "expected a document of format rb-report/1");
    assert_int_equal(out.len, 0);
    rb_doc_finish(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_written_whole),
        cmocka_unit_test(an_empty_report_has_headers_alone),
        cmocka_unit_test(parameters_that_do_not_apply_are_empty_and_reasons_last),
        cmocka_unit_test(what_is_no_table_or_no_report_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
