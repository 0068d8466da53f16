#include "executor/launcher/trial_words.h"

#include "base/arena.h"
#include "profiles/job/job_args.h"

#include <string.h>

// * is any text within a name, ** any folders, also none; ? one character; [...] one of these.
static void put_glob(const char *glob, struct rb_buf *out)
{
    for (const char *s = glob; *s; s++) {
        if (strncmp(s, "**/", 3) == 0) {
            rb_buf_puts(out, "(.*/)?");
            s += 2;
        } else if (s[0] == '*' && s[1] == '*') {
            rb_buf_puts(out, ".*");
            s++;
        } else if (*s == '*') {
            rb_buf_puts(out, "[^/]*");
        } else if (*s == '?') {
            rb_buf_puts(out, "[^/]");
        } else {
            if (strchr(".+(){}|^$\\", *s))
                rb_buf_putc(out, '\\');
            rb_buf_putc(out, *s);
        }
    }
}

void rb_checkpoint_names(const struct rb_job *job, struct rb_buf *out)
{
    for (int i = 0; i < job->checkpoint_files.n; i++) {
        rb_buf_puts(out, i ? "|" : "^\\./(");
        put_glob(job->checkpoint_files.items[i], out);
    }
    if (job->checkpoint_files.n > 0)
        rb_buf_puts(out, ")$");
}

static void put_line(struct rb_buf *out, const char *name, const char *value)
{
    rb_buf_printf(out, "%s=", name);
    rb_buf_shell_quote(out, value);
    rb_buf_putc(out, '\n');
}

static void put_words(const struct rb_args_order *order, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT, values = RB_BUF_INIT;
    const struct rb_trial_args *a = &order->job->trial.args;
    rb_trial_args_shell(order, &words);
    put_line(out, "rb_words", rb_buf_str(&words));
    if (!a->file_path)
        return;
    rb_trial_args_file(order, &values);
    put_line(out, "rb_file_path", a->file_path);
    put_line(out, "rb_file_base", a->file_base);
    put_line(out, "rb_file_values", rb_buf_str(&values));
}

void rb_trial_words(const struct rb_trial_order *o, bool resumes, struct rb_buf *out)
{
    const struct rb_job *job = o->job;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf file = RB_BUF_INIT, names = RB_BUF_INIT;
    const struct rb_args_order order = {
        .job = job,
        .values = rb_trial_values(job, o->trial, o->suggested, &arena),
        .start = job->starts_over ? 0 : o->resource_start,
        .end = o->resource_end,
        .seed = rb_trial_seed(job, o->trial),
        .nodes = o->n_nodes,
        .resume = resumes ? "" : NULL,
    };
    if (job->trial.args.given)
        put_words(&order, out);
    if (job->form.file) {
        rb_arg_word_shell(&order, job->form.file, &file);
        put_line(out, "rb_metric_file", rb_buf_str(&file));
    }
    rb_checkpoint_names(job, &names);
    if (names.len > 0)
        put_line(out, "rb_files", rb_buf_str(&names));
    if (job->in_place)
        rb_buf_puts(out, "rb_in_place=1\n");
    if (job->trial.stop == RB_STOP_SAVED)
        rb_buf_puts(out, "rb_stop=saved\n");
}
