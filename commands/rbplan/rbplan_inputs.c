#include "commands/rbplan/rbplan_inputs.h"

#include "profiles/guess/guess.h"
#include "providers/provider.h"

#include <string.h>

static const char *const key_flags[] = {"deadline", "budget", "confidence",
                                        "seed"}; // named like the keys that they set

// --deadline and similar options are --set of the same keys; they come last and win.
static int collect_overrides(const struct rb_args *args, const char *const *more, int n_more, struct rb_arena *arena,
                             const char ***out)
{
    const char **list = rb_arena_array(arena, (size_t)(args->n_given + n_more) + 2, sizeof *list), *text;
    int n = 0;
    while ((text = rb_args_nth(args, "set", n)))
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
    for (int i = 0; i < n_more; i++)
        list[n++] = more[i];
    *out = list;
    return n;
}

bool rb_args_job(const struct rb_args *args, const char *const *more, int n_more, struct rb_plan_inputs *out,
                 struct rb_err *err)
{
    struct rb_plan_inputs in;
    const char **overrides;
    rb_plan_inputs_init(&in, args->args[0]);
    const int n = collect_overrides(args, more, n_more, &in.arena, &overrides);
    if (!rb_plan_inputs_job(&in, overrides, n, err)) {
        rb_plan_inputs_finish(&in);
        return false;
    }
    *out = in;
    return true;
}

bool rb_args_job_again(const struct rb_args *args, const char *const *more, int n_more, struct rb_plan_inputs *in,
                       struct rb_job *out, struct rb_err *err)
{
    const char **overrides;
    const int n = collect_overrides(args, more, n_more, &in->arena, &overrides);
    return rb_plan_inputs_job_again(in, overrides, n, out, err);
}

bool rb_args_find_inputs(const struct rb_args *args, struct rb_plan_inputs *in, struct rb_err *err)
{
    const struct rb_input_sources from = {rb_args_string(args, "db", NULL), rb_args_string(args, "prices", NULL),
                                          rb_args_string(args, "profile-file", NULL),
                                          rb_args_string(args, "guess", NULL) != NULL};
    return rb_plan_inputs_find(in, &from, rb_local_slots, err);
}
