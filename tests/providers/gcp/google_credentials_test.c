// Where Google's credentials come from, in which order, and what is refused.
#include "google_account.h"
#include "providers/gcp/google_credentials.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define USER                                                                                                        \
    "{\"type\": \"authorized_user\", \"client_id\": \"id\", \"client_secret\": \"cs\", \"refresh_token\": \"rt\", " \
    "\"quota_project_id\": \"payer\"}"
#define ACCOUNT(rest) "{\"type\": \"service_account\", \"private_key\": {KEY}, \"client_email\": \"a@b\"" rest "}"

static void expect_error(bool loopback, enum rb_err_code code, const char *reason)
{
    struct rb_google_credentials c = {0};
    struct rb_err err = {0};
    assert_false(rb_google_credentials_load(loopback, &c, &err));
    assert_int_equal(err.code, code);
    assert_says(&err, reason);
    assert_null(c.private_key); // untouched
}

static struct rb_google_credentials loaded(bool loopback)
{
    struct rb_google_credentials c;
    struct rb_err err = {0};
    if (!rb_google_credentials_load(loopback, &c, &err))
        fail_msg("%s: %s: %s", err.file, err.key, err.message);
    return c;
}

static void a_named_service_account(void **state)
{
    (void)state;
    struct rb_google_credentials c = loaded(false);
    assert_int_equal(c.identity, RB_GOOGLE_SERVICE_ACCOUNT);
    assert_string_equal(c.project, GOOGLE_PROJECT);
    assert_string_equal(c.email, GOOGLE_EMAIL);
    assert_string_equal(c.key_id, "k1");
    assert_string_equal(c.token_endpoint, "https://oauth2.googleapis.com/token");
    assert_ptr_equal(strstr(c.private_key, "-----BEGIN PRIVATE KEY-----\n"), c.private_key);
    rb_google_credentials_wipe(&c);
    assert_null(c.private_key);
    assert_string_equal(c.email, "");
}

static void a_person_whom_gcloud_knows(void **state)
{
    (void)state;
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    mkdir(google_account_path(".config"), 0700);
    mkdir(google_account_path(".config/gcloud"), 0700);
    google_account_write(google_account_path(".config/gcloud/application_default_credentials.json"), USER, 0600);
    struct rb_google_credentials c = loaded(false);
    assert_int_equal(c.identity, RB_GOOGLE_AUTHORIZED_USER);
    assert_string_equal(c.refresh_token, "rt");
    assert_string_equal(c.client_secret, "cs");
    assert_string_equal(c.quota_project, "payer");
    assert_string_equal(c.project, "");
    rb_google_credentials_wipe(&c);
}

static void the_directory_of_gcloud_may_be_elsewhere(void **state)
{
    (void)state;
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    mkdir(google_account_path("sdk"), 0700);
    setenv("CLOUDSDK_CONFIG", google_account_path("sdk"), 1);
    google_account_write(google_account_path("sdk/application_default_credentials.json"), USER, 0600);
    struct rb_google_credentials c = loaded(false);
    assert_string_equal(c.client_id, "id");
    rb_google_credentials_wipe(&c);
}

static void the_named_file_comes_before_gclouds(void **state)
{
    (void)state;
    mkdir(google_account_path("sdk"), 0700);
    setenv("CLOUDSDK_CONFIG", google_account_path("sdk"), 1);
    google_account_write(google_account_path("sdk/application_default_credentials.json"), USER, 0600);
    struct rb_google_credentials c = loaded(false);
    assert_int_equal(c.identity, RB_GOOGLE_SERVICE_ACCOUNT);
    rb_google_credentials_wipe(&c);
}

static void the_machines_own_come_last(void **state)
{
    (void)state;
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    setenv("GCE_METADATA_HOST", "127.0.0.1:8080", 1);
    struct rb_google_credentials c = loaded(false);
    assert_int_equal(c.identity, RB_GOOGLE_METADATA);
    assert_string_equal(c.token_endpoint, "http://127.0.0.1:8080");
    rb_google_credentials_wipe(&c);
    setenv("GCE_METADATA_HOST", "metadata.google.internal", 1);
    c = loaded(false);
    assert_string_equal(c.token_endpoint, "http://metadata.google.internal");
    rb_google_credentials_wipe(&c);
    setenv("GCE_METADATA_HOST", "evil.example.com", 1);
    expect_error(false, RB_ERR_INVALID, "GCE_METADATA_HOST: ");
}

static void none_at_all(void **state)
{
    (void)state;
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    expect_error(false, RB_ERR_DENIED, "gcloud auth application-default login");
    setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json", 1);
    expect_error(false, RB_ERR_DENIED, "it does not exist");
}

static void files_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int mode;
        enum rb_err_code code;
        const char *reason;
    } cases[] = {
        {ACCOUNT(""), 0640, RB_ERR_DENIED, "chmod 600"},
        {ACCOUNT(""), 0602, RB_ERR_DENIED, "chmod 600"},
        {"{\"type\": \"external_account\"}", 0600, RB_ERR_DENIED, "credentials of type \"external_account\" are not used"},
        {"{\"type\": \"impersonated_service_account\"}", 0600, RB_ERR_DENIED, "are not used here"},
        {"{\"type\": 5}", 0600, RB_ERR_DENIED, "expected a text"},
        {"{\"type\": \"service_account\", \"client_email\": \"a@b\"}", 0600, RB_ERR_DENIED, "expected a text"},
        {"{\"type\": \"service_account\", \"private_key\": {KEY}}", 0600, RB_ERR_DENIED, "expected a text"},
        {"{\"type\": \"authorized_user\", \"client_id\": \"i\", \"client_secret\": \"s\"}", 0600, RB_ERR_DENIED,
         "expected a text"},
        {"[]", 0600, RB_ERR_DENIED, "expected a text"},
        {"{\"type\": \"service_account\"", 0600, RB_ERR_INVALID, "not valid JSON"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        google_account_write(getenv("GOOGLE_APPLICATION_CREDENTIALS"), cases[i].text, cases[i].mode);
        expect_error(false, cases[i].code, cases[i].reason);
    }
}

static void tokens_are_asked_for_at_googles_or_where_we_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *token_uri, *override;
        bool loopback;
        const char *endpoint, *reason; // one of the two
    } cases[] = {
        {"", NULL, false, "https://oauth2.googleapis.com/token", NULL},
        {", \"token_uri\": \"https://oauth2.googleapis.com/token\"", NULL, false, "https://oauth2.googleapis.com/token",
         NULL},
        {", \"token_uri\": \"https://evil.example.com/token\"", NULL, false, NULL, "token_uri: expected"},
        {", \"token_uri\": \"https://evil.example.com/token\"", NULL, true, NULL, "token_uri: expected"},
        {", \"token_uri\": \"http://127.0.0.1:9/token\"", NULL, false, NULL, "token_uri: expected"},
        {", \"token_uri\": \"http://127.0.0.1:9/token\"", NULL, true, "http://127.0.0.1:9/token", NULL},
        {", \"token_uri\": \"https://evil.example.com/token\"", "http://[::1]:9/t", false, "http://[::1]:9/t", NULL},
        {"", "https://sts.example.com/t", false, "https://sts.example.com/t", NULL},
        {"", "http://sts.example.com/t", false, NULL, "RB_GCP_TOKEN_ENDPOINT"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[256];
        snprintf(text, sizeof text, ACCOUNT("%s"), cases[i].token_uri);
        google_account_write(getenv("GOOGLE_APPLICATION_CREDENTIALS"), text, 0600);
        unsetenv("RB_GCP_TOKEN_ENDPOINT");
        if (cases[i].override)
            setenv("RB_GCP_TOKEN_ENDPOINT", cases[i].override, 1);
        if (cases[i].endpoint) {
            struct rb_google_credentials c = loaded(cases[i].loopback);
            assert_string_equal(c.token_endpoint, cases[i].endpoint);
            rb_google_credentials_wipe(&c);
        } else {
            expect_error(cases[i].loopback, cases[i].override ? RB_ERR_INVALID : RB_ERR_DENIED, cases[i].reason);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, google_account_set_up, google_account_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_named_service_account),
        TEST(a_person_whom_gcloud_knows),
        TEST(the_directory_of_gcloud_may_be_elsewhere),
        TEST(the_named_file_comes_before_gclouds),
        TEST(the_machines_own_come_last),
        TEST(none_at_all),
        TEST(files_that_are_refused),
        TEST(tokens_are_asked_for_at_googles_or_where_we_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
