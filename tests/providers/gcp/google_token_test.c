// Access tokens: the assertion as a server would check it, and how often one is fetched.
#include "base/arena.h"
#include "base/document/doc.h"
#include "google_account.h"
#include "providers/gcp/google_credentials.h"
#include "providers/gcp/google_jwt.h"
#include "providers/gcp/google_project.h"
#include "providers/gcp/google_token.h"
#include "providers/wire/http.h"
#include "scripted.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define TOKEN(text, seconds)                                                                                \
    {                                                                                                       \
        .status = 200,                                                                                      \
        .body = "{\"access_token\": \"" text "\", \"expires_in\": " seconds ", \"token_type\": \"Bearer\"}" \
    }

struct reply {
    bool done;
    int n_calls;
    char token[64];
    struct rb_err err; // code NONE: a token
};

struct world {
    struct scripted s;
    struct rb_google_credentials credentials;
    struct rb_google_tokens *tokens;
    struct reply reply;
};

static void on_token(void *arg, const char *token, const struct rb_err *err)
{
    struct reply *t = arg;
    t->done = true;
    t->n_calls++;
    t->err = err ? *err : (struct rb_err){0};
    snprintf(t->token, sizeof t->token, "%s", token ? token : "");
    assert_true((token == NULL) == (err != NULL));
}

static void begin(struct world *w, const struct step *steps, int n)
{
    memset(w, 0, sizeof *w);
    scripted_begin(&w->s, steps, n);
    if (!getenv("GCE_METADATA_HOST")) {
        setenv("RB_GCP_TOKEN_ENDPOINT", script_server_url(w->s.server), 1);
    } else {
        setenv("GCE_METADATA_HOST", script_server_url(w->s.server) + strlen("http://"), 1);
    }
    struct rb_err err;
    if (!rb_google_credentials_load(false, &w->credentials, &err))
        fail_msg("%s", err.message);
    w->tokens = rb_google_tokens_create(&w->s.loop.loop, w->s.http, &w->credentials);
}

static void finish(struct world *w)
{
    rb_google_tokens_destroy(w->tokens);
    rb_google_credentials_wipe(&w->credentials);
    scripted_end(&w->s);
}

static const char *get(struct world *w)
{
    w->reply = (struct reply){0};
    rb_google_token_get(w->tokens, on_token, &w->reply);
    assert_true(test_loop_run(&w->s.loop, &w->reply.done));
    return w->reply.token;
}

// A field of a form in the i-th request's body, percent-decoded.
static const char *field(struct world *w, int i, const char *name, struct rb_arena *a)
{
    const char *body = strstr(script_server_request(w->s.server, i), "\r\n\r\n") + 4;
    const char *at = strstr(body, rb_arena_printf(a, "%s=", name));
    assert_non_null(at);
    at += strlen(name) + 1;
    char *out = rb_arena_alloc(a, strlen(at) + 1), *o = out;
    for (; *at && *at != '&'; at++) {
        unsigned byte = (unsigned char)*at;
        if (*at == '%' && sscanf(at + 1, "%2x", &byte) == 1)
            at += 2;
        *o++ = (char)byte;
    }
    return out;
}

static void an_assertion_is_signed(void **state)
{
    (void)state;
    struct world w;
    struct rb_arena a = {0};
    struct rb_doc claims;
    const struct step steps[] = {TOKEN("t1", "3600")};
    char header[1024], text[1024];
    begin(&w, steps, 1);
    assert_string_equal(get(&w), "t1");
    assert_string_equal(field(&w, 0, "grant_type", &a), "urn:ietf:params:oauth:grant-type:jwt-bearer");
    assert_non_null(
        strstr(script_server_request(w.s.server, 0), "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    const char *jwt = field(&w, 0, "assertion", &a);
    assert_true(google_account_signed(jwt, header, text));
    assert_string_equal(header, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k1\"}");
    assert_true(rb_doc_parse_json(&claims, "claims", text, strlen(text), NULL));
    assert_string_equal(rb_node_member(claims.root, "iss")->text, GOOGLE_EMAIL);
    assert_string_equal(rb_node_member(claims.root, "aud")->text, "https://oauth2.googleapis.com/token");
    assert_string_equal(
        rb_node_member(claims.root, "scope")->text,
        "https://www.googleapis.com/auth/compute https://www.googleapis.com/auth/cloud-billing.readonly");
    const int64_t issued = rb_node_member(claims.root, "iat")->integer;
    assert_true(issued >= TEST_LOOP_START_UNIX_US / 1000000 && issued <= TEST_LOOP_START_UNIX_US / 1000000 + 5);
    assert_true(rb_node_member(claims.root, "exp")->integer == issued + 3600);
    // The signature is over these very bytes.
    char *forged = rb_arena_strdup(&a, jwt);
    forged[strlen(forged) / 2] ^= 1;
    assert_false(google_account_signed(forged, header, text));
    rb_doc_finish(&claims);
    rb_arena_finish(&a);
    finish(&w);
}

static void a_person_by_refresh_token(void **state)
{
    (void)state;
    struct world w;
    struct rb_arena a = {0};
    const struct step steps[] = {TOKEN("t1", "3600")};
    google_account_write(getenv("GOOGLE_APPLICATION_CREDENTIALS"),
                         "{\"type\": \"authorized_user\", \"client_id\": \"id\", \"client_secret\": \"s&cret\", "
                         "\"refresh_token\": \"1//rt\"}",
                         0600);
    begin(&w, steps, 1);
    assert_string_equal(get(&w), "t1");
    assert_string_equal(field(&w, 0, "grant_type", &a), "refresh_token");
    assert_string_equal(field(&w, 0, "client_id", &a), "id");
    assert_string_equal(field(&w, 0, "client_secret", &a), "s&cret");
    assert_string_equal(field(&w, 0, "refresh_token", &a), "1//rt");
    rb_arena_finish(&a);
    finish(&w);
}

static void a_machine_by_its_metadata_service(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {.status = 200,
         .headers = "Metadata-Flavor: Google\r\n",
         .body = "{\"access_token\": \"m1\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}"}};
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    setenv("GCE_METADATA_HOST", "set below", 1);
    begin(&w, steps, 1);
    assert_string_equal(get(&w), "m1");
    const char *request = script_server_request(w.s.server, 0);
    assert_ptr_equal(strstr(request, "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1\r\n"),
                     request);
    assert_non_null(strstr(request, "\r\nMetadata-Flavor: Google\r\n"));
    finish(&w);
}

static void a_machine_knows_its_project(void **state)
{
    (void)state;
    struct scripted s;
    struct rb_err err;
    char project[64] = "";
    const struct step steps[] = {
        {.status = 200, .headers = "Metadata-Flavor: Google\r\n", .body = "lab-1"},
        {.status = 200, .body = "of-a-stranger"},
        {.status = 404, .headers = "Metadata-Flavor: Google\r\n", .body = "no"},
        {.status = 200, .headers = "Metadata-Flavor: Google\r\n",
         .body = "an-id-of-more-than-sixty-three-characters-which-no-project-may-have-at-all"}};
    scripted_begin(&s, steps, 4);
    assert_true(rb_google_project_of_machine(script_server_url(s.server), project, &err));
    assert_string_equal(project, "lab-1");
    const char *request = script_server_request(s.server, 0);
    assert_ptr_equal(strstr(request, "GET /computeMetadata/v1/project/project-id HTTP/1.1\r\n"), request);
    assert_non_null(strstr(request, "\r\nMetadata-Flavor: Google\r\n"));
    for (int i = 1; i < 4; i++) {
        assert_false(rb_google_project_of_machine(script_server_url(s.server), project, &err));
        assert_says(&err, "RB3201 GOOGLE_CLOUD_PROJECT");
    }
    assert_string_equal(project, "lab-1");
    scripted_end(&s);
}

// Anybody may sit at that address.
static void who_does_not_say_that_he_is_the_metadata_service_is_not_believed(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN("m1", "3600"),
                                 {.status = 200, .headers = "Metadata-Flavor: Other\r\n", .body = "{}"},
                                 TOKEN("m1", "3600")};
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    setenv("GCE_METADATA_HOST", "set below", 1);
    begin(&w, steps, 3);
    get(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_IO);
    assert_says(&w.reply.err, "Metadata-Flavor: Google");
    finish(&w);
}

static void a_token_is_kept_until_shortly_before_its_end(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN("t1", "3600"), TOKEN("t2", "100"), TOKEN("t3", "3600")};
    begin(&w, steps, 3);
    assert_string_equal(get(&w), "t1");
    w.s.loop.skipped_us += INT64_C(3370000000); // of 3600 s, less 3 min 45 s
    assert_string_equal(get(&w), "t1");
    w.s.loop.skipped_us += INT64_C(6000000);
    assert_string_equal(get(&w), "t2");
    w.s.loop.skipped_us += INT64_C(45000000); // a short one for half its life
    assert_string_equal(get(&w), "t2");
    w.s.loop.skipped_us += INT64_C(6000000);
    assert_string_equal(get(&w), "t3");
    assert_int_equal(script_server_n_requests(w.s.server), 3);
    finish(&w);
}

static void many_wait_for_one_token(void **state)
{
    (void)state;
    struct world w;
    struct reply reply[3] = {0};
    const struct step steps[] = {TOKEN("t1", "3600")};
    begin(&w, steps, 1);
    for (int i = 0; i < 3; i++)
        rb_google_token_get(w.tokens, on_token, &reply[i]);
    assert_int_equal(reply[0].n_calls, 0);
    assert_true(test_loop_run(&w.s.loop, &reply[2].done));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(reply[i].n_calls, 1);
        assert_string_equal(reply[i].token, "t1");
    }
    finish(&w);
}

// An old token serves to its last minute while there is no other.
static void a_refresh_that_fails_keeps_the_old_one(void **state)
{
    (void)state;
    struct world w;
    const struct step down = {.status = 503, .body = "{\"error\": \"server_error\"}"};
    const struct step steps[] = {TOKEN("t1", "3600"), down, down, down, down, down, down};
    begin(&w, steps, 7);
    assert_string_equal(get(&w), "t1");
    w.s.loop.skipped_us += INT64_C(3500000000);
    assert_string_equal(get(&w), "t1");
    assert_int_equal(script_server_n_requests(w.s.server), 4);
    w.s.loop.skipped_us += INT64_C(100000000);
    get(&w);
    assert_int_equal(w.reply.err.code, RB_ERR_IO);
    assert_says(&w.reply.err, "server_error");
    finish(&w);
}

static void a_forgotten_token_is_fetched_again(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN("t1", "3600"), TOKEN("t2", "3600")};
    begin(&w, steps, 2);
    assert_string_equal(get(&w), "t1");
    rb_google_token_forget(w.tokens);
    assert_string_equal(get(&w), "t2");
    finish(&w);
}

static void refusals_and_answers_that_are_none(void **state)
{
    (void)state;
    const struct {
        struct step answer;
        int n_requests;
        enum rb_err_code code;
        const char *reason;
    } cases[] = {
        {{.status = 400, .body = "{\"error\": \"invalid_grant\", \"error_description\": \"Invalid JWT Signature.\"}"},
         1,
         RB_ERR_DENIED,
         "invalid_grant: Invalid JWT Signature."},
        {{.status = 401, .body = "{\"error\": \"invalid_client\"}"}, 1, RB_ERR_DENIED, "invalid_client"},
        {{.status = 403, .body = "<html>"}, 1, RB_ERR_DENIED, "status 403: no reason given"},
        {{.status = 400, .body = "{\"error\": \"temporarily_unavailable\"}"}, 3, RB_ERR_IO, "temporarily_unavailable"},
        {{.status = 500, .body = ""}, 3, RB_ERR_IO, "status 500"},
        {{.status = 429, .body = "{}"}, 3, RB_ERR_THROTTLED, "status 429"},
        {{.how = RESET}, 3, RB_ERR_IO, "access token"},
        {{.status = 200, .body = "{}"}, 3, RB_ERR_IO, "access token"},
        {{.status = 200, .body = "{\"access_token\": \"a\", \"token_type\": \"MAC\", \"expires_in\": 9}"},
         3,
         RB_ERR_IO,
         "bearer token"},
        {{.status = 200, .body = "{\"access_token\": \"a\\r\\nX: y\", \"token_type\": \"Bearer\", \"expires_in\": 9}"},
         3,
         RB_ERR_IO,
         "bearer token"},
        {{.status = 200, .body = "{\"access_token\": \"a\", \"token_type\": \"Bearer\", \"expires_in\": -9}"},
         3,
         RB_ERR_IO,
         "expires_in"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        const struct step steps[] = {cases[i].answer, cases[i].answer, cases[i].answer};
        begin(&w, steps, 3);
        get(&w);
        if (w.reply.err.code != cases[i].code)
            fail_msg("case %zu: %s: %s", i, rb_err_code_name(w.reply.err.code), w.reply.err.message);
        if (!strstr(w.reply.err.message, cases[i].reason) && !strstr(w.reply.err.key, cases[i].reason))
            fail_msg("case %zu: %s", i, w.reply.err.message);
        assert_int_equal(script_server_n_requests(w.s.server), cases[i].n_requests);
        finish(&w);
    }
}

static void keys_that_cannot_sign(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "not a key",
        // An encrypted one: no one is asked for its passphrase.
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIBvTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n",
        // P-256, RFC 5915 in PKCS#8.
        "-----BEGIN PRIVATE KEY-----\n"
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\n"
        "OF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n"
        "1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G\n"
        "-----END PRIVATE KEY-----\n"};
    for (size_t i = 0; i < N_OF(keys); i++) {
        const struct rb_google_jwt jwt = {.private_key = keys[i], .key_id = "", .email = "a@b", .scope = "s"};
        struct rb_buf out = RB_BUF_INIT;
        struct rb_err err;
        assert_false(rb_google_jwt_sign(&jwt, &out, &err));
        assert_int_equal(err.code, RB_ERR_DENIED);
        assert_says(&err, "expected an RSA key");
        assert_int_equal(out.len, 0);
        rb_buf_finish(&out);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, google_account_set_up, google_account_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_assertion_is_signed),
        TEST(a_person_by_refresh_token),
        TEST(a_machine_by_its_metadata_service),
        TEST(a_machine_knows_its_project),
        TEST(who_does_not_say_that_he_is_the_metadata_service_is_not_believed),
        TEST(a_token_is_kept_until_shortly_before_its_end),
        TEST(many_wait_for_one_token),
        TEST(a_refresh_that_fails_keeps_the_old_one),
        TEST(a_forgotten_token_is_fetched_again),
        TEST(refusals_and_answers_that_are_none),
        TEST(keys_that_cannot_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
