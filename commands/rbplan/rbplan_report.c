// Signs, saves and shows a new plan.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "base/errors/log.h"
#include "providers/wire/digest.h"
#include "views/tables/best_for_table.h"
#include "views/tables/plan_table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The path of `to` from the directory of `from`; absolute if they share only the root.
static const char *relative_path(const char *to, const char *from, struct rb_arena *arena)
{
    char target[PATH_MAX], base[PATH_MAX];
    const char *slash = from ? strrchr(from, '/') : NULL;
    const char *directory = slash ? rb_arena_strndup(arena, from, (size_t)(slash - from) + 1) : ".";
    if (!realpath(to, target) || !realpath(directory, base))
        return to;
    size_t common = 0, i = 0;
    for (; target[i] && target[i] == base[i]; i++)
        common = target[i] == '/' ? i + 1 : common;
    if (!base[i] && target[i] == '/')
        return rb_arena_strdup(arena, target + i + 1);
    struct rb_buf up = RB_BUF_INIT;
    for (const char *p = base + common; *p; p++)
        rb_buf_puts(&up, p == base + common || *p == '/' ? "../" : "");
    const char *path = rb_arena_printf(arena, "%s%s", rb_buf_str(&up), target + common);
    rb_buf_finish(&up);
    return path;
}

void rb_plan_sign(struct rb_plan *plan, struct rb_plan_inputs *in, const char *output)
{
    plan->tool = "rbplan " RB_VERSION;
    bool from_stdin = strcmp(in->job_path, "-") == 0;
    plan->job_path = from_stdin ? "" : relative_path(in->job_path, output, &in->arena);
    rb_plan_digest(plan, rb_digest_sha256);
}

static void write_json(const struct rb_plan *plan, bool pretty, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = pretty};
    rb_plan_write(plan, &j);
    rb_buf_putc(out, '\n');
}

bool rb_plan_save(const struct rb_plan *plan, const char *path, struct rb_err *err)
{
    struct rb_buf text = RB_BUF_INIT;
    write_json(plan, true, &text);
    bool ok = rb_write_file(path, rb_buf_str(&text), text.len, err);
    rb_buf_finish(&text);
    return ok;
}

static void next_step(const char *output, struct rb_buf *out)
{
    if (output && strcmp(output, "-") != 0)
        rb_buf_printf(out, "\nwritten to %s; carry it out with: rbrun %s\n", output, output);
    else
        rb_buf_puts(out, "\nto keep it, add: -o plan.json; then carry it out with: rbrun plan.json\n");
}

// What reaching metric.target costs, where the job has one.
static bool write_target(const struct rb_plan *plan, const struct rb_quality_law *law, struct rb_buf *out,
                         struct rb_err *err)
{
    struct rb_to_target t;
    if (!plan->job->has_target)
        return true;
    if (law->scores && !rb_target_expect(law, plan, RB_BEST_DRAWS, &t, err))
        return false;
    rb_buf_puts(out, "target: ");
    rb_to_target_write(plan->job, law, &t, out);
    rb_buf_putc(out, '\n');
    return true;
}

static bool write_table(const struct rb_plan *plan, const struct rb_marginal *m, const struct rb_quality_law *law,
                        struct rb_buf *out, struct rb_err *err)
{
    struct rb_measuring measuring;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    const struct rb_plan_slack slack = {m->step_us, -m->more_uusd};
    if (!rb_measuring_find(plan, 1, &measuring, err))
        return false;
    rb_plan_table_write(plan, m->exists ? &slack : NULL, &style, out);
    rb_plan_guess_write(plan, &measuring, out);
    return write_target(plan, law, out, err);
}

bool rb_plan_report(const struct rb_args *args, const struct rb_plan *plan, const struct rb_marginal *marginal,
                    const struct rb_quality_law *law, struct rb_err *err)
{
    const char *output = rb_args_string(args, "output", NULL);
    int n_verify = (int)rb_args_int(args, "verify", 0);
    struct rb_buf out = RB_BUF_INIT, verified = RB_BUF_INIT;
    if (n_verify > 0 && !rb_plan_verify(plan, n_verify, &verified, err))
        return false;
    bool ok = !output || rb_plan_save(plan, output, err);
    if (rb_args_flag(args, "json") || (output && strcmp(output, "-") == 0)) {
        rb_plan_wipe_line();
        rb_info("%s", rb_buf_str(&verified));
        if (!output || strcmp(output, "-") != 0)
            write_json(plan, false, &out);
    } else {
        ok = write_table(plan, marginal, law, &out, err) && ok;
        rb_buf_puts(&out, rb_buf_str(&verified));
        next_step(output, &out);
    }
    rb_buf_finish(&verified);
    if (ok)
        return rb_plan_print(&out, err);
    rb_buf_finish(&out);
    return false;
}
