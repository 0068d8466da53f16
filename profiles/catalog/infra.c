// One row per provider describes how it writes regions and zones.
#include "profiles/catalog/infra.h"

#include "base/document/doc.h"
#include "base/text/pattern.h"

#include <stdio.h>
#include <string.h>

#define MAX_INFRA_LEN 120 // longest real one is under 60

// Source of the AWS patterns: partitions.json of botocore (partition aws); of the GCP ones: the naming of
// compute regions and zones in the Compute Engine documentation.
static const struct provider {
    const char *name;
    bool needs_region;         // its prices differ by region
    bool may_be_free;          // its machines are there whether or not they are used: no bill comes for them
    bool has_pods;             // its nodes are containers
    const char *region, *zone; // extended regular expressions, NULL: it has none
    const char *example;
} providers[] = {
    {"aws", true, false, false, "^(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]{1,2}$",
     "^(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]{1,2}(-[a-z]+-[0-9]{1,2})?[a-z]$", "aws/us-east-1/us-east-1a"},
    {"gcp", true, false, false, "^[a-z]+-[a-z]+[0-9]{1,2}$", "^[a-z]+-[a-z]+[0-9]{1,2}-[a-z]$", "gcp/us-central1/us-central1-a"},
    {"k8s", true, true, true, "^[A-Za-z0-9_.-]{1,59}$", NULL, "k8s/lab"},
    {"local", false, true, false, NULL, NULL, "local"},
    {"mock", true, false, false, "^[a-z0-9-]{1,32}$", "^[a-z0-9-]{1,33}$", "mock/us-east-1/us-east-1a"},
    {"pool", false, true, false, NULL, NULL, "pool"}, // nodes lent by a pool: rbrun --pool writes it into the plans of its jobs
    {"slurm", false, true, false, "^[A-Za-z0-9_.-]{1,64}$", NULL, "slurm/partition"},
};
#define N_PROVIDERS (sizeof providers / sizeof providers[0])

const char *const rb_infra_providers[] = {"aws", "gcp", "k8s", "local", "mock", "pool", "slurm", NULL};

static const struct provider *find_provider(const char *name)
{
    for (size_t i = 0; i < N_PROVIDERS; i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}

// Cuts a copy at its slashes; absent parts are NULL.
static void split(char *copy, char **region, char **zone)
{
    *region = strchr(copy, '/');
    *zone = NULL;
    if (*region) {
        *(*region)++ = '\0';
        *zone = strchr(*region, '/');
    }
    if (*zone)
        *(*zone)++ = '\0';
}

static bool unknown_provider(const char *name, struct rb_err *err)
{
    const char *close = rb_closest(name, rb_infra_providers, (int)N_PROVIDERS);
    return rb_err_set(
        err, RB_E_INFRA,
        "expected provider[/region[/zone]] with provider aws, gcp, k8s, local, mock or slurm, got \"%.60s\"%s%s%s", name,
        close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
}

bool rb_infra_check(const char *infra, struct rb_err *err)
{
    char copy[MAX_INFRA_LEN + 1], *region, *zone;
    if (strlen(infra) > MAX_INFRA_LEN)
        return rb_err_set(err, RB_E_INFRA, "expected at most %d characters", MAX_INFRA_LEN);
    snprintf(copy, sizeof copy, "%s", infra);
    split(copy, &region, &zone);
    const struct provider *p = find_provider(copy);
    if (!p)
        return unknown_provider(copy, err);
    if (region && (!p->region || !rb_pattern_matches(region, p->region)))
        return rb_err_set(err, RB_E_INFRA, "\"%s\" is not a region of %s; expected a form such as \"%s\"", region,
                          p->name, p->example);
    if (zone && (!p->zone || !rb_pattern_matches(zone, p->zone) || strncmp(zone, region, strlen(region)) != 0))
        return rb_err_set(err, RB_E_INFRA, "\"%s\" is not a zone of %s/%s; expected a form such as \"%s\"", zone,
                          p->name, region, p->example);
    return true;
}

bool rb_infra_is_priceable(const char *infra)
{
    for (size_t i = 0; i < N_PROVIDERS; i++)
        if (strcmp(providers[i].name, infra) == 0)
            return !providers[i].needs_region;
    return true;
}

bool rb_infra_within(const char *infra, const char *pattern)
{
    const size_t n = strlen(pattern);
    return strcmp(pattern, "*") == 0 || (strncmp(infra, pattern, n) == 0 && (infra[n] == '\0' || infra[n] == '/'));
}

static size_t region_length(const char *infra)
{
    const char *region = strchr(infra, '/'), *zone = region ? strchr(region + 1, '/') : NULL;
    return zone ? (size_t)(zone - infra) : strlen(infra);
}

bool rb_infra_same_region(const char *a, const char *b)
{
    const size_t n = region_length(a);
    return n == region_length(b) && strncmp(a, b, n) == 0;
}

static const struct provider *provider_of(const char *infra)
{
    for (size_t i = 0; i < N_PROVIDERS; i++)
        if (rb_infra_within(infra, providers[i].name))
            return &providers[i];
    return NULL;
}

bool rb_infra_may_be_free(const char *infra)
{
    const struct provider *p = provider_of(infra);
    return p && p->may_be_free;
}

bool rb_infra_has_pods(const char *infra)
{
    const struct provider *p = provider_of(infra);
    return p && p->has_pods;
}

struct rb_infra_place rb_infra_place(const char *infra)
{
    struct rb_infra_place out = {.region = ""};
    const char *region = infra + strcspn(infra, "/");
    region += *region == '/';
    const size_t n = strcspn(region, "/");
    snprintf(out.region, sizeof out.region, "%.*s", (int)n, region);
    snprintf(out.zone, sizeof out.zone, "%s", region + n + (region[n] == '/'));
    return out;
}
