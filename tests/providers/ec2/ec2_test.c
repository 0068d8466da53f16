// The EC2 provider against a server that plays scripts: what is sent, what is repeated, what the caller is reply.
#include "base/arena.h"
#include "base/text/buf.h"
#include "launches.h"
#include "providers/aws/sigv4.h"
#include "providers/ec2/ec2.h"
#include "providers/wire/http.h"
#include "script_server.h"
#include "test_loop.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define ERROR_BODY(code) \
    "<Response><Errors><Error><Code>" code "</Code><Message>m</Message></Error></Errors></Response>"
#define INSTANCE(id, state) \
    "<item><instanceId>" id "</instanceId><instanceState><code>" state "</code></instanceState></item>"
#define LAUNCHED "<RunInstancesResponse><instancesSet>" INSTANCE("i-1", "0") "</instancesSet></RunInstancesResponse>"
#define LISTED(instances, rest)                                                 \
    "<DescribeInstancesResponse><reservationSet><item><instancesSet>" instances \
    "</instancesSet></item></reservationSet>" rest "</DescribeInstancesResponse>"
#define ENDED                                                                      \
    "<TerminateInstancesResponse><instancesSet><item><instanceId>i-1</instanceId>" \
    "<currentState><code>32</code></currentState></item></instancesSet></TerminateInstancesResponse>"

// What a callback was given.
struct reply {
    bool done, failed, complete;
    int n_calls, n;
    struct rb_err err;
    char ids[256];
    struct rb_offer offers[4];
    char infras[4][64];
};

struct world {
    struct test_loop loop;
    struct rb_http *http;
    struct script_server *server;
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
    if (i)
        snprintf(t->ids, sizeof t->ids, "%s", i->id);
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
    for (int i = 0; i < t->n && i < 4; i++) {
        t->offers[i] = catalog->offers[i];
        snprintf(t->infras[i], sizeof t->infras[i], "%s", catalog->offers[i].infra);
    }
}

static void begin(struct world *w, const struct step *steps, int n)
{
    memset(w, 0, sizeof *w);
    test_loop_init(&w->loop);
    w->server = script_server_start(steps, n);
    setenv("AWS_ENDPOINT_URL", script_server_url(w->server), 1);
    struct rb_err err;
    assert_true(rb_http_create(&w->loop.loop, &w->http, NULL));
    const struct rb_provider_config config = {.loop = &w->loop.loop, .http = w->http, .region = "us-east-1"};
    if (!rb_provider_mock.create(&config, &w->provider, &err))
        fail_msg("%s", err.message);
}

static void finish(struct world *w)
{
    w->provider.ops->destroy(&w->provider);
    rb_http_destroy(w->http);
    script_server_stop(w->server);
    assert_int_equal(w->loop.n_timers, 0);
    assert_int_equal(w->loop.n_watches, 0);
}

static void wait_for_answer(struct world *w)
{
    assert_false(w->reply.done); // never from inside the call
    assert_true(test_loop_run(&w->loop, &w->reply.done));
    assert_int_equal(w->reply.n_calls, 1);
}

static void launch(struct world *w, const struct step *steps, int n, const struct rb_launch *l)
{
    begin(w, steps, n);
    w->provider.ops->launch(&w->provider, l, on_launch, &w->reply);
    wait_for_answer(w);
}

static const char *body_of(struct world *w, int i)
{
    return strstr(script_server_request(w->server, i), "\r\n\r\n") + 4;
}

// Value of a header of the i-th request, into the arena.
static const char *header_of(struct world *w, int i, const char *name, struct rb_arena *a)
{
    const char *line = strcasestr(script_server_request(w->server, i), rb_arena_printf(a, "\r\n%s:", name));
    if (!line)
        fail_msg("request %d has no %s", i, name);
    line = strchr(line, ':') + 2;
    return rb_arena_strndup(a, line, strcspn(line, "\r"));
}

static void launched(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 200, .body = LAUNCHED}};
    launch(&w, steps, 1, &launch_plain);
    assert_false(w.reply.failed);
    assert_string_equal(w.reply.ids, "i-1");
    assert_ptr_equal(strstr(body_of(&w, 0), "Action=RunInstances&Version=2016-11-15&ClientToken=0123abcd&"),
                     body_of(&w, 0));
    finish(&w);
}

// The group first, once; one that is there already will do; one that is gone is made again.
static void groups_are_made_before_they_are_needed(void **state)
{
    (void)state;
    struct world w;
    struct rb_launch grouped = launch_plain;
    grouped.placement_group = "rb-r-g5";
    const struct step steps[] = {
        {.how = RESET},
        {.status = 400, .body = ERROR_BODY("InvalidPlacementGroup.Duplicate")}, // of the request whose answer was lost
        {.status = 200, .body = LAUNCHED},
        {.status = 400, .body = ERROR_BODY("InvalidPlacementGroup.Unknown")},
        {.status = 200, .body = "<CreatePlacementGroupResponse/>"},
        {.status = 200, .body = LAUNCHED},
        {.status = 400, .body = ERROR_BODY("UnauthorizedOperation")},
    };
    launch(&w, steps, 7, &grouped);
    assert_false(w.reply.failed);
    for (int i = 0; i < 2; i++)
        assert_ptr_equal(strstr(body_of(&w, i), "Action=CreatePlacementGroup&"), body_of(&w, i));
    assert_non_null(strstr(body_of(&w, 2), "&Placement.GroupName=rb-r-g5"));

    w.reply = (struct reply){0}; // known by now: the launch alone
    w.provider.ops->launch(&w.provider, &grouped, on_launch, &w.reply);
    wait_for_answer(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_NOT_FOUND); // to be asked for again
    assert_int_equal(script_server_n_requests(w.server), 4);

    w.reply = (struct reply){0};
    w.provider.ops->launch(&w.provider, &grouped, on_launch, &w.reply);
    wait_for_answer(&w);
    assert_false(w.reply.failed);
    assert_int_equal(script_server_n_requests(w.server), 6);

    w.reply = (struct reply){0};
    grouped.placement_group = "rb-r-p4d";
    w.provider.ops->launch(&w.provider, &grouped, on_launch, &w.reply);
    wait_for_answer(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_DENIED);
    assert_says(&w.reply.err, "CreatePlacementGroup");
    finish(&w);
}

struct groups_reply {
    bool done;
    int n;
    char names[128];
    enum rb_err_code code;
};

static void on_groups(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n)
{
    struct groups_reply *t = arg;
    t->done = true;
    t->code = err ? err->code : RB_ERR_NONE;
    t->n = n;
    for (int i = 0; i < n; i++)
        snprintf(t->names + strlen(t->names), sizeof t->names - strlen(t->names), "%s of %s by %s;", groups[i].name,
                 groups[i].run_id ? groups[i].run_id : "?", groups[i].owner ? groups[i].owner : "?");
}

static void groups_are_found_and_ended(void **state)
{
    (void)state;
    struct world w;
    struct groups_reply found = {0};
    const struct step steps[] = {
        {.status = 200,
         .body =
             "<DescribePlacementGroupsResponse><placementGroupSet><item><groupName>rb-a</groupName><state>available"
             "</state><tagSet><item><key>rb:run-id</key><value>r-1</value></item><item><key>rb:owner</key><value>ann"
             "</value></item></tagSet></item><item><groupName>rb-b</groupName><state>deleting</state></item>"
             "</placementGroupSet></DescribePlacementGroupsResponse>"},
        {.status = 400, .body = ERROR_BODY("InvalidPlacementGroup.InUse")}, // its instances are just ending
        {.status = 200, .body = "<DeletePlacementGroupResponse/>"},
        {.status = 400, .body = ERROR_BODY("InvalidPlacementGroup.Unknown")},
    };
    begin(&w, steps, 4);
    w.provider.ops->groups(&w.provider, "r-1", on_groups, &found);
    assert_true(test_loop_run(&w.loop, &found.done));
    assert_int_equal(found.code, RB_ERR_NONE);
    assert_string_equal(found.names, "rb-a of r-1 by ann;");
    w.provider.ops->end_group(&w.provider, "rb-a", on_terminate, &w.reply);
    wait_for_answer(&w);
    assert_false(w.reply.failed);
    assert_int_equal(script_server_n_requests(w.server), 3);
    w.reply = (struct reply){0};
    w.provider.ops->end_group(&w.provider, "rb-a", on_terminate, &w.reply);
    wait_for_answer(&w);
    assert_false(w.reply.failed); // gone is what was asked for
    finish(&w);
}

// The signature is over the bytes that arrived, as a server would check it.
static void requests_are_signed(void **state)
{
    (void)state;
    struct world w;
    struct rb_arena arena = {0};
    const struct step steps[] = {{.status = 200, .body = LAUNCHED}};
    setenv("AWS_SESSION_TOKEN", "TOKEN+/=", 1);
    launch(&w, steps, 1, &launch_plain);
    unsetenv("AWS_SESSION_TOKEN");
    const struct rb_sigv4_header headers[] = {
        {"content-type", header_of(&w, 0, "content-type", &arena)},
        {"host", header_of(&w, 0, "host", &arena)},
        {"x-amz-date", header_of(&w, 0, "x-amz-date", &arena)},
        {"x-amz-security-token", header_of(&w, 0, "x-amz-security-token", &arena)},
    };
    assert_string_equal(headers[1].value, script_server_url(w.server) + strlen("http://"));
    assert_string_equal(headers[2].value, "20260101T000000Z");
    assert_string_equal(headers[3].value, "TOKEN+/=");
    const struct rb_sigv4_request request = {
        .method = "POST",
        .path = "/",
        .query = "",
        .headers = headers,
        .n_headers = 4,
        .body = body_of(&w, 0),
        .body_len = strlen(body_of(&w, 0)),
        .amz_date = headers[2].value,
        .region = "us-east-1",
        .service = "ec2",
    };
    struct rb_buf expected = RB_BUF_INIT;
    rb_sigv4_authorization(&request, "test", "secret", &expected);
    assert_string_equal(header_of(&w, 0, "authorization", &arena), expected.data);
    rb_buf_finish(&expected);
    rb_arena_finish(&arena);
    finish(&w);
}

static void transient_failures_repeat_the_same_request(void **state)
{
    (void)state;
    struct world w;
    struct rb_arena arena = {0};
    const struct step steps[] = {
        {.status = 503, .headers = "Retry-After: 9\r\n", .body = ERROR_BODY("RequestLimitExceeded")},
        {.how = RESET},
        {.status = 502, .body = "<html>Bad Gateway"},
        {.how = BREAK_OFF, .status = 200, .body = LAUNCHED},
        {.status = 200, .body = LAUNCHED},
    };
    launch(&w, steps, 5, &launch_plain);
    assert_false(w.reply.failed);
    assert_int_equal(script_server_n_requests(w.server), 5);
    for (int i = 1; i < 5; i++)
        assert_string_equal(body_of(&w, i), body_of(&w, 0));
    assert_true(test_loop_elapsed_us(&w.loop) >= 9000000); // Retry-After
    assert_string_not_equal(header_of(&w, 4, "x-amz-date", &arena), header_of(&w, 0, "x-amz-date", &arena));
    assert_string_not_equal(header_of(&w, 4, "authorization", &arena), header_of(&w, 0, "authorization", &arena));
    rb_arena_finish(&arena);
    finish(&w);
}

// What a launch that did not work out is called, and after how many requests.
static void launch_failures(void **state)
{
    (void)state;
    static const struct step unknown = {.status = 500, .body = ERROR_BODY("InternalError")}, reset = {.how = RESET},
                             html = {.status = 200, .body = "<html>login</html>"},
                             throttled = {.status = 503, .body = ERROR_BODY("RequestLimitExceeded")},
                             empty = {.status = 500, .body = ERROR_BODY("InsufficientInstanceCapacity")},
                             denied = {.status = 403, .body = ERROR_BODY("UnauthorizedOperation")},
                             mismatch = {.status = 400, .body = ERROR_BODY("IdempotentParameterMismatch")},
                             invalid = {.status = 400, .body = ERROR_BODY("InvalidParameterValue")};
    const struct {
        struct step steps[5];
        int n;
        enum rb_err_code code;
    } cases[] = {
        {{empty}, 1, RB_ERR_CAPACITY},
        {{denied}, 1, RB_ERR_DENIED},
        {{invalid}, 1, RB_ERR_INVALID},
        {{mismatch}, 1, RB_ERR_UNKNOWN_OUTCOME},
        {{throttled, throttled, throttled, throttled, throttled}, 5, RB_ERR_THROTTLED},
        {{unknown, unknown, unknown, unknown, unknown}, 5, RB_ERR_UNKNOWN_OUTCOME},
        {{html, html, html, html, html}, 5, RB_ERR_UNKNOWN_OUTCOME},
        {{reset, empty}, 2, RB_ERR_UNKNOWN_OUTCOME},  // so there is no room now; the first try may be late
        {{reset, denied}, 2, RB_ERR_UNKNOWN_OUTCOME}, // the first try may have launched
        {{reset, throttled, throttled, throttled, throttled}, 5, RB_ERR_UNKNOWN_OUTCOME},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct world w;
        launch(&w, cases[c].steps, cases[c].n, &launch_plain);
        assert_true(w.reply.failed);
        if (w.reply.err.code != cases[c].code)
            fail_msg("case %zu: %s: %s", c, rb_err_code_name(w.reply.err.code), w.reply.err.message);
        assert_says(&w.reply.err, "RunInstances");
        assert_int_equal(script_server_n_requests(w.server), cases[c].n);
        finish(&w);
    }
}

static void nothing_sent_is_not_unknown(void **state)
{
    (void)state;
    struct world w;
    begin(&w, NULL, 0);
    script_server_stop(w.server); // the port is closed now
    w.provider.ops->launch(&w.provider, &launch_plain, on_launch, &w.reply);
    wait_for_answer(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_IO);
    w.server = script_server_start(NULL, 0);
    finish(&w);
}

static void clocks_are_corrected(void **state)
{
    (void)state;
    struct world w;
    struct rb_arena arena = {0};
    const struct step steps[] = {
        {.status = 400, .headers = "Date: Thu, 01 Jan 2026 05:00:00 GMT\r\n", .body = ERROR_BODY("RequestExpired")},
        {.status = 200, .body = LAUNCHED},
    };
    launch(&w, steps, 2, &launch_plain);
    assert_false(w.reply.failed);
    assert_memory_equal(header_of(&w, 0, "x-amz-date", &arena), "20260101T0000", 13);
    assert_memory_equal(header_of(&w, 1, "x-amz-date", &arena), "20260101T0500", 13);
    rb_arena_finish(&arena);
    finish(&w);
}

static void disks_are_sized_under_the_images_name(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 200,
         .body = "<DescribeImagesResponse><imagesSet><item><imageId>ami-2</imageId>"
                 "<rootDeviceName>/dev/xvda</rootDeviceName></item></imagesSet></DescribeImagesResponse>"},
        {.status = 200, .body = LAUNCHED},
    };
    launch(&w, steps, 2, &launch_full);
    assert_false(w.reply.failed);
    assert_non_null(strstr(body_of(&w, 0), "Action=DescribeImages&Version=2016-11-15&ImageId.1=ami-2"));
    assert_non_null(strstr(body_of(&w, 1), "&BlockDeviceMapping.1.DeviceName=%2Fdev%2Fxvda&"));
    finish(&w);
}

static void impossible_launches_cost_no_request(void **state)
{
    (void)state;
    struct rb_launch no_token = launch_plain, elsewhere = launch_plain;
    no_token.token = "";
    elsewhere.region = "eu-west-1";
    const struct rb_launch *const cases[] = {&no_token, &elsewhere};
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct world w;
        launch(&w, NULL, 0, cases[c]);
        assert_int_equal(w.reply.err.code, RB_ERR_INVALID);
        assert_int_equal(script_server_n_requests(w.server), 0);
        finish(&w);
    }
}

// A mock cloud boots any image; a real one needs its name.
static void images_are_needed_on_real_clouds(void **state)
{
    (void)state;
    struct rb_launch no_image = launch_plain;
    no_image.image_id = NULL;
    struct world w;
    const struct step steps[] = {{.status = 200, .body = LAUNCHED}};
    launch(&w, steps, 1, &no_image);
    assert_false(w.reply.failed);
    assert_non_null(strstr(body_of(&w, 0), "&ImageId=ami-00000000000000000&"));

    setenv("AWS_ENDPOINT_URL", "https://ec2.invalid", 1);
    struct rb_provider real;
    const struct rb_provider_config config = {.loop = &w.loop.loop, .http = w.http, .region = "us-east-1"};
    assert_true(rb_provider_aws.create(&config, &real, NULL));
    w.reply = (struct reply){0};
    real.ops->launch(&real, &no_image, on_launch, &w.reply);
    wait_for_answer(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_INVALID);
    assert_says(&w.reply.err, "RB3025 resources.image_id");
    real.ops->destroy(&real);
    finish(&w);
}

static void list(struct world *w, const struct step *steps, int n, const char *run_id)
{
    begin(w, steps, n);
    w->provider.ops->list(&w->provider, run_id, on_list, &w->reply);
    wait_for_answer(w);
}

static void lists_are_read_to_the_end(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 200, .body = LISTED(INSTANCE("i-1", "16") INSTANCE("i-2", "48"), "<nextToken>p2</nextToken>")},
        {.status = 200, .body = LISTED("", "<nextToken>p3</nextToken>")}, // an empty page is not the last one
        {.status = 200, .body = LISTED(INSTANCE("i-3", "0"), "<nextToken/>")},
    };
    list(&w, steps, 3, "r-1");
    assert_false(w.reply.failed);
    assert_true(w.reply.complete);
    assert_string_equal(w.reply.ids, "i-1 i-2 i-3 ");
    assert_null(strstr(body_of(&w, 0), "NextToken"));
    assert_non_null(strstr(body_of(&w, 2), "&NextToken=p3"));
    finish(&w);
}

static void a_lost_page_makes_a_list_incomplete(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 200, .body = LISTED(INSTANCE("i-1", "16"), "<nextToken>p2</nextToken>")},
        {.how = RESET},
        {.status = 500, .body = ERROR_BODY("InternalError")},
        {.status = 200, .body = LISTED("<item/>", "")}, // an instance without an id is no answer either
    };
    list(&w, steps, 4, NULL);
    assert_true(w.reply.failed);
    assert_int_equal(w.reply.err.code, RB_ERR_IO); // a question has no unknown outcome
    assert_false(w.reply.complete);
    assert_string_equal(w.reply.ids, "i-1 ");
    assert_int_equal(script_server_n_requests(w.server), 4);
    finish(&w);
}

static void terminate(struct world *w, const struct step *steps, int n)
{
    begin(w, steps, n);
    w->provider.ops->terminate(&w->provider, "i-1", on_terminate, &w->reply);
    wait_for_answer(w);
}

static void terminations(void **state)
{
    (void)state;
    struct world w;
    const struct step accepted[] = {{.how = RESET}, {.status = 200, .body = ENDED}};
    terminate(&w, accepted, 2);
    assert_false(w.reply.failed);
    assert_string_equal(body_of(&w, 1), "Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i-1");
    finish(&w);

    const struct step not_found[] = {{.status = 400, .body = ERROR_BODY("InvalidInstanceID.NotFound")}};
    terminate(&w, not_found, 1);
    assert_int_equal(w.reply.err.code, RB_ERR_NOT_FOUND);
    finish(&w);
}

#define MACHINE(name)                                                                                    \
    "<item><instanceType>" name "</instanceType><vCpuInfo><defaultVCpus>4</defaultVCpus></vCpuInfo>"     \
    "<memoryInfo><sizeInMiB>16384</sizeInMiB></memoryInfo><supportedUsageClasses><item>on-demand</item>" \
    "<item>spot</item></supportedUsageClasses></item>"
#define PRODUCT(type, price)                                                                                          \
    "\"{\\\"product\\\":{\\\"attributes\\\":{\\\"instanceType\\\":\\\"" type                                          \
    "\\\",\\\"regionCode\\\":\\\"us-east-1\\\",\\\"operatingSystem\\\":\\\"Linux\\\",\\\"tenancy\\\":\\\"Shared\\\"," \
    "\\\"capacitystatus\\\":\\\"Used\\\",\\\"preInstalledSw\\\":\\\"NA\\\"}},\\\"terms\\\":{\\\"OnDemand\\\":{"       \
    "\\\"t\\\":"                                                                                                      \
    "{\\\"priceDimensions\\\":{\\\"d\\\":{\\\"unit\\\":\\\"Hrs\\\",\\\"pricePerUnit\\\":{\\\"USD\\\":\\\"" price      \
    "\\\"}}}}}}}\""
#define PRICE(type, zone, price)                                                               \
    "<item><instanceType>" type "</instanceType><availabilityZone>" zone "</availabilityZone>" \
    "<spotPrice>" price "</spotPrice></item>"

static void offers_join_machines_and_prices(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 200,
         .body = "<DescribeInstanceTypesResponse><instanceTypeSet>" MACHINE(
             "c5.xlarge") "</instanceTypeSet><nextToken>more</nextToken></DescribeInstanceTypesResponse>"},
        {.status = 200,
         .body = "<DescribeInstanceTypesResponse><instanceTypeSet>" MACHINE(
             "c6.xlarge") "</instanceTypeSet></DescribeInstanceTypesResponse>"},
        {.status = 200, .body = "{\"PriceList\":[" PRODUCT("c6.xlarge", "0.2") "],\"NextToken\":\"p2\"}"},
        {.status = 200, .body = "{\"PriceList\":[" PRODUCT("x1.32xlarge", "9") "]}"},
        {.status = 200,
         .body = "<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>" PRICE("c6.xlarge", "us-east-1b", "0.07")
             PRICE("c5.xlarge", "us-east-1b", "0.06") PRICE("c5.xlarge", "us-east-1a", "0.05")
                 PRICE("c5.xlarge", "us-east-1a", "0.99")
                     PRICE("x1.32xlarge", "us-east-1a", "3") "</spotPriceHistorySet>"
                                                             "</DescribeSpotPriceHistoryResponse>"},
    };
    begin(&w, steps, 5);
    w.provider.ops->offers(&w.provider, NULL, 0, on_offers, &w.reply);
    wait_for_answer(&w);
    assert_false(w.reply.failed);
    // On demand c5 has no price and so no offer, x1 was not described, 0.99 is an older price.
    static const struct {
        const char *infra;
        enum rb_market market;
        int64_t uusd;
    } expected[] = {{"mock/us-east-1", RB_MARKET_ON_DEMAND, 200000},
                    {"mock/us-east-1/us-east-1a", RB_MARKET_SPOT, 50000},
                    {"mock/us-east-1/us-east-1b", RB_MARKET_SPOT, 60000},
                    {"mock/us-east-1/us-east-1b", RB_MARKET_SPOT, 70000}};
    assert_int_equal(w.reply.n, N_OF(expected));
    for (size_t i = 0; i < N_OF(expected); i++) {
        assert_string_equal(w.reply.infras[i], expected[i].infra);
        assert_int_equal(w.reply.offers[i].market, expected[i].market);
        assert_int_equal(w.reply.offers[i].rate.uusd_per_hour, expected[i].uusd);
        assert_int_equal(w.reply.offers[i].fetched_at_us / 1000000, TEST_LOOP_START_UNIX_US / 1000000);
    }
    assert_non_null(strstr(script_server_request(w.server, 2), "X-Amz-Target: AWSPriceListService.GetProducts"));
    assert_non_null(strstr(script_server_request(w.server, 2), "/us-east-1/pricing/aws4_request"));
    assert_non_null(strstr(body_of(&w, 3), "\"NextToken\":\"p2\""));
    finish(&w);
}

// A machine that was named is bought at the price that is found here: none is an error, not a row that is missing.
static void a_named_machine_without_a_price_is_an_error(void **state)
{
    (void)state;
    static const char *const types[] = {"c5.xlarge"};
#define MACHINES(list)                                                                 \
    {                                                                                  \
        .status = 200, .body = "<DescribeInstanceTypesResponse><instanceTypeSet>" list \
                               "</instanceTypeSet></DescribeInstanceTypesResponse>"    \
    }
    static const struct {
        struct step steps[2];
        int n_steps;
        const char *words;
    } cases[] = {
        {{MACHINES(MACHINE("c5.xlarge")), {.status = 200, .body = "{\"PriceList\":[]}"}}, 2, "c5.xlarge"},
        {{MACHINES(MACHINE("c5.xlarge")),
          {.status = 200, .body = "{\"PriceList\":[" PRODUCT("c5.xlarge", "1") "," PRODUCT("c5.xlarge", "2") "]}"}},
         2,
         "twice"}, // one answer, not asked for again
        {{MACHINES("")}, 1, "does not describe the GPUs of a c5.xlarge"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        begin(&w, cases[i].steps, cases[i].n_steps);
        w.provider.ops->offers(&w.provider, types, 1, on_offers, &w.reply);
        wait_for_answer(&w);
        assert_true(w.reply.failed);
        assert_int_equal(w.reply.err.code, RB_ERR_PRICE);
        assert_says(&w.reply.err, cases[i].words);
        assert_int_equal(script_server_n_requests(w.server), cases[i].n_steps);
        finish(&w);
    }
}

static void set_flag(void *flag)
{
    *(bool *)flag = true;
}

// Destroyed while a request is out, and while the next try waits: no callback, nothing leaked.
static void destroying_drops_what_is_pending(void **state)
{
    (void)state;
    static const struct step cases[] = {
        {.how = DRIP, .status = 200, .body = LAUNCHED},
        {.status = 503, .headers = "Retry-After: 50\r\n", .body = ERROR_BODY("Throttling")},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct world w;
        bool over = false;
        const struct step both[] = {cases[c], cases[c]}; // neither call is over within the tenth of a second
        begin(&w, both, 2);
        w.provider.ops->launch(&w.provider, &launch_plain, on_launch, &w.reply);
        w.provider.ops->list(&w.provider, NULL, on_list, &w.reply);
        w.loop.loop.timer_start(&w.loop, 100000, set_flag, &over);
        assert_true(test_loop_run(&w.loop, &over));
        finish(&w);
        assert_int_equal(w.reply.n_calls, 0);
    }
}

static int set_up(void **state)
{
    (void)state;
    setenv("AWS_ACCESS_KEY_ID", "test", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launched),
        cmocka_unit_test(requests_are_signed),
        cmocka_unit_test(transient_failures_repeat_the_same_request),
        cmocka_unit_test(launch_failures),
        cmocka_unit_test(nothing_sent_is_not_unknown),
        cmocka_unit_test(clocks_are_corrected),
        cmocka_unit_test(disks_are_sized_under_the_images_name),
        cmocka_unit_test(impossible_launches_cost_no_request),
        cmocka_unit_test(images_are_needed_on_real_clouds),
        cmocka_unit_test(lists_are_read_to_the_end),
        cmocka_unit_test(a_lost_page_makes_a_list_incomplete),
        cmocka_unit_test(terminations),
        cmocka_unit_test(groups_are_made_before_they_are_needed),
        cmocka_unit_test(groups_are_found_and_ended),
        cmocka_unit_test(offers_join_machines_and_prices),
        cmocka_unit_test(a_named_machine_without_a_price_is_an_error),
        cmocka_unit_test(destroying_drops_what_is_pending),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
