// Leases as clouds keep them: what is sent to write one, what is done about ids that are gone, about labels that others change
// meanwhile and about rights that are missing; and what a cloud's clock shows.
#include "base/text/buf.h"
#include "base/text/units.h"
#include "google_account.h"
#include "providers/ec2/ec2.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/gcp/gcp.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/provider.h"
#include "providers/wire/http.h"
#include "scripted.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATE "Date: Thu, 01 Jan 2026 05:00:00 GMT\r\n"
#define TAGGED                                                                                                   \
    {                                                                                                            \
        .status = 200, .headers = DATE, .body = "<CreateTagsResponse><return>true</return></CreateTagsResponse>" \
    }
#define EC2_ERROR(status_, code)                                                                                 \
    {                                                                                                            \
        .status = status_,                                                                                       \
        .body = "<Response><Errors><Error><Code>" code "</Code><Message>m</Message></Error></Errors></Response>" \
    }
#define TOKEN                                                                                                    \
    {                                                                                                            \
        .status = 200, .body = "{\"access_token\": \"t0k3n\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}" \
    }
#define LABELS(fingerprint)                                                                               \
    {                                                                                                     \
        .status = 200, .headers = DATE,                                                                   \
        .body = "{\"kind\": \"compute#instance\", \"labelFingerprint\": \"" fingerprint                   \
                "\", \"labels\": {\"team\": \"vision\", \"rb-run\": \"r1\", \"rb-expires-at\": \"old\", " \
                "\"rb-expires-at_2\": \"er\"}}"                                                           \
    }
#define SET                                                                                                            \
    {                                                                                                                  \
        .status = 200, .body = "{\"kind\": \"compute#operation\", \"name\": \"operation-1\", \"status\": \"RUNNING\"}" \
    }
#define GCP_ERROR(status_, reason)                                                                           \
    {                                                                                                        \
        .status = status_,                                                                                   \
        .body = "{\"error\": {\"code\": 1, \"message\": \"m\", \"errors\": [{\"reason\": \"" reason "\"}]}}" \
    }
#define INSTANCES "/compute/v1/projects/" GOOGLE_PROJECT "/zones/us-central1-a/instances"

static const struct rb_tag lease = {RB_LEASE_TAG, "2026-01-01T05:30:00Z"};

struct world {
    struct scripted s;
    struct rb_provider provider;
};

static void renewed(void *arg, const struct rb_err *err)
{
    scripted_tell(arg, err);
}

static void renew(struct world *w, const struct rb_provider_ops *ops, const char *region, const struct step *steps,
                  int n_steps, const char *const *ids, int n)
{
    char token[128];
    struct rb_err err;
    memset(w, 0, sizeof *w);
    scripted_begin(&w->s, steps, n_steps);
    const char *url = script_server_url(w->s.server);
    snprintf(token, sizeof token, "%s/token", url);
    setenv("AWS_ENDPOINT_URL", url, 1);
    setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("RB_GCP_TOKEN_ENDPOINT", token, 1);
    setenv("RB_GCP_COMPUTE_ENDPOINT", url, 1);
    const struct rb_provider_config config = {.loop = &w->s.loop.loop, .http = w->s.http, .region = region};
    if (!ops->create(&config, &w->provider, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ops->clock_us(&w->provider), -1); // it has not said yet
    ops->renew(&w->provider, ids, n, &lease, renewed, &w->s);
    scripted_wait(&w->s);
}

static void finish(struct world *w, int n_requests)
{
    assert_int_equal(script_server_n_requests(w->s.server), n_requests);
    w->provider.ops->destroy(&w->provider);
    scripted_end(&w->s);
}

static void ec2_writes_many_at_once_and_shows_its_clock(void **state)
{
    (void)state;
    struct world w;
    int64_t date_us;
    const struct step steps[] = {TAGGED};
    renew(&w, &rb_provider_mock, "us-east-1", steps, 1, (const char *const[]){"i-1", "i-2"}, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_expect(&w.s, 0,
                    "Action=CreateTags&Version=2016-11-15&ResourceId.1=i-1&ResourceId.2=i-2&Tag.1.Key=rb%3Aexpires-at"
                    "&Tag.1.Value=2026-01-01T05%3A30%3A00Z");
    assert_true(rb_parse_instant("2026-01-01T05:00:00Z", &date_us, NULL));
    const int64_t clock_us = w.provider.ops->clock_us(&w.provider);
    assert_true(clock_us >= date_us && clock_us < date_us + 60 * RB_US_PER_S);
    finish(&w, 1);
}

// The one that is gone takes its half with it, until it stands alone: 3 ids are asked for as 1 and 2, 2 as 1 and 1.
static void ec2_does_without_those_that_are_gone(void **state)
{
    (void)state;
    struct world w;
    const struct step gone[] = {EC2_ERROR(400, "InvalidInstanceID.NotFound"), EC2_ERROR(400, "InvalidID"),
                                EC2_ERROR(400, "InvalidID"), EC2_ERROR(400, "InvalidID"), EC2_ERROR(400, "InvalidID")};
    renew(&w, &rb_provider_mock, "us-east-1", gone, 5, (const char *const[]){"i-1", "i-2", "i-3"}, 3);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    finish(&w, 5);
    const struct step one[] = {EC2_ERROR(400, "InvalidID"), TAGGED, TAGGED};
    renew(&w, &rb_provider_mock, "us-east-1", one, 3, (const char *const[]){"i-1", "i-2"}, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    finish(&w, 3);
}

static void a_missing_right_is_named(void **state)
{
    (void)state;
    struct world w;
    const struct step ec2[] = {EC2_ERROR(403, "UnauthorizedOperation")};
    renew(&w, &rb_provider_mock, "us-east-1", ec2, 1, (const char *const[]){"i-1"}, 1);
    assert_int_equal(w.s.err.code, RB_ERR_DENIED);
    assert_says(&w.s.err, "allow ec2:CreateTags");
    finish(&w, 1);
    const struct step gcp[] = {TOKEN, LABELS("f1"), GCP_ERROR(403, "forbidden")};
    renew(&w, &rb_provider_gcp, "us-central1", gcp, 3, (const char *const[]){"rb-x.us-central1-a"}, 1);
    assert_int_equal(w.s.err.code, RB_ERR_DENIED);
    assert_says(&w.s.err, "allow compute.instances.setLabels");
    finish(&w, 3);
}

static void gcp_keeps_the_labels_of_others(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, LABELS("f1"), SET};
    renew(&w, &rb_provider_gcp, "us-central1", steps, 3, (const char *const[]){"rb-x.us-central1-a"}, 1);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_expect_begin(&w.s, 1, "GET " INSTANCES "/rb-x?fields=kind%2Clabels%2ClabelFingerprint ");
    scripted_expect_begin(&w.s, 2, "POST " INSTANCES "/rb-x/setLabels ");
    scripted_expect(&w.s, 2,
                    "{\"labels\":{\"team\":\"vision\",\"rb-run\":\"r1\",\"rb-expires-at\":"
                    "\"2026-01-01_5405_3a30_3a00_5a\"},\"labelFingerprint\":\"f1\"}");
    assert_true(w.provider.ops->clock_us(&w.provider) > 0);
    finish(&w, 3);
}

static void gcp_reads_again_what_others_changed(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, LABELS("f1"), GCP_ERROR(412, "conditionNotMet"), LABELS("f2"), SET};
    renew(&w, &rb_provider_gcp, "us-central1", steps, 5, (const char *const[]){"rb-x.us-central1-a"}, 1);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_expect(&w.s, 2, "\"labelFingerprint\":\"f1\"");
    scripted_expect(&w.s, 4, "\"labelFingerprint\":\"f2\"");
    finish(&w, 5);
}

static void gcp_does_without_those_that_are_gone(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {TOKEN, GCP_ERROR(404, "notFound")};
    renew(&w, &rb_provider_gcp, "us-central1", steps, 2, (const char *const[]){"rb-x.us-central1-a"}, 1);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    finish(&w, 2);
}

static void labels_of_a_tag_are_all_its_parts(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    struct rb_tag now[] = {{"rb-expires-at_3", "x"}, {"rb-expires-atlas", "y"}};
    const struct rb_gcp_labelled labels = {.labels = now, .n = 2, .fingerprint = "f"};
    assert_true(rb_gcp_encode_labels(&labels, &lease, &body, NULL));
    assert_string_equal(rb_buf_str(&body), "{\"labels\":{\"rb-expires-atlas\":\"y\",\"rb-expires-at\":"
                                           "\"2026-01-01_5405_3a30_3a00_5a\"},\"labelFingerprint\":\"f\"}");
    struct rb_err err;
    assert_false(rb_gcp_encode_labels(&labels, &(struct rb_tag){"color", "red"}, &body, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ec2_writes_many_at_once_and_shows_its_clock),
        cmocka_unit_test(ec2_does_without_those_that_are_gone),
        cmocka_unit_test(a_missing_right_is_named),
        cmocka_unit_test(gcp_keeps_the_labels_of_others),
        cmocka_unit_test(gcp_reads_again_what_others_changed),
        cmocka_unit_test(gcp_does_without_those_that_are_gone),
        cmocka_unit_test(labels_of_a_tag_are_all_its_parts),
    };
    return cmocka_run_group_tests(tests, google_account_set_up, google_account_tear_down);
}
