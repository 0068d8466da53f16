#include "profiles/job/job_image.h"

#include "profiles/catalog/infra.h"
#include "profiles/job/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char digest_mark[] = "sha256:";

// --- names

static bool is_digest(const char *s)
{
    const size_t n = sizeof digest_mark - 1;
    return strncmp(s, digest_mark, n) == 0 && strlen(s) == n + 64 && s[n + strspn(s + n, "0123456789abcdef")] == '\0';
}

bool rb_image_has_digest(const char *image)
{
    const char *at = strchr(image, '@');
    return is_digest(at ? at + 1 : image);
}

// It stands on command lines: it must not look like an option.
bool rb_image_is_name(const char *image)
{
    const char *at = strchr(image, '@');
    const size_t n = at ? (size_t)(at - image) : strlen(image);
    return n > 0 && strlen(image) < RB_IMAGE_NAME_BYTES && isalnum((unsigned char)image[0]) &&
           isalnum((unsigned char)image[n - 1]) && !strstr(image, "//") && (!at || is_digest(at + 1)) &&
           strspn(image, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-") == n;
}

const char *rb_image_for(const struct rb_key_value *rows, int n, const char *infra)
{
    for (int i = 0; i < n; i++)
        if (rb_infra_within(infra, rows[i].key))
            return rows[i].value;
    return NULL;
}

const char *rb_job_boot_image(const struct rb_job *job, const char *infra)
{
    const struct rb_resources *r = &job->resources;
    const char *image = rb_image_for(r->image_ids, r->n_image_ids, infra);
    return image || !rb_infra_has_pods(infra) ? image : rb_image_for(job->images, job->n_images, infra);
}

const char *rb_job_container_image(const struct rb_job *job, const char *infra)
{
    return rb_infra_has_pods(infra) ? NULL : rb_image_for(job->images, job->n_images, infra);
}

struct rb_string_list rb_job_secret_variables(const struct rb_job *job, struct rb_arena *arena)
{
    const char **names = rb_arena_array(arena, (size_t)job->secrets.n + 2, sizeof *names);
    int n = 0;
    for (int i = 0; i < job->secrets.n; i++)
        names[n++] = job->secrets.items[i];
    if (job->image_user) {
        names[n++] = job->image_user;
        names[n++] = job->image_password;
    }
    return (struct rb_string_list){.items = names, .n = n};
}

// --- reading

static bool read_one(const struct rb_node *node, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    return rb_node_text(node, arena, out, err) &&
           (rb_image_is_name(*out) ||
            rb_node_refuse(node, err, RB_E_IMAGE_NAME,
                           "expected [REGISTRY/]NAME[:TAG][@sha256:DIGEST], as podman and docker write an image, got "
                           "\"%.80s\"",
                           *out));
}

static bool read_infra(const struct rb_node *node, struct rb_err *err)
{
    struct rb_err why;
    return rb_infra_check(node->key, &why) || rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
}

static bool read_images(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    const bool is_map = node->kind == RB_NODE_MAP;
    struct rb_key_value *images = rb_arena_array(arena, (size_t)(is_map ? node->n_children : 1), sizeof *images);
    struct rb_map m;
    int n = 0;
    if (!is_map && !read_one(node, arena, &images[n].value, err))
        return false;
    if (!is_map)
        images[n++].key = "*";
    if (is_map && !rb_map_begin(&m, node, err))
        return false;
    for (const struct rb_node *child = is_map ? node->first : NULL; child; child = child->next, n++) {
        if (!read_infra(child, err) || !read_one(child, arena, &images[n].value, err))
            return false;
        images[n].key = rb_arena_strdup(arena, child->key);
    }
    job->images = images;
    job->n_images = n;
    return true;
}

static bool read_credentials(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    static const char *const keys[] = {"user", "password", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && rb_keys_need_text(&m, "user", arena, &job->image_user, err) &&
           rb_keys_need_text(&m, "password", arena, &job->image_password, err);
}

bool rb_job_image_read(struct rb_map *m, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    const struct rb_node *image = rb_keys_given(m, "image"), *credentials = rb_keys_given(m, "image_credentials");
    return (!image || read_images(image, arena, job, err)) &&
           (!credentials || read_credentials(credentials, arena, job, err));
}

bool rb_job_image_check(struct rb_map *m, const struct rb_job *job, struct rb_err *err)
{
    const struct rb_resources *r = &job->resources;
    for (int i = 0; i < r->infra.n; i++) {
        const char *infra = r->infra.items[i];
        if (rb_infra_has_pods(infra) && rb_image_for(job->images, job->n_images, infra) &&
            rb_image_for(r->image_ids, r->n_image_ids, infra))
            return rb_node_refuse(rb_map_get(m, "image"), err, RB_E_IMAGE_TWICE,
                                  "the pods of %s have one image, and resources.image_id names another: remove one of "
                                  "the two",
                                  infra);
    }
    return true;
}

// --- writing

void rb_job_image_write(const struct rb_job *job, struct rb_json *j)
{
    if (job->n_images == 1 && strcmp(job->images[0].key, "*") == 0) {
        rb_json_kstring(j, "image", job->images[0].value);
    } else if (job->n_images > 0) {
        rb_json_kobject(j, "image");
        for (int i = 0; i < job->n_images; i++)
            rb_json_kstring(j, job->images[i].key, job->images[i].value);
        rb_json_end_object(j);
    }
    if (job->image_user)
        rb_json_put(j, "image_credentials: {user: %s password: %s}", job->image_user, job->image_password);
}
