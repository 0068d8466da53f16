// Where credentials come from, in which order, and which sources are refused rather than skipped.
#include "home.h"
#include "providers/aws_config.h"
#include "providers/credentials.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int begin(void **state)
{
    (void)state;
    home_begin();
    return 0;
}

static int end(void **state)
{
    (void)state;
    home_end();
    return 0;
}

static void expect(const char *access, const char *secret, const char *token, const char *source)
{
    struct rb_aws_credentials c;
    struct rb_err err;
    if (!rb_aws_credentials_load(&c, &err))
        fail_msg("%s: %s: %s", err.file, err.key, err.message);
    assert_string_equal(c.access_key, access);
    assert_string_equal(c.secret_key, secret);
    assert_string_equal(c.session_token, token);
    assert_string_equal(c.source, source);
    rb_aws_credentials_wipe(&c);
    assert_int_equal(c.secret_key[0], 0);
}

static struct rb_err expect_denied(const char *reason)
{
    struct rb_aws_credentials c = {.access_key = "untouched"};
    struct rb_err err = {0};
    if (rb_aws_credentials_load(&c, &err))
        fail_msg("found %s in %s; expected: %s", c.access_key, c.source, reason);
    assert_string_equal(c.access_key, "untouched");
    assert_int_equal(err.code, RB_ERR_DENIED);
    assert_says(&err, reason);
    return err;
}

static void environment_comes_first(void **state)
{
    (void)state;
    home_write("credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=f\n", 0600);
    setenv("AWS_ACCESS_KEY_ID", "E", 1);
    expect_denied("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY");
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    expect("E", "e", "", "environment");
    setenv("AWS_SECURITY_TOKEN", "old", 1);
    expect("E", "e", "old", "environment");
    setenv("AWS_SESSION_TOKEN", "new", 1);
    expect("E", "e", "new", "environment");

    struct rb_aws_credentials c;
    setenv("AWS_CREDENTIAL_EXPIRATION", "2026-01-01T00:00:00Z", 1);
    assert_true(rb_aws_credentials_load(&c, NULL));
    assert_int_equal(c.expires_at_us, INT64_C(1767225600000000));
    setenv("AWS_CREDENTIAL_EXPIRATION", "tomorrow", 1);
    assert_false(rb_aws_credentials_load(&c, NULL));
    unsetenv("AWS_ACCESS_KEY_ID");
    expect_denied("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID");
}

static void environment_with_control_characters(void **state)
{
    (void)state;
    setenv("AWS_ACCESS_KEY_ID", "E\r\nHost: x", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    expect_denied("control character");
}

static void nothing_configured(void **state)
{
    (void)state;
    const struct rb_err err = expect_denied("no AWS credentials");
    assert_says(&err, "aws configure");
}

static void profiles(void **state)
{
    (void)state;
    home_write("credentials",
               "# mine\n[default]\naws_access_key_id = D\naws_secret_access_key = d=\n\n"
               "[work]\n aws_access_key_id = W\n aws_secret_access_key = w\n aws_session_token = t\n",
               0600);
    home_write("config", "[profile lab]\naws_access_key_id=L\naws_secret_access_key=l\nregion=us-east-1\n", 0600);
    expect("D", "d=", "", "profile");
    setenv("AWS_DEFAULT_PROFILE", "lab", 1);
    expect("L", "l", "", "profile");
    setenv("AWS_PROFILE", "work", 1);
    expect("W", "w", "t", "profile");
    setenv("AWS_PROFILE", "nobody", 1);
    expect_denied("profile 'nobody'");
}

static void files_can_be_elsewhere(void **state)
{
    (void)state;
    home_write("tool", "[default]\naws_access_key_id=T\naws_secret_access_key=t\n", 0600);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/tool", 1);
    expect("T", "t", "", "profile");
}

static void open_files_are_refused(void **state)
{
    (void)state;
    static const int modes[] = {0644, 0640, 0604, 0660, 0602};
    for (size_t i = 0; i < N_OF(modes); i++) {
        home_write("credentials", "[default]\naws_access_key_id=D\naws_secret_access_key=d\n", modes[i]);
        expect_denied("chmod 600");
    }
    home_write("credentials", "", 0644);
    home_write("config", "[default]\nregion = us-east-1\n", 0644); // no secret in it: nobody minds
    expect_denied("no AWS credentials");
}

static void other_peoples_files_are_refused(void **state)
{
    (void)state;
    home_write("credentials", "[default]\naws_access_key_id=D\naws_secret_access_key=d\n", 0600);
    if (chown(home_path("credentials"), 65534, (gid_t)-1) != 0)
        skip(); // only root can give a file away
    expect_denied("belongs to another user");
}

static void half_a_key_pair(void **state)
{
    (void)state;
    home_write("credentials", "[default]\naws_access_key_id=D\n", 0600);
    const struct rb_err err = expect_denied("side by side");
    assert_int_equal(err.line, 2);
    home_write("config", "[default]\naws_secret_access_key=x\n", 0600); // of another pair, perhaps
    expect_denied("side by side");
}

static void unsupported_sources_are_not_skipped(void **state)
{
    (void)state;
    static const char *const keys[] = {"role_arn", "sso_session", "sso_start_url", "web_identity_token_file"};
    for (size_t i = 0; i < N_OF(keys); i++) {
        char text[256];
        snprintf(text, sizeof text, "[default]\naws_access_key_id=D\naws_secret_access_key=d\n%s = x\n", keys[i]);
        home_write("config", text, 0600);
        const struct rb_err err = expect_denied("not supported yet");
        assert_string_equal(err.key, keys[i]);
        assert_int_equal(err.line, 4);
    }
    home_write("config", "", 0600);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/x", 1);
    expect_denied("AWS_CONTAINER_CREDENTIALS_FULL_URI: not supported yet");
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/x", 1);
    expect_denied("AWS_WEB_IDENTITY_TOKEN_FILE: not supported yet");
}

static void use_process(const char *script, const char *arguments)
{
    char config[512];
    home_write("tool", script, 0700);
    snprintf(config, sizeof config, "[default]\ncredential_process = \"%s\" %s\n", home_path("tool"), arguments);
    home_write("config", config, 0600);
}

static void credential_process(void **state)
{
    (void)state;
    use_process("#!/bin/sh\ncat <<E\n{\"Version\": 1, \"AccessKeyId\": \"$1\", \"SecretAccessKey\": \"$2\", "
                "\"SessionToken\": \"$#\", \"Expiration\": \"2026-01-01T00:00:00Z\", \"Extra\": 1}\nE\n",
                "'a b'c d");
    expect_denied("contains a blank"); // 'a b'c is one word: not a key, but quoted as a shell would
    use_process("#!/bin/sh\necho \"{\\\"Version\\\": 1, \\\"AccessKeyId\\\": \\\"$1\\\", "
                "\\\"SecretAccessKey\\\": \\\"$2\\\", \\\"SessionToken\\\": \\\"$#\\\"}\"\n",
                "key '$HOME`id`' ;");
    expect("key", "$HOME`id`", "3", "credential_process"); // nothing is expanded, ; is a word
}

static void credential_process_failures(void **state)
{
    (void)state;
    static const struct {
        const char *script, *reason;
    } cases[] = {
        {"#!/bin/sh\nexit 3\n", "failed; run it by hand"},
        {"#!/bin/sh\necho no json\n", ""},
        {"#!/bin/sh\necho '[]'\n", "\"Version\": 1"},
        {"#!/bin/sh\necho '{\"Version\": 1, \"AccessKeyId\": \"a\"}'\n", "SecretAccessKey is missing"},
        {"#!/bin/sh\nhead -c 100000 /dev/zero\n", "at most 64 KiB"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_aws_credentials c;
        struct rb_err err = {0};
        use_process(cases[i].script, "");
        assert_false(rb_aws_credentials_load(&c, &err));
        assert_says(&err, cases[i].reason);
    }
    home_write("config", "[default]\ncredential_process = /nonexistent/tool\n", 0600);
    expect_denied("cannot run '/nonexistent/tool'");
    home_write("config", "[default]\ncredential_process = /bin/true\n", 0666); // anybody could change the command
    expect_denied("chmod 600");
}

static void malformed_files_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
        int line;
    } cases[] = {
        {"key = value\n", "before the first key", 1},
        {"[default\n", "expected [section]", 1},
        {"[default]\n\nnonsense\n", "key = value", 3},
        {"[default]\na=1\na=2\n", "already set", 3},
        {"[]\n", "a name inside []", 1},
        {"[default]\na = 1\n  b = 2\n", "indented", 3},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_aws_config config;
        struct rb_err err = {0};
        home_write("config", cases[i].text, 0600);
        assert_false(rb_aws_config_load(&config, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_int_equal(err.line, cases[i].line);
        assert_string_equal(err.file, home_path("config"));
        assert_says(&err, cases[i].reason);
    }
}

static void nested_settings(void **state)
{
    (void)state;
    home_write("config",
               "[services local]\r\nec2 =\r\n  endpoint_url = http://localhost:1\r\n  other = 1\r\n"
               "s3 =\r\n  endpoint_url = x\r\n[default]\r\nservices = local\r\n",
               0600);
    struct rb_aws_config config;
    assert_true(rb_aws_config_load(&config, NULL));
    assert_string_equal(rb_aws_config_find(&config, "services", "local", "ec2", "endpoint_url")->value,
                        "http://localhost:1");
    assert_string_equal(rb_aws_config_find(&config, "services", "local", "s3", "endpoint_url")->value, "x");
    assert_null(rb_aws_config_find(&config, "services", "local", NULL, "endpoint_url"));
    assert_null(rb_aws_config_find(&config, "services", "local", "s3", "other"));
    rb_aws_config_finish(&config);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(environment_comes_first),
        TEST(environment_with_control_characters),
        TEST(nothing_configured),
        TEST(profiles),
        TEST(files_can_be_elsewhere),
        TEST(open_files_are_refused),
        TEST(other_peoples_files_are_refused),
        TEST(half_a_key_pair),
        TEST(unsupported_sources_are_not_skipped),
        TEST(credential_process),
        TEST(credential_process_failures),
        TEST(malformed_files_name_the_line),
        TEST(nested_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
