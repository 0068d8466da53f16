// What counts against which of a project's quotas, and what is reserved.
#include "base/arena.h"
#include "base/text/buf.h"
#include "google_account.h"
#include "providers/gcp/gcp.h"
#include "scripted_cloud.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define TOKEN                                                                                                    \
    {                                                                                                            \
        .status = 200, .body = "{\"access_token\": \"t0k3n\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}" \
    }
#define METRIC(name, limit, usage) "{\"metric\": \"" name "\", \"limit\": " #limit ", \"usage\": " #usage "}"
#define QUOTAS(list)                                      \
    {                                                     \
        .status = 200, .body = "{\"quotas\": [" list "]}" \
    }
#define REGION                                                                                                      \
    QUOTAS(METRIC("CPUS", 72.0, 8.0) ", " METRIC("A2_CPUS", 24, 0) ", " METRIC("NVIDIA_T4_GPUS", 4, 1) ", " METRIC( \
        "PREEMPTIBLE_NVIDIA_T4_GPUS", 8,                                                                            \
        0) ", " METRIC("PREEMPTIBLE_CPUS", 0, 0) ", " METRIC("NVIDIA_A100_GPUS", 0,                                 \
                                                             0) ", " METRIC("INSTANCES", 9223372036854775807, 0))
#define PROJECT QUOTAS(METRIC("GPUS_ALL_REGIONS", 16, 1) ", " METRIC("NETWORKS", 5, 1))

#define T4(market_, moment_, count_)                                                                                 \
    {                                                                                                                \
        .moment = moment_, .count = count_, .instance_type = "n1-standard-8+nvidia-tesla-t4:1", .accelerator = "T4", \
        .market = market_, .gpus = 1, .vcpus = 8                                                                     \
    }
#define OTHER(type, kind, gpus_, vcpus_)                                                       \
    {                                                                                          \
        .count = 1, .instance_type = type, .accelerator = kind, .gpus = gpus_, .vcpus = vcpus_ \
    }

static void ask(struct scripted_cloud *w, const struct rb_demand *demands, int n_demands, const struct step *steps,
                int n)
{
    scripted_gcp_begin(w, steps, n);
    scripted_quotas(w, demands, n_demands);
}

static void says(const struct rb_demand *demands, int n, const char *expected)
{
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, REGION, PROJECT};
    ask(&w, demands, n, steps, 3);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(rb_buf_str(&w.said), expected);
    scripted_expect_begin(&w.s, 1, "GET /compute/v1/projects/" GOOGLE_PROJECT "/regions/us-central1?fields=quotas");
    scripted_expect_begin(&w.s, 2, "GET /compute/v1/projects/" GOOGLE_PROJECT "?fields=quotas");
    scripted_cloud_end(&w);
}

static void kinds_and_families_have_metrics_of_their_own(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {T4(RB_MARKET_ON_DEMAND, 0, 2), OTHER("a2-highgpu-1g", "A100", 1, 12)};
    says(demands, 2,
         "NVIDIA_T4_GPUS of us-central1: 2/4 (1) GPUs\n"
         "NVIDIA_A100_GPUS of us-central1: 1/0 (0) GPUs\n"
         "CPUS of us-central1: 16/72 (8) vCPUs\n"
         "A2_CPUS of us-central1: 12/24 (0) vCPUs\n"
         "INSTANCES of us-central1: 3/9.22e+18 (0) instances\n"
         "GPUS_ALL_REGIONS of all regions: 3/16 (1) GPUs\n");
}

// Preemptible CPUs were never granted (0): the ordinary ones count.
static void spot_has_metrics_of_its_own_where_they_were_granted(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {T4(RB_MARKET_SPOT, 0, 3)};
    says(demands, 1,
         "PREEMPTIBLE_NVIDIA_T4_GPUS of us-central1: 3/8 (0) GPUs\n"
         "CPUS of us-central1: 24/72 (8) vCPUs\n"
         "INSTANCES of us-central1: 3/9.22e+18 (0) instances\n"
         "GPUS_ALL_REGIONS of all regions: 3/16 (1) GPUs\n");
}

static void the_worst_moment_counts(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {T4(RB_MARKET_ON_DEMAND, 0, 4), T4(RB_MARKET_ON_DEMAND, 1, 3),
                                        T4(RB_MARKET_ON_DEMAND, 1, 2)};
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, REGION, PROJECT};
    ask(&w, demands, 3, steps, 3);
    assert_non_null(strstr(rb_buf_str(&w.said), "NVIDIA_T4_GPUS of us-central1: 5/4 (1) GPUs\n"));
    scripted_cloud_end(&w);
}

#define SOLD(zone, cpus)                                                                                            \
    {                                                                                                               \
        .status = 200, .body = "{\"items\": {\"zones/europe-west1-b\": {\"machineTypes\": [{\"guestCpus\": 99}]},"  \
                               "\"zones/" zone                                                                      \
                               "\": {\"machineTypes\": [{\"name\": \"n1-standard-8\", \"guestCpus\": " cpus "}]}}}" \
    }

static void vcpus_that_a_plan_does_not_hold_are_asked_for(void **state)
{
    (void)state;
    struct rb_demand demands[] = {T4(RB_MARKET_ON_DEMAND, 0, 2), T4(RB_MARKET_ON_DEMAND, 0, 1)};
    demands[0].vcpus = demands[1].vcpus = -1;
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, SOLD("us-central1-a", "8"), REGION, PROJECT};
    ask(&w, demands, 2, steps, 4);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_non_null(strstr(rb_buf_str(&w.said), "CPUS of us-central1: 24/72 (8) vCPUs\n"));
    scripted_expect_begin(
        &w.s, 1, "GET /compute/v1/projects/" GOOGLE_PROJECT "/aggregated/machineTypes?filter=name%3Dn1-standard-8");
    scripted_cloud_end(&w);
}

static void a_type_that_no_one_sells(void **state)
{
    (void)state;
    struct rb_demand demands[] = {T4(RB_MARKET_ON_DEMAND, 0, 2)};
    demands[0].vcpus = -1;
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, SOLD("us-east1-a", "8")};
    ask(&w, demands, 1, steps, 2);
    assert_int_equal(w.s.err.code, RB_ERR_NOT_FOUND);
    assert_says(&w.s.err, "no zone of gcp/us-central1 sells n1-standard-8+nvidia-tesla-t4:1");
    scripted_cloud_end(&w);
}

static void a_kind_that_is_not_listed_is_unknown_not_unlimited(void **state)
{
    (void)state;
    const struct rb_demand demands[] = {OTHER("a3-highgpu-8g", "H100", 8, 208), OTHER("x1", "X1", 1, 1)};
    struct scripted_cloud w;
    const struct step steps[] = {TOKEN, REGION, PROJECT};
    ask(&w, demands, 2, steps, 3);
    assert_non_null(strstr(rb_buf_str(&w.said), "NVIDIA_H100_GPUS of us-central1: 8/-1 (-1) GPUs\n"));
    assert_non_null(strstr(rb_buf_str(&w.said), "GPUs of kind X1 of us-central1: 1/-1 (-1) GPUs\n"));
    scripted_cloud_end(&w);
}

static void answers_that_are_none(void **state)
{
    (void)state;
    static const struct step broken[] = {
        {.status = 200, .body = "{}"},
        {.status = 200, .body = "{\"quotas\": [{\"metric\": \"CPUS\"}]}"},
        {.status = 200, .body = "{\"quotas\": [{\"metric\": 7, \"limit\": 1}]}"},
    };
    const struct rb_demand demands[] = {T4(RB_MARKET_SPOT, 0, 3)};
    for (size_t i = 0; i < N_OF(broken); i++) {
        struct scripted_cloud w;
        const struct step steps[] = {TOKEN, broken[i], broken[i], broken[i]};
        ask(&w, demands, 1, steps, 4);
        assert_int_equal(w.s.err.code, RB_ERR_IO);
        assert_says(&w.s.err, "regions.get");
        assert_string_equal(rb_buf_str(&w.said), "");
        scripted_cloud_end(&w);
    }
}

// --- reservations

#define RESERVED(name, rest)                                                                                          \
    "{\"kind\": \"compute#reservationAggregatedList\"" rest ", \"items\": {\"zones/us-central1-a\": {\"reservations\": [" \
    "{\"name\": \"" name "\", \"zone\": \"z/us-central1-a\", \"status\": \"READY\", \"specificReservationRequired\": true, " \
    "\"specificReservation\": {\"count\": \"2\", \"inUseCount\": \"0\", \"instanceProperties\": "               \
    "{\"machineType\": \"g2-standard-4\"}}}]}}}"

static void reserved(void *arg, const struct rb_err *err, const struct rb_reservation *all, int n)
{
    struct scripted_cloud *w = arg;
    for (int i = 0; i < n; i++)
        rb_buf_printf(&w->said, "%s %s %d\n", all[i].infra, all[i].id, all[i].count);
    scripted_tell(&w->s, err);
}

// All pages, or none: what does not answer might hold the one that is looked for.
static void reservations_come_in_pages(void **state)
{
    (void)state;
    const struct step pages[] = {TOKEN, {.status = 200, .body = RESERVED("one", ", \"nextPageToken\": \"t\"")},
                                 {.status = 200, .body = RESERVED("two", "")}};
    const struct step silent[] = {TOKEN, {.status = 200, .body = RESERVED("one", ", \"unreachables\": [\"projects/p/zones/us-central1-b\"]")}};
    struct scripted_cloud w;
    scripted_gcp_begin(&w, pages, 3);
    w.provider.ops->reservations(&w.provider, reserved, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(rb_buf_str(&w.said), "gcp/us-central1/us-central1-a one 2\ngcp/us-central1/us-central1-a two 2\n");
    scripted_expect_begin(&w.s, 1, "GET /compute/v1/projects/" GOOGLE_PROJECT "/aggregated/reservations?maxResults=500");
    scripted_expect(&w.s, 2, "&pageToken=t");
    scripted_cloud_end(&w);
    scripted_gcp_begin(&w, silent, 2);
    w.provider.ops->reservations(&w.provider, reserved, &w);
    scripted_wait(&w.s);
    assert_int_equal(rb_err_number(&w.s.err), RB_E_RESERVATIONS_UNSEEN);
    assert_string_equal(rb_buf_str(&w.said), "");
    scripted_cloud_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reservations_come_in_pages),
        cmocka_unit_test(kinds_and_families_have_metrics_of_their_own),
        cmocka_unit_test(spot_has_metrics_of_its_own_where_they_were_granted),
        cmocka_unit_test(the_worst_moment_counts),
        cmocka_unit_test(vcpus_that_a_plan_does_not_hold_are_asked_for),
        cmocka_unit_test(a_type_that_no_one_sells),
        cmocka_unit_test(a_kind_that_is_not_listed_is_unknown_not_unlimited),
        cmocka_unit_test(answers_that_are_none),
    };
    return cmocka_run_group_tests(tests, google_account_set_up, google_account_tear_down);
}
