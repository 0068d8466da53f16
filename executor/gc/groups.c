// One listing per provider, then one call per group, all at once.
#include "executor/gc/groups.h"

#include "base/arena.h"
#include "base/errors/log.h"

#include <stdio.h>
#include <stdlib.h>

struct sweep {
    const struct rb_run_groups *what;
    int n_waiting;
};

// One request that is under way.
struct call {
    struct sweep *sweep;
    int provider;
    char name[256];
};

static const char *word_of(const struct sweep *s, int provider)
{
    const char *word = s->what->providers[provider].ops->group_word;
    return word ? word : "placement group";
}

static struct call *new_call(struct sweep *s, int provider)
{
    struct call *c = rb_xcalloc(1, sizeof *c);
    c->sweep = s;
    c->provider = provider;
    s->n_waiting++;
    return c;
}

static void answered(struct call *c)
{
    struct sweep *s = c->sweep;
    free(c);
    if (--s->n_waiting == 0)
        rb_loop_uv_stop(s->what->uv);
}

static void ended(void *arg, const struct rb_err *err)
{
    struct call *c = arg;
    const char *infra = c->sweep->what->infras[c->provider];
    if (err)
        rb_warn("%s %s in %s is left, which costs nothing: %s; `rbrun gc` deletes it later", word_of(c->sweep, c->provider),
                c->name, infra, err->message);
    else
        rb_trace("provider", "%s %s in %s: deleted", word_of(c->sweep, c->provider), c->name, infra);
    answered(c);
}

static void end_group(struct sweep *s, int provider, const struct rb_placement_group *g)
{
    struct rb_provider *p = &s->what->providers[provider];
    if (s->what->dry) {
        rb_info("%s %s of run %s in %s: left over", word_of(s, provider), g->name, g->run_id ? g->run_id : "unknown",
                s->what->infras[provider]);
        return;
    }
    struct call *c = new_call(s, provider);
    snprintf(c->name, sizeof c->name, "%s", g->name);
    p->ops->end_group(p, g->name, ended, c);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n)
{
    struct call *c = arg;
    const struct rb_run_groups *what = c->sweep->what;
    for (int i = 0; i < n; i++)
        if (!what->may || what->may(what->ctx, &groups[i]))
            end_group(c->sweep, c->provider, &groups[i]);
    if (err)
        rb_warn("%ss in %s could not be listed (%s); some may be left, which costs nothing",
                word_of(c->sweep, c->provider), what->infras[c->provider], err->message);
    answered(c);
}

void rb_run_groups_delete(const struct rb_run_groups *what)
{
    struct sweep s = {.what = what};
    for (int i = 0; i < what->n; i++) {
        struct rb_provider *p = &what->providers[i];
        if (p->ops->groups)
            p->ops->groups(p, what->run_id, listed, new_call(&s, i));
    }
    if (s.n_waiting > 0)
        rb_loop_uv_run(what->uv);
}
