// Reads rb-mock/1 strictly: unknown keys, prices of no EC2 region and offers without boot behaviour are
// errors.
#include "providers/mock/cloud/cloud_config.h"
#include "base/limits.h"
#include "profiles/catalog/infra.h"
#include "providers/mock/cloud/cloud_regions.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SSH_PORT   2222
#define DEFAULT_SHUTDOWN_S 1.0
#define DEFAULT_TOKEN_S    3600.0 // what Google's token endpoint gives
#define MAX_S              1e8

// What the built-in images represent: any Linux that runs cloud-init and sshd.
static const char built_in_image[] = "ami-00000000000000000";
static const char built_in_gcp_image[] = "projects/rbmock/global/images/rbmock-linux";

// rb_profile_provisioning works on profiles; `mock/REGION` is another name of `aws/REGION`, whichever the
// files use.
const struct rb_provisioning *rb_cloud_config_provisioning(const struct rb_cloud_config *c,
                                                           const struct rb_offer *offer)
{
    const struct rb_provisioning *p =
        rb_profile_provisioning(&c->provisioning, offer->infra, offer->instance_type, offer->market);
    const char *place = strchr(offer->infra, '/');
    if (p || !place || rb_cloud_infra_is_gcp(offer->infra))
        return p;
    char other[256];
    snprintf(other, sizeof other, "%s%s", strncmp(offer->infra, "aws/", 4) == 0 ? "mock" : "aws", place);
    return rb_profile_provisioning(&c->provisioning, other, offer->instance_type, offer->market);
}

// Does the file define how machines of this provider boot? A user who only wants EC2 need not define the others.
static bool speaks_of(const struct rb_profile *p, const char *provider)
{
    for (int i = 0; i < p->n_provisioning; i++)
        if (strcmp(p->provisioning[i].infra, "*") == 0 || rb_infra_within(p->provisioning[i].infra, provider))
            return true;
    return false;
}

// Only what the fronts sell stays; a price list may well name other clouds.
static bool keep_sold(struct rb_cloud_config *c, const struct rb_node *prices, struct rb_arena *arena,
                      struct rb_err *err)
{
    const char *region, *zone;
    struct rb_catalog *catalog = &c->catalog;
    bool gcp = speaks_of(&c->provisioning, "gcp");
    int n = 0;
    if (speaks_of(&c->provisioning, "k8s") && !rb_cloud_kubernetes_take(catalog, arena, &c->kubernetes))
        return rb_node_refuse(prices, err, RB_E_MOCK_CLOUD,
                              "its rows of k8s/NAME have several names; a mock cloud has one cluster");
    for (int i = 0; i < catalog->n_offers; i++) {
        const char *infra = catalog->offers[i].infra;
        if (rb_cloud_infra_split(infra, arena, &region, &zone) && (gcp || !rb_cloud_infra_is_gcp(infra)))
            catalog->offers[n++] = catalog->offers[i];
    }
    catalog->n_offers = n;
    return n > 0 || c->kubernetes.name ||
           rb_node_refuse(prices, err, RB_E_MOCK_CLOUD,
                          "no row of it has an infra of the form aws/REGION or mock/REGION, or gcp/REGION or k8s/NAME "
                          "with an entry of `provisioning` for gcp or k8s");
}

static bool read_prices(const struct rb_node *node, const char *prices_csv, const char *directory,
                        struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err)
{
    const char *name;
    if (!rb_node_string(node, &name, err))
        return false;
    struct rb_csv csv;
    const char *path = name[0] == '/' || !directory ? name : rb_arena_printf(arena, "%s/%s", directory, name);
    if (!(directory ? rb_csv_read(&csv, path, err) : rb_csv_parse(&csv, name, prices_csv, strlen(prices_csv), err)))
        return false;
    bool ok = rb_catalog_from_csv(&csv, arena, out, err);
    rb_csv_finish(&csv);
    return ok;
}

static bool check_provisioning(const struct rb_cloud_config *c, const struct rb_catalog *catalog,
                               const struct rb_node *root, struct rb_err *err)
{
    for (int i = 0; i < catalog->n_offers; i++) {
        const struct rb_offer *o = &catalog->offers[i];
        if (!rb_cloud_config_provisioning(c, o))
            return rb_node_refuse(root, err, RB_E_MOCK_CLOUD,
                                  "no entry of `provisioning` matches %s %s %s; add one, or one with \"*\"", o->infra,
                                  o->instance_type, rb_market_name(o->market));
    }
    return true;
}

static bool is_sold(const struct rb_catalog *catalog, const char *instance_type)
{
    for (int i = 0; i < catalog->n_offers; i++)
        if (strcmp(catalog->offers[i].instance_type, instance_type) == 0)
            return true;
    return false;
}

static bool read_capacity(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_config *out,
                          struct rb_err *err)
{
    if (!node)
        return true;
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_MOCK_CLOUD,
                              "expected a map of instance type to count, such as {g5.xlarge: 4}");
    struct rb_cloud_capacity *list = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *list);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        int64_t max;
        if (!is_sold(&out->catalog, child->key) && !is_sold(&out->kubernetes.catalog, child->key))
            return rb_node_refuse(child, err, RB_E_MOCK_CLOUD, "the price list has no instance type of this name");
        if (!rb_node_int(child, 0, RB_LIMIT_NODES, &max, err))
            return false;
        list[out->n_capacity++] = (struct rb_cloud_capacity){rb_arena_strdup(arena, child->key), (int)max};
    }
    out->capacity = list;
    return true;
}

// EC2's ids and Compute Engine's names share a list: they cannot be mistaken for each other.
static bool read_images(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_config *out,
                        struct rb_err *err)
{
    if (node && !rb_node_list(node, err))
        return false;
    size_t n = (size_t)(node ? node->n_children : 0) + 1;
    const char **images = rb_arena_array(arena, n, sizeof *images);
    const char **gcp_images = rb_arena_array(arena, n, sizeof *gcp_images);
    images[out->n_images++] = built_in_image;
    gcp_images[out->n_gcp_images++] = built_in_gcp_image;
    for (const struct rb_node *child = node ? node->first : NULL; child; child = child->next) {
        const char *id;
        if (!rb_node_string(child, &id, err))
            return false;
        bool is_gcp = strncmp(id, "projects/", 9) == 0 && strstr(id, "/global/images/");
        if (strncmp(id, "ami-", 4) != 0 && !is_gcp)
            return rb_node_refuse(child, err, RB_E_MOCK_CLOUD,
                                  "an image is ami-... or projects/PROJECT/global/images/NAME");
        id = rb_arena_strdup(arena, id);
        if (is_gcp)
            gcp_images[out->n_gcp_images++] = id;
        else
            images[out->n_images++] = id;
    }
    out->images = images;
    out->gcp_images = gcp_images;
    return true;
}

static bool read_parameters(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_config *out,
                            struct rb_err *err)
{
    if (!node)
        return true;
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_MOCK_CLOUD, "expected a map of parameters to images (ami-...)");
    struct rb_cloud_parameter *list = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *list);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        const char *image;
        if (!rb_node_string(child, &image, err))
            return false;
        if (child->key[0] != '/')
            return rb_node_refuse(child, err, RB_E_MOCK_CLOUD, "a parameter's name begins with /");
        list[out->n_parameters++] =
            (struct rb_cloud_parameter){rb_arena_strdup(arena, child->key), rb_arena_strdup(arena, image)};
    }
    out->parameters = list;
    return true;
}

static bool read_denied(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_config *out,
                        struct rb_err *err)
{
    if (!node)
        return true;
    if (!rb_node_list(node, err))
        return false;
    const char **denied = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *denied);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        const char *permission;
        if (!rb_node_string(child, &permission, err))
            return false;
        if (strncmp(permission, "compute.", strlen("compute.")) != 0)
            return rb_node_refuse(child, err, RB_E_MOCK_CLOUD,
                                  "expected a permission of Compute Engine, such as compute.instances.delete");
        denied[out->n_denied++] = rb_arena_strdup(arena, permission);
    }
    out->denied = denied;
    return true;
}

static bool read_format(struct rb_map *m, struct rb_err *err)
{
    const struct rb_node *format;
    static const char *const formats[] = {"rb-mock/1"};
    int which;
    return rb_map_need(m, "format", &format, err) && rb_node_choice(format, formats, 1, &which, err);
}

static bool read_delay(const struct rb_node *node, double default_s, struct rb_arena *arena, struct rb_dist *out,
                       struct rb_err *err)
{
    *out = rb_dist_constant(default_s);
    return !node || rb_dist_read(node, arena, out, err);
}

static bool read_seconds(const struct rb_node *node, int64_t default_us, int64_t *out_us, struct rb_err *err)
{
    double s;
    *out_us = default_us;
    if (!node)
        return true;
    if (!rb_node_double(node, 0, MAX_S, &s, err))
        return false;
    *out_us = rb_us_from_seconds(s);
    return true;
}

static bool read_behaviour(struct rb_map *m, const char *directory, struct rb_arena *arena, struct rb_cloud_config *c,
                           struct rb_err *err)
{
    const struct rb_node *ssh_port = rb_map_get(m, "ssh_port");
    int64_t port = DEFAULT_SSH_PORT;
    if (!read_capacity(rb_map_get(m, "capacity"), arena, c, err) ||
        !rb_cloud_limits_read(rb_map_get(m, "quotas"), rb_map_get(m, "pools"), rb_map_get(m, "throttle"), arena,
                              &c->limits, err) ||
        !rb_cloud_market_read(rb_map_get(m, "market"), directory, arena, &c->limits, err) ||
        !rb_cloud_reserved_read(rb_map_get(m, "reservations"), arena, &c->reserved, err) ||
        !read_images(rb_map_get(m, "images"), arena, c, err) ||
        !read_parameters(rb_map_get(m, "parameters"), arena, c, err) ||
        !read_denied(rb_map_get(m, "denied"), arena, c, err) ||
        !rb_cloud_kubernetes_read(rb_map_get(m, "kubernetes"), arena, &c->kubernetes, err) ||
        !read_delay(rb_map_get(m, "shutdown_s"), DEFAULT_SHUTDOWN_S, arena, &c->shutdown_s, err) ||
        !read_delay(rb_map_get(m, "visible_after_s"), 0, arena, &c->visible_after_s, err) ||
        !read_seconds(rb_map_get(m, "tags_fade_s"), INT64_MAX, &c->tags_fade_us, err) ||
        !read_seconds(rb_map_get(m, "token_lifetime_s"), rb_us_from_seconds(DEFAULT_TOKEN_S), &c->token_lifetime_us,
                      err) ||
        (ssh_port && !rb_node_int(ssh_port, 1, 65535, &port, err)))
        return false;
    c->ssh_port = (int)port;
    return true;
}

static bool read_root(const struct rb_node *root, const char *prices_csv, const char *directory, struct rb_arena *arena,
                      struct rb_cloud_config *out, struct rb_err *err)
{
    struct rb_map m;
    struct rb_cloud_config c = {0};
    const struct rb_node *prices, *provisioning;
    if (!rb_map_begin(&m, root, err) || !read_format(&m, err) || !rb_map_need(&m, "prices", &prices, err) ||
        !rb_map_need(&m, "provisioning", &provisioning, err) ||
        !read_prices(prices, prices_csv, directory, arena, &c.catalog, err) ||
        !rb_provisioning_read(provisioning, arena, &c.provisioning.provisioning, &c.provisioning.n_provisioning, err) ||
        !keep_sold(&c, prices, arena, err) || !read_behaviour(&m, directory, arena, &c, err) || !rb_map_end(&m, err) ||
        !check_provisioning(&c, &c.catalog, provisioning, err) ||
        !check_provisioning(&c, &c.kubernetes.catalog, provisioning, err))
        return false;
    *out = c;
    return true;
}

bool rb_cloud_config_parse(const char *name, const char *yaml, const char *prices_csv, const char *directory,
                           struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_yaml(&doc, name, yaml, strlen(yaml), err) &&
           read_root(doc.root, prices_csv, directory, arena, out, err);
}

bool rb_cloud_config_read(const char *path, struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_read(&doc, path, err))
        return false;
    const char *directory = dirname(rb_arena_strdup(arena, path));
    return read_root(doc.root, NULL, directory, arena, out, err);
}
