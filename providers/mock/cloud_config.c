// Reads rb-mock/1 strictly: unknown keys, prices of no EC2 region and offers without boot behaviour are
// errors.
#include "providers/mock/cloud_config.h"
#include "base/limits.h"
#include "providers/mock/cloud_regions.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SSH_PORT   2222
#define DEFAULT_SHUTDOWN_S 1.0

// What the built-in image stands for: any Linux that runs cloud-init and sshd.
static const char built_in_image[] = "ami-00000000000000000";

// rb_profile_provisioning works on profiles; `mock/REGION` is another name of `aws/REGION`, whichever the
// files use.
const struct rb_provisioning *rb_cloud_config_provisioning(const struct rb_cloud_config *c,
                                                           const struct rb_offer *offer)
{
    const struct rb_provisioning *p =
        rb_profile_provisioning(&c->provisioning, offer->infra, offer->instance_type, offer->market);
    const char *place = strchr(offer->infra, '/');
    if (p || !place)
        return p;
    char other[256];
    snprintf(other, sizeof other, "%s%s", strncmp(offer->infra, "aws/", 4) == 0 ? "mock" : "aws", place);
    return rb_profile_provisioning(&c->provisioning, other, offer->instance_type, offer->market);
}

// Only what EC2 sells stays; a price list may well name other clouds.
static void keep_ec2(struct rb_catalog *catalog, struct rb_arena *arena)
{
    const char *region, *zone;
    int n = 0;
    for (int i = 0; i < catalog->n_offers; i++)
        if (rb_cloud_infra_split(catalog->offers[i].infra, arena, &region, &zone))
            catalog->offers[n++] = catalog->offers[i];
    catalog->n_offers = n;
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
    if (!ok)
        return false;
    keep_ec2(out, arena);
    if (out->n_offers == 0)
        return rb_node_error(node, err, "no row of %s has an infra of the form aws/REGION or mock/REGION", path);
    return true;
}

static bool check_provisioning(const struct rb_cloud_config *c, const struct rb_node *root, struct rb_err *err)
{
    for (int i = 0; i < c->catalog.n_offers; i++) {
        const struct rb_offer *o = &c->catalog.offers[i];
        if (!rb_cloud_config_provisioning(c, o))
            return rb_node_error(root, err, "no entry of `provisioning` matches %s %s %s; add one, or one with \"*\"",
                                 o->infra, o->instance_type, rb_market_name(o->market));
    }
    return true;
}

static bool read_capacity(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_config *out,
                          struct rb_err *err)
{
    if (!node)
        return true;
    if (node->kind != RB_NODE_MAP)
        return rb_node_error(node, err, "expected a map of instance type to count, such as {g5.xlarge: 4}");
    struct rb_cloud_capacity *list = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *list);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        int64_t max;
        bool sold = false;
        for (int i = 0; i < out->catalog.n_offers; i++)
            sold |= strcmp(out->catalog.offers[i].instance_type, child->key) == 0;
        if (!sold)
            return rb_node_error(child, err, "the price list has no instance type of this name");
        if (!rb_node_int(child, 0, RB_LIMIT_NODES, &max, err))
            return false;
        list[out->n_capacity++] = (struct rb_cloud_capacity){rb_arena_strdup(arena, child->key), (int)max};
    }
    out->capacity = list;
    return true;
}

static bool read_images(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_config *out,
                        struct rb_err *err)
{
    if (node && !rb_node_list(node, err))
        return false;
    const char **images = rb_arena_array(arena, (size_t)(node ? node->n_children : 0) + 1, sizeof *images);
    images[out->n_images++] = built_in_image;
    for (const struct rb_node *child = node ? node->first : NULL; child; child = child->next) {
        const char *id;
        if (!rb_node_string(child, &id, err))
            return false;
        if (strncmp(id, "ami-", 4) != 0)
            return rb_node_error(child, err, "an image id begins with ami-");
        images[out->n_images++] = rb_arena_strdup(arena, id);
    }
    out->images = images;
    return true;
}

static bool read_format(struct rb_map *m, struct rb_err *err)
{
    const struct rb_node *format;
    static const char *const formats[] = {"rb-mock/1"};
    int which;
    return rb_map_need(m, "format", &format, err) && rb_node_choice(format, formats, 1, &which, err);
}

static bool read_shutdown(const struct rb_node *node, struct rb_arena *arena, struct rb_dist *out, struct rb_err *err)
{
    *out = rb_dist_constant(DEFAULT_SHUTDOWN_S);
    return !node || rb_dist_read(node, arena, out, err);
}

static bool read_root(const struct rb_node *root, const char *prices_csv, const char *directory, struct rb_arena *arena,
                      struct rb_cloud_config *out, struct rb_err *err)
{
    struct rb_map m;
    struct rb_cloud_config c = {.ssh_port = DEFAULT_SSH_PORT};
    const struct rb_node *prices, *provisioning;
    int64_t port = DEFAULT_SSH_PORT;
    if (!rb_map_begin(&m, root, err) || !read_format(&m, err) || !rb_map_need(&m, "prices", &prices, err) ||
        !rb_map_need(&m, "provisioning", &provisioning, err))
        return false;
    const struct rb_node *ssh_port = rb_map_get(&m, "ssh_port");
    if (!read_prices(prices, prices_csv, directory, arena, &c.catalog, err) ||
        !rb_provisioning_read(provisioning, arena, &c.provisioning.provisioning, &c.provisioning.n_provisioning, err) ||
        !read_capacity(rb_map_get(&m, "capacity"), arena, &c, err) ||
        !read_images(rb_map_get(&m, "images"), arena, &c, err) ||
        !read_shutdown(rb_map_get(&m, "shutdown_s"), arena, &c.shutdown_s, err) ||
        (ssh_port && !rb_node_int(ssh_port, 1, 65535, &port, err)) || !rb_map_end(&m, err) ||
        !check_provisioning(&c, provisioning, err))
        return false;
    c.ssh_port = (int)port;
    *out = c;
    return true;
}

bool rb_cloud_config_parse(const char *name, const char *yaml, const char *prices_csv, const char *directory,
                           struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err)
{
    struct rb_doc doc;
    if (!rb_doc_parse_yaml(&doc, name, yaml, strlen(yaml), err))
        return false;
    bool ok = read_root(doc.root, prices_csv, directory, arena, out, err);
    rb_doc_finish(&doc);
    return ok;
}

bool rb_cloud_config_read(const char *path, struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err)
{
    struct rb_doc doc;
    if (!rb_doc_read(&doc, path, err))
        return false;
    const char *directory = dirname(rb_arena_strdup(arena, path));
    bool ok = read_root(doc.root, NULL, directory, arena, out, err);
    rb_doc_finish(&doc);
    return ok;
}
