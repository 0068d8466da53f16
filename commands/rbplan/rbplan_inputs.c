#include "commands/rbplan/rbplan_inputs.h"

#include "profiles/guess/guess.h"
#include "providers/provider.h"

#include <string.h>

static const char *const key_flags[] = {"deadline", "budget", "confidence",
                                        "seed"}; // named like the keys that they set

// --deadline and similar options are --set of the same keys; they come after them and win.
static int collect_overrides(const struct rb_args *args, const struct rb_job_overrides *besides, struct rb_arena *arena,
                             const char ***out)
{
    const struct rb_job_overrides none = {0}, *b = besides ? besides : &none;
    const size_t most = (size_t)(args->n_given + b->n_first + b->n_last) + 2;
    const char **list = rb_arena_array(arena, most, sizeof *list), *text;
    int n = 0;
    for (int i = 0; i < b->n_first; i++)
        list[n++] = b->first[i];
    for (int i = 0; (text = rb_args_nth(args, "set", i)); i++)
        list[n++] = text;
    for (size_t i = 0; i < sizeof key_flags / sizeof key_flags[0]; i++) {
        text = rb_args_string(args, key_flags[i], NULL);
        if (text && strcmp(key_flags[i], "budget") == 0 && text[0] == '$')
            text++; // YAML wants the bare number
        if (text)
            list[n++] = rb_arena_printf(arena, "--%s=%s", key_flags[i], text);
    }
    text = rb_args_string(args, "guess", NULL);
    if (text)
        list[n++] = rb_arena_printf(arena, "--guess=%s", rb_guess_yaml(text, arena));
    for (int i = 0; i < b->n_last; i++)
        list[n++] = b->last[i];
    *out = list;
    return n;
}

bool rb_args_job(const struct rb_args *args, const struct rb_job_overrides *besides, struct rb_plan_inputs *out,
                 struct rb_err *err)
{
    struct rb_plan_inputs in;
    const char **overrides;
    rb_plan_inputs_init(&in, args->args[0]);
    const int n = collect_overrides(args, besides, &in.arena, &overrides);
    if (!rb_plan_inputs_job(&in, overrides, n, err)) {
        rb_plan_inputs_finish(&in);
        return false;
    }
    *out = in;
    return true;
}

bool rb_args_job_again(const struct rb_args *args, const struct rb_job_overrides *besides, struct rb_plan_inputs *in,
                       struct rb_job *out, struct rb_err *err)
{
    const char **overrides;
    const int n = collect_overrides(args, besides, &in->arena, &overrides);
    return rb_plan_inputs_job_again(in, overrides, n, out, err);
}

bool rb_args_find_inputs(const struct rb_args *args, struct rb_plan_inputs *in, struct rb_err *err)
{
    const struct rb_input_sources from = {rb_args_string(args, "db", NULL), rb_args_string(args, "prices", NULL),
                                          rb_args_string(args, "profile-file", NULL),
                                          rb_args_string(args, "guess", NULL) != NULL};
    return rb_plan_inputs_find(in, &from, rb_local_slots, err);
}
