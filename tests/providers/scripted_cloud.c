#include "scripted_cloud.h"

#include "providers/ec2/ec2.h"
#include "providers/gcp/gcp.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

static void begin(struct scripted_cloud *w, const struct rb_provider_ops *ops, const char *region)
{
    const struct rb_provider_config config = {.loop = &w->s.loop.loop, .http = w->s.http, .region = region};
    assert_true(ops->create(&config, &w->provider, NULL));
}

void scripted_ec2_begin(struct scripted_cloud *w, const char *region, const struct step *steps, int n)
{
    *w = (struct scripted_cloud){0};
    scripted_begin(&w->s, steps, n);
    setenv("AWS_ENDPOINT_URL", script_server_url(w->s.server), 1);
    begin(w, &rb_provider_aws, region);
}

void scripted_gcp_begin(struct scripted_cloud *w, const struct step *steps, int n)
{
    char url[128];
    *w = (struct scripted_cloud){0};
    scripted_begin(&w->s, steps, n);
    snprintf(url, sizeof url, "%s/token", script_server_url(w->s.server));
    setenv("RB_GCP_TOKEN_ENDPOINT", url, 1);
    setenv("RB_GCP_COMPUTE_ENDPOINT", script_server_url(w->s.server), 1);
    begin(w, &rb_provider_gcp, "us-central1");
}

void scripted_cloud_end(struct scripted_cloud *w)
{
    w->provider.ops->destroy(&w->provider);
    rb_buf_finish(&w->said);
    scripted_end(&w->s);
}

static void on_preflight(void *arg, const struct rb_err *err, const char *image)
{
    struct scripted_cloud *w = arg;
    snprintf(w->image, sizeof w->image, "%s", image ? image : "");
    scripted_tell(&w->s, err);
}

void scripted_preflight(struct scripted_cloud *w, const struct rb_launch *launch)
{
    w->provider.ops->preflight(&w->provider, launch, on_preflight, w);
    scripted_wait(&w->s);
}

static void on_quotas(void *arg, const struct rb_err *err, const struct rb_quota *quotas, int n)
{
    struct scripted_cloud *w = arg;
    rb_buf_clear(&w->said);
    for (int i = 0; i < n; i++)
        rb_buf_printf(&w->said, "%s: %.3g/%.3g (%.3g) %s\n", quotas[i].name, quotas[i].wanted, quotas[i].limit,
                      quotas[i].used, quotas[i].unit);
    scripted_tell(&w->s, err);
}

void scripted_quotas(struct scripted_cloud *w, const struct rb_demand *demands, int n)
{
    w->provider.ops->quotas(&w->provider, demands, n, on_quotas, w);
    scripted_wait(&w->s);
}
