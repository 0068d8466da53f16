// What searches start from; and jobs whose configurations another program proposes: each simulated run has a process of it.
#include "commands/rbsim/rbsim.h"

#include "base/errors/log.h"
#include "executor/search/earlier.h"
#include "executor/search/search_wait.h"

#include <pthread.h>

static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

bool rb_sim_recall(struct rb_sim_command *c, struct rb_err *err)
{
    bool said = false;
    for (int i = 0; i < c->sim.n_variants && !rb_args_flag(c->args, "cold"); i++) {
        struct rb_sim_variant *v = &c->sim.variants[i];
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        if (!rb_earlier_matter(v->plan.job))
            continue;
        if (!rb_earlier_find(v->plan.job, rb_args_string(c->args, "db", NULL), &c->in.arena, &v->earlier, err))
            return false;
        rb_earlier_write(&v->earlier, &text);
        if (v->earlier.n_runs > 0 && !said)
            rb_info("every search %s", rb_buf_str(&text));
        said = said || v->earlier.n_runs > 0;
    }
    return true;
}

static bool prepare(void *ctx, const struct rb_plan *plan, uint32_t replicate, struct rb_world_options *opt,
                    struct rb_err *err)
{
    const struct rb_sim_command *c = ctx;
    RB_AUTO(rb_buf_finish) struct rb_buf workdir = RB_BUF_INIT;
    (void)replicate;
    (void)err;
    rb_inputs_workdir(plan->job, c->in.job_path, &workdir);
    opt->suggester = rb_search_wait_suggester(rb_search_wait_create(plan, rb_buf_str(&workdir)));
    return true;
}

static void finish(void *ctx, struct rb_world_options *opt)
{
    struct rb_sim_command *c = ctx;
    struct rb_search_wait *w = opt->suggester->ctx;
    const struct rb_err *failure = rb_search_wait_failure(w);
    pthread_mutex_lock(&failing);
    if (failure && c->search_failure.code == RB_ERR_NONE)
        c->search_failure = *failure;
    pthread_mutex_unlock(&failing);
    rb_search_wait_destroy(w);
}

void rb_sim_use_programs(struct rb_sim_command *c)
{
    c->sim.prepare_program = prepare;
    c->sim.finish_program = finish;
    c->sim.program_ctx = c;
}

bool rb_sim_programs_kept(const struct rb_sim_command *c, struct rb_err *err)
{
    if (c->search_failure.code == RB_ERR_NONE)
        return true;
    *err = c->search_failure;
    return false;
}
