#include "executor/images/pins.h"

#include "executor/transport/loop_uv.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/job_image.h"
#include "providers/registry/login.h"
#include "providers/registry/registry.h"
#include "providers/wire/child.h"
#include "providers/wire/child_answer.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <string.h>

struct pins {
    const struct rb_job *job;
    struct rb_arena *arena;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    int n_waiting;
    struct rb_err err; // the first
};

// A row whose registry has been asked.
struct pin {
    struct pins *pins;
    struct rb_key_value *row;
};

static void fail(struct pins *p, const struct rb_key_value *row, const struct rb_err *why)
{
    if (p->err.code)
        return;
    p->err = *why;
    rb_err_prefix(&p->err, "image of %s", row->key);
}

// A name as nodes can use it: some know no registry by default.
static void spell_out(struct pins *p, struct rb_key_value *row)
{
    const struct rb_image_name name = rb_image_name_read(row->value, p->arena);
    if (name.digest)
        row->value = rb_arena_printf(p->arena, "%s/%s@%s", name.registry, name.path, name.digest);
}

// --- this machine's own store

// Its answer is the id, "sha256:..." or bare digits.
static bool ask_podman(struct pins *p, const char *image, const char **out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf answer = RB_BUF_INIT;
    const char *const argv[] = {"podman", "image", "inspect", "--format", "{{.Id}}", image, NULL};
    const struct rb_child_question q = {"image", argv, rb_child_command_env(NULL, 0, &arena)};
    if (!rb_child_answer(&q, &answer, NULL))
        return rb_err_set(err, RB_E_IMAGE_UNKNOWN,
                          "podman on this machine has no %s: build or import it, or correct the name (or install podman)",
                          image);
    const char *id = rb_buf_str(&answer);
    id += strncmp(id, "sha256:", 7) == 0 ? 7 : 0;
    *out = rb_arena_printf(p->arena, "sha256:%.*s", (int)strcspn(id, "\r\n"), id);
    return rb_image_has_digest(*out) ||
           rb_err_set(err, RB_E_IMAGE_UNKNOWN, "podman does not say the id of %s as expected: \"%.80s\"", image, id);
}

static bool is_of_store(const char *image)
{
    return strncmp(image, "localhost/", strlen("localhost/")) == 0;
}

static void pin_from_store(struct pins *p, struct rb_key_value *row)
{
    struct rb_err err = {0};
    const char *id = NULL;
    if (!rb_infra_within(row->key, "local"))
        rb_err_set(&err, RB_E_IMAGE_NAME,
                   "%s is in this machine's own store, where nodes elsewhere cannot fetch it: push it to a registry, "
                   "and name it by that",
                   row->value);
    else if (ask_podman(p, row->value, &id, &err))
        row->value = id;
    if (err.code)
        fail(p, row, &err);
}

// --- registries

static void resolved(void *arg, const struct rb_err *err, const char *image)
{
    const struct pin *pin = arg;
    struct pins *p = pin->pins;
    if (err)
        fail(p, pin->row, err);
    else
        pin->row->value = rb_arena_strdup(p->arena, image);
    if (--p->n_waiting == 0)
        rb_loop_uv_stop(p->uv);
}

static void ask_registry(struct pins *p, struct rb_key_value *row)
{
    RB_AUTO(rb_buf_finish) struct rb_buf login = RB_BUF_INIT;
    struct rb_err err = {0};
    if (!rb_registry_login(p->job, row->value, &login, &err)) {
        fail(p, row, &err);
        return;
    }
    struct pin *pin = rb_arena_alloc(p->arena, sizeof *pin);
    *pin = (struct pin){p, row};
    p->n_waiting++;
    rb_registry_resolve(p->http, rb_loop_uv_loop(p->uv), row->value, rb_buf_str(&login), resolved, pin);
    if (login.data)
        explicit_bzero(login.data, login.len);
}

// --- all of them

static void pin(struct pins *p, struct rb_key_value *row)
{
    if (rb_image_has_digest(row->value))
        spell_out(p, row);
    else if (is_of_store(row->value))
        pin_from_store(p, row);
    else
        ask_registry(p, row);
}

static void finish(struct pins *p)
{
    rb_http_destroy(p->http);
    rb_loop_uv_destroy(p->uv);
}

// Is it the job's `image`, and as it was written there?
static bool is_to_pin(const struct rb_job *job, const struct rb_key_value *row)
{
    const char *of_job = rb_image_for(job->images, job->n_images, row->key);
    return of_job && strcmp(of_job, row->value) == 0;
}

static bool pin_rows(const struct rb_job *job, const struct rb_key_value **rows, int n, struct rb_arena *arena,
                     bool *out_any, struct rb_err *err)
{
    struct rb_key_value *pinned = rb_arena_array(arena, (size_t)n, sizeof *pinned);
    RB_AUTO(finish) struct pins p = {.job = job, .arena = arena};
    bool any = false;
    for (int i = 0; i < n; i++) {
        pinned[i] = (*rows)[i];
        any = any || is_to_pin(job, &pinned[i]);
    }
    if (!any)
        return true;
    p.uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(p.uv), &p.http, err))
        return false;
    for (int i = 0; i < n; i++)
        if (is_to_pin(job, &pinned[i]))
            pin(&p, &pinned[i]);
    if (p.n_waiting > 0)
        rb_loop_uv_run(p.uv);
    if (p.err.code) {
        *err = p.err;
        return false;
    }
    *rows = pinned;
    *out_any = true;
    return true;
}

bool rb_pin_images(struct rb_plan *plan, struct rb_arena *arena, bool *out_any, struct rb_err *err)
{
    *out_any = false;
    return pin_rows(plan->job, &plan->images, plan->n_images, arena, out_any, err) &&
           pin_rows(plan->job, &plan->containers, plan->n_containers, arena, out_any, err);
}

bool rb_pin_job(struct rb_job *job, const char *infra, struct rb_arena *arena, struct rb_err *err)
{
    const char *image = rb_image_for(job->images, job->n_images, infra);
    bool any = false;
    if (!image)
        return true;
    struct rb_key_value *row = rb_arena_array(arena, 1, sizeof *row);
    *row = (struct rb_key_value){rb_arena_strdup(arena, infra), image};
    const struct rb_key_value *rows = row;
    if (!pin_rows(job, &rows, 1, arena, &any, err))
        return false;
    job->images = rows;
    job->n_images = 1;
    return true;
}
