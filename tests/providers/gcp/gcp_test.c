// The Compute Engine provider against a server that plays scripts: what is sent, what is repeated, what is looked up,
// and what the caller is reply.
#include "base/arena.h"
#include "base/document/doc.h"
#include "google_account.h"
#include "providers/gcp/gcp.h"
#include "providers/wire/http.h"
#include "scripted.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define TOKEN                                                                                                    \
    {                                                                                                            \
        .status = 200, .body = "{\"access_token\": \"t0k3n\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}" \
    }
#define TOKEN_2                                                                                                  \
    {                                                                                                            \
        .status = 200, .body = "{\"access_token\": \"n3w3r\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}" \
    }
#define OPERATION(status, rest) \
    "{\"kind\": \"compute#operation\", \"name\": \"operation-1\", \"status\": \"" status "\"" rest "}"
#define OP_ERROR(code, message) ", \"error\": {\"errors\": [{\"code\": \"" code "\", \"message\": \"" message "\"}]}"
#define INSERTED                                        \
    {                                                   \
        .status = 200, .body = OPERATION("PENDING", "") \
    }
#define RUNNING                                         \
    {                                                   \
        .status = 200, .body = OPERATION("RUNNING", "") \
    }
#define DONE                                         \
    {                                                \
        .status = 200, .body = OPERATION("DONE", "") \
    }
#define FAILED(c)                                                  \
    {                                                              \
        .status = 200, .body = OPERATION("DONE", OP_ERROR(c, "m")) \
    }
#define ERROR(status_, reason)                                                                               \
    {                                                                                                        \
        .status = status_,                                                                                   \
        .body = "{\"error\": {\"code\": 1, \"message\": \"m\", \"errors\": [{\"reason\": \"" reason "\"}]}}" \
    }
#define INSTANCE_IN(zone, name, status, labels)                                                                 \
    "{\"kind\": \"compute#instance\", \"name\": \"" name "\", \"status\": \"" status "\", \"zone\": \"https://" \
    "www.googleapis.com/compute/v1/projects/p/zones/" zone "\", \"labels\": {" labels "}, \"machineType\": "    \
    "\"https://www.googleapis.com/compute/v1/projects/p/zones/" zone "/machineTypes/g2-standard-4\"}"
#define OURS "\"rb-launch\": \"l1\", \"rb-run\": \"r1\", \"rb-owner\": \"ann_40lab\""
#define THERE                                                                             \
    {                                                                                     \
        .status = 200, .body = INSTANCE_IN("us-central1-a", "rb-x", "PROVISIONING", OURS) \
    }
#define FOREIGN                                                                                         \
    {                                                                                                   \
        .status = 200, .body = INSTANCE_IN("us-central1-a", "rb-x", "RUNNING", "\"rb-launch\": \"l2\"") \
    }
#define NOT_THERE ERROR(404, "notFound")
#define DEED(type, rest) \
    "{\"operationType\":\"" type "\",\"status\":\"DONE\",\"insertTime\":\"2026-01-01T12:00:00.000Z\"" rest "}"
#define INSERT_DEED DEED("insert", ",\"endTime\":\"2026-01-01T11:00:00.000Z\"")
#define HISTORY(items)                                                                      \
    {                                                                                       \
        .status = 200, .body = "{\"kind\":\"compute#operationList\",\"items\":[" items "]}" \
    }
#define LISTED(items, rest)                                                                                     \
    {                                                                                                           \
        .status = 200, .body = "{\"kind\": \"compute#instanceAggregatedList\", \"items\": {" items "}" rest "}" \
    }
#define NO_ONE                 LISTED("\"zones/us-central1-a\": {\"warning\": {\"code\": \"NO_RESULTS_ON_PAGE\"}}", "")
#define SCOPE(zone, instances) "\"zones/" zone "\": {\"instances\": [" instances "]}"
#define SOLD_IN(zone)          "\"zones/" zone "\": {\"machineTypes\": [{\"name\": \"g2-standard-4\"}]}"
#define SOLD(scopes)                                                                                        \
    {                                                                                                       \
        .status = 200, .body = "{\"kind\": \"compute#machineTypeAggregatedList\", \"items\": {" scopes "}}" \
    }

#define TAGS {.name = "rb-cifar-0", .run_id = "r1", .launch_id = "l1", .owner = "ann@lab"}
static const struct rb_launch in_zone = {
    .token = "token",
    .region = "us-central1",
    .zone = "us-central1-a",
    .instance_type = "g2-standard-4",
    .image_id = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64",
    .tags = TAGS,
};

// What a callback was given.
struct reply {
    bool done, failed, complete;
    int n_calls, n;
    struct rb_err err;
    char ids[256], type[64];
    enum rb_instance_state state;
    int64_t uusd_per_hour, running_at_us, terminated_at_us;
};

struct world {
    struct scripted s;
    struct rb_provider provider;
    struct reply reply;
};

static void tell(struct reply *t, const struct rb_err *err)
{
    t->done = true;
    t->n_calls++;
    t->failed = err != NULL;
    if (err)
        t->err = *err;
}

static void on_launch(void *arg, const struct rb_err *err, const struct rb_instance *i)
{
    struct reply *t = arg;
    tell(t, err);
    assert_int_equal(i == NULL, err != NULL);
    if (!i)
        return;
    snprintf(t->ids, sizeof t->ids, "%s", i->id);
    snprintf(t->type, sizeof t->type, "%s", i->instance_type);
    t->state = i->state;
    t->running_at_us = i->running_at_us;
    t->terminated_at_us = i->terminated_at_us;
}

static void on_list(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct reply *t = arg;
    tell(t, err);
    t->n = n;
    t->complete = complete;
    t->ids[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(t->ids + strlen(t->ids), sizeof t->ids - strlen(t->ids), "%s ", instances[i].id);
}

static void on_terminate(void *arg, const struct rb_err *err)
{
    tell(arg, err);
}

static void on_offers(void *arg, const struct rb_err *err, const struct rb_catalog *catalog)
{
    struct reply *t = arg;
    tell(t, err);
    t->n = catalog ? catalog->n_offers : 0;
    if (t->n > 0) {
        snprintf(t->type, sizeof t->type, "%s", catalog->offers[0].instance_type);
        t->uusd_per_hour = catalog->offers[0].rate.uusd_per_hour;
    }
}

static void begin(struct world *w, const struct step *steps, int n)
{
    memset(w, 0, sizeof *w);
    scripted_begin(&w->s, steps, n);
    char url[128];
    snprintf(url, sizeof url, "%s/token", script_server_url(w->s.server));
    setenv("RB_GCP_TOKEN_ENDPOINT", url, 1);
    setenv("RB_GCP_COMPUTE_ENDPOINT", script_server_url(w->s.server), 1);
    setenv("RB_GCP_BILLING_ENDPOINT", script_server_url(w->s.server), 1);
    struct rb_err err;
    const struct rb_provider_config config = {.loop = &w->s.loop.loop, .http = w->s.http, .region = "us-central1"};
    if (!rb_provider_gcp.create(&config, &w->provider, &err))
        fail_msg("%s", err.message);
}

static void finish(struct world *w)
{
    w->provider.ops->destroy(&w->provider);
    scripted_end(&w->s);
}

static void wait_for_answer(struct world *w)
{
    assert_false(w->reply.done); // never from inside the call
    assert_true(test_loop_run(&w->s.loop, &w->reply.done));
    assert_int_equal(w->reply.n_calls, 1);
}

static void launch(struct world *w, const struct step *steps, int n, const struct rb_launch *l)
{
    begin(w, steps, n);
    w->provider.ops->launch(&w->provider, l, on_launch, &w->reply);
    wait_for_answer(w);
}

static void expect_requests(struct world *w, int n)
{
    assert_int_equal(script_server_n_requests(w->s.server), n);
}

static void expect_launched(const struct world *w, const char *id)
{
    if (w->reply.failed)
        fail_msg("%s", w->reply.err.message);
    assert_string_equal(w->reply.ids, id);
}

static void expect_refused(const struct world *w, enum rb_err_code code, const char *reason)
{
    assert_true(w->reply.failed);
    if (w->reply.err.code != code)
        fail_msg("expected %s, got %s: %s", rb_err_code_name(code), rb_err_code_name(w->reply.err.code),
                 w->reply.err.message);
    assert_says(&w->reply.err, reason);
}

#define INSTANCES "/compute/v1/projects/" GOOGLE_PROJECT "/zones/us-central1-a/instances"

// --- launch, in a zone ---

static void launched(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, INSERTED, RUNNING, DONE, THERE};
    launch(&w, steps, 5, &in_zone);
    expect_launched(&w, "rb-x.us-central1-a");
    assert_string_equal(w.reply.type, "g2-standard-4");
    assert_int_equal(w.reply.state, RB_INSTANCE_PENDING);
    scripted_expect_begin(&w.s, 0, "POST /token HTTP/1.1\r\n");
    scripted_expect_begin(&w.s, 1, "POST " INSTANCES "?requestId=");
    scripted_expect_begin(
        &w.s, 2, "POST /compute/v1/projects/" GOOGLE_PROJECT "/zones/us-central1-a/operations/operation-1/wait ");
    scripted_expect_begin(
        &w.s, 3, "POST /compute/v1/projects/" GOOGLE_PROJECT "/zones/us-central1-a/operations/operation-1/wait ");
    scripted_expect_begin(&w.s, 4, "GET " INSTANCES "/rb-");
    for (int i = 1; i < 5; i++)
        assert_non_null(strstr(script_server_request(w.s.server, i), "\r\nAuthorization: Bearer t0k3n\r\n"));
    assert_non_null(strstr(script_server_request(w.s.server, 1), "\r\nContent-Type: application/json\r\n"));
    assert_true(test_loop_elapsed_us(&w.s.loop) >= 1000000); // between the two waits
    finish(&w);
}

// The name and the request id of an insert, as sent.
static void identity_of(struct world *w, int i, char name[64], char request_id[64])
{
    const char *request = script_server_request(w->s.server, i);
    const char *id = strstr(request, "requestId="), *n = strstr(request, "{\"name\":\"");
    assert_true(id && n);
    snprintf(request_id, 64, "%.36s", id + strlen("requestId="));
    snprintf(name, 64, "%.*s", (int)strcspn(n + 9, "\""), n + 9);
}

static void the_same_launch_is_the_same_name(void **state)
{
    (void)state;
    const struct rb_launch other_zone = {.token = "token",
                                         .region = "us-central1",
                                         .zone = "us-central1-b",
                                         .instance_type = "g2-standard-4",
                                         .image_id = in_zone.image_id,
                                         .tags = TAGS};
    struct rb_launch other_token = in_zone;
    other_token.token = "another";
    const struct rb_launch *const launches[] = {&in_zone, &in_zone, &other_zone, &other_token};
    char names[4][64], ids[4][64];
    for (int i = 0; i < 4; i++) {
        struct world w;
        const struct step steps[] = {TOKEN, DONE, THERE};
        launch(&w, steps, 3, launches[i]);
        identity_of(&w, 1, names[i], ids[i]);
        finish(&w);
    }
    assert_int_equal(strlen(names[0]), 35);
    assert_string_equal(names[0], names[1]);
    assert_string_equal(ids[0], ids[1]);
    for (int i = 1; i < 4; i++)
        for (int k = i + 1; k < 4; k++) {
            assert_string_not_equal(names[i], names[k]);
            assert_string_not_equal(ids[i], ids[k]);
        }
}

static void transient_failures_repeat_the_same_insert(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN,
                                 {.status = 503, .headers = "Retry-After: 9\r\n", .body = "<html>"},
                                 {.how = RESET},
                                 ERROR(500, "backendError"),
                                 ERROR(403, "rateLimitExceeded"),
                                 INSERTED,
                                 DONE,
                                 THERE};
    launch(&w, steps, 8, &in_zone);
    expect_launched(&w, "rb-x.us-central1-a");
    char name[64], id[64], other_name[64], other_id[64];
    identity_of(&w, 1, name, id);
    for (int i = 2; i <= 5; i++) {
        identity_of(&w, i, other_name, other_id);
        assert_string_equal(name, other_name);
        assert_string_equal(id, other_id);
    }
    assert_true(test_loop_elapsed_us(&w.s.loop) >= 9000000);
    finish(&w);
}

// The first answer was lost, the machine was not.
static void a_name_that_is_taken_by_this_launch_is_adopted(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, {.how = RESET}, ERROR(409, "alreadyExists"), THERE};
    launch(&w, steps, 4, &in_zone);
    expect_launched(&w, "rb-x.us-central1-a");
    expect_requests(&w, 4);
    finish(&w);
}

static void a_name_that_is_taken_by_another_is_left_alone(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, ERROR(409, "alreadyExists"), FOREIGN};
    launch(&w, steps, 3, &in_zone);
    expect_refused(&w, RB_ERR_INVALID, "is not of this launch");
    finish(&w);
}

static void a_name_that_is_taken_and_not_there_is_undecided(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, ERROR(409, "alreadyExists"), NOT_THERE};
    launch(&w, steps, 3, &in_zone);
    expect_refused(&w, RB_ERR_UNKNOWN_OUTCOME, "alreadyExists");
    expect_requests(&w, 3);
    finish(&w);
}

static void no_answer_at_all_is_undecided(void **state)
{
    (void)state;
    struct world w;
    const struct step reset = {.how = RESET};
    const struct step steps[] = {TOKEN, reset, reset, reset, reset, reset, NOT_THERE};
    launch(&w, steps, 7, &in_zone);
    expect_refused(&w, RB_ERR_UNKNOWN_OUTCOME, "instances.insert");
    finish(&w);
}

// --- gangs

static struct rb_launch of_two(void)
{
    struct rb_launch l = in_zone;
    l.count = 2;
    return l;
}

static void a_gang_is_launched_by_one_request(void **state)
{
    (void)state;
    struct world w;
    const struct rb_launch l = of_two();
    const struct step steps[] = {TOKEN, INSERTED, DONE, THERE, THERE};
    launch(&w, steps, 5, &l);
    expect_launched(&w, "rb-x.us-central1-a");
    expect_requests(&w, 5);
    scripted_expect_begin(&w.s, 1, "POST " INSTANCES "/bulkInsert?requestId=");
    scripted_expect(&w.s, 1, "{\"count\":\"2\",\"minCount\":\"2\",\"perInstanceProperties\":{\"rb-");
    scripted_expect_begin(&w.s, 3, "GET " INSTANCES "/rb-");
    scripted_expect(&w.s, 3, "-0?fields=");
    scripted_expect(&w.s, 4, "-1?fields=");
    finish(&w);
}

#define NEVER          HISTORY("")
#define MADE_AND_ENDED HISTORY(INSERT_DEED "," DEED("delete", ""))
#define TAKEN_BACK     HISTORY(DEED("insert", ",\"httpErrorStatusCode\":503"))

// What came of an operation that did not make all of it.
static void half_a_gang_is_none_and_no_refusal(void **state)
{
    (void)state;
    static const struct {
        struct step operation, parts[4];
        int n_parts;
        enum rb_err_code code; // NONE: it was launched
        const char *reason;
    } cases[] = {
        // Nothing is left of it: refused, and for the operation's reason.
        {FAILED("VM_MIN_COUNT_NOT_REACHED"), {NOT_THERE, NEVER, NOT_THERE, NEVER}, 4, RB_ERR_CAPACITY, "MIN_COUNT"},
        {FAILED("VM_MIN_COUNT_NOT_REACHED"),
         {NOT_THERE, TAKEN_BACK, NOT_THERE, NEVER},
         4,
         RB_ERR_CAPACITY,
         "MIN_COUNT"},
        {FAILED("QUOTA_EXCEEDED"), {NOT_THERE, NEVER, NOT_THERE, NEVER}, 4, RB_ERR_DENIED, "quota"},
        // One is there still, or yet.
        {FAILED("VM_MIN_COUNT_NOT_REACHED"),
         {THERE, NOT_THERE, NEVER},
         3,
         RB_ERR_UNKNOWN_OUTCOME,
         "1 of 2 machines are there"},
        {FAILED("VM_MIN_COUNT_NOT_REACHED"),
         {NOT_THERE, NEVER, THERE},
         3,
         RB_ERR_UNKNOWN_OUTCOME,
         "1 of 2 machines are there"},
        {DONE, {THERE, NOT_THERE, NEVER}, 3, RB_ERR_UNKNOWN_OUTCOME, "1 of 2 machines are there"},
        // What has run has a bill, and was launched.
        {DONE, {THERE, NOT_THERE, MADE_AND_ENDED}, 3, RB_ERR_NONE, ""},
        {FAILED("VM_MIN_COUNT_NOT_REACHED"), {NOT_THERE, MADE_AND_ENDED, NOT_THERE, NEVER}, 4, RB_ERR_NONE, ""},
        // A lost look says nothing.
        {DONE, {THERE, ERROR(403, "forbidden")}, 2, RB_ERR_UNKNOWN_OUTCOME, "forbidden"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct rb_launch l = of_two();
        struct step steps[8] = {TOKEN, INSERTED, cases[i].operation};
        memcpy(steps + 3, cases[i].parts, (size_t)cases[i].n_parts * sizeof *steps);
        launch(&w, steps, 3 + cases[i].n_parts, &l);
        if (cases[i].code != RB_ERR_NONE)
            expect_refused(&w, cases[i].code, cases[i].reason);
        else
            assert_false(w.reply.failed);
        expect_requests(&w, 3 + cases[i].n_parts);
        finish(&w);
    }
}

// A listing shows one of them in a zone: the whole of it is asked for there, and nothing is inserted anywhere.
static void a_gang_that_is_there_in_part_keeps_its_zone(void **state)
{
    (void)state;
    struct world w;
    struct rb_launch anywhere = of_two();
    anywhere.zone = NULL;
    const struct step steps[] = {
        TOKEN, SOLD(SOLD_IN("us-central1-a") "," SOLD_IN("us-central1-b")),
        LISTED(SCOPE("us-central1-a", INSTANCE_IN("us-central1-a", "rb-x", "RUNNING", OURS)), ""), THERE, THERE};
    launch(&w, steps, 5, &anywhere);
    expect_launched(&w, "rb-x.us-central1-a");
    expect_requests(&w, 5);
    scripted_expect_begin(&w.s, 3, "GET " INSTANCES "/rb-");
    finish(&w);
}

// Poll errors are not insert errors, whichever they are.
static void waiting_may_fail_while_the_machine_comes(void **state)
{
    (void)state;
    const struct step errors[] = {ERROR(503, "backendError"), {.how = RESET}, ERROR(403, "forbidden"), NOT_THERE};
    for (size_t i = 0; i < N_OF(errors); i++) {
        struct world w;
        const bool transient = i < 2;
        struct step steps[8] = {TOKEN, INSERTED};
        int n = 2;
        for (int k = 0; k < (transient ? 5 : 1); k++)
            steps[n++] = errors[i];
        steps[n++] = (struct step)THERE;
        launch(&w, steps, n, &in_zone);
        expect_launched(&w, "rb-x.us-central1-a");
        expect_requests(&w, n);
        finish(&w);
    }
}

static void waiting_that_fails_leaves_the_zone_undecided(void **state)
{
    (void)state;
    struct world w;
    const struct step lost = ERROR(503, "backendError");
    const struct step steps[] = {TOKEN,  SOLD(SOLD_IN("us-central1-a") "," SOLD_IN("us-central1-b")),
                                 NO_ONE, INSERTED,
                                 lost,   lost,
                                 lost,   lost,
                                 lost,   NOT_THERE};
    struct rb_launch anywhere = in_zone;
    anywhere.zone = NULL;
    launch(&w, steps, 10, &anywhere);
    expect_refused(&w, RB_ERR_UNKNOWN_OUTCOME, "zoneOperations.wait");
    expect_requests(&w, 10); // no insert anywhere else
    finish(&w);
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

// Lets the world go on for a while of its own time.
static void pass(struct world *w, int64_t us)
{
    bool over = false;
    w->s.loop.loop.timer_start(w->s.loop.loop.ctx, us, set_flag, &over);
    assert_true(test_loop_run(&w->s.loop, &over));
}

static void an_operation_that_never_ends_is_undecided(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, INSERTED, RUNNING, RUNNING, NOT_THERE};
    begin(&w, steps, 5);
    w.provider.ops->launch(&w.provider, &in_zone, on_launch, &w.reply);
    pass(&w, 500000); // into the pause behind the first wait
    expect_requests(&w, 3);
    w.s.loop.skipped_us += INT64_C(1200000000);
    wait_for_answer(&w);
    expect_refused(&w, RB_ERR_UNKNOWN_OUTCOME, "operation-1 is still under way");
    finish(&w);
}

// It has a bill, and another one would be a second one.
static void what_was_made_and_is_gone_again_was_launched(void **state)
{
    (void)state;
    static const struct step ends[] = {HISTORY(INSERT_DEED "," DEED("delete", "")),
                                       HISTORY(DEED("compute.instances.preempted", "") "," INSERT_DEED),
                                       HISTORY(DEED("compute.instances.guestTerminate", "") "," INSERT_DEED)};
    for (size_t i = 0; i < N_OF(ends); i++) {
        struct world w;
        const struct step steps[] = {TOKEN, INSERTED, DONE, NOT_THERE, ends[i]};
        launch(&w, steps, 5, &in_zone);
        assert_false(w.reply.failed);
        assert_int_equal(w.reply.state, RB_INSTANCE_TERMINATED);
        assert_int_equal(w.reply.terminated_at_us - w.reply.running_at_us, INT64_C(3600000000));
        scripted_expect_begin(
            &w.s, 4, "GET /compute/v1/projects/" GOOGLE_PROJECT "/zones/us-central1-a/operations?filter=targetLink");
        finish(&w);
    }
}

static void what_was_made_and_is_not_there_without_an_end_is_undecided(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, INSERTED, DONE, NOT_THERE, HISTORY(INSERT_DEED)};
    launch(&w, steps, 5, &in_zone);
    expect_refused(&w, RB_ERR_UNKNOWN_OUTCOME, "no operation shows that it ended");
    finish(&w);
}

static void operations_that_failed(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum rb_err_code code;
        const char *reason;
    } cases[] = {
        {OPERATION("DONE", OP_ERROR("ZONE_RESOURCE_POOL_EXHAUSTED", "m")), RB_ERR_CAPACITY, "POOL_EXHAUSTED"},
        {OPERATION("DONE", OP_ERROR("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "m")), RB_ERR_CAPACITY, "DETAILS"},
        {OPERATION("DONE", OP_ERROR("UNSUPPORTED_OPERATION", "m")), RB_ERR_CAPACITY, "UNSUPPORTED"},
        {OPERATION("DONE", OP_ERROR("IP_SPACE_EXHAUSTED_WITH_DETAILS", "m")), RB_ERR_CAPACITY, "IP_SPACE"},
        {OPERATION("DONE", OP_ERROR("RESOURCE_NOT_READY", "m")), RB_ERR_CAPACITY, "NOT_READY"},
        {OPERATION("DONE", OP_ERROR("RESOURCE_OPERATION_RATE_EXCEEDED", "m")), RB_ERR_CAPACITY, "RATE_EXCEEDED"},
        {OPERATION("DONE", OP_ERROR("VM_MIN_COUNT_NOT_REACHED", "m")), RB_ERR_CAPACITY, "VM_MIN"},
        {OPERATION("DONE", OP_ERROR("RESOURCE_NOT_FOUND", "image x")), RB_ERR_INVALID, "image x"},
        {OPERATION("DONE", OP_ERROR("INVALID_USAGE", "m")), RB_ERR_INVALID, "INVALID_USAGE"},
        {OPERATION("DONE", OP_ERROR("QUOTA_EXCEEDED", "Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 1.0")), RB_ERR_DENIED,
         "quota of this region is used up (Quota 'NVIDIA_L4_GPUS'"},
        {OPERATION("DONE", OP_ERROR("QUOTA_EXCEEDED", "Quota 'GPUS_ALL_REGIONS' exceeded.")), RB_ERR_DENIED,
         "quota of the whole project is used up"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {TOKEN, INSERTED, {.status = 200, .body = cases[i].body}};
        launch(&w, steps, 3, &in_zone);
        expect_refused(&w, cases[i].code, cases[i].reason);
        expect_requests(&w, 3);
        finish(&w);
    }
}

// An operation that says "internal error" or "exists already" does not say whether there is a machine.
static void operations_that_leave_it_open_are_settled_by_looking(void **state)
{
    (void)state;
    const struct step ends[] = {FAILED("INTERNAL_ERROR"), FAILED("RESOURCE_ALREADY_EXISTS"), FAILED("NEVER_HEARD_OF")};
    for (size_t i = 0; i < N_OF(ends); i++) {
        struct world w;
        const struct step there[] = {TOKEN, INSERTED, ends[i], THERE},
                          gone[] = {TOKEN, INSERTED, ends[i], NOT_THERE, HISTORY("")};
        launch(&w, there, 4, &in_zone);
        expect_launched(&w, "rb-x.us-central1-a");
        finish(&w);
        launch(&w, gone, 5, &in_zone);
        expect_refused(&w, RB_ERR_CAPACITY, "");
        finish(&w);
    }
}

static void inserts_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        enum rb_err_code code;
        const char *reason;
    } cases[] = {
        {400, "{\"error\":{\"message\":\"Invalid value\",\"errors\":[{\"reason\":\"invalid\"}]}}", RB_ERR_INVALID,
         "Invalid value"},
        {404, "{\"error\":{\"message\":\"image not found\",\"errors\":[{\"reason\":\"notFound\"}]}}", RB_ERR_INVALID,
         "image not found"},
        {403,
         "{\"error\":{\"message\":\"Required 'compute.instances.create' permission\","
         "\"errors\":[{\"reason\":\"forbidden\"}]}}",
         RB_ERR_DENIED, "'compute.instances.create'"},
        {403, "{\"error\":{\"message\":\"Quota 'CPUS' exceeded.\",\"errors\":[{\"reason\":\"quotaExceeded\"}]}}",
         RB_ERR_DENIED, "Quota 'CPUS'"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {TOKEN, {.status = cases[i].status, .body = cases[i].body}};
        launch(&w, steps, 2, &in_zone);
        expect_refused(&w, cases[i].code, cases[i].reason);
        expect_requests(&w, 2);
        finish(&w);
    }
}

// --- launch, wherever there is room ---

static void empty_zones_are_left_for_the_next_one(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN,
                                 SOLD(SOLD_IN("us-central1-a") "," SOLD_IN("us-central1-b") "," SOLD_IN("us-east1-b")),
                                 NO_ONE,
                                 INSERTED,
                                 FAILED("ZONE_RESOURCE_POOL_EXHAUSTED"),
                                 ERROR(403, "zoneResourcePoolExhausted")};
    struct rb_launch anywhere = in_zone;
    anywhere.zone = NULL;
    launch(&w, steps, 6, &anywhere);
    expect_refused(&w, RB_ERR_CAPACITY, "none of the 2 zones of gcp/us-central1");
    scripted_expect_begin(
        &w.s, 1, "GET /compute/v1/projects/" GOOGLE_PROJECT "/aggregated/machineTypes?filter=name%3Dg2-standard-4&");
    scripted_expect_begin(
        &w.s, 2, "GET /compute/v1/projects/" GOOGLE_PROJECT "/aggregated/instances?filter=labels.rb-launch%3Dl1&");
    char first[64], second[64], id[64], other_id[64];
    identity_of(&w, 3, first, id);
    identity_of(&w, 5, second, other_id);
    assert_string_not_equal(first, second);
    assert_string_not_equal(id, other_id);
    const bool a_first = strstr(script_server_request(w.s.server, 3), "/zones/us-central1-a/") != NULL;
    assert_non_null(
        strstr(script_server_request(w.s.server, 5), a_first ? "/zones/us-central1-b/" : "/zones/us-central1-a/"));
    finish(&w);
}

static void a_launch_that_came_before_is_found_in_any_zone(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        TOKEN, SOLD(SOLD_IN("us-central1-a") "," SOLD_IN("us-central1-b")),
        LISTED(SCOPE("us-central1-b", INSTANCE_IN("us-central1-b", "rb-y", "RUNNING", OURS)), "")};
    struct rb_launch anywhere = in_zone;
    anywhere.zone = NULL;
    launch(&w, steps, 3, &anywhere);
    expect_launched(&w, "rb-y.us-central1-b");
    expect_requests(&w, 3);
    finish(&w);
}

// No list of instances shows it: it came and went while the process that had asked for it was dead. The first zone had no
// room then and may have some now.
static void what_an_earlier_call_made_further_down_and_has_ended_was_launched(void **state)
{
    (void)state;
    static const struct step never = HISTORY("");
    const struct step ended = HISTORY(DEED("compute.instances.preempted", "") "," INSERT_DEED);
    const struct step sold = SOLD(SOLD_IN("us-central1-a") "," SOLD_IN("us-central1-b"));
    const struct {
        int n;
        struct step steps[8];
        bool ended;
    } cases[] = {
        {4, {TOKEN, sold, NO_ONE, ended}, true}, // the last zone is asked first
        {5, {TOKEN, sold, NO_ONE, never, ended}, true},
        {7,
         {TOKEN, sold, NO_ONE, HISTORY(INSERT_DEED), INSERTED, DONE, THERE},
         false},                                                                // lives: the same words, in that zone
        {8, {TOKEN, sold, NO_ONE, never, never, INSERTED, DONE, THERE}, false}, // nothing came of it
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        struct rb_launch anywhere = in_zone;
        anywhere.zone = NULL;
        anywhere.again = true;
        launch(&w, cases[i].steps, cases[i].n, &anywhere);
        assert_false(w.reply.failed);
        expect_requests(&w, cases[i].n);
        assert_int_equal(w.reply.state == RB_INSTANCE_TERMINATED, cases[i].ended);
        finish(&w);
    }
}

static void a_zone_that_does_not_answer_may_hold_it(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, SOLD(SOLD_IN("us-central1-a")),
                                 LISTED("\"zones/us-central1-c\": {\"warning\": {\"code\": \"UNREACHABLE\"}}", "")};
    struct rb_launch anywhere = in_zone;
    anywhere.zone = NULL;
    launch(&w, steps, 3, &anywhere);
    expect_refused(&w, RB_ERR_IO, "RB3207 a zone does not answer");
    expect_requests(&w, 3);
    finish(&w);
}

static void a_type_that_is_sold_nowhere(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN,
                                 SOLD("\"zones/us-central1-a\": {\"warning\": {\"code\": \"NO_RESULTS_ON_PAGE\"}}")};
    struct rb_launch anywhere = in_zone;
    anywhere.zone = NULL;
    launch(&w, steps, 2, &anywhere);
    expect_refused(&w, RB_ERR_INVALID, "RB3208 no zone sells this machine type");
    finish(&w);
}

static void what_is_wrong_is_refused_before_it_costs_a_request(void **state)
{
    (void)state;
    struct rb_launch launches[4] = {in_zone, in_zone, in_zone, in_zone};
    launches[0].image_id = NULL;
    launches[1].zone = "us-east1-b";
    launches[2].tags.launch_id = NULL;
    launches[3].instance_type = "g5.xlarge";
    static const char *const reasons[] = {"no image", "is no zone of it", "rb:launch-id", "RB3202 expected a machine type"};
    for (int i = 0; i < 4; i++) {
        struct world w;
        launch(&w, NULL, 0, &launches[i]);
        expect_refused(&w, RB_ERR_INVALID, reasons[i]);
        expect_requests(&w, 0);
        finish(&w);
    }
}

// --- who we are ---

static void a_token_that_is_refused_is_renewed_once(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, ERROR(401, "authError"), TOKEN_2, INSERTED, DONE, THERE};
    launch(&w, steps, 6, &in_zone);
    expect_launched(&w, "rb-x.us-central1-a");
    scripted_expect_begin(&w.s, 2, "POST /token ");
    assert_non_null(strstr(script_server_request(w.s.server, 3), "\r\nAuthorization: Bearer n3w3r\r\n"));
    finish(&w);
    const struct step twice[] = {TOKEN, ERROR(401, "authError"), TOKEN_2, ERROR(401, "authError")};
    launch(&w, twice, 4, &in_zone);
    expect_refused(&w, RB_ERR_DENIED, "RB3002 permission missing (authError)");
    expect_requests(&w, 4);
    finish(&w);
}

static void without_a_token_nothing_was_sent(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 400, .body = "{\"error\": \"invalid_grant\", \"error_description\": \"no\"}"}};
    launch(&w, steps, 1, &in_zone);
    expect_refused(&w, RB_ERR_DENIED, "invalid_grant: no");
    expect_requests(&w, 1);
    finish(&w);
}

// --- list ---

static void list(struct world *w, const struct step *steps, int n, const char *run_id)
{
    begin(w, steps, n);
    w->provider.ops->list(&w->provider, run_id, on_list, &w->reply);
    wait_for_answer(w);
}

static void a_listing_has_pages_and_zones(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        TOKEN,
        LISTED(SCOPE("us-central1-a", INSTANCE_IN("us-central1-a", "rb-1", "RUNNING", OURS)) "," SCOPE(
                   "us-east1-b",
                   INSTANCE_IN("us-east1-b", "rb-elsewhere", "RUNNING",
                               OURS)) ","
                                      "\"regions/us-central1\": {\"warning\": {\"code\": \"NO_RESULTS_ON_PAGE\"}}",
               ", \"nextPageToken\": \"p/2\""),
        LISTED(SCOPE("us-central1-b",
                     INSTANCE_IN("us-central1-b", "rb-2", "TERMINATED", OURS) "," INSTANCE_IN(
                         "us-central1-b", "rb-3", "RUNNING", "\"rb-run\": \"r1\", \"rb-run_2\": \"more\"")),
               ""),
    };
    list(&w, steps, 3, "r1");
    assert_false(w.reply.failed);
    assert_true(w.reply.complete);
    assert_string_equal(w.reply.ids, "rb-1.us-central1-a rb-2.us-central1-b "); // rb-3's run id only begins like it
    scripted_expect_begin(&w.s, 1,
                          "GET /compute/v1/projects/" GOOGLE_PROJECT "/aggregated/instances?filter=labels.rb-run%3Dr1&"
                          "maxResults=500&returnPartialSuccess=true&fields=");
    assert_non_null(strstr(script_server_request(w.s.server, 2), "&pageToken=p%2F2&"));
    finish(&w);
}

static void all_runs_are_those_that_have_an_owner(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, NO_ONE};
    list(&w, steps, 2, NULL);
    assert_true(w.reply.complete);
    assert_int_equal(w.reply.n, 0);
    scripted_expect_begin(
        &w.s, 1, "GET /compute/v1/projects/" GOOGLE_PROJECT "/aggregated/instances?filter=labels.rb-owner%3A%2A&");
    finish(&w);
}

static void a_zone_that_does_not_answer_makes_it_incomplete(void **state)
{
    (void)state;
    static const struct {
        struct step page;
        bool complete;
    } cases[] = {
        {LISTED("\"zones/us-central1-a\": {\"warning\": {\"code\": \"UNREACHABLE\"}}", ""), false},
        {LISTED("\"zones/us-central1-a\": {\"warning\": {}}", ""), false},
        {LISTED("", ", \"unreachables\": [\"zones/us-central1-f\"]"), false},
        {LISTED("", ", \"unreachables\": [\"https://x/compute/v1/projects/p/zones/us-central1-f\"]"), false},
        {LISTED("", ", \"unreachables\": [\"something else\"]"), false},
        {LISTED("", ", \"warning\": {\"code\": \"PARTIAL_SUCCESS\"}"), false},
        {LISTED("\"zones/us-east1-b\": {\"warning\": {\"code\": \"UNREACHABLE\"}}", ""), true},
        {LISTED("", ", \"unreachables\": [\"zones/us-east1-b\"]"), true},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {TOKEN, cases[i].page};
        list(&w, steps, 2, "r1");
        assert_false(w.reply.failed);
        assert_int_equal(w.reply.complete, cases[i].complete);
        finish(&w);
    }
}

// A page that is missing, or an answer that is no listing, is never an empty one.
static void a_page_that_fails_makes_it_an_error(void **state)
{
    (void)state;
    const struct step bad[] = {
        ERROR(500, "backendError"), {.status = 200, .body = "{}"}, {.status = 200, .body = "<html>"}};
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct world w;
        const struct step steps[] = {
            TOKEN,
            LISTED(SCOPE("us-central1-a", INSTANCE_IN("us-central1-a", "rb-1", "RUNNING", OURS)),
                   ", \"nextPageToken\": \"2\""),
            bad[i], bad[i], bad[i]};
        list(&w, steps, 5, "r1");
        assert_true(w.reply.failed);
        assert_int_equal(w.reply.err.code, RB_ERR_IO);
        assert_false(w.reply.complete);
        assert_string_equal(w.reply.ids, "rb-1.us-central1-a ");
        finish(&w);
    }
}

// --- terminate ---

static void terminate(struct world *w, const struct step *steps, int n, const char *id)
{
    begin(w, steps, n);
    w->provider.ops->terminate(&w->provider, id, on_terminate, &w->reply);
    wait_for_answer(w);
}

static void an_end_is_accepted(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, ERROR(503, "backendError"), {.how = RESET}, INSERTED};
    terminate(&w, steps, 4, "rb-x.us-central1-a");
    assert_false(w.reply.failed);
    for (int i = 1; i < 4; i++)
        scripted_expect_begin(&w.s, i, "DELETE " INSTANCES "/rb-x HTTP/1.1\r\n");
    finish(&w);
}

// The answer to the first was lost, its effect was not; or somebody else was faster.
static void what_is_not_there_has_ended(void **state)
{
    (void)state;
    struct world w;
    const struct step lost[] = {TOKEN, {.status = 502, .body = "<html>"}, NOT_THERE}, gone[] = {TOKEN, NOT_THERE};
    terminate(&w, lost, 3, "rb-x.us-central1-a");
    assert_false(w.reply.failed);
    finish(&w);
    terminate(&w, gone, 2, "rb-x.us-central1-a");
    assert_false(w.reply.failed);
    finish(&w);
}

static void an_end_without_an_answer_is_an_error(void **state)
{
    (void)state;
    struct world w;
    const struct step reset = {.how = RESET};
    const struct step steps[] = {TOKEN, reset, reset, reset, reset, reset};
    terminate(&w, steps, 6, "rb-x.us-central1-a");
    expect_refused(&w, RB_ERR_IO, "instances.delete");
    finish(&w);
}

static void ends_that_are_refused(void **state)
{
    (void)state;
    const struct {
        struct step answer;
        enum rb_err_code code;
        const char *reason;
    } cases[] = {
        {ERROR(403, "forbidden"), RB_ERR_DENIED, "permission missing"},
        {FAILED("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"), RB_ERR_INVALID, "RESOURCE_IN_USE"},
        {FAILED("INTERNAL_ERROR"), RB_ERR_UNKNOWN_OUTCOME, "INTERNAL_ERROR"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {TOKEN, cases[i].answer};
        terminate(&w, steps, 2, "rb-x.us-central1-a");
        expect_refused(&w, cases[i].code, cases[i].reason);
        finish(&w);
    }
}

static void an_id_that_is_none_is_refused_here(void **state)
{
    (void)state;
    static const char *const ids[] = {"i-0123",  "rb-x.", ".us-central1-a", "rb-x/../y.us-central1-a",
                                      "RB.zone", "a.b.c"};
    for (size_t i = 0; i < N_OF(ids); i++) {
        struct world w;
        terminate(&w, NULL, 0, ids[i]);
        expect_refused(&w, RB_ERR_INVALID, "RB3206 expected the id of an instance");
        expect_requests(&w, 0);
        finish(&w);
    }
}

// --- offers ---

#define SKU(description, usage, unit, nanos)                                                                       \
    "{\"description\": \"" description "\", \"category\": {\"usageType\": \"" usage "\"}, \"serviceRegions\": "    \
    "[\"us-central1\"], \"pricingInfo\": [{\"pricingExpression\": {\"usageUnit\": \"" unit "\", \"tieredRates\": " \
    "[{\"unitPrice\": {\"currencyCode\": \"USD\", \"units\": \"0\", \"nanos\": " nanos "}}]}}]}"

static void offers_are_sums_of_the_price_list(void **state)
{
    (void)state;
    struct world w;
    static const char *const types[] = {"g2-standard-4"};
    const struct step steps[] = {
        TOKEN,
        {.status = 200,
         .body = "{\"items\": {\"zones/us-central1-a\": {\"machineTypes\": [{\"guestCpus\": 4, \"memoryMb\": 16384, "
                 "\"accelerators\": [{\"guestAcceleratorCount\": 1}]}]}}}"},
        {.status = 200,
         .body = "{\"skus\": [" SKU("G2 Instance Core running in Americas", "OnDemand", "h", "24988000") "," SKU(
             "G2 Instance Ram running in Americas", "OnDemand", "GiBy.h", "2927000") "], \"nextPageToken\": \"p2\"}"},
        {.status = 200,
         .body = "{\"skus\": [" SKU("Nvidia L4 GPU running in Americas", "OnDemand", "h", "560040000") "]}"},
    };
    begin(&w, steps, 4);
    w.provider.ops->offers(&w.provider, types, 1, on_offers, &w.reply);
    wait_for_answer(&w);
    if (w.reply.failed)
        fail_msg("%s", w.reply.err.message);
    assert_int_equal(w.reply.n, 1); // no spot price, no spot offer
    assert_string_equal(w.reply.type, "g2-standard-4");
    assert_int_equal(w.reply.uusd_per_hour, 706824); // $0.707, as on Google's page
    scripted_expect_begin(&w.s, 2, "GET /v1/services/6F81-5844-456A/skus?currencyCode=USD&pageSize=5000 HTTP/1.1\r\n");
    scripted_expect_begin(
        &w.s, 3, "GET /v1/services/6F81-5844-456A/skus?currencyCode=USD&pageSize=5000&pageToken=p2 HTTP/1.1\r\n");
    finish(&w);
}

static void offers_without_a_price_are_an_error(void **state)
{
    (void)state;
    static const char *const unpriced[] = {"a3-highgpu-8g"}, *const known[] = {"g2-standard-4"};
    struct world w;
    begin(&w, NULL, 0);
    w.provider.ops->offers(&w.provider, unpriced, 1, on_offers, &w.reply);
    wait_for_answer(&w);
    expect_refused(&w, RB_ERR_PRICE, "import a price list");
    finish(&w);
    const struct step steps[] = {TOKEN, {.status = 200, .body = "{\"items\": {}}"}};
    begin(&w, steps, 2);
    w.provider.ops->offers(&w.provider, known, 1, on_offers, &w.reply);
    wait_for_answer(&w);
    expect_refused(&w, RB_ERR_NOT_FOUND, "no zone of gcp/us-central1 sells it");
    expect_requests(&w, 2);
    finish(&w);
}

// --- the provider itself ---

// Whatever is under way when it is destroyed is dropped without an answer: waiting for a token, for an answer, for time.
static void calls_under_way_are_dropped(void **state)
{
    (void)state;
    const struct step steps[] = {TOKEN, INSERTED, RUNNING, {.status = 503, .body = ""}};
    static const int64_t after_us[] = {0, 1, 1000, 4000, 20000, 500000};
    for (size_t i = 0; i < N_OF(after_us); i++) {
        struct world w;
        begin(&w, steps, 4);
        w.provider.ops->launch(&w.provider, &in_zone, on_launch, &w.reply);
        w.provider.ops->list(&w.provider, NULL, on_list, &w.reply);
        w.provider.ops->terminate(&w.provider, "rb-x.us-central1-a", on_terminate, &w.reply);
        if (after_us[i] > 0)
            pass(&w, after_us[i]);
        const int n_calls = w.reply.n_calls;
        finish(&w);
        assert_int_equal(w.reply.n_calls, n_calls);
    }
}

static void endpoints_are_https_or_loopback(void **state)
{
    (void)state;
    static const struct {
        const char *ours, *gclouds, *reason; // reason NULL: harmless
    } cases[] = {
        {"http://127.0.0.1:9", NULL, NULL},
        {NULL, "http://localhost:9/compute/v1/", NULL},
        {"http://[::1]:9", "https://compute.example.com", NULL},
        {"http://compute.example.com", NULL, "RB_GCP_COMPUTE_ENDPOINT: "},
        {NULL, "ftp://127.0.0.1/", "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE: "},
        {"http://127.0.0.1:9/?x=y", NULL, "expected nothing behind the path"},
        {"http://user@127.0.0.1:9/", NULL, "RB_GCP_COMPUTE_ENDPOINT: "},
    };
    struct test_loop loop;
    struct rb_http *http;
    test_loop_init(&loop);
    assert_true(rb_http_create(&loop.loop, &http, NULL));
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_provider p;
        struct rb_err err = {0};
        const struct rb_provider_config config = {.loop = &loop.loop, .http = http, .region = "us-central1"};
        unsetenv("RB_GCP_COMPUTE_ENDPOINT");
        unsetenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE");
        if (cases[i].ours)
            setenv("RB_GCP_COMPUTE_ENDPOINT", cases[i].ours, 1);
        if (cases[i].gclouds)
            setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", cases[i].gclouds, 1);
        const bool created = rb_provider_gcp.create(&config, &p, &err);
        assert_int_equal(created, cases[i].reason == NULL);
        assert_int_equal(rb_provider_gcp.is_harmless("us-central1"), created);
        if (created) {
            p.ops->destroy(&p);
        } else {
            assert_int_equal(err.code, RB_ERR_INVALID);
            assert_says(&err, cases[i].reason);
        }
    }
    unsetenv("RB_GCP_COMPUTE_ENDPOINT");
    unsetenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE");
    assert_false(rb_provider_gcp.is_harmless("us-central1")); // Google's own
    rb_http_destroy(http);
}

static void a_project_is_needed(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *value, *reason; // reason NULL: fine
    } cases[] = {
        {"GOOGLE_CLOUD_PROJECT", "other-project", NULL},
        {"GCLOUD_PROJECT", "example.com:old", NULL},
        {"GOOGLE_CLOUD_PROJECT", "../x", "RB3201 expected its id"},
        {"GOOGLE_CLOUD_PROJECT", "a/b", "expected its id"},
    };
    struct test_loop loop;
    struct rb_http *http;
    test_loop_init(&loop);
    assert_true(rb_http_create(&loop.loop, &http, NULL));
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_provider p;
        struct rb_err err = {0};
        const struct rb_provider_config config = {.loop = &loop.loop, .http = http, .region = "us-central1"};
        setenv(cases[i].variable, cases[i].value, 1);
        const bool created = rb_provider_gcp.create(&config, &p, &err);
        unsetenv(cases[i].variable);
        assert_int_equal(created, cases[i].reason == NULL);
        if (created)
            p.ops->destroy(&p);
        else
            assert_says(&err, cases[i].reason);
    }
    rb_http_destroy(http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launched),
        cmocka_unit_test(the_same_launch_is_the_same_name),
        cmocka_unit_test(transient_failures_repeat_the_same_insert),
        cmocka_unit_test(a_name_that_is_taken_by_this_launch_is_adopted),
        cmocka_unit_test(a_name_that_is_taken_by_another_is_left_alone),
        cmocka_unit_test(a_name_that_is_taken_and_not_there_is_undecided),
        cmocka_unit_test(no_answer_at_all_is_undecided),
        cmocka_unit_test(a_gang_is_launched_by_one_request),
        cmocka_unit_test(half_a_gang_is_none_and_no_refusal),
        cmocka_unit_test(a_gang_that_is_there_in_part_keeps_its_zone),
        cmocka_unit_test(waiting_may_fail_while_the_machine_comes),
        cmocka_unit_test(waiting_that_fails_leaves_the_zone_undecided),
        cmocka_unit_test(an_operation_that_never_ends_is_undecided),
        cmocka_unit_test(what_was_made_and_is_gone_again_was_launched),
        cmocka_unit_test(what_was_made_and_is_not_there_without_an_end_is_undecided),
        cmocka_unit_test(operations_that_failed),
        cmocka_unit_test(operations_that_leave_it_open_are_settled_by_looking),
        cmocka_unit_test(inserts_that_are_refused),
        cmocka_unit_test(empty_zones_are_left_for_the_next_one),
        cmocka_unit_test(a_launch_that_came_before_is_found_in_any_zone),
        cmocka_unit_test(what_an_earlier_call_made_further_down_and_has_ended_was_launched),
        cmocka_unit_test(a_zone_that_does_not_answer_may_hold_it),
        cmocka_unit_test(a_type_that_is_sold_nowhere),
        cmocka_unit_test(what_is_wrong_is_refused_before_it_costs_a_request),
        cmocka_unit_test(a_token_that_is_refused_is_renewed_once),
        cmocka_unit_test(without_a_token_nothing_was_sent),
        cmocka_unit_test(a_listing_has_pages_and_zones),
        cmocka_unit_test(all_runs_are_those_that_have_an_owner),
        cmocka_unit_test(a_zone_that_does_not_answer_makes_it_incomplete),
        cmocka_unit_test(a_page_that_fails_makes_it_an_error),
        cmocka_unit_test(an_end_is_accepted),
        cmocka_unit_test(what_is_not_there_has_ended),
        cmocka_unit_test(an_end_without_an_answer_is_an_error),
        cmocka_unit_test(ends_that_are_refused),
        cmocka_unit_test(an_id_that_is_none_is_refused_here),
        cmocka_unit_test(offers_are_sums_of_the_price_list),
        cmocka_unit_test(offers_without_a_price_are_an_error),
        cmocka_unit_test(calls_under_way_are_dropped),
        cmocka_unit_test(endpoints_are_https_or_loopback),
        cmocka_unit_test(a_project_is_needed),
    };
    return cmocka_run_group_tests(tests, google_account_set_up, google_account_tear_down);
}
