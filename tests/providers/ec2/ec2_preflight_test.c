// Before the first launch: what EC2 is asked, and which answers let a run begin.
#include "home.h"
#include "launches.h"
#include "providers/ec2/ec2.h"
#include "providers/wire/http.h"
#include "scripted_cloud.h"
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

static void ask(struct scripted_cloud *w, const char *image, const struct step *steps, int n)
{
    struct rb_launch launch = launch_full;
    launch.image_id = image;
    scripted_ec2_begin(w, "us-east-1", steps, n);
    scripted_preflight(w, &launch);
}

static void launch_and_end_are_dry_runs(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {ALLOWED, ALLOWED};
    ask(&w, "ami-2", steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(w.image, "ami-2");
    scripted_expect(&w.s, 0, "Action=RunInstances&");
    scripted_expect(&w.s, 0, "&DryRun=true");
    scripted_expect(&w.s, 0, "&MinCount=1&MaxCount=1&"); // all or nothing
    scripted_expect(&w.s, 0, "&TagSpecification.1.Tag.1.Key=rb%3Arun-id&");
    assert_null(strstr(script_server_request(w.s.server, 0), "BlockDeviceMapping"));
    scripted_expect(&w.s, 1, "Action=TerminateInstances&");
    scripted_expect(&w.s, 1, "&InstanceId.1=i-00000000000000000&DryRun=true");
    assert_int_equal(script_server_n_requests(w.s.server), 2);
    scripted_cloud_end(&w);
}

static void not_found_is_an_answer_to_who_may_end(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {ALLOWED, {.status = 400, .body = ERROR_BODY("InvalidInstanceID.NotFound")}};
    ask(&w, "ami-2", steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_cloud_end(&w);
}

static void what_could_not_be_ended_is_not_launched(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {ALLOWED, REFUSED("UnauthorizedOperation")};
    ask(&w, "ami-2", steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_DENIED);
    assert_says(&w.s.err, "nothing is launched that could not be terminated");
    assert_says(&w.s.err, "docs/policies/aws.json");
    scripted_cloud_end(&w);
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
        struct scripted_cloud w;
        const struct step steps[] = {{.status = 400, .body = cases[i].code}};
        ask(&w, "ami-2", steps, 1);
        assert_int_equal(w.s.err.code, cases[i].err);
        assert_says(&w.s.err, "RunInstances (dry run)");
        assert_int_equal(script_server_n_requests(w.s.server), 1);
        scripted_cloud_end(&w);
    }
}

// A service that ignores DryRun has launched something: that is no leave to go on.
static void a_dry_run_that_was_none(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step done = {.status = 200, .body = "<RunInstancesResponse/>"};
    const struct step steps[] = {done, done, done};
    ask(&w, "ami-2", steps, 3);
    assert_int_equal(w.s.err.code, RB_ERR_IO);
    assert_says(&w.s.err, "RB3101 a dry run was answered like a real one");
    scripted_cloud_end(&w);
}

static void images_are_looked_up(void **state)
{
    (void)state;
    static const char *const names[] = {"resolve:ssm:/aws/service/x", "/aws/service/x"};
    for (size_t i = 0; i < N_OF(names); i++) {
        struct scripted_cloud w;
        const struct step steps[] = {
            {.status = 200, .body = "{\"Parameter\": {\"Name\": \"x\", \"Value\": \"ami-0abc\", \"Version\": 3}}"},
            ALLOWED,
            ALLOWED};
        ask(&w, names[i], steps, 3);
        assert_int_equal(w.s.err.code, RB_ERR_NONE);
        assert_string_equal(w.image, "ami-0abc");
        scripted_expect(&w.s, 0, "\r\nX-Amz-Target: AmazonSSM.GetParameter\r\n");
        scripted_expect(&w.s, 0, "/us-east-1/ssm/aws4_request");
        scripted_expect(&w.s, 0, "SignedHeaders=content-type;host;x-amz-date;x-amz-target,");
        scripted_expect(&w.s, 0, "\r\n\r\n{\"Name\":\"/aws/service/x\"}");
        scripted_expect(&w.s, 1, "&ImageId=ami-0abc&");
        scripted_cloud_end(&w);
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
        struct scripted_cloud w;
        ask(&w, "/aws/service/x", &cases[i].answer, 1);
        assert_int_equal(w.s.err.code, cases[i].code);
        assert_says(&w.s.err, "image /aws/service/x");
        assert_says(&w.s.err, cases[i].reason);
        assert_int_equal(script_server_n_requests(w.s.server), 1);
        scripted_cloud_end(&w);
    }
}

static void on_launch(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    (void)instance;
    scripted_tell(arg, err);
}

static void an_image_is_looked_up_before_the_launch(void **state)
{
    (void)state;
    struct scripted_cloud w;
    struct rb_launch launch = launch_plain;
    const struct step steps[] = {ALLOWED, ALLOWED};
    ask(&w, NULL, steps, 2); // a cloud on loopback boots nothing: any image will do
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    launch.image_id = "/aws/service/x"; // could be another one in the next try
    w.s.done = false;
    w.s.n_calls = 0;
    w.provider.ops->launch(&w.provider, &launch, on_launch, &w.s);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_INVALID);
    assert_says(&w.s.err, "was not looked up before the launch");
    assert_int_equal(script_server_n_requests(w.s.server), 2);
    scripted_cloud_end(&w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, home_set_up_with_keys, home_tear_down)

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
