// Before the first launch on Compute Engine: which permissions are asked for, which may be missing, and is the image there?
#include "base/arena.h"
#include "base/file.h"
#include "google_account.h"
#include "providers/gcp/gcp.h"
#include "providers/gcp/gcp_verbs.h"
#include "scripted_cloud.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define TOKEN                                                                                                    \
    {                                                                                                            \
        .status = 200, .body = "{\"access_token\": \"t0k3n\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}" \
    }
#define ANSWER_WITH(text)           \
    {                               \
        .status = 200, .body = text \
    }
#define IMAGE ANSWER_WITH("{\"name\": \"rb-node\", \"status\": \"READY\"}")
#define ERROR(status_, reason)                                                                               \
    {                                                                                                        \
        .status = status_,                                                                                   \
        .body = "{\"error\": {\"code\": 1, \"message\": \"m\", \"errors\": [{\"reason\": \"" reason "\"}]}}" \
    }

static const struct rb_launch launch = {
    .token = "token",
    .region = "us-central1",
    .instance_type = "g2-standard-4",
    .image_id = "projects/p/global/images/family/rb-node",
};

static void ask(struct scripted_cloud *w, const struct rb_launch *what, const struct step *steps, int n)
{
    scripted_gcp_begin(w, steps, n);
    scripted_preflight(w, what);
}

// {"permissions": [...]}, all of the role but two.
static const char *all_but(const char *one, const char *another)
{
    static struct rb_buf text;
    rb_buf_clear(&text);
    for (const char *const *p = rb_gcp_permissions; *p; p++)
        if (strcmp(*p, one) != 0 && strcmp(*p, another) != 0)
            rb_buf_printf(&text, "%s\"%s\"", text.len ? ", " : "{\"permissions\": [", *p);
    rb_buf_puts(&text, "]}");
    return rb_buf_str(&text);
}

static void a_holder_of_the_role_may_begin(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, ANSWER_WITH(all_but("", "")), IMAGE};
    ask(&w, &launch, steps, 3);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(w.image, "projects/p/global/images/family/rb-node");
    scripted_expect_begin(&w.s, 1, "POST /v1/projects/" GOOGLE_PROJECT ":testIamPermissions HTTP");
    scripted_expect(&w.s, 1, "\r\nAuthorization: Bearer t0k3n\r\n");
    scripted_expect(&w.s, 1, "{\"permissions\":[\"compute.instances.create\",");
    scripted_expect(&w.s, 1, "\"compute.instances.delete\"");
    scripted_expect_begin(&w.s, 2, "GET /compute/v1/projects/p/global/images/family/rb-node?fields=");
    scripted_cloud_end(&w);
}

static void what_may_not_be_ended_is_not_launched(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, ANSWER_WITH(all_but("compute.instances.delete", "compute.disks.delete"))};
    ask(&w, &launch, steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_DENIED);
    assert_says(&w.s.err, "permissions missing in project " GOOGLE_PROJECT
                          ": compute.instances.delete, compute.disks.delete; docs/policies/gcp-role.yaml");
    scripted_cloud_end(&w);
}

static void no_one_at_all_is_answered_an_empty_object(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, ANSWER_WITH("{}")};
    ask(&w, &launch, steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_DENIED);
    assert_says(&w.s.err, "compute.instances.create, compute.instances.setLabels");
    scripted_cloud_end(&w);
}

static void what_a_run_can_do_without_may_be_missing(void **state)
{
    (void)state;
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, ANSWER_WITH(all_but("compute.regions.get", "compute.images.getFromFamily")),
                                 ERROR(403, "forbidden")};
    ask(&w, &launch, steps, 3);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_cloud_end(&w);
}

static void refusals(void **state)
{
    (void)state;
    const struct {
        struct step permissions, image;
        enum rb_err_code code;
        const char *words;
    } cases[] = {
        {ANSWER_WITH(all_but("", "")), ERROR(404, "notFound"), RB_ERR_NOT_FOUND,
         "image projects/p/global/images/family/rb-node: images.get: "},
        {ERROR(403, "accessNotConfigured"), IMAGE, RB_ERR_DENIED, "gcloud services enable cloudresourcemanager"},
        {ERROR(400, "badRequest"), IMAGE, RB_ERR_INVALID, "projects.testIamPermissions"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct scripted_cloud w;
        const struct step steps[] = {TOKEN, cases[i].permissions, cases[i].image};
        ask(&w, &launch, steps, 3);
        assert_int_equal(w.s.err.code, cases[i].code);
        assert_says(&w.s.err, cases[i].words);
        scripted_cloud_end(&w);
    }
}

static void what_is_wrong_is_refused_before_it_costs_a_request(void **state)
{
    (void)state;
    struct scripted_cloud w;
    struct rb_launch bad = launch;
    bad.image_id = "../../etc/passwd";
    ask(&w, &bad, NULL, 0);
    assert_int_equal(w.s.err.code, RB_ERR_INVALID);
    assert_says(&w.s.err, "resources.image_id");
    assert_int_equal(script_server_n_requests(w.s.server), 0);
    scripted_cloud_end(&w);
}

// The lines "  - name" behind includedPermissions, against the list that is asked for.
static void the_role_file_is_what_is_asked_for(void **state)
{
    (void)state;
    char *text;
    size_t n;
    int i = 0;
    assert_non_null(getenv("GCP_ROLE"));
    assert_true(rb_read_file(getenv("GCP_ROLE"), 1 << 16, &text, &n, NULL));
    for (char *line = strtok(strstr(text, "includedPermissions:"), "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "  - ", 4) != 0)
            continue;
        assert_non_null(rb_gcp_permissions[i]);
        assert_string_equal(line + 4, rb_gcp_permissions[i++]);
    }
    assert_true(i > 10);
    assert_null(rb_gcp_permissions[i]);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_of_the_role_may_begin),
        cmocka_unit_test(what_may_not_be_ended_is_not_launched),
        cmocka_unit_test(no_one_at_all_is_answered_an_empty_object),
        cmocka_unit_test(what_a_run_can_do_without_may_be_missing),
        cmocka_unit_test(refusals),
        cmocka_unit_test(what_is_wrong_is_refused_before_it_costs_a_request),
        cmocka_unit_test(the_role_file_is_what_is_asked_for),
    };
    return cmocka_run_group_tests(tests, google_account_set_up, google_account_tear_down);
}
