// Where credentials come from, in which order, and which sources are refused rather than skipped.
#include "home.h"
#include "providers/aws/aws_config.h"
#include "providers/aws/aws_identity.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t now_us = INT64_C(1767225600000000); // 2026-01-01

static bool find(struct rb_aws_identity *out, struct rb_err *err)
{
    return rb_aws_identity_find(now_us, out, err);
}

static void expect(const char *access, const char *secret, const char *token, const char *source)
{
    struct rb_aws_identity i;
    struct rb_err err;
    if (!find(&i, &err))
        fail_msg("%s: %s: %s", err.file, err.key, err.message);
    assert_int_equal(i.origin, RB_AWS_KEYS);
    assert_int_equal(i.n_roles, 0);
    assert_string_equal(i.keys.access_key, access);
    assert_string_equal(i.keys.secret_key, secret);
    assert_string_equal(i.keys.session_token, token);
    assert_string_equal(i.source, source);
    rb_aws_identity_wipe(&i);
    assert_int_equal(i.keys.secret_key[0], 0);
}

static struct rb_err expect_denied(const char *reason)
{
    struct rb_aws_identity i = {.account = "untouched"};
    struct rb_err err = {0};
    if (find(&i, &err))
        fail_msg("found %s in %s; expected: %s", i.keys.access_key, i.source, reason);
    assert_string_equal(i.account, "untouched");
    assert_int_equal(err.code, RB_ERR_DENIED);
    assert_says(&err, reason);
    return err;
}

static void environment_comes_first(void **state)
{
    (void)state;
    home_write("credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=f\n", 0600);
    setenv("AWS_ACCESS_KEY_ID", "E", 1);
    expect_denied("RB3002 AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY");
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    expect("E", "e", "", "environment");
    setenv("AWS_SECURITY_TOKEN", "old", 1);
    expect("E", "e", "old", "environment");
    setenv("AWS_SESSION_TOKEN", "new", 1);
    expect("E", "e", "new", "environment");

    struct rb_aws_identity i;
    setenv("AWS_CREDENTIAL_EXPIRATION", "2026-01-01T00:00:00Z", 1);
    assert_true(find(&i, NULL));
    assert_int_equal(i.keys.expires_at_us, INT64_C(1767225600000000));
    assert_int_equal(i.ends_at_us, INT64_C(1767225600000000));
    setenv("AWS_CREDENTIAL_EXPIRATION", "tomorrow", 1);
    assert_false(find(&i, NULL));
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
    setenv("AWS_PROFILE", "stranger", 1);
    expect_denied("profile 'stranger'");
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
        expect_denied("RB3004 chmod 600");
    }
    home_write("credentials", "", 0644);
    home_write("config", "[default]\nregion = us-east-1\n", 0644); // no secret in it: no one minds
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
    home_write("credentials", "", 0600);
    home_write("config", "[default]\naws_secret_access_key=x\n", 0600);
    expect_denied("side by side");
}

// --- sources that are asked over the network ---

static const char keys[] = "aws_access_key_id=D\naws_secret_access_key=d\n";

static void write_config(const char *text)
{
    home_write("config", text, 0600);
}

static struct rb_aws_identity found(void)
{
    struct rb_aws_identity i;
    struct rb_err err;
    if (!find(&i, &err))
        fail_msg("%s: %s: %s", err.file, err.key, err.message);
    return i;
}

static void roles_with_a_source_profile(void **state)
{
    (void)state;
    write_config("[default]\nrole_arn = arn:aws:iam::1:role/inner\nsource_profile = middle\nexternal_id = x\n"
                 "duration_seconds = 3600\nrole_session_name = me\n"
                 "[profile middle]\nrole_arn = arn:aws:iam::1:role/outer\nsource_profile = base\n"
                 "[profile base]\naws_access_key_id=B\naws_secret_access_key=b\n");
    const struct rb_aws_identity i = found();
    assert_int_equal(i.origin, RB_AWS_KEYS);
    assert_string_equal(i.keys.access_key, "B");
    assert_int_equal(i.n_roles, 2); // in the order in which they are assumed
    assert_string_equal(i.roles[0].arn, "arn:aws:iam::1:role/outer");
    assert_string_equal(i.roles[0].session_name, "rubberband");
    assert_int_equal(i.roles[0].duration_s, 0);
    assert_string_equal(i.roles[1].arn, "arn:aws:iam::1:role/inner");
    assert_string_equal(i.roles[1].external_id, "x");
    assert_string_equal(i.roles[1].session_name, "me");
    assert_int_equal(i.roles[1].duration_s, 3600);
}

static void a_profile_may_be_its_own_source(void **state)
{
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "[default]\n%srole_arn = r\nsource_profile = default\n", keys);
    write_config(text);
    assert_int_equal(found().n_roles, 1);
}

static void roles_with_a_credential_source(void **state)
{
    (void)state;
    write_config("[default]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    assert_int_equal(found().origin, RB_AWS_INSTANCE);
    assert_string_equal(found().url, "http://169.254.169.254");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6", 1);
    assert_string_equal(found().url, "http://[fd00:ec2::254]");
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    expect_denied("Ec2InstanceMetadata has no credentials");
    write_config("[default]\nrole_arn = r\ncredential_source = EcsContainer\n");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x", 1);
    assert_string_equal(found().url, "http://169.254.170.2/v2/x");
    assert_int_equal(found().n_roles, 1);
}

static void roles_that_cannot_be_assumed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key, *reason;
    } cases[] = {
        {"role_arn = r\n", "role_arn", "needs source_profile or credential_source"},
        {"role_arn = r\nsource_profile = a\ncredential_source = Environment\n", "role_arn", "one of the two"},
        {"role_arn = r\nsource_profile = stranger\n", "source_profile", "no profile 'stranger'"},
        {"role_arn = r\nsource_profile = default\n", "source_profile", "its own source"},
        {"role_arn = r\nsource_profile = loop\n[profile loop]\nrole_arn = s\nsource_profile = default\n",
         "source_profile", "its own source"},
        {"role_arn = r\nsource_profile = empty\n[profile empty]\nregion = x\n", "source_profile", "has no credentials"},
        {"role_arn = r\ncredential_source = Moon\n", "credential_source", "expected Environment"},
        {"role_arn = r\ncredential_source = Environment\n", "credential_source", "has no credentials"},
        {"role_arn = r\nsource_profile = default\nmfa_serial = m\n", "mfa_serial", "the code cannot be typed in here"},
        {"role_arn = r\nsource_profile = k\nduration_seconds = 60\n[profile k]\naws_access_key_id=K\n"
         "aws_secret_access_key=k\n",
         "duration_seconds", "expected 900..43200"},
        {"sso_account_id = 1\n", "sso_account_id", "aws configure sso"},
        {"sso_session = s\nsso_account_id = 1\nsso_role_name = r\n", "sso_session",
         "needs sso_region in [sso-session s]"},
        {"login_session = x\n", "login_session", "not supported yet"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[512];
        snprintf(text, sizeof text, "[default]\n%s", cases[i].text);
        write_config(text);
        const struct rb_err err = expect_denied(cases[i].reason);
        assert_string_equal(err.key, cases[i].key);
        assert_true(err.line > 1);
    }
}

static void web_identity(void **state)
{
    (void)state;
    char text[512];
    home_write("token", "jwt\n", 0644); // mounted by the cluster: not ours to judge
    snprintf(text, sizeof text, "[default]\nrole_arn = r\nweb_identity_token_file = %s\n%s", home_path("token"), keys);
    write_config(text); // goes before keys of the same profile
    struct rb_aws_identity i = found();
    assert_int_equal(i.origin, RB_AWS_WEB_IDENTITY);
    assert_string_equal(i.token, "jwt");
    assert_string_equal(i.web_role.arn, "r");
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", home_path("token"), 1);
    expect_denied("without AWS_ROLE_ARN");
    setenv("AWS_ROLE_ARN", "of the environment", 1);
    setenv("AWS_ROLE_SESSION_NAME", "pod", 1);
    i = found();
    assert_string_equal(i.web_role.arn, "of the environment");
    assert_string_equal(i.web_role.session_name, "pod");
    home_write("token", "", 0600);
    expect_denied("expected a token in one line");
}

// SHA-1 of "corp".
#define SSO_CACHE "sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json"

static void single_sign_on(void **state)
{
    (void)state;
    write_config("[default]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = admin\n"
                 "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.awsapps.com/start\n");
    expect_denied("RB3001 run: aws sso login");
    home_write(SSO_CACHE, "{\"accessToken\": \"bearer\", \"expiresAt\": \"2026-01-01T00:00:01Z\"}", 0600);
    const struct rb_aws_identity i = found();
    assert_int_equal(i.origin, RB_AWS_SSO);
    assert_string_equal(i.token, "bearer");
    assert_string_equal(i.account, "123456789012");
    assert_string_equal(i.sso_role, "admin");
    assert_string_equal(i.sso_region, "eu-west-1");
    assert_int_equal(i.ends_at_us, INT64_C(1767225601000000));
    home_write(SSO_CACHE, "{\"accessToken\": \"bearer\", \"expiresAt\": \"2026-01-01T00:00:00Z\"}", 0600);
    const struct rb_err err = expect_denied("expired");
    assert_says(&err, "RB3003 run: aws sso login");
    home_write(SSO_CACHE, "{\"accessToken\": \"bearer\", \"expiresAt\": \"2026-01-01T00:00:01Z\"}", 0644);
    expect_denied("chmod 600");
}

static void containers(void **state)
{
    (void)state;
    static const struct {
        const char *url, *reason; // reason NULL: allowed
    } cases[] = {
        {"http://localhost:80/x", NULL},
        {"http://127.0.0.2/x", NULL},
        {"http://169.254.170.2/x", NULL},
        {"http://169.254.170.23/x", NULL},
        {"http://[fd00:ec2::23]/x", NULL},
        {"https://agent.example.com/x", NULL},
        {"http://agent.example.com/x", "RB3022 refused"},
        {"http://169.254.170.3/x", "refused"},
        {"http://169.254.170.2.example.com/x", "refused"},
        {"file:///etc/passwd", "refused"},
        {"http://user@169.254.170.2/x", ""},
    };
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "t", 1);
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_aws_identity identity;
        struct rb_err err = {0};
        setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", cases[i].url, 1);
        if (find(&identity, &err) != !cases[i].reason)
            fail_msg("%s: %s", cases[i].url, err.message);
        if (cases[i].reason)
            assert_says(&err, cases[i].reason);
        else
            assert_string_equal(identity.token, "t");
    }
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "t\r\nHost: x", 1);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/x", 1);
    expect_denied("in one line");
    home_write("token", "of the file\n", 0600);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", home_path("token"), 1);
    assert_string_equal(found().token, "of the file");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "x", 1);
    expect_denied("begins with /");
}

static void the_metadata_service_comes_last_and_can_be_elsewhere(void **state)
{
    (void)state;
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9/", 1);
    assert_int_equal(found().origin, RB_AWS_INSTANCE);
    assert_string_equal(found().url, "http://127.0.0.1:9");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://example.com/", 1);
    struct rb_aws_identity i;
    struct rb_err err;
    assert_false(find(&i, &err));
    assert_says(&err, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    expect_denied("no AWS credentials");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x", 1);
    assert_int_equal(found().origin, RB_AWS_CONTAINER);
    write_config("[default]\naws_access_key_id=D\naws_secret_access_key=d\n");
    assert_int_equal(found().origin, RB_AWS_KEYS);
}

// Of one profile: credentials file, credential_process, config file.
static void order_within_a_profile(void **state)
{
    (void)state;
    write_config("[default]\naws_access_key_id=C\naws_secret_access_key=c\ncredential_process = /nonexistent\n");
    expect_denied("RB3005 cannot run");
    home_write("credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=f\n", 0600);
    expect("F", "f", "", "profile");
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
        struct rb_aws_identity found;
        struct rb_err err = {0};
        use_process(cases[i].script, "");
        assert_false(find(&found, &err));
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
        {"[default\n", "RB3007 expected [section]", 1},
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, home_set_up, home_tear_down)

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
        TEST(roles_with_a_source_profile),
        TEST(a_profile_may_be_its_own_source),
        TEST(roles_with_a_credential_source),
        TEST(roles_that_cannot_be_assumed),
        TEST(web_identity),
        TEST(single_sign_on),
        TEST(containers),
        TEST(the_metadata_service_comes_last_and_can_be_elsewhere),
        TEST(order_within_a_profile),
        TEST(credential_process),
        TEST(credential_process_failures),
        TEST(malformed_files_name_the_line),
        TEST(nested_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
