#include "executor/launcher/trial_command.h"

#include "base/arena.h"
#include "executor/launcher/trial_env.h"
#include "profiles/script/shell_text.h"

#include <ctype.h>
#include <string.h>

// Also inside quotes: they may hold a script that uses it.
static bool names(const struct rb_shell_text *text, const char *variable)
{
    for (int i = 0; i < text->n_uses; i++)
        if (strcmp(text->uses[i].name, variable) == 0)
            return true;
    return false;
}

static bool is_parameter(const char *variable)
{
    return strcmp(variable, "RB_ARGS") == 0 || strncmp(variable, "RB_PARAM_", strlen("RB_PARAM_")) == 0;
}

// Variables before a command are its own only if it is a simple one, and the shell expands its words before it sets them.
static bool needs_shell(const char *command)
{
    return strpbrk(command, "\n;&|(){}$`<>") != NULL;
}

static void put_word(const char *word, struct rb_buf *out)
{
    if (*word && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-/:,=@%")] == '\0')
        rb_buf_puts(out, word);
    else
        rb_buf_shell_quote(out, word);
}

static struct rb_key_value *variables_of(const struct rb_job *job, int trial, const struct rb_value *suggested,
                                         struct rb_arena *arena, int *out_n)
{
    static const char *const ips[] = {"127.0.0.1"};
    struct rb_key_value *env;
    rb_trial_env(&(struct rb_trial_order){.job = job,
                                          .run_id = "",
                                          .trial = trial,
                                          .suggested = suggested,
                                          .resource_end = job->scheduler.max_resource,
                                          .node_ips = ips,
                                          .n_nodes = 1,
                                          .gpus = 1,
                                          .deadline_unix_us = -1},
                 arena, &env, out_n);
    return env;
}

static const char *value_of(const struct rb_key_value *env, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (strcmp(env[i].key, key) == 0)
            return env[i].value;
    return "";
}

static bool has_words(const struct rb_shell_text *text, const char *variable)
{
    for (int i = 0; i < text->n_uses && text->is_whole; i++)
        if (text->uses[i].is_word && strcmp(text->uses[i].name, variable) == 0)
            return true;
    return false;
}

// The words that the job's trial.args make of it, in place of "$@".
static const char *with_words(const struct rb_job *job, int trial, const struct rb_value *suggested,
                              struct rb_arena *arena)
{
    static const char mark[] = "\"$@\"";
    const char *at = job->trial.args.given ? strstr(job->run, mark) : NULL;
    if (!at)
        return job->run;
    const struct rb_args_order order = {.job = job,
                                        .values = rb_trial_values(job, trial, suggested, arena),
                                        .end = job->scheduler.max_resource,
                                        .seed = rb_trial_seed(job, trial),
                                        .gpus = 1,
                                        .nodes = 1,
                                        .checkpoint = job->checkpoint_dir ? job->checkpoint_dir : "ckpt"};
    const struct rb_string_list words = rb_trial_args_render(&order, arena);
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    rb_buf_append(&command, job->run, (size_t)(at - job->run));
    for (int i = 0; i < words.n; i++) {
        rb_buf_puts(&command, i ? " " : "");
        put_word(words.items[i], &command);
    }
    rb_buf_puts(&command, at + strlen(mark));
    return rb_arena_strdup(arena, rb_buf_str(&command));
}

void rb_trial_command_write(const struct rb_job *job, int trial, const struct rb_value *suggested, struct rb_buf *out)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    struct rb_shell_text text;
    int n;
    const struct rb_key_value *env = variables_of(job, trial, suggested, &arena, &n);
    const char *run = with_words(job, trial, suggested, &arena);
    rb_shell_read(run, &arena, &text);
    const bool has_args = run != job->run || has_words(&text, "RB_ARGS");
    rb_shell_replace(run, "RB_ARGS", value_of(env, n, "RB_ARGS"), &command);
    while (command.len > 0 && isspace((unsigned char)command.data[command.len - 1]))
        command.data[--command.len] = '\0';
    rb_shell_read(rb_buf_str(&command), &arena, &text); // the variables that remain in it
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (!names(&text, env[i].key) && (has_args || !is_parameter(env[i].key)))
            continue;
        rb_buf_printf(out, "%s=", env[i].key);
        put_word(env[i].value, out);
        rb_buf_putc(out, ' ');
        any = true;
    }
    if (any && needs_shell(rb_buf_str(&command))) {
        rb_buf_puts(out, "sh -c ");
        rb_buf_shell_quote(out, rb_buf_str(&command));
    } else {
        rb_buf_puts(out, rb_buf_str(&command));
    }
}
