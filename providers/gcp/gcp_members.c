// One call is under way at a time; whether it comes back or is dropped, the question is freed exactly once.
#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_names.h"
#include "providers/gcp/gcp_verbs.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_TRIES = 5 };

struct asking {
    const struct rb_gcp *gcp;
    struct rb_gcp_members_question question;
    struct rb_arena *arena;
    struct rb_gcp_members found;
    int at; // the member that is being looked up
    rb_gcp_members_fn *fn;
    rb_loop_fn *drop;
    void *arg;
};

static void ask(struct asking *a);

static void dropped(void *arg)
{
    struct asking *a = arg;
    a->drop(a->arg);
    free(a);
}

static void finish(struct asking *a, const struct rb_err *err)
{
    a->fn(a->arg, err, err ? NULL : &a->found);
    free(a);
}

static void next(struct asking *a)
{
    if (++a->at < a->question.n)
        ask(a);
    else
        finish(a, NULL);
}

// Not there, and it never will be: did it never come, or has it ended? Spot is preempted within seconds, another process
// may have asked for it first, our own caller may have seen it in a listing and ended it.
static void history_known(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    struct asking *a = arg;
    struct rb_instance *member = &a->found.instances[a->at];
    if (err && err->code != RB_ERR_NOT_FOUND && err->code != RB_ERR_DENIED) {
        finish(a, err);
        return;
    }
    a->found.forgotten = a->found.forgotten || (err && err->code == RB_ERR_DENIED);
    if (!err && instance->terminated_at_us >= 0) {
        *member = *instance;
        member->id = rb_gcp_instance_id(a->arena, a->question.names[a->at], a->question.zone);
        member->zone = a->question.zone;
        member->region = a->gcp->region;
        member->member = a->at;
        a->found.n_ended++;
    }
    next(a);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct asking *a = arg;
    return rb_gcp_decode_instance(body, n, a->gcp->region, a->arena, &a->found.instances[a->at], err);
}

static void looked(void *arg, const struct rb_err *err)
{
    struct asking *a = arg;
    const struct rb_gcp_members_question *q = &a->question;
    const struct rb_instance *member = &a->found.instances[a->at];
    struct rb_err foreign;
    if (err && err->code == RB_ERR_NOT_FOUND && q->over) {
        rb_gcp_look_back(a->gcp, rb_gcp_instance_id(a->arena, q->names[a->at], q->zone), history_known, dropped, a);
    } else if (err) {
        finish(a, err);
    } else if (!member->launch_id || strcmp(member->launch_id, q->launch_id) != 0) {
        rb_err_set(&foreign, RB_E_GCP_INSTANCE,
                   "instance %s in %s exists and is not of this launch (label rb-launch); look at it by hand",
                   q->names[a->at], q->zone);
        finish(a, &foreign);
    } else {
        a->found.n_there++;
        next(a);
    }
}

static void ask(struct asking *a)
{
    const struct rb_gcp_members_question *q = &a->question;
    struct rb_api_call call = rb_api_call_new("instances.get", LOOK_TRIES, a, decode, looked);
    call.drop = dropped;
    rb_gcp_target_look(a->gcp->project, q->zone, q->names[a->at], &call.target);
    rb_google_send(a->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

void rb_gcp_members(const struct rb_gcp *gcp, const struct rb_gcp_members_question *question, struct rb_arena *arena,
                    rb_gcp_members_fn *fn, rb_loop_fn *drop, void *arg)
{
    struct asking *a = rb_xcalloc(1, sizeof *a);
    *a = (struct asking){.gcp = gcp, .question = *question, .arena = arena, .fn = fn, .drop = drop, .arg = arg};
    a->found = (struct rb_gcp_members){
        .instances = rb_arena_array(arena, (size_t)question->n, sizeof(struct rb_instance)), .n = question->n};
    ask(a);
}
