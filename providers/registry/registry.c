#include "providers/registry/registry.h"

#include "base/document/doc.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 4 };

static const char accept[] = "Accept: application/vnd.oci.image.index.v1+json, "
                             "application/vnd.docker.distribution.manifest.list.v2+json, "
                             "application/vnd.oci.image.manifest.v1+json, "
                             "application/vnd.docker.distribution.manifest.v2+json";

struct question {
    struct rb_arena arena;
    struct rb_http *http;
    const struct rb_loop *loop;
    struct rb_image_name name;
    char *user, *password;        // NULL, both: none
    struct rb_buf proof;          // the header with which the registry is asked again; "": none
    bool asked_again;             // with it
    int tries;
    uint64_t timer;
    rb_registry_fn *fn;
    void *arg;
};

// --- names

struct rb_image_name rb_image_name_read(const char *image, struct rb_arena *arena)
{
    struct rb_image_name name = {.registry = "docker.io", .tag = "latest"};
    char *rest = rb_arena_strdup(arena, image), *at = strchr(rest, '@');
    if (at) {
        name.digest = at + 1;
        *at = '\0';
    }
    char *slash = strchr(rest, '/');
    if (slash) {
        *slash = '\0';
        const bool is_host = strpbrk(rest, ".:") || strcmp(rest, "localhost") == 0;
        if (is_host)
            name.registry = rest;
        else
            *slash = '/';
        rest = is_host ? slash + 1 : rest;
    }
    char *last = strrchr(rest, '/'), *colon = strchr(last ? last : rest, ':');
    if (colon) {
        name.tag = colon + 1;
        *colon = '\0';
    }
    const bool is_official = strcmp(name.registry, "docker.io") == 0 && !strchr(rest, '/');
    name.path = is_official ? rb_arena_printf(arena, "library/%s", rest) : rest;
    return name;
}

// Where its API is.
static const char *host_of(const struct question *q)
{
    return strcmp(q->name.registry, "docker.io") == 0 ? "registry-1.docker.io" : q->name.registry;
}

static bool is_here(const struct question *q)
{
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    rb_buf_printf(&url, "http://%s/", host_of(q));
    return rb_http_is_loopback(rb_buf_str(&url));
}

// --- the end

static void end(struct question *q, const struct rb_err *err, const char *image)
{
    q->fn(q->arg, err, image);
    if (q->proof.data)
        explicit_bzero(q->proof.data, q->proof.len);
    rb_buf_finish(&q->proof);
    if (q->password)
        explicit_bzero(q->password, strlen(q->password));
    free(q->user);
    free(q->password);
    rb_arena_finish(&q->arena);
    free(q);
}

static void refuse(struct question *q, enum rb_err_number number, const char *why)
{
    struct rb_err err = {0};
    rb_err_set(&err, number, "%s: %s:%s: %s", q->name.registry, q->name.path, q->name.tag, why);
    end(q, &err, NULL);
}

static void deny(struct question *q)
{
    refuse(q, RB_E_IMAGE_DENIED,
           q->user ? "it is not shown to this user, or there is none of that name: check name and image_credentials"
                   : "it is shown to no one without a login, or there is none of that name: check the name, or give "
                     "user and password by image_credentials");
}

// --- the manifest

static void ask_manifest(void *arg);

// Is it a passing trouble? Then it is asked again.
static bool is_tried_again(struct question *q, const struct rb_http_response *r)
{
    const bool passes = r->status == 0 || r->status == 429 || r->status >= 500;
    if (!passes || ++q->tries >= TRIES)
        return false;
    q->timer = q->loop->timer_start(q->loop->ctx, (int64_t)q->tries * RB_US_PER_S / 2, ask_manifest, q);
    return true;
}

static void fail(struct question *q, const struct rb_http_response *r)
{
    char why[200];
    if (is_tried_again(q, r))
        return;
    if (r->status == 0)
        snprintf(why, sizeof why, "%.100s; try again, or name the image by its digest", r->transport_error);
    else
        snprintf(why, sizeof why, "status %ld; try again, or name the image by its digest", r->status);
    refuse(q, RB_E_IMAGE_REGISTRY, why);
}

static bool is_digest(const char *s)
{
    return s && strncmp(s, "sha256:", 7) == 0 && strlen(s) == 71 && s[7 + strspn(s + 7, "0123456789abcdef")] == '\0';
}

static void answer(struct question *q, const char *digest)
{
    if (!is_digest(digest))
        refuse(q, RB_E_IMAGE_REGISTRY,
               "the registry does not say its digest by sha256; name the image by its digest");
    else
        end(q, NULL, rb_arena_printf(&q->arena, "%s/%s@%s", q->name.registry, q->name.path, digest));
}

// --- who we are

// The value of NAME="..." in a challenge; NULL: it has none.
static const char *parameter(struct question *q, const char *challenge, const char *name)
{
    char mark[32];
    snprintf(mark, sizeof mark, "%s=\"", name);
    const char *at = strstr(challenge, mark);
    const char *value = at ? at + strlen(mark) : NULL, *close = value ? strchr(value, '"') : NULL;
    return close ? rb_arena_strndup(&q->arena, value, (size_t)(close - value)) : NULL;
}

static void put_basic(const struct question *q, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "%s:%s", q->user, q->password);
    char *encoded = rb_xcalloc(4 * ((text.len + 2) / 3) + 1, 1);
    rb_base64_encode(text.data, text.len, encoded);
    rb_buf_printf(out, "Authorization: Basic %s", encoded);
    explicit_bzero(text.data, text.len);
    explicit_bzero(encoded, strlen(encoded));
    free(encoded);
}

static void on_token(void *arg, const struct rb_http_response *r)
{
    struct question *q = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (r->status == 401 || r->status == 403) {
        deny(q);
        return;
    }
    if (r->status != 200) {
        fail(q, r);
        return;
    }
    const char *token = NULL;
    if (rb_doc_parse_json(&doc, "token", r->body, r->body_len, NULL) && doc.root->kind == RB_NODE_MAP) {
        token = rb_node_member_text(doc.root, "token");
        token = token ? token : rb_node_member_text(doc.root, "access_token");
    }
    if (!token || strpbrk(token, "\r\n")) {
        refuse(q, RB_E_IMAGE_REGISTRY, "the answer of its token service is not understood; try again");
        return;
    }
    rb_buf_printf(&q->proof, "Authorization: Bearer %s", token);
    q->asked_again = true;
    ask_manifest(q);
}

static void ask_token(struct question *q, const char *challenge)
{
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT, proof = RB_BUF_INIT;
    const char *realm = parameter(q, challenge, "realm"), *service = parameter(q, challenge, "service");
    struct rb_err err = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf scope = RB_BUF_INIT;
    if (!realm || (rb_http_is_loopback(realm) && !is_here(q))) { // no one else sends our password to this machine's ports
        refuse(q, RB_E_IMAGE_REGISTRY, "it asks for a login in a way that is not understood");
        return;
    }
    rb_buf_printf(&scope, "repository:%s:pull", q->name.path);
    rb_buf_puts(&url, realm);
    rb_percent_put(&url, strchr(realm, '?') ? "&scope=%s&service=%s" : "?scope=%s&service=%s", rb_buf_str(&scope),
                   service);
    if (q->user)
        put_basic(q, &proof);
    const char *const headers[] = {rb_buf_str(&proof)};
    const struct rb_http_request request = {
        .method = "GET", .url = rb_buf_str(&url), .headers = headers, .n_headers = q->user != NULL};
    if (!rb_http_send(q->http, &request, on_token, q, &err))
        refuse(q, RB_E_IMAGE_REGISTRY, err.message);
    if (proof.data)
        explicit_bzero(proof.data, proof.len);
}

static void prove(struct question *q, const char *challenge)
{
    if (strncmp(challenge, "Bearer ", strlen("Bearer ")) == 0) {
        ask_token(q, challenge);
    } else if (q->user) {
        put_basic(q, &q->proof);
        q->asked_again = true;
        ask_manifest(q);
    } else {
        deny(q);
    }
}

static void on_manifest(void *arg, const struct rb_http_response *r)
{
    struct question *q = arg;
    if (r->status == 200)
        answer(q, r->content_digest);
    else if (r->status == 401 && !q->asked_again && r->challenge)
        prove(q, r->challenge);
    else if (r->status == 401 || r->status == 403)
        deny(q);
    else if (r->status == 404)
        refuse(q, RB_E_IMAGE_UNKNOWN, "there is no such image: correct the name or the tag, or push the image");
    else
        fail(q, r);
}

static void ask_manifest(void *arg)
{
    struct question *q = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    struct rb_err err = {0};
    q->timer = 0;
    rb_buf_printf(&url, "%s://%s/v2/%s/manifests/%s", is_here(q) ? "http" : "https", host_of(q), q->name.path,
                  q->name.tag);
    const char *const headers[] = {accept, rb_buf_str(&q->proof)};
    const struct rb_http_request request = {
        .method = "HEAD", .url = rb_buf_str(&url), .headers = headers, .n_headers = 1 + (q->proof.len > 0)};
    if (!rb_http_send(q->http, &request, on_manifest, q, &err))
        refuse(q, RB_E_IMAGE_REGISTRY, err.message);
}

void rb_registry_resolve(struct rb_http *http, const struct rb_loop *loop, const char *image, const char *login,
                         rb_registry_fn *fn, void *arg)
{
    struct question *q = rb_xcalloc(1, sizeof *q);
    const char *feed = strchr(login, '\n');
    *q = (struct question){.http = http, .loop = loop, .fn = fn, .arg = arg};
    q->name = rb_image_name_read(image, &q->arena);
    if (feed) {
        q->user = rb_xcalloc((size_t)(feed - login) + 1, 1);
        memcpy(q->user, login, (size_t)(feed - login));
        q->password = rb_xstrdup(feed + 1);
        q->password[strcspn(q->password, "\n")] = '\0';
    }
    q->timer = loop->timer_start(loop->ctx, 0, ask_manifest, q);
}
