// Launches: the intent is on disk before a byte goes out, the instance's name before anything else is done,
// and what was not answered is asked again with the same words, never guessed.
#include "executor/controller_private.h"

#include "base/file.h"
#include "base/limits.h"
#include "executor/placement_group.h"
#include "providers/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Intent.

static void user_data_path(const struct rb_controller_node *n, struct rb_buf *out)
{
    rb_buf_printf(out, "%s/keys/%s.user-data", n->c->config.run_dir, n->row.launch_id);
}

static void hex_digest(struct rb_buf *text, char out_hex[65])
{
    rb_digest_sha256(rb_buf_str(text), text->len, out_hex);
}

static const char *image_of(const struct rb_controller_node *n)
{
    const struct rb_plan *plan = n->c->config.plan;
    for (int i = 0; i < plan->n_images; i++) {
        const size_t len = strlen(plan->images[i].key);
        if (strncmp(n->row.infra, plan->images[i].key, len) == 0 &&
            (n->row.infra[len] == '\0' || n->row.infra[len] == '/'))
            return plan->images[i].value;
    }
    return NULL;
}

// NULL: it may stand anywhere.
static const char *group_of(const struct rb_controller_node *n, char name[static RB_PLACEMENT_GROUP_BYTES])
{
    const struct rb_controller_config *config = &n->c->config;
    return rb_placement_group(config->plan, config->run_id, n->row.infra, n->row.instance_type, name) ? name : NULL;
}

// Token: digest of everything that identifies the request, with 128 random bits in the launch id.
static void make_token(struct rb_controller_node *n, const char *user_data)
{
    RB_AUTO(rb_buf_finish) struct rb_buf params = RB_BUF_INIT, all = RB_BUF_INIT;
    const char *image = image_of(n);
    char digest[65], name[RB_PLACEMENT_GROUP_BYTES];
    const char *group = group_of(n, name);
    rb_buf_printf(&params, "%s|%s|%s|%" PRId64 "|%s", n->row.instance_type, n->row.market, image ? image : "",
                  n->c->config.plan->job->resources.disk_bytes, user_data);
    if (group)
        rb_buf_printf(&params, "|%s", group);
    hex_digest(&params, digest);
    rb_buf_printf(&all, "%s|%s|%d|%s|%s", n->c->config.run_id, n->row.launch_id, n->row.attempt, n->row.infra, digest);
    hex_digest(&all, n->row.token);
}

// 0600, not in the journal: it holds the node's private host key until the launch was answered.
static bool keep_user_data(const struct rb_controller_node *n, const struct rb_buf *user_data, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    user_data_path(n, &path);
    const int fd = open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool ok =
        fd >= 0 && write(fd, rb_buf_str(user_data), user_data->len) == (ssize_t)user_data->len && fsync(fd) == 0;
    if (!ok)
        rb_err_set(err, RB_ERR_IO, "%s: %s", rb_buf_str(&path), strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

static void drop_user_data(const struct rb_controller_node *n)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    user_data_path(n, &path);
    unlink(rb_buf_str(&path)); // absent where nodes are born with nothing
}

bool rb_controller_within_budget(struct rb_controller *c, int64_t reserve_uusd)
{
    int64_t spent, reserved;
    rb_controller_spend(c, &spent, &reserved);
    return c->meta.budget_uusd < 0 || spent + reserved + reserve_uusd <= c->meta.budget_uusd;
}

static void fill_row(struct rb_controller_node *n, const struct rb_action *a, int chosen)
{
    const struct rb_offer *offer = &n->c->config.plan->offers[chosen];
    n->row = (struct rb_launch_row){
        .node = a->node,
        .attempt = a->attempt,
        .offer = chosen,
        .state = RB_LAUNCH_INTENT,
        .intent_us = rb_controller_now_us(n->c),
        .running_us = -1,
        .ready_us = -1,
        .terminate_us = -1,
        .gone_us = -1,
        .running_unix_us = -1,
        .terminated_unix_us = -1,
        .reserved_uusd = rb_spend_reserve_uusd(&n->billing),
    };
    snprintf(n->row.infra, sizeof n->row.infra, "%s", offer->infra);
    snprintf(n->row.instance_type, sizeof n->row.instance_type, "%s", offer->instance_type);
    snprintf(n->row.market, sizeof n->row.market, "%s", rb_market_name(offer->market));
    uint8_t bytes[16];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, n->row.launch_id);
    n->tries = n->absent = 0;
    n->end_known = n->other_market = n->looking = n->forgotten = false;
    n->absent_since_us = n->acked_us = n->unanswered_us = -1;
}

// What an earlier controller saw when it closed the run is no longer true.
static bool forget_leak_check(struct rb_controller *c)
{
    struct rb_err err;
    if (c->meta.leak_checked_at_us < 0)
        return true;
    c->meta.leak_checked_at_us = -1;
    if (rb_journal_leak_check(c->journal, -1, -1, &err))
        return true;
    rb_controller_journal_failed(c, &err);
    return false;
}

bool rb_controller_record_launch(struct rb_controller *c, const struct rb_action *a)
{
    struct rb_controller_node *n = rb_controller_node_at(c, a->node);
    struct rb_err err = {0};
    if (n->has_row)
        rb_controller_supersede(c, &n->row, &n->billing);
    n->has_row = false;
    const int offer = rb_controller_choose_offer(n);
    if (!rb_spend_billing(c->config.plan, offer, &n->billing, &err)) {
        rb_controller_fail(c, &err);
        return false;
    }
    if (!rb_controller_within_budget(c, rb_spend_reserve_uusd(&n->billing))) {
        c->stop_wanted = true;
        c->stop_reason = RB_STOP_BUDGET;
        return false;
    }
    fill_row(n, a, offer);
    rb_controller_say_stand_in(n);
    RB_AUTO(rb_buf_finish) struct rb_buf user_data = RB_BUF_INIT;
    const bool born = !c->config.birth || (c->config.birth(c->config.birth_ctx, &user_data, n->row.host_key, &err) &&
                                           keep_user_data(n, &user_data, &err));
    make_token(n, rb_buf_str(&user_data));
    if (user_data.len)
        explicit_bzero(user_data.data, user_data.len);
    if (!born) {
        rb_controller_fail(c, &err);
        return false;
    }
    n->has_row = rb_controller_write_node(n) && forget_leak_check(c);
    return n->has_row;
}

// Launch.

static void retry_launch(void *arg)
{
    struct rb_controller_node *n = arg;
    n->retry_timer = 0;
    if (n->row.state == RB_LAUNCH_SENT || n->row.state == RB_LAUNCH_AMBIGUOUS)
        rb_controller_send_launch(n);
}

// Until then a request that nobody answered may still arrive. 0: all were answered.
static int64_t late_until(const struct rb_controller_node *n)
{
    return n->unanswered_us < 0 ? 0 : n->unanswered_us + RB_CONTROLLER_LATE_S * RB_US_PER_S;
}

static void linger(struct rb_controller_node *n)
{
    const int64_t copies_us = rb_controller_now_us(n->c) + RB_CONTROLLER_COPY_S * RB_US_PER_S;
    const int64_t until_us = late_until(n) > copies_us ? late_until(n) : copies_us;
    if (until_us > n->c->linger_until_us)
        n->c->linger_until_us = until_us;
}

static void not_launched(struct rb_controller_node *n, const struct rb_err *err)
{
    struct rb_controller *c = n->c;
    if (n->row.state != RB_LAUNCH_INTENT) // something was sent
        linger(n);
    n->row.state = RB_LAUNCH_REFUSED;
    if (!rb_controller_write_node(n))
        return;
    drop_user_data(n);
    rb_controller_note(c, "fault", "node %d: %s refused %s: %s", n->id, n->row.infra, n->row.instance_type,
                       err->message);
    if (err->code == RB_ERR_CAPACITY) {
        rb_controller_sold_out(c, n->row.offer, rb_controller_now_us(c));
        rb_controller_refused(n);
    } else if (err->code != RB_ERR_IO && rb_controller_is_stand_in(n)) {
        rb_controller_set_aside(n, err);
    } else if (rb_controller_node_wanted(n)) {
        rb_controller_fail(c, err);
    }
}

// Nobody knows whether it was launched: the identical request again, later; a listing may tell first.
static void unanswered(struct rb_controller_node *n, const struct rb_err *err)
{
    if (n->row.state != RB_LAUNCH_AMBIGUOUS) {
        n->row.state = RB_LAUNCH_AMBIGUOUS;
        if (!rb_controller_write_node(n))
            return;
        rb_controller_note(n->c, "warning", "node %d: its launch is undecided (%s); asking again with the same token",
                           n->id, err->message);
    }
    if (err->code != RB_ERR_CAPACITY && err->code != RB_ERR_THROTTLED) // these are answers
        n->unanswered_us = rb_controller_now_us(n->c);
    rb_controller_arm(n->c, &n->retry_timer, rb_controller_backoff_us(n->tries++), retry_launch, n);
}

// A refusal is definite if every request was answered: the next offer may be asked. While an earlier one may still
// arrive, only the same token is safe: two requests with it can never make two instances.
static void refused_now(struct rb_controller_node *n, const struct rb_err *err)
{
    if (rb_controller_node_wanted(n) && rb_controller_now_us(n->c) < late_until(n))
        unanswered(n, err);
    else
        not_launched(n, err);
}

static void launch_answered(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    struct rb_controller_call *call = arg;
    struct rb_controller *c = call->c;
    struct rb_controller_node *n = call->node;
    const bool ours = n->has_row && n->row.attempt == call->attempt;
    rb_controller_end_call(call);
    if (c->dead || !ours)
        return;
    n->launching = false;
    const bool open = n->row.state == RB_LAUNCH_SENT || n->row.state == RB_LAUNCH_AMBIGUOUS;
    if (!err && open) {
        rb_controller_settle_launch(n, instance);
    } else if (!err) { // a listing was faster, and may have shown another one
        if (strcmp(instance->id, n->row.instance_id) != 0)
            rb_controller_adopt_stray(n, instance);
    } else if (open) {
        switch (err->code) {
        case RB_ERR_CAPACITY:
            refused_now(n, err);
            break;
        case RB_ERR_DENIED:
        case RB_ERR_INVALID:
        case RB_ERR_PRICE:
            not_launched(n, err);
            break;
        default:
            unanswered(n, err);
        }
    }
    rb_controller_check_over(c);
}

// The cloud's own switch is not wound up again by heartbeats, so it stands behind everything that is planned: it bounds
// the cost of a node whose controller never comes back. The same in every repetition of the request.
static int64_t max_lifetime_s(const struct rb_controller_node *n)
{
    const int64_t deadline_us = n->c->meta.deadline_us;
    if (deadline_us < 0)
        return RB_CONTROLLER_MAX_LIFETIME_S;
    const int64_t left_us = deadline_us > n->row.intent_us ? deadline_us - n->row.intent_us : 0;
    return left_us / RB_US_PER_S + RB_CONTROLLER_END_SLACK_S;
}

static void request_launch(struct rb_controller_node *n, const char *user_data)
{
    struct rb_controller *c = n->c;
    const struct rb_resources *resources = &c->config.plan->job->resources;
    char infra[sizeof n->row.infra], name[64], expires[32], group[RB_PLACEMENT_GROUP_BYTES];
    strcpy(infra, n->row.infra);
    char *save = NULL;
    strtok_r(infra, "/", &save);
    const char *region = strtok_r(NULL, "/", &save), *zone = region ? strtok_r(NULL, "/", &save) : NULL;
    snprintf(name, sizeof name, "rb-%s-%d", c->config.plan->job->name, n->id);
    const int64_t lifetime_s = max_lifetime_s(n);
    rb_format_instant(
        (c->meta.started_unix_us + n->row.intent_us) / RB_US_PER_S * RB_US_PER_S + lifetime_s * RB_US_PER_S, expires);
    const struct rb_tag tags[] = {{"Name", name},
                                  {"rb:owner", c->meta.owner},
                                  {"rb:run-id", c->config.run_id},
                                  {"rb:launch-id", n->row.launch_id},
                                  {"rb:expires-at", expires}}; // for people: nobody wants it after that
    const struct rb_launch launch = {
        .token = n->row.token,
        .region = region ? region : "",
        .zone = zone,
        .instance_type = n->row.instance_type,
        .market = c->config.plan->offers[n->row.offer].market,
        .image_id = image_of(n),
        .user_data = user_data,
        .disk_gb = n->billing.disk_gb,
        .max_lifetime_s = lifetime_s,
        .tags = tags,
        .n_tags = (int)(sizeof tags / sizeof *tags),
        .security_groups = resources->security_groups.items,
        .n_security_groups = resources->security_groups.n,
        .subnet = resources->subnets.n ? resources->subnets.items[0] : NULL,
        .instance_profile = resources->instance_profile,
        .placement_group = group_of(n, group),
    };
    n->launching = true;
    struct rb_controller_call *call = rb_controller_new_call(c, n, rb_controller_infra_of(c, n->row.infra));
    struct rb_provider *p = rb_controller_provider_of(n);
    p->ops->launch(p, &launch, launch_answered, call);
}

void rb_controller_send_launch(struct rb_controller_node *n)
{
    struct rb_controller *c = n->c;
    if (n->launching || c->dead)
        return;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *user_data = NULL;
    size_t len = 0;
    struct rb_err err;
    user_data_path(n, &path);
    if (c->config.birth && !rb_read_file(rb_buf_str(&path), RB_LIMIT_USER_DATA, &user_data, &len, &err)) {
        // Without it the request cannot be said again. Nothing of an INTENT was sent; anything else is asked
        // by listing.
        if (n->row.state == RB_LAUNCH_INTENT)
            not_launched(n, &err);
        else
            unanswered(n, &err);
        return;
    }
    if (n->row.state == RB_LAUNCH_INTENT) {
        n->row.state = RB_LAUNCH_SENT;
        if (!rb_controller_write_node(n))
            return;
    }
    request_launch(n, user_data);
    if (user_data)
        explicit_bzero(user_data, len);
}

static void copy(char *out, size_t size, const char *text)
{
    if (text)
        snprintf(out, size, "%s", text);
}

// The instance exists: its name is on disk before anything else happens.
void rb_controller_settle_launch(struct rb_controller_node *n, const struct rb_instance *instance)
{
    if (n->row.state == RB_LAUNCH_REFUSED)
        rb_controller_note(n->c, "fault", "node %d: a copy of its refused launch arrived after all: %s%s", n->id,
                           instance->id, rb_controller_node_wanted(n) ? "" : " is ended");
    n->row.state = RB_LAUNCH_ACKED;
    copy(n->row.instance_id, sizeof n->row.instance_id, instance->id);
    copy(n->row.address, sizeof n->row.address, instance->address);
    copy(n->row.private_address, sizeof n->row.private_address, instance->private_address);
    const bool wanted = rb_controller_node_wanted(n);
    if (!(wanted ? rb_controller_write_node(n) : rb_controller_record_end(n->c, n)))
        return;
    n->acked_us = rb_controller_now_us(n->c);
    n->tries = 0;
    rb_controller_disarm(n->c, &n->retry_timer);
    drop_user_data(n);
    if (wanted)
        rb_controller_arm_boot(n);
    else
        rb_controller_end_node(n);
    rb_controller_observe(n, instance);
}

static int lowest_attempt(const struct rb_controller *c, int node)
{
    int lowest = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_controller_node *n = rb_controller_launch_at(c, i);
        if (n->has_row && n->id == node && n->row.attempt < lowest)
            lowest = n->row.attempt;
    }
    return lowest;
}

void rb_controller_adopt_stray(struct rb_controller_node *n, const struct rb_instance *instance)
{
    struct rb_controller *c = n->c;
    struct rb_launch_row row = n->row;
    for (int i = 0; i < rb_controller_n_launches(c); i++)
        if (strcmp(rb_controller_launch_at(c, i)->row.instance_id, instance->id) == 0)
            return; // listed before, and known by now
    rb_controller_note(c, "fault", "node %d: its launch made a second instance, %s; ending it", n->id, instance->id);
    row.attempt = lowest_attempt(c, n->id) - 1;
    row.state = RB_LAUNCH_SENT;
    row.token[0] = row.instance_id[0] = row.address[0] = row.private_address[0] = '\0';
    row.running_us = row.ready_us = row.terminate_us = row.gone_us = -1;
    row.running_unix_us = row.terminated_unix_us = -1;
    row.cost_uusd = 0;
    rb_controller_supersede(c, &row, &n->billing);
    rb_controller_settle_launch(c->superseded[c->n_superseded - 1], instance);
}
