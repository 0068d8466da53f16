// Credentials that are had over HTTP: what is asked, with which proof, and when it is asked again.
#include "home.h"
#include "providers/aws/aws_session.h"
#include "providers/wire/http.h"
#include "scripted.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS(access, expiration)                                                                              \
    "{\"Code\": \"Success\", \"AccessKeyId\": \"" access "\", \"SecretAccessKey\": \"s\", \"Token\": \"t\", " \
    "\"Expiration\": \"" expiration "\"}"
#define ROLE(access, expiration)                                                                              \
    "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>" \
    "<AccessKeyId>" access "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>" \
    "<Expiration>" expiration "</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"

struct reply {
    bool done;
    int n_calls;
    struct rb_aws_credentials credentials;
    struct rb_err err; // code NONE: credentials
};

struct world {
    struct scripted s;
    struct rb_aws_session *session;
    struct reply reply;
};

static void on_credentials(void *arg, const struct rb_aws_credentials *c, const struct rb_err *err)
{
    struct reply *t = arg;
    t->done = true;
    t->n_calls++;
    t->err = err ? *err : (struct rb_err){0};
    t->credentials = c ? *c : (struct rb_aws_credentials){0};
    assert_true((c == NULL) == (err != NULL));
}

// Every service is played by one server: variables that name a URL get its own.
static void begin(struct world *w, const char *variable, const char *path, const struct step *steps, int n)
{
    char url[128];
    memset(w, 0, sizeof *w);
    scripted_begin(&w->s, steps, n);
    snprintf(url, sizeof url, "%s%s", script_server_url(w->s.server), path);
    setenv(variable, url, 1);
    const struct rb_aws_session_config config = {
        .loop = &w->s.loop.loop, .http = w->s.http, .region = "eu-west-1", .loopback_only = true};
    struct rb_err err;
    if (!rb_aws_session_create(&config, &w->session, &err))
        fail_msg("%s", err.message);
}

static void finish(struct world *w)
{
    rb_aws_session_destroy(w->session);
    scripted_end(&w->s);
}

static const char *get(struct world *w)
{
    w->reply = (struct reply){0};
    rb_aws_session_get(w->session, on_credentials, &w->reply);
    assert_true(test_loop_run(&w->s.loop, &w->reply.done));
    return w->reply.credentials.access_key;
}

static void instance_by_token(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 200, .body = "IMDSTOKEN=="},
                                 {.status = 200, .body = "node-role\n"},
                                 {.status = 200, .body = KEYS("I", "2026-01-01T06:00:00Z")}};
    unsetenv("AWS_EC2_METADATA_DISABLED");
    begin(&w, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "/", steps, 3);
    assert_string_equal(get(&w), "I");
    assert_string_equal(w.reply.credentials.session_token, "t");
    assert_int_equal(w.reply.credentials.expires_at_us, TEST_LOOP_START_UNIX_US + INT64_C(21600000000));
    scripted_expect_begin(&w.s, 0, "PUT /latest/api/token HTTP/1.1\r\n");
    scripted_expect(&w.s, 0, "\r\nX-aws-ec2-metadata-token-ttl-seconds: 21600\r\n");
    scripted_expect_begin(&w.s, 1, "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n");
    scripted_expect(&w.s, 1, "\r\nX-aws-ec2-metadata-token: IMDSTOKEN==\r\n");
    scripted_expect_begin(&w.s, 2, "GET /latest/meta-data/iam/security-credentials/node-role HTTP/1.1\r\n");
    scripted_expect(&w.s, 2, "\r\nX-aws-ec2-metadata-token: IMDSTOKEN==\r\n");
    finish(&w);
}

// Version 1 needs no token, and so gives keys to anyone who can make the machine fetch a URL.
static void instance_without_version_2_is_refused(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 403, .body = ""}, {.status = 200, .body = "role"}};
    unsetenv("AWS_EC2_METADATA_DISABLED");
    begin(&w, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "", steps, 2);
    get(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_DENIED);
    assert_says(&w.reply.err, "credentials (instance): metadata token: status 403");
    assert_int_equal(script_server_n_requests(w.s.server), 1);
    finish(&w);
}

static void container_by_its_agent(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 200, .body = KEYS("C", "2026-01-01T06:00:00Z")}};
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic xyz", 1);
    begin(&w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "/v1/keys?x=1", steps, 1);
    assert_string_equal(get(&w), "C");
    scripted_expect_begin(&w.s, 0, "GET /v1/keys?x=1 HTTP/1.1\r\n");
    scripted_expect(&w.s, 0, "\r\nAuthorization: Basic xyz\r\n");
    finish(&w);
}

static void single_sign_on(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 200,
         .body = "{\"roleCredentials\": {\"accessKeyId\": \"S\", \"secretAccessKey\": \"s\", \"sessionToken\": \"t\", "
                 "\"expiration\": 1767229200000}}"}};
    home_write("config",
               "[default]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = a b\n"
               "[sso-session corp]\nsso_region = eu-west-1\n",
               0600);
    home_write("sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json",
               "{\"accessToken\": \"bearer\", \"expiresAt\": \"2026-01-01T08:00:00Z\"}", 0600);
    begin(&w, "AWS_ENDPOINT_URL_SSO", "", steps, 1);
    assert_string_equal(get(&w), "S");
    assert_int_equal(w.reply.credentials.expires_at_us, TEST_LOOP_START_UNIX_US + INT64_C(3600000000));
    scripted_expect_begin(&w.s, 0, "GET /federation/credentials?role_name=a%20b&account_id=123456789012 HTTP/1.1\r\n");
    scripted_expect(&w.s, 0, "\r\nx-amz-sso_bearer_token: bearer\r\n");
    finish(&w);
}

static void web_identity_then_another_role(void **state)
{
    (void)state;
    struct world w;
    char config[512];
    const struct step steps[] = {{.status = 200, .body = ROLE("W", "2026-01-01T06:00:00Z")},
                                 {.status = 200, .body = ROLE("R", "2026-01-01T01:00:00Z")}};
    home_write("token", "jwt", 0600);
    snprintf(config, sizeof config,
             "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = pod\nexternal_id = x\n"
             "[profile pod]\nrole_arn = w\nweb_identity_token_file = %s\n",
             home_path("token"));
    home_write("config", config, 0600);
    begin(&w, "AWS_ENDPOINT_URL_STS", "", steps, 2);
    assert_string_equal(get(&w), "R");
    scripted_expect(&w.s, 0,
                    "\r\n\r\nAction=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=w&RoleSessionName=rubberband"
                    "&WebIdentityToken=jwt");
    assert_null(strstr(script_server_request(w.s.server, 0), "Authorization"));
    scripted_expect(&w.s, 1, "AWS4-HMAC-SHA256 Credential=W/20260101/eu-west-1/sts/aws4_request");
    scripted_expect(&w.s, 1, "\r\nX-Amz-Security-Token: t\r\n");
    scripted_expect(&w.s, 1,
                    "\r\n\r\nAction=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"
                    "&RoleSessionName=rubberband&ExternalId=x");
    finish(&w);
}

static void begin_container(struct world *w, const struct step *steps, int n)
{
    begin(w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "/", steps, n);
}

static void wait(struct world *w, int64_t minutes)
{
    w->s.loop.skipped_us += minutes * INT64_C(60000000);
}

static void renewed_before_their_end(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 200, .body = KEYS("A", "2026-01-01T02:00:00Z")},
                                 {.status = 200, .body = KEYS("B", "2026-01-01T04:00:00Z")},
                                 {.status = 200, .body = KEYS("C", "2026-01-01T06:00:00Z")}};
    begin_container(&w, steps, 3);
    assert_string_equal(get(&w), "A");
    wait(&w, 104);
    assert_string_equal(get(&w), "A");
    assert_int_equal(script_server_n_requests(w.s.server), 1);
    wait(&w, 2);                       // 1:46: within a quarter of an hour
    assert_string_equal(get(&w), "A"); // no one waits yet
    bool never = false;
    test_loop_run(&w.s.loop, &never); // until the answer is in
    assert_string_equal(get(&w), "B");
    assert_int_equal(script_server_n_requests(w.s.server), 2);
    wait(&w, 125);                     // 3:51: within ten minutes
    assert_string_equal(get(&w), "C"); // waited for
    finish(&w);
}

static void old_ones_serve_to_their_last_minute(void **state)
{
    (void)state;
    struct world w;
    const struct step down = {.status = 500, .body = "{}"};
    const struct step steps[] = {
        {.status = 200, .body = KEYS("A", "2026-01-01T02:00:00Z")}, down, down, down, down, down, down,
        {.status = 200, .body = KEYS("B", "2026-01-01T06:00:00Z")}};
    begin_container(&w, steps, 8);
    assert_string_equal(get(&w), "A");
    wait(&w, 115);
    assert_string_equal(get(&w), "A");
    assert_int_equal(script_server_n_requests(w.s.server), 4);
    assert_string_equal(get(&w), "A"); // not asked again by every call
    assert_int_equal(script_server_n_requests(w.s.server), 4);
    wait(&w, 6);
    get(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_IO);
    assert_says(&w.reply.err, "credentials (container): keys of the container: status 500");
    assert_string_equal(get(&w), "B");
    finish(&w);
}

static void short_lived_ones_are_not_fetched_for_every_call(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 200, .body = KEYS("A", "2026-01-01T00:15:00Z")}};
    begin_container(&w, steps, 1);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(get(&w), "A");
        wait(&w, 2);
    }
    assert_int_equal(script_server_n_requests(w.s.server), 1);
    finish(&w);
}

static void many_wait_for_one_fetch(void **state)
{
    (void)state;
    struct world w;
    struct reply reply[3] = {0};
    const struct step steps[] = {{.status = 200, .body = KEYS("A", "2026-01-01T02:00:00Z")},
                                 {.status = 200, .body = KEYS("B", "2026-01-01T02:00:00Z")}};
    begin_container(&w, steps, 2);
    for (int i = 0; i < 3; i++)
        rb_aws_session_get(w.session, on_credentials, &reply[i]);
    assert_int_equal(reply[0].n_calls, 0);
    assert_true(test_loop_run(&w.s.loop, &reply[2].done));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(reply[i].n_calls, 1);
        assert_string_equal(reply[i].credentials.access_key, "A");
    }
    assert_int_equal(script_server_n_requests(w.s.server), 1);
    rb_aws_session_forget(w.session);
    assert_string_equal(get(&w), "B");
    finish(&w);
}

static void answers_that_are_none(void **state)
{
    (void)state;
    static const struct {
        struct step answer;
        enum rb_err_code code;
        const char *reason;
        int n_requests;
    } cases[] = {
        {{.status = 200, .body = "{}"}, RB_ERR_IO, "AccessKeyId is missing", 3},
        {{.status = 200, .body = "<html>"}, RB_ERR_IO, "keys of the container", 3},
        {{.status = 200, .body = "{\"Code\": \"AssumeRoleUnauthorizedAccess\"}"},
         RB_ERR_IO,
         "AssumeRoleUnauthorized",
         3},
        {{.status = 200, .body = KEYS("A", "2025-12-31T00:00:00Z")}, RB_ERR_DENIED, "is this machine's clock right", 1},
        {{.status = 404, .body = "{\"code\": \"ResourceNotFound\"}"}, RB_ERR_INVALID, "status 404", 1},
        {{.status = 401, .body = ""}, RB_ERR_DENIED, "status 401", 1},
        {{.how = RESET}, RB_ERR_IO, "keys of the container", 3},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {cases[i].answer, cases[i].answer, cases[i].answer};
        begin_container(&w, steps, 3);
        get(&w);
        if (w.reply.err.code != cases[i].code)
            fail_msg("case %zu: %s: %s", i, rb_err_code_name(w.reply.err.code), w.reply.err.message);
        assert_says(&w.reply.err, cases[i].reason);
        assert_int_equal(script_server_n_requests(w.s.server), cases[i].n_requests);
        finish(&w);
    }
}

static void a_role_that_is_refused(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 403,
         .body = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User: x is not authorized"
                 "</Message></Error><RequestId>r</RequestId></ErrorResponse>"}};
    home_write("config",
               "[default]\nrole_arn = r\nsource_profile = k\n[profile k]\naws_access_key_id=K\n"
               "aws_secret_access_key=k\n",
               0600);
    begin(&w, "AWS_ENDPOINT_URL_STS", "", steps, 1);
    get(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_DENIED);
    assert_says(&w.reply.err, "AssumeRole: AccessDenied: User: x is not authorized");
    finish(&w);
}

// Destroyed while a fetch is under way: no one is called, nothing is left.
static void destroyed_meanwhile(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.how = DRIP, .status = 200, .body = KEYS("A", "2026-01-01T02:00:00Z")}};
    begin_container(&w, steps, 1);
    rb_aws_session_get(w.session, on_credentials, &w.reply);
    finish(&w);
    assert_int_equal(w.reply.n_calls, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, home_set_up, home_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(instance_by_token),
        TEST(instance_without_version_2_is_refused),
        TEST(container_by_its_agent),
        TEST(single_sign_on),
        TEST(web_identity_then_another_role),
        TEST(renewed_before_their_end),
        TEST(old_ones_serve_to_their_last_minute),
        TEST(short_lived_ones_are_not_fetched_for_every_call),
        TEST(many_wait_for_one_fetch),
        TEST(answers_that_are_none),
        TEST(a_role_that_is_refused),
        TEST(destroyed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
