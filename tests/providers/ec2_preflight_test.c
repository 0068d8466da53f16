// Before the first launch: what EC2 is asked, and which answers let a run begin.
#include "home.h"
#include "launches.h"
#include "providers/ec2.h"
#include "providers/http.h"
#include "scripted.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define ERROR_BODY(code) \
    "<Response><Errors><Error><Code>" code "</Code><Message>m</Message></Error></Errors></Response>"
#define ALLOWED                                              \
    {                                                        \
        .status = 412, .body = ERROR_BODY("DryRunOperation") \
    }
#define REFUSED(code)                           \
    {                                           \
        .status = 403, .body = ERROR_BODY(code) \
    }

struct world {
    struct scripted s;
    struct rb_provider provider;
    bool done;
    int n_calls;
    struct rb_err err; // NONE: allowed
    char image[64];
};

static void on_preflight(void *arg, const struct rb_err *err, const char *image)
{
    struct world *w = arg;
    w->done = true;
    w->n_calls++;
    w->err = err ? *err : (struct rb_err){0};
    snprintf(w->image, sizeof w->image, "%s", image ? image : "");
}

static void ask(struct world *w, const char *image, const struct step *steps, int n)
{
    struct rb_launch launch = launch_full;
    memset(w, 0, sizeof *w);
    scripted_begin(&w->s, steps, n);
    setenv("AWS_ENDPOINT_URL", script_server_url(w->s.server), 1);
    const struct rb_provider_config config = {.loop = &w->s.loop.loop, .http = w->s.http, .region = "us-east-1"};
    assert_true(rb_provider_aws.create(&config, &w->provider, NULL));
    launch.image_id = image;
    w->provider.ops->preflight(&w->provider, &launch, on_preflight, w);
    assert_false(w->done);
    assert_true(test_loop_run(&w->s.loop, &w->done));
    assert_int_equal(w->n_calls, 1);
}

static void finish(struct world *w)
{
    w->provider.ops->destroy(&w->provider);
    scripted_end(&w->s);
}

static void launch_and_end_are_dry_runs(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {ALLOWED, ALLOWED};
    ask(&w, "ami-2", steps, 2);
    assert_int_equal(w.err.code, RB_ERR_NONE);
    assert_string_equal(w.image, "ami-2");
    scripted_expect(&w.s, 0, "Action=RunInstances&");
    scripted_expect(&w.s, 0, "&DryRun=true");
    scripted_expect(&w.s, 0, "&MinCount=1&MaxCount=1&"); // all or nothing
    scripted_expect(&w.s, 0, "&TagSpecification.1.Tag.1.Key=rb%3Arun-id&");
    assert_null(strstr(script_server_request(w.s.server, 0), "BlockDeviceMapping"));
    scripted_expect(&w.s, 1, "Action=TerminateInstances&");
    scripted_expect(&w.s, 1, "&InstanceId.1=i-00000000000000000&DryRun=true");
    assert_int_equal(script_server_n_requests(w.s.server), 2);
    finish(&w);
}

static void not_found_is_an_answer_to_who_may_end(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {ALLOWED, {.status = 400, .body = ERROR_BODY("InvalidInstanceID.NotFound")}};
    ask(&w, "ami-2", steps, 2);
    assert_int_equal(w.err.code, RB_ERR_NONE);
    finish(&w);
}

static void what_could_not_be_ended_is_not_launched(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {ALLOWED, REFUSED("UnauthorizedOperation")};
    ask(&w, "ami-2", steps, 2);
    assert_int_equal(w.err.code, RB_ERR_DENIED);
    assert_says(&w.err, "nothing is launched that could not be ended");
    assert_says(&w.err, "docs/policies/aws.json");
    finish(&w);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum rb_err_code err;
    } cases[] = {
        {ERROR_BODY("UnauthorizedOperation"), RB_ERR_DENIED},
        {ERROR_BODY("InvalidAMIID.NotFound"), RB_ERR_INVALID},
        {ERROR_BODY("InvalidSubnetID.NotFound"), RB_ERR_INVALID},
        {ERROR_BODY("OptInRequired"), RB_ERR_DENIED},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {{.status = 400, .body = cases[i].code}};
        ask(&w, "ami-2", steps, 1);
        assert_int_equal(w.err.code, cases[i].err);
        assert_says(&w.err, "RunInstances (dry run)");
        assert_int_equal(script_server_n_requests(w.s.server), 1);
        finish(&w);
    }
}

// A service that ignores DryRun has launched something: that is no leave to go on.
static void a_dry_run_that_was_none(void **state)
{
    (void)state;
    struct world w;
    const struct step done = {.status = 200, .body = "<RunInstancesResponse/>"};
    const struct step steps[] = {done, done, done};
    ask(&w, "ami-2", steps, 3);
    assert_int_equal(w.err.code, RB_ERR_IO);
    assert_says(&w.err, "a dry run was answered like a real one");
    finish(&w);
}

static void images_are_looked_up(void **state)
{
    (void)state;
    static const char *const names[] = {"resolve:ssm:/aws/service/x", "/aws/service/x"};
    for (size_t i = 0; i < N_OF(names); i++) {
        struct world w;
        const struct step steps[] = {
            {.status = 200, .body = "{\"Parameter\": {\"Name\": \"x\", \"Value\": \"ami-0abc\", \"Version\": 3}}"},
            ALLOWED,
            ALLOWED};
        ask(&w, names[i], steps, 3);
        assert_int_equal(w.err.code, RB_ERR_NONE);
        assert_string_equal(w.image, "ami-0abc");
        scripted_expect(&w.s, 0, "\r\nX-Amz-Target: AmazonSSM.GetParameter\r\n");
        scripted_expect(&w.s, 0, "/us-east-1/ssm/aws4_request");
        scripted_expect(&w.s, 0, "SignedHeaders=content-type;host;x-amz-date;x-amz-target,");
        scripted_expect(&w.s, 0, "\r\n\r\n{\"Name\":\"/aws/service/x\"}");
        scripted_expect(&w.s, 1, "&ImageId=ami-0abc&");
        finish(&w);
    }
}

static void images_that_cannot_be_looked_up(void **state)
{
    (void)state;
    static const struct {
        struct step answer;
        enum rb_err_code code;
        const char *reason;
    } cases[] = {
        {{.status = 400, .body = "{\"__type\": \"ParameterNotFound\"}"}, RB_ERR_NOT_FOUND, "ParameterNotFound"},
        {{.status = 400, .body = "{\"__type\": \"com.amazon#AccessDeniedException\", \"message\": \"no\"}"},
         RB_ERR_DENIED,
         "AccessDeniedException: no"},
        {{.status = 200, .body = "{\"Parameter\": {\"Value\": \"; rm -rf /\"}}"},
         RB_ERR_INVALID,
         "expected an image id"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        ask(&w, "/aws/service/x", &cases[i].answer, 1);
        assert_int_equal(w.err.code, cases[i].code);
        assert_says(&w.err, "image /aws/service/x");
        assert_says(&w.err, cases[i].reason);
        assert_int_equal(script_server_n_requests(w.s.server), 1);
        finish(&w);
    }
}

static void on_launch(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    on_preflight(arg, err, instance ? instance->id : NULL);
}

static void an_image_is_looked_up_before_the_launch(void **state)
{
    (void)state;
    struct world w;
    struct rb_launch launch = launch_plain;
    const struct step steps[] = {ALLOWED, ALLOWED};
    ask(&w, NULL, steps, 2); // a cloud on loopback boots nothing: any image will do
    assert_int_equal(w.err.code, RB_ERR_NONE);
    launch.image_id = "/aws/service/x"; // could be another one in the next try
    w.done = false;
    w.provider.ops->launch(&w.provider, &launch, on_launch, &w);
    assert_true(test_loop_run(&w.s.loop, &w.done));
    assert_int_equal(w.err.code, RB_ERR_INVALID);
    assert_says(&w.err, "was not looked up before the launch");
    assert_int_equal(script_server_n_requests(w.s.server), 2);
    finish(&w);
}

static int set_up(void **state)
{
    (void)state;
    home_begin();
    setenv("AWS_ACCESS_KEY_ID", "test", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    home_end();
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launch_and_end_are_dry_runs),
        TEST(not_found_is_an_answer_to_who_may_end),
        TEST(what_could_not_be_ended_is_not_launched),
        TEST(refusals),
        TEST(a_dry_run_that_was_none),
        TEST(images_are_looked_up),
        TEST(images_that_cannot_be_looked_up),
        TEST(an_image_is_looked_up_before_the_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
