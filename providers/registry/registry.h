// The digest of a container image, asked of its registry before anything is launched: a tag may be moved, a digest says what is
// in it. One HEAD of its manifest, and where the registry wants to know who asks, one request for a token.
// Source: OCI distribution specification 1.1; "Token authentication" of distribution.github.io.
#ifndef RB_PROVIDERS_REGISTRY_H
#define RB_PROVIDERS_REGISTRY_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "base/loop.h"

struct rb_http;

// "python:3.12" is registry docker.io, path library/python, tag 3.12.
struct rb_image_name {
    const char *registry, *path;
    const char *tag;    // "latest" unless given
    const char *digest; // "sha256:...", NULL: none
};
// image: rb_image_is_name. Strings live in the arena.
struct rb_image_name rb_image_name_read(const char *image, struct rb_arena *arena);

// image: by its digest, "docker.io/library/python@sha256:...". Borrowed.
typedef void rb_registry_fn(void *arg, const struct rb_err *err, const char *image);
// Calls fn once, from the loop. login: what rb_registry_login gave; copied. Errors: IMAGE_UNKNOWN, IMAGE_DENIED,
// IMAGE_REGISTRY.
void rb_registry_resolve(struct rb_http *http, const struct rb_loop *loop, const char *image, const char *login,
                         rb_registry_fn *fn, void *arg);

#endif
