// What programs that we start may see, and how their end is reported.
#include "providers/wire/child.h"
#include "tests/base/check.h"

#include <stdlib.h>

static void credentials_are_recognised_by_name(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        "MLFLOW_TRACKING_TOKEN",
        "MLFLOW_TRACKING_PASSWORD",
        "SLURM_JWT",
        "RB_SLURM_JWT_FILE",
    };
    static const char *const no[] = {"PATH", "AWS_REGION", "AWS_PROFILE", "RB_TRIAL_ID", "SLURM_CONF", "WANDB_API_KEY", ""};
    for (size_t i = 0; i < N_OF(yes); i++)
        if (!rb_child_is_credential(yes[i]))
            fail_msg("%s: expected a credential", yes[i]);
    for (size_t i = 0; i < N_OF(no); i++)
        if (rb_child_is_credential(no[i]))
            fail_msg("%s: expected no credential", no[i]);
}

static bool holds(char *const *env, const char *entry)
{
    for (; *env; env++)
        if (strcmp(*env, entry) == 0)
            return true;
    return false;
}

static void a_command_sees_all_but_what_is_hidden(void **state)
{
    (void)state;
    static const char *const hidden[] = {"MY_TOKEN"};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    setenv("MY_TOKEN", "1", 1);
    setenv("MY_TOKEN_NOT", "1", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "1", 1);
    char **command = rb_child_command_env(hidden, 1, &arena), **tool = rb_child_tool_env(&arena);
    assert_true(holds(command, "MY_TOKEN_NOT=1"));
    assert_false(holds(command, "MY_TOKEN=1"));
    assert_false(holds(command, "AWS_SECRET_ACCESS_KEY=1"));
    assert_false(holds(tool, "MY_TOKEN_NOT=1"));
    assert_false(holds(tool, "AWS_SECRET_ACCESS_KEY=1"));
    assert_true(holds(tool, rb_arena_printf(&arena, "PATH=%s", getenv("PATH"))));
}

static bool run(const char *script, struct rb_buf *out, size_t max, struct rb_err *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return rb_child_run(argv, &(struct rb_child_options){.out = out, .max_output_bytes = max, .quiet = true}, err);
}

static void ends_are_reported(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_err err;
    assert_true(run("cat; echo \"${AWS_SECRET_ACCESS_KEY-none}\"", &out, 100, &err)); // nothing on stdin
    assert_string_equal(rb_buf_str(&out), "none\n");
    assert_true(run("echo no one listens", NULL, 0, &err));
    assert_false(run("exit 3", NULL, 0, &err));
    assert_says(&err, "RB3029 sh failed with exit code 3");
    assert_false(run("kill -9 $$", NULL, 0, &err));
    assert_says(&err, "sh was ended by signal 9");
    rb_buf_clear(&out);
    assert_false(run("head -c 1000000 /dev/zero", &out, 1000, &err));
    assert_says(&err, "more than 1000 bytes");
    const char *const missing[] = {"/nowhere/at-all", NULL};
    assert_false(rb_child_run(missing, &(struct rb_child_options){0}, &err));
    assert_says(&err, "cannot run /nowhere/at-all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials_are_recognised_by_name),
        cmocka_unit_test(a_command_sees_all_but_what_is_hidden),
        cmocka_unit_test(ends_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
