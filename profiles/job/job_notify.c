// A list of hooks, each with one of command, webhook and email: [{webhook: $HOOK_URL, format: slack, on: [finished]}]. A
// plan keeps the job and is no place for secrets, so an address that may be one is only named.
#include "profiles/job/job_notify.h"

#include "profiles/job/job_image.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <ctype.h>
#include <string.h>

const char *const rb_notice_names[] = {"started", "finished",  "node_lost", "cut_off",        "reconnected",
                                       "late",    "budget_80", "resumed",   "instances_left", "moved",
                                       "credentials_ending", NULL};
const char *const rb_hook_names[] = {"command", "webhook", "email", NULL};
static const char *const formats[] = {"rb", "slack", NULL};

enum { MAX_HOOKS = 16, MAX_TARGET = 4096 };

const char *rb_hook_url_variable(const struct rb_hook_spec *h)
{
    return h->kind == RB_HOOK_WEBHOOK && h->target[0] == '$' ? h->target + 1 : NULL;
}

struct rb_string_list rb_job_hidden_variables(const struct rb_job *job, struct rb_arena *arena)
{
    const struct rb_string_list secrets = rb_job_secret_variables(job, arena);
    const char **names = rb_arena_array(arena, (size_t)(secrets.n + 2 * job->hooks.n) + 1, sizeof *names);
    int n = 0;
    for (int i = 0; i < secrets.n; i++)
        names[n++] = secrets.items[i];
    for (int i = 0; i < job->hooks.n; i++) {
        const struct rb_hook_spec *h = &job->hooks.items[i];
        if (rb_hook_url_variable(h))
            names[n++] = rb_hook_url_variable(h);
        if (h->secret)
            names[n++] = h->secret;
    }
    return (struct rb_string_list){.items = names, .n = n};
}

static bool is_variable(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

static bool has_blank(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return true;
    return false;
}

static bool is_on_this_machine(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && (host[n] == ':' || host[n] == '/' || host[n] == '\0'))
            return true;
    }
    return false;
}

static bool check_url(const struct rb_node *node, const struct rb_hook_spec *h, struct rb_err *err)
{
    const char *url = h->target;
    const bool is_https = strncmp(url, "https://", 8) == 0, is_http = strncmp(url, "http://", 7) == 0;
    if (rb_hook_url_variable(h))
        return is_variable(url + 1) ||
               rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected the name of a variable after $, got \"%.80s\"", url);
    if (h->is_slack)
        return rb_node_refuse(node, err, RB_E_HOOK_SECRET,
                              "the address of a Slack webhook is a secret: put it into the environment and write its "
                              "name, for example webhook: $SLACK_URL");
    if (!is_https && !(is_http && is_on_this_machine(url + 7)))
        return rb_node_refuse(node, err, RB_E_TEXT_FORM,
                              "expected https://..., http://localhost..., or $NAME for an address in the environment");
    if (strpbrk(url, "@?#"))
        return rb_node_refuse(node, err, RB_E_HOOK_SECRET,
                              "an address with a user, a password or a query may be a secret: put it into the "
                              "environment and write its name, for example webhook: $HOOK_URL");
    return !has_blank(url) || rb_node_refuse(node, err, RB_E_TEXT_FORM, "an address holds no blank");
}

static bool check_email(const struct rb_node *node, const char *address, struct rb_err *err)
{
    const char *at = strchr(address, '@');
    return (at && at != address && at[1] && address[0] != '-' && !has_blank(address) && !strpbrk(address, ",;<>\"")) ||
           rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected one address, NAME@HOST, got \"%.80s\"", address);
}

static bool check_target(const struct rb_node *node, const struct rb_hook_spec *h, struct rb_err *err)
{
    if (strlen(h->target) > MAX_TARGET)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected at most %d bytes", MAX_TARGET);
    if (h->kind == RB_HOOK_COMMAND)
        return true;
    return h->kind == RB_HOOK_EMAIL ? check_email(node, h->target, err) : check_url(node, h, err);
}

static bool read_on(const struct rb_node *node, unsigned *out, struct rb_err *err)
{
    int kind;
    *out = (1u << RB_NOTICE_KINDS) - 1;
    if (!node)
        return true;
    if (!rb_node_list(node, err))
        return false;
    *out = 0;
    for (const struct rb_node *item = node->first; item; item = item->next) {
        if (!rb_node_choice(item, rb_notice_names, RB_NOTICE_KINDS, &kind, err))
            return false;
        *out |= 1u << kind;
    }
    return *out != 0 || rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at least one event, got none");
}

static bool read_signature(struct rb_map *m, struct rb_arena *arena, struct rb_hook_spec *h, struct rb_err *err)
{
    int format;
    if (!rb_keys_choice(m, "format", formats, rb_names_count(formats), 0, &format, err) ||
        !rb_keys_text(m, "secret", NULL, arena, &h->secret, err))
        return false;
    h->is_slack = format == 1;
    if (h->secret && h->is_slack)
        return rb_node_refuse(rb_map_get(m, "secret"), err, RB_E_TEXT_FORM, "Slack checks no signature: remove it");
    return !h->secret || is_variable(h->secret) ||
           rb_node_refuse(rb_map_get(m, "secret"), err, RB_E_HOOK_SECRET,
                          "expected the name of the variable that holds the secret, not the secret itself");
}

// One of the three must be there.
static bool find_kind(struct rb_map *m, const struct rb_node *item, enum rb_hook_kind *out, struct rb_err *err)
{
    int n = 0;
    for (int kind = 0; rb_hook_names[kind]; kind++)
        if (rb_keys_given(m, rb_hook_names[kind])) {
            *out = (enum rb_hook_kind)kind;
            n++;
        }
    return n == 1 ||
           rb_node_refuse(item, err, RB_E_LIST_LENGTH, "expected one of command, webhook and email, got %d", n);
}

static bool read_hook(const struct rb_node *item, struct rb_arena *arena, struct rb_hook_spec *out, struct rb_err *err)
{
    static const char *const keys[] = {"command", "webhook", "email", "on", "secret", "format", NULL};
    static const char *const others[] = {"command", "email", "on", NULL};
    struct rb_hook_spec h = {0};
    struct rb_map m;
    if (!rb_keys_begin(&m, item, keys, err) || !find_kind(&m, item, &h.kind, err) ||
        (h.kind != RB_HOOK_WEBHOOK && !rb_keys_begin(&m, item, others, err)) ||
        !rb_keys_need_text(&m, rb_hook_names[h.kind], arena, &h.target, err) ||
        (h.kind == RB_HOOK_WEBHOOK && !read_signature(&m, arena, &h, err)) ||
        !check_target(rb_map_get(&m, rb_hook_names[h.kind]), &h, err) || !read_on(rb_keys_given(&m, "on"), &h.on, err))
        return false;
    *out = h;
    return true;
}

bool rb_hooks_read(const struct rb_node *node, struct rb_arena *arena, struct rb_hook_list *out, struct rb_err *err)
{
    if (!node)
        return true;
    if (!rb_node_list_of(node, MAX_HOOKS, "hooks", err))
        return false;
    struct rb_hook_spec *items = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *items);
    int n = 0;
    for (const struct rb_node *item = node->first; item; item = item->next)
        if (!read_hook(item, arena, &items[n++], err))
            return false;
    *out = (struct rb_hook_list){.items = items, .n = n};
    return true;
}

static void write_hook(const struct rb_hook_spec *h, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, rb_hook_names[h->kind], h->target);
    if (h->secret)
        rb_json_kstring(j, "secret", h->secret);
    if (h->is_slack)
        rb_json_kstring(j, "format", "slack");
    rb_json_karray(j, "on");
    for (int kind = 0; kind < RB_NOTICE_KINDS; kind++)
        if (h->on >> kind & 1)
            rb_json_string(j, rb_notice_names[kind]);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

void rb_hooks_write(const struct rb_hook_list *hooks, struct rb_json *j)
{
    rb_json_begin_array(j);
    for (int i = 0; i < hooks->n; i++)
        write_hook(&hooks->items[i], j);
    rb_json_end_array(j);
}
