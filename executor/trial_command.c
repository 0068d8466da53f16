#include "executor/trial_command.h"

#include "base/arena.h"
#include "executor/trial_env.h"

#include <ctype.h>
#include <string.h>

static bool continues_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Bytes that `$name` or `${name}` takes at the beginning of text; 0: it is neither.
static size_t use_length(const char *text, const char *name)
{
    const size_t n = strlen(name);
    if (text[0] != '$')
        return 0;
    if (text[1] == '{')
        return strncmp(text + 2, name, n) == 0 && text[2 + n] == '}' ? n + 3 : 0;
    return strncmp(text + 1, name, n) == 0 && !continues_name(text[1 + n]) ? n + 1 : 0;
}

// Replaces what the shell would split into words: uses of RB_ARGS outside quotes. Returns whether there was one.
static bool put_args(const char *run, const char *args, struct rb_buf *out)
{
    bool any = false;
    char quote = '\0';
    for (const char *at = run; *at;) {
        const size_t n = quote ? 0 : use_length(at, "RB_ARGS");
        if (n > 0) {
            rb_buf_puts(out, args);
            at += n;
            any = true;
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1])
            rb_buf_putc(out, *at++);
        else if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? '\0' : *at;
        rb_buf_putc(out, *at++);
    }
    return any;
}

// $NAME, ${NAME} or ${NAME:-...}
static bool names(const char *run, const char *variable)
{
    const size_t n = strlen(variable);
    for (const char *at = strstr(run, variable); at; at = strstr(at + 1, variable)) {
        const bool begins = at > run && (at[-1] == '$' || (at[-1] == '{' && at - 1 > run && at[-2] == '$'));
        if (begins && !continues_name(at[n]))
            return true;
    }
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

static struct rb_key_value *variables_of(const struct rb_job *job, int trial, struct rb_arena *arena, int *out_n)
{
    static const char *const ips[] = {"127.0.0.1"};
    struct rb_key_value *env;
    rb_trial_env(&(struct rb_trial_order){.job = job,
                                          .run_id = "",
                                          .trial = trial,
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

void rb_trial_command_write(const struct rb_job *job, int trial, struct rb_buf *out)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    int n;
    rb_arena_init(&arena);
    const struct rb_key_value *env = variables_of(job, trial, &arena, &n);
    const bool has_args = put_args(job->run, value_of(env, n, "RB_ARGS"), &command);
    while (command.len > 0 && isspace((unsigned char)command.data[command.len - 1]))
        command.data[--command.len] = '\0';
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (!names(rb_buf_str(&command), env[i].key) && (has_args || !is_parameter(env[i].key)))
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
