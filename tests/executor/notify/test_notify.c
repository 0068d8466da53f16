// Notices: written with what they tell of, sent again until they are taken, losses counted together; and what is sent.
#include "executor/journal/outbox.h"
#include "executor/notify/hook.h"
#include "executor/notify/notice.h"
#include "executor/notify/notify.h"
#include "fake_run.h"
#include "profiles/job/job_notify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)

// --- what is sent

// Standard Webhooks' published example.
static void signs_as_published(void **state)
{
    (void)state;
    char signature[64];
    struct rb_err err;
    assert_true(rb_hook_sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                             "{\"test\": 2432232314}", signature, &err));
    assert_string_equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_false(rb_hook_sign("whsec_", "a", 1, "{}", signature, &err));
    assert_false(rb_hook_sign("whsec_*", "a", 1, "{}", signature, &err));
    assert_false(rb_hook_sign("", "a", 1, "{}", signature, &err));
}

static void write_hostile(struct rb_buf *body)
{
    const struct rb_progress now = {
        .best_trial = 2, .best_metric = 0.5, .metric_name = "acc", .elapsed_us = MINUTE_US, .spent_uusd = 210000,
        .deadline_us = -1, .budget_uusd = -1, .p_on_time = NAN};
    rb_notice_write(&(struct rb_notice){.kind = RB_NOTICE_FINISHED,
                                        .run_id = "r\r\nBcc: eve@example.org",
                                        .job = "<j>",
                                        .seq = 7,
                                        .outcome = "complete",
                                        .detail = "a < b && c > \"d\"\n<!channel>",
                                        .now = &now},
                    body);
}

static void slack_reads_no_markup(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT, text = RB_BUF_INIT;
    write_hostile(&body);
    rb_notice_to_slack(rb_buf_str(&body), &text);
    assert_string_equal(rb_buf_str(&text),
                        "{\"text\":\"r\\r\\nBcc: eve@example.org is over: complete, after 1 m 0 s, $0.2100; best: trial "
                        "2, acc 0.5: a &lt; b &amp;&amp; c &gt; \\\"d\\\"\\n&lt;!channel&gt;\"}");
}

static void mail_has_the_headers_that_we_give_it(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT, mail = RB_BUF_INIT;
    write_hostile(&body);
    rb_notice_to_mail(rb_buf_str(&body), "ann@example.org\nCc: eve@example.org", &mail);
    const char *text = rb_buf_str(&mail), *end = strstr(text, "\n\n");
    static const char head[] = "To: ann@example.orgCc: eve@example.org\n"
                               "Subject: rubberband: finished: rBcc: eve@example.org\n"
                               "Auto-Submitted: auto-generated\n"
                               "MIME-Version: 1.0\n"
                               "Content-Type: text/plain; charset=utf-8";
    assert_int_equal(end - text, sizeof head - 1);
    assert_memory_equal(text, head, sizeof head - 1);
}

// --- written with what they tell of

// Takes every notice; counts them by kind.
static void take_all(struct rb_journal *journal, struct rb_arena *arena, int out_n[RB_NOTICE_KINDS])
{
    struct rb_outbox_notice notice;
    struct rb_err err;
    for (int64_t expected = 1;; expected++) {
        assert_true(rb_outbox_first_open(journal, 0, INT64_MAX, arena, &notice, &err));
        if (notice.seq == 0)
            return;
        assert_int_equal(notice.seq, expected);
        assert_true(rb_outbox_settle(journal, 0, notice.seq, RB_DELIVERY_DONE, &err));
        for (int kind = 0; kind < RB_NOTICE_KINDS; kind++)
            out_n[kind] += strcmp(notice.kind, rb_notice_names[kind]) == 0;
    }
}

struct seen {
    int n[32];
};

static bool see(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct seen *s = ctx;
    (void)err;
    s->n[e->kind]++;
    return true;
}

static void end(struct fake_run *r)
{
    while (!r->finished && r->v.now_us < 600 * MINUTE_US && virtual_loop_step(&r->v))
        ;
    fake_run_close(r);
}

// A run that loses a node and whose controller dies at its n-th write; false: it has fewer.
static bool dies_at(int64_t n, enum rb_journal_death how, int *resumed)
{
    struct fake_run r;
    struct seen events = {0};
    struct rb_err err;
    struct rb_journal *journal;
    fake_run_init(&r, 1);
    r.has_hook = r.go_on = true;
    fake_run_open_dying(&r, n, how);
    fake_run_step_until(&r, 100 * SECOND_US);
    if (r.cloud.n_instances > 0)
        fake_cloud_kill_instance(&r.cloud, 0, "spot");
    end(&r);
    const bool died = r.err.code != RB_ERR_NONE || !r.finished;
    if (died) {
        fake_run_open(&r);
        end(&r);
    }
    assert_true(r.finished);
    assert_true(rb_journal_open(r.journal_path, &journal, &err));
    assert_true(rb_journal_each_event(journal, see, &events, &err));
    int n_sent[RB_NOTICE_KINDS] = {0};
    take_all(journal, &r.arena, n_sent);
    rb_journal_close(journal);
    assert_int_equal(n_sent[RB_NOTICE_STARTED], 1);
    assert_int_equal(n_sent[RB_NOTICE_FINISHED], 1);
    assert_int_equal(n_sent[RB_NOTICE_NODE_LOST], events.n[RB_EVENT_NODE_LOST]);
    assert_true(n_sent[RB_NOTICE_RESUMED] <= died); // neither before it began nor after its end
    *resumed += n_sent[RB_NOTICE_RESUMED];
    fake_run_finish(&r);
    return died;
}

static void none_is_lost_and_none_is_invented(void **state)
{
    (void)state;
    int n_died = 0, n_resumed = 0;
    for (int64_t n = 1; dies_at(n, n % 2 ? RB_JOURNAL_DIES_AFTER : RB_JOURNAL_DIES_AT, &n_resumed); n++)
        n_died++;
    assert_true(n_died > 50);
    assert_in_range(n_resumed, n_died - 10, n_died);
}

static void says_that_it_is_cut_off_and_that_it_is_back(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.has_hook = true;
    fake_run_open(&r);
    fake_run_step_until(&r, MINUTE_US);
    r.cloud.faults.offline = true;
    fake_machines_set_offline(&r.machines, true);
    fake_run_step_until(&r, 6 * MINUTE_US);
    r.cloud.faults.offline = false;
    fake_machines_set_offline(&r.machines, false);
    end(&r);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_non_null(strstr(r.talk, "warning: mock/here answers again"));
    struct rb_err err;
    struct rb_journal *journal;
    struct rb_outbox_notice cut, back;
    assert_true(rb_journal_open(r.journal_path, &journal, &err));
    assert_true(rb_outbox_latest(journal, "cut_off", 0, &r.arena, &cut, &err));
    assert_true(rb_outbox_latest(journal, "reconnected", 0, &r.arena, &back, &err));
    assert_int_equal(cut.seq, 2);
    assert_int_equal(back.seq, 3);
    rb_journal_close(journal);
    fake_run_finish(&r);
}

// --- sent again

struct bench {
    struct fake_run r; // for its folder, its clock and its journal
    struct rb_hook_spec spec;
    struct rb_job job;
    struct rb_notify *notify;
    int n_warnings;
};

static void look(void *ctx, struct rb_progress *out)
{
    (void)ctx;
    *out = (struct rb_progress){
        .best_trial = -1, .deadline_us = -1, .spent_uusd = 90, .budget_uusd = 100, .p_on_time = NAN};
}

static void warn(void *ctx, const char *text)
{
    struct bench *b = ctx;
    (void)text;
    b->n_warnings++;
}

static void open_notify(struct bench *b)
{
    struct rb_err err;
    assert_true(rb_notify_create(&(struct rb_notify_config){.loop = &b->r.v.loop,
                                                            .journal = b->r.journal,
                                                            .job = &b->job,
                                                            .run_id = "run",
                                                            .workdir = "/",
                                                            .look = look,
                                                            .warn = warn,
                                                            .ctx = b},
                                 &b->notify, &err));
}

// A hook that always fails, because the environment lacks its address.
static void begin(struct bench *b)
{
    struct rb_err err;
    *b = (struct bench){.spec = {.kind = RB_HOOK_WEBHOOK, .target = "$RB_TEST_NO_SUCH_URL", .on = ~0u}};
    b->job = (struct rb_job){.name = "job", .hooks = {.items = &b->spec, .n = 1}};
    unsetenv("RB_TEST_NO_SUCH_URL");
    fake_run_init(&b->r, 1);
    const struct rb_journal_meta meta = {.run_id = "run", .plan_sha256 = "0", .owner = "us"};
    assert_true(rb_journal_create(b->r.journal_path, &meta, &b->r.journal, &err));
    assert_true(rb_journal_relax(b->r.journal, &err));
    open_notify(b);
}

static void finish(struct bench *b)
{
    rb_notify_destroy(b->notify);
    fake_run_finish(&b->r);
}

static void write(struct bench *b, enum rb_notice_kind kind)
{
    struct rb_err err;
    assert_true(rb_journal_begin(b->r.journal, &err));
    assert_true(rb_notify_write(b->notify, kind, NULL, NULL, &err));
    assert_true(rb_journal_commit(b->r.journal, &err));
}

static void step_to(struct bench *b, int64_t at_us)
{
    while (virtual_loop_step_until(&b->r.v, at_us))
        ;
}

// The times at which something happens, which are those of the tries.
static void tries_again_for_24_hours(void **state)
{
    struct bench b;
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    int64_t last_us, delay_us = 5 * SECOND_US, begun_us;
    (void)state;
    begin(&b);
    begun_us = last_us = b.r.v.now_us;
    write(&b, RB_NOTICE_STARTED);
    step_to(&b, last_us);
    assert_int_equal(rb_notify_count_open(b.notify, &why), 1);
    assert_string_equal(rb_buf_str(&why), "webhook $RB_TEST_NO_SUCH_URL: the environment has no RB_TEST_NO_SUCH_URL");
    while (rb_notify_count_open(b.notify, &why) > 0) {
        assert_true(virtual_loop_step(&b.r.v));
        assert_int_equal(b.r.v.now_us - last_us, delay_us);
        last_us = b.r.v.now_us;
        step_to(&b, last_us);
        delay_us = delay_us * 2 < HOUR_US ? delay_us * 2 : HOUR_US;
    }
    assert_true(last_us - begun_us >= 24 * HOUR_US && last_us - begun_us < 25 * HOUR_US);
    assert_int_equal(b.n_warnings, 2); // at the first failure, and when it was given up
    finish(&b);
}

static struct rb_outbox_notice latest(struct bench *b)
{
    struct rb_err err;
    struct rb_outbox_notice n;
    assert_true(rb_outbox_latest(b->r.journal, "node_lost", 0, &b->r.arena, &n, &err));
    return n;
}

static void losses_are_reported_once_a_minute(void **state)
{
    struct bench b;
    (void)state;
    begin(&b);
    const int64_t t0 = b.r.v.now_us, unix_us = virtual_loop_unix_us(&b.r.v);
    write(&b, RB_NOTICE_NODE_LOST);
    assert_int_equal(latest(&b).due_unix_us, unix_us);
    for (int i = 1; i <= 50; i++) {
        step_to(&b, t0 + i * SECOND_US);
        write(&b, RB_NOTICE_NODE_LOST);
    }
    struct rb_outbox_notice n = latest(&b);
    assert_int_equal(n.seq, 2);
    assert_int_equal(n.count, 50);
    assert_int_equal(n.due_unix_us, unix_us + MINUTE_US);
    assert_non_null(strstr(n.body, "\"nodes_lost\":50"));
    assert_non_null(strstr(n.body, "run has lost 50 nodes"));
    // A controller that takes over goes on counting.
    rb_notify_destroy(b.notify);
    open_notify(&b);
    write(&b, RB_NOTICE_NODE_LOST);
    assert_int_equal(latest(&b).count, 51);
    step_to(&b, t0 + 61 * SECOND_US);
    write(&b, RB_NOTICE_NODE_LOST);
    n = latest(&b);
    assert_int_equal(n.seq, 3);
    assert_int_equal(n.count, 1);
    assert_int_equal(n.due_unix_us, unix_us + 2 * MINUTE_US);
    step_to(&b, t0 + 10 * MINUTE_US);
    write(&b, RB_NOTICE_NODE_LOST);
    assert_int_equal(latest(&b).due_unix_us, unix_us + 10 * MINUTE_US);
    finish(&b);
}

static void a_budget_is_reported_once(void **state)
{
    struct bench b;
    struct rb_progress now;
    (void)state;
    begin(&b);
    look(NULL, &now);
    assert_true(rb_notify_budget_is_due(b.notify, &now));
    write(&b, RB_NOTICE_BUDGET_80);
    assert_false(rb_notify_budget_is_due(b.notify, &now));
    now.budget_uusd = 110;
    assert_true(rb_notify_budget_is_due(b.notify, &now)); // it was raised
    now.budget_uusd = 113;
    assert_false(rb_notify_budget_is_due(b.notify, &now));
    now.budget_uusd = -1;
    assert_false(rb_notify_budget_is_due(b.notify, &now));
    assert_false(rb_notify_budget_is_due(NULL, &now));
    finish(&b);
}

static void a_journal_without_an_outbox_has_nothing_open(void **state)
{
    struct fake_run r;
    struct rb_journal *journal;
    struct rb_err err;
    int open = -1;
    (void)state;
    fake_run_init(&r, 1);
    const struct rb_journal_meta meta = {.run_id = "run", .plan_sha256 = "0", .owner = "us"};
    assert_true(rb_journal_create(r.journal_path, &meta, &journal, &err));
    assert_true(rb_outbox_count_open(journal, &open, &err));
    assert_int_equal(open, 0);
    rb_journal_close(journal);
    fake_run_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_as_published),
        cmocka_unit_test(slack_reads_no_markup),
        cmocka_unit_test(mail_has_the_headers_that_we_give_it),
        cmocka_unit_test(none_is_lost_and_none_is_invented),
        cmocka_unit_test(says_that_it_is_cut_off_and_that_it_is_back),
        cmocka_unit_test(tries_again_for_24_hours),
        cmocka_unit_test(losses_are_reported_once_a_minute),
        cmocka_unit_test(a_budget_is_reported_once),
        cmocka_unit_test(a_journal_without_an_outbox_has_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
