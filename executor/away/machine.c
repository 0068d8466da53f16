#include "executor/away/machine.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "base/limits.h"
#include "executor/controller/launch.h"
#include "executor/controller/lease.h"
#include "executor/journal/run_files.h"
#include "executor/run/infras.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/ssh_command.h"
#include "executor/transport/transport.h"
#include "profiles/catalog/infra.h"
#include "profiles/inputs/plan_inputs.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LAUNCH_TRIES = 4, // identical requests after an unknown outcome
    NEAR_PAUSE_US = 250000,
    FAR_PAUSE_US = 5000000,
    BOOT_S = 600,
    END_S = 300,
};

// --- what would be made

static const struct rb_transport *transport_of(const char *infra)
{
    const struct rb_provider_ops *ops;
    char region[64];
    return rb_provider_find(infra, &ops, region, NULL) ? rb_transport_find(ops->transport) : &rb_transport_ssh;
}

// As the plan counted it, else as the store says.
static bool find_price(const struct rb_plan *plan, struct rb_machine *m, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_catalog prices = {0};
    const struct rb_plan_controller *c = plan->controller;
    if (c && c->instance_type && strcmp(c->place, m->infra) == 0 && strcmp(c->instance_type, m->instance_type) == 0) {
        m->uusd_per_hour = c->uusd_per_hour;
        return true;
    }
    return rb_stored_prices(NULL, &arena, &prices, err) &&
           rb_machine_price(&prices, m->infra, m->instance_type, &m->uusd_per_hour, err);
}

bool rb_machine_choose(const struct rb_plan *plan, const char *infra, const char *instance_type, struct rb_machine *out,
                       struct rb_err *err)
{
    const struct rb_resources *resources = &plan->job->resources;
    const struct rb_controller_spec *own = &resources->controller;
    const char *image = rb_image_for(plan->images, plan->n_images, infra);
    struct rb_machine m = {.port = rb_ssh_port(resources), .running_unix_us = -1};
    const struct rb_provider_ops *ops;
    char region[64];
    if (!rb_machine_check_place(plan, infra, err) || !rb_provider_find(infra, &ops, region, err))
        return false;
    if (ops->grants_profiles && !own->instance_profile && !resources->instance_profile)
        return rb_err_set(err, RB_E_MACHINE_PROFILE,
                          "resources.controller.instance_profile is not set: no credentials are copied, so a controller in %s needs "
                          "a profile that may launch and end nodes; docs/howto/close-the-laptop.md says which rights",
                          infra);
    snprintf(m.infra, sizeof m.infra, "%s", infra);
    snprintf(m.instance_type, sizeof m.instance_type, "%s", own->instance_type ? own->instance_type : instance_type);
    snprintf(m.image, sizeof m.image, "%s", image ? image : "");
    snprintf(m.user, sizeof m.user, "%s", rb_ssh_user(resources));
    if (rb_transport_find(ops->transport)->by_shared_dir)
        snprintf(m.shared_dir, sizeof m.shared_dir, "%s", resources->slurm.shared_dir);
    if (resources->kubernetes.context)
        snprintf(m.context, sizeof m.context, "%s", resources->kubernetes.context);
    if (resources->kubernetes.namespace)
        snprintf(m.namespace, sizeof m.namespace, "%s", resources->kubernetes.namespace);
    if (!find_price(plan, &m, err))
        return false;
    *out = m;
    return true;
}

// --- one conversation with its cloud

struct talk {
    struct rb_machine *machine;
    const char *run_id;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_http *http;
    struct rb_provider provider;
    const struct rb_launch *launch;
    int tries;
    int64_t pause_us, until_us; // between looks; when to give up, on the loop's clock
    int64_t ended_unix_us;
    bool ok, ending, lost; // lost: it has ended before the run began
    struct rb_err err;
};

static void finish(struct talk *t)
{
    if (t->provider.ops)
        t->provider.ops->destroy(&t->provider);
    rb_http_destroy(t->http);
    rb_loop_uv_destroy(t->uv);
}

static bool begin(struct talk *t, const struct rb_resources *resources, struct rb_err *err)
{
    t->uv = rb_loop_uv_create();
    t->loop = rb_loop_uv_loop(t->uv);
    t->pause_us = rb_infra_is_harmless(t->machine->infra) ? NEAR_PAUSE_US : FAR_PAUSE_US;
    if (!rb_http_create(t->loop, &t->http, err))
        return false;
    const struct rb_provider_config config = {.loop = t->loop, .http = t->http, .resources = resources};
    return rb_infra_open(t->machine->infra, &config, &t->provider, err);
}

static bool run(struct talk *t, struct rb_err *err)
{
    rb_loop_uv_run(t->uv);
    if (!t->ok)
        *err = t->err;
    return t->ok;
}

static void conclude(struct talk *t, const struct rb_err *err)
{
    t->ok = !err;
    if (err)
        t->err = *err;
    rb_loop_uv_stop(t->uv);
}

// --- the launch

static void launch(void *arg);

static void launched(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    struct talk *t = arg;
    const bool again = err && (err->code == RB_ERR_UNKNOWN_OUTCOME || err->code == RB_ERR_THROTTLED);
    if (again && t->tries++ < LAUNCH_TRIES) {
        t->loop->timer_start(t->loop->ctx, t->pause_us, launch, t);
        return;
    }
    if (!err)
        snprintf(t->machine->instance_id, sizeof t->machine->instance_id, "%s", instance->id);
    conclude(t, err);
}

static void launch(void *arg)
{
    struct talk *t = arg;
    t->provider.ops->launch(&t->provider, t->launch, launched, t);
}

static void write_token(const char *run_id, const struct rb_machine *m, char token[static 65])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "%s|controller|%s|%s", run_id, m->infra, m->instance_type);
    rb_digest_sha256(rb_buf_str(&text), text.len, token);
}

// Where the instances of a run belong to an object that ends with it, its machine has one of its own.
static void own_run_id(const struct rb_provider_ops *ops, const char *run_id, char out[static 160])
{
    snprintf(out, 160, "%.140s%s", run_id, ops->groups_every_run ? "-controller" : "");
}

static bool request(struct talk *t, const struct rb_plan *plan, const char *user_data, struct rb_err *err)
{
    const struct rb_resources *resources = &plan->job->resources;
    const struct rb_machine *m = t->machine;
    char token[65], launch_id[33], run_id[160], owner[160], expires[32], name[RB_CONTROLLER_NAME + 1];
    write_token(t->run_id, m, token);
    snprintf(launch_id, sizeof launch_id, "%.32s", token);
    snprintf(name, sizeof name, "rb-%s-controller", plan->job->name);
    own_run_id(t->provider.ops, t->run_id, run_id);
    rb_run_owner(owner, sizeof owner);
    rb_lease_format(m->asked_unix_us + RB_LEASE_S * RB_US_PER_S, expires);
    const struct rb_infra_place place = rb_infra_place(m->infra);
    struct rb_launch request = {
        .token = token,
        .again = true, // perhaps by a command that was killed
        .region = place.region,
        .instance_type = m->instance_type,
        .market = RB_MARKET_ON_DEMAND,
        .image_id = m->image[0] ? m->image : NULL,
        .user_data = user_data,
        .may_move = true, // it has no GPU
        .is_controller = true,
        .max_lifetime_s = m->lifetime_s,
        .tags = {.name = name,
                 .run_id = run_id,
                 .launch_id = launch_id,
                 .owner = owner,
                 .expires_at = expires},
    };
    rb_launch_take(&request, resources);
    if (resources->controller.instance_profile)
        request.instance_profile = resources->controller.instance_profile;
    t->launch = &request;
    launch(t);
    return run(t, err);
}

// --- until it runs, or has ended

static void look(void *arg);

static void again(struct talk *t, const char *what)
{
    struct rb_err err;
    if (t->loop->now_us(t->loop->ctx) < t->until_us) {
        t->loop->timer_start(t->loop->ctx, t->pause_us, look, t);
        return;
    }
    if (t->ending)
        rb_err_set(&err, RB_E_MACHINE_LEFT,
                   "%s in %s was asked to end and is there yet%s%s; repeat the command, or end it in the cloud's console",
                   t->machine->instance_id, t->machine->infra, what[0] ? ": " : "", what);
    else
        rb_err_set(&err, RB_E_MACHINE_LOST,
                   "%s in %s does not run after %d s%s%s; repeat this command, which goes on with the same machine",
                   t->machine->instance_id, t->machine->infra, BOOT_S, what[0] ? ": " : "", what);
    conclude(t, &err);
}

static void see_running(struct talk *t, const struct rb_instance *i)
{
    snprintf(t->machine->address, sizeof t->machine->address, "%s", i->address);
    t->machine->running_unix_us = i->running_at_us >= 0 ? i->running_at_us : t->loop->unix_us(t->loop->ctx);
    conclude(t, NULL);
}

static void see_ended(struct talk *t, const struct rb_instance *i)
{
    struct rb_err err;
    if (t->ending) {
        t->ended_unix_us = i && i->terminated_at_us >= 0 ? i->terminated_at_us : t->loop->unix_us(t->loop->ctx);
        conclude(t, NULL);
        return;
    }
    rb_err_set(&err, RB_E_MACHINE_LOST, "%s in %s has ended before run %s began%s%s; repeat this command, which makes another",
               t->machine->instance_id, t->machine->infra, t->run_id, i && i->state_reason ? ": " : "",
               i && i->state_reason ? i->state_reason : "");
    t->lost = true;
    conclude(t, &err);
}

// By its name: listings find instances by their tags, which ended ones lose.
static void looked(void *arg, const struct rb_err *err, const struct rb_instance *i)
{
    struct talk *t = arg;
    if (err && err->code == RB_ERR_NOT_FOUND && t->ending)
        see_ended(t, NULL);
    else if (err)
        again(t, err->message);
    else if (i->state == RB_INSTANCE_TERMINATED)
        see_ended(t, i);
    else if (i->state == RB_INSTANCE_RUNNING && i->address && !t->ending)
        see_running(t, i);
    else
        again(t, "");
}

// Where nothing is looked up by its name, a listing reports all that there is, and what is not in it has ended.
static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct talk *t = arg;
    struct rb_err gone;
    int i = 0;
    while (i < n && strcmp(instances[i].id, t->machine->instance_id) != 0)
        i++;
    if (!err && i == n && !complete)
        again(t, "the listing is not complete");
    else if (!err && i == n)
        looked(t, (rb_err_set(&gone, RB_E_CLOUD_NOT_FOUND, "it is in no listing"), &gone), NULL);
    else
        looked(t, err, err ? NULL : &instances[i]);
}

static void look(void *arg)
{
    struct talk *t = arg;
    const struct rb_provider_ops *ops = t->provider.ops;
    if (ops->look)
        ops->look(&t->provider, t->machine->instance_id, looked, t);
    else
        ops->list(&t->provider, t->run_id, listed, t);
}

static bool await(struct talk *t, int64_t patience_s, struct rb_err *err)
{
    t->until_us = t->loop->now_us(t->loop->ctx) + patience_s * RB_US_PER_S;
    t->ok = false;
    look(t);
    return run(t, err);
}

// --- the folder

static void path_of(const char *dir, const char *name, struct rb_buf *out)
{
    rb_buf_clear(out);
    rb_buf_printf(out, "%s/%s", dir, name);
}

// 0600: it holds a private key.
static bool keep_user_data(const char *dir, const struct rb_buf *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    path_of(dir, "user-data", &path);
    unlink(rb_buf_str(&path)); // of a command that died before it asked
    const int fd = open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool ok = fd >= 0 && write(fd, text->data, text->len) == (ssize_t)text->len && fsync(fd) == 0;
    if (!ok)
        rb_err_set(err, RB_E_FILE_WRITE, "cannot keep %s: %s", rb_buf_str(&path), strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

// From here on every command that asks sends the same request.
static bool draft(const struct rb_plan *plan, const struct rb_elsewhere *e, int64_t deadline_us, struct rb_machine *m,
                  struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf user_data = RB_BUF_INIT;
    struct rb_birth birth = {.job = plan->job,
                             .run_id = e->run_id,
                             .run_dir = e->dir,
                             .hard_limit_min = RB_BIRTH_HARD_LIMIT_MIN};
    const struct rb_transport *way = transport_of(m->infra);
    m->asked_unix_us = rb_clock_unix_us();
    m->lifetime_s = (deadline_us >= 0 ? deadline_us / RB_US_PER_S + RB_CONTROLLER_END_SLACK_S
                                      : RB_CONTROLLER_MAX_LIFETIME_S) +
                    rb_machine_keep_us(&plan->job->resources) / RB_US_PER_S;
    const bool ok = (!way->prepare || way->prepare(&birth, err)) && way->make_user_data(&birth, &user_data, m->host_key, err) &&
                    keep_user_data(e->dir, &user_data, err) && rb_machine_write(e->dir, m, err);
    rb_ssh_leave_control_dir(e->dir);
    if (user_data.data)
        explicit_bzero(user_data.data, user_data.len);
    return ok;
}

static bool ask_for_it(struct talk *t, const struct rb_plan *plan, const char *dir, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *user_data = NULL;
    char longest[32];
    size_t n;
    path_of(dir, "user-data", &path);
    if (t->machine->instance_id[0]) {
        unlink(rb_buf_str(&path)); // a command may have died before it did that
        return true;
    }
    if (!rb_read_file(rb_buf_str(&path), RB_LIMIT_USER_DATA, &user_data, &n, err))
        return false;
    rb_format_duration(t->machine->lifetime_s * RB_US_PER_S, longest);
    const bool limited = t->provider.ops->keeps_lifetimes;
    rb_info("making a machine for the controller: %s in %s%s%s%s", t->machine->instance_type, t->machine->infra,
            limited ? ", which ends after " : "", limited ? longest : "", limited ? " at the latest" : "");
    const bool ok = request(t, plan, user_data, err) && rb_machine_write(dir, t->machine, err);
    explicit_bzero(user_data, n);
    if (ok)
        unlink(rb_buf_str(&path));
    return ok;
}

// The token of a machine that has ended would give the same one again: the run is forgotten with it.
static bool bring_up(const struct rb_plan *plan, struct rb_elsewhere *e, struct rb_machine *m, struct rb_err *err)
{
    RB_AUTO(finish) struct talk t = {.machine = m, .run_id = e->run_id};
    const bool ok = begin(&t, &plan->job->resources, err) && ask_for_it(&t, plan, e->dir, err) &&
                    await(&t, BOOT_S, err) && rb_machine_write(e->dir, m, err) &&
                    (!m->host_key[0] || rb_ssh_know_host(e->dir, m->instance_id, m->host_key, err));
    if (t.lost)
        rb_elsewhere_forget(e);
    return ok;
}

// --- until ssh reaches it

void rb_machine_host(const char *dir, const char *run_id, const struct rb_machine *m, struct rb_host *out)
{
    const struct rb_transport *way = transport_of(m->infra);
    *out = (struct rb_host){.by = way == &rb_transport_ssh ? NULL : way};
    snprintf(out->infra, sizeof out->infra, "%s", m->infra);
    snprintf(out->run_id, sizeof out->run_id, "%s", run_id);
    snprintf(out->context, sizeof out->context, "%s", m->context);
    snprintf(out->namespace, sizeof out->namespace, "%s", m->namespace);
    snprintf(out->shared_dir, sizeof out->shared_dir, "%s", m->shared_dir);
    snprintf(out->name, sizeof out->name, "%s", m->infra);
    snprintf(out->address, sizeof out->address, "%.63s%s%.190s", out->by ? "" : m->user, out->by ? "" : "@", m->address);
    snprintf(out->port, sizeof out->port, "%d", m->port);
    snprintf(out->keys, sizeof out->keys, "%s", dir);
    snprintf(out->alias, sizeof out->alias, "%s", m->instance_id);
}

static bool await_ssh(const struct rb_host *host, const struct rb_machine *m, struct rb_err *err)
{
    const char *const words[] = {"look", "any"};
    const int64_t until_us = rb_clock_unix_us() + BOOT_S * RB_US_PER_S;
    const bool near = rb_infra_is_harmless(m->infra);
    struct rb_err why;
    for (int code; rb_clock_unix_us() < until_us; usleep(near ? NEAR_PAUSE_US : FAR_PAUSE_US)) {
        RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
        const struct rb_host_call call = {
            .words = words, .n_words = 2, .input_fd = -1, .quiet = true, .out = &said, .max_output_bytes = 4096};
        if (rb_host_call(host, &call, &code, &why) && code == 0)
            return true;
        if (host->by)
            *err = why;
    }
    if (host->by)
        return rb_err_prefix(err, "%s in %s runs and is not reached", m->instance_id, m->infra);
    return rb_err_set(err, RB_E_MACHINE_LOST,
                      "%s in %s (%s) runs, and ssh does not reach it; do resources.security_groups admit this machine on "
                      "port %d? Then repeat this command, which goes on with the same machine",
                      m->instance_id, m->infra, m->address, m->port);
}

bool rb_machine_make(const struct rb_plan *plan, struct rb_elsewhere *e, const struct rb_machine *chosen,
                     int64_t deadline_us, struct rb_host *out, struct rb_err *err)
{
    struct rb_machine m = *chosen;
    bool known;
    if (!rb_machine_read(e->dir, &m, &known, err) || (!known && !draft(plan, e, deadline_us, &m, err)) ||
        !bring_up(plan, e, &m, err))
        return false;
    rb_machine_host(e->dir, e->run_id, &m, out);
    return await_ssh(out, &m, err);
}

// --- its end

static void terminated(void *arg, const struct rb_err *err)
{
    struct talk *t = arg;
    if (err && err->code == RB_ERR_DENIED)
        conclude(t, err);
    else
        look(t); // whatever was answered: is it there?
}

static void group_ended(void *arg, const struct rb_err *err)
{
    conclude(arg, err);
}

static void grouped(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n)
{
    struct talk *t = arg;
    if (err || n == 0)
        conclude(t, err);
    else
        t->provider.ops->end_group(&t->provider, groups[0].name, group_ended, t);
}

// What only this machine belonged to.
static bool end_group(struct talk *t, struct rb_err *err)
{
    char run_id[160];
    own_run_id(t->provider.ops, t->run_id, run_id);
    t->provider.ops->groups(&t->provider, run_id, grouped, t);
    return run(t, err);
}

bool rb_machine_end(const struct rb_machine *m, const struct rb_resources *resources, const char *run_id,
                    int64_t *out_ended_unix_us, struct rb_err *err)
{
    struct rb_machine machine = *m;
    RB_AUTO(finish) struct talk t = {.machine = &machine, .run_id = run_id, .ending = true};
    if (!begin(&t, resources, err))
        return false;
    t.until_us = t.loop->now_us(t.loop->ctx) + END_S * RB_US_PER_S;
    t.provider.ops->terminate(&t.provider, m->instance_id, terminated, &t);
    if (!run(&t, err) || (t.provider.ops->groups_every_run && !end_group(&t, err)))
        return false;
    *out_ended_unix_us = t.ended_unix_us;
    return true;
}

// --- its lease

static void renewed(void *arg, const struct rb_err *err)
{
    conclude(arg, err);
}

bool rb_machine_renew(const struct rb_machine *m, const struct rb_resources *resources, int64_t until_unix_us,
                      struct rb_err *err)
{
    struct rb_machine machine = *m;
    char until[32];
    const char *id = machine.instance_id;
    RB_AUTO(finish) struct talk t = {.machine = &machine};
    rb_lease_format(until_unix_us, until);
    const struct rb_tag lease = {RB_LEASE_TAG, until};
    if (!begin(&t, resources, err))
        return false;
    if (!t.provider.ops->renew)
        return true;
    t.provider.ops->renew(&t.provider, &id, 1, &lease, renewed, &t);
    return run(&t, err);
}
