#include "profiles/lint/job_lint.h"

#include "profiles/lint/job_lint_script.h"
#include "profiles/lint/job_lint_trial.h"
#include "profiles/script/trial_variables.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_MAX_BYTES ((size_t)1 << 20) // longer files are not scripts that people write
#define MAX_WARNINGS     64                // more are no help

struct lint {
    const struct rb_job *job;
    const struct rb_node *root; // NULL: none
    const char *text, *path;    // of the job file
    const char *workdir;        // its path from here
    struct rb_arena *arena;
    struct rb_err *items;
    int n;
    struct rb_shell_text run, setup;
    const struct rb_run_script *scripts;
    int n_scripts;
};

// --- places

// A value may be written in several ways; the needle occurs in it literally, or not at all.
static struct rb_place place_of(const struct lint *l, const struct rb_node *node, const char *needle, size_t n)
{
    if (!node)
        return (struct rb_place){.file = l->path};
    struct rb_place place = rb_node_place(node);
    int line = 1, column = 1;
    for (const char *p = l->text ? l->text : ""; *p; p++) {
        const bool begun = line > node->line || (line == node->line && column >= node->column);
        if (begun && strncmp(p, needle, n) == 0)
            return (struct rb_place){place.file, line, column};
        column = *p == '\n' ? 1 : column + (((unsigned char)*p & 0xc0) != 0x80);
        line += *p == '\n';
    }
    return place;
}

// Of "trial.args.end"; where a key is not given, the place of the one above it.
static struct rb_place key_place(const struct lint *l, const char *key, const char *needle)
{
    const struct rb_node *node = l->root;
    char *rest = rb_arena_strdup(l->arena, key);
    const bool is_param = strncmp(key, "parameters.", 11) == 0; // whose names may have points
    for (char *name; node && (name = strsep(&rest, "."));) {
        const struct rb_node *next = rb_node_member(node, name);
        node = next ? next : node;
        if (is_param && next && rest) {
            next = rb_node_member(node, rest);
            node = next ? next : node;
            break;
        }
    }
    if (!node || node == l->root)
        return (struct rb_place){.file = l->path};
    return needle ? place_of(l, node, needle, strlen(needle))
                  : (struct rb_place){l->path, node->key_line > 0 ? node->key_line : node->line,
                                      node->key_line > 0 ? node->key_column : node->column};
}

static const struct rb_node *command_node(const struct lint *l, const char *key, const char *command)
{
    const struct rb_node *node = rb_node_member(l->root, key);
    return node && node->text && strcmp(node->text, command) == 0 ? node : NULL; // --set may have replaced it
}

static struct rb_err *next_warning(struct lint *l)
{
    return &l->items[l->n < MAX_WARNINGS ? l->n++ : MAX_WARNINGS];
}

// The place of bytes at..at + n - 1 of `run`.
static struct rb_place run_place(const struct lint *l, size_t at, size_t n)
{
    return place_of(l, command_node(l, "run", l->job->run), l->job->run + at, n);
}

// --- variables

static bool is_assigned(const char *command, const char *name, struct rb_arena *arena)
{
    return strstr(command, rb_arena_printf(arena, "%s=", name)) != NULL;
}

static void check_variable(struct lint *l, const char *key, const char *command, const struct rb_shell_use *use)
{
    const struct rb_place place = place_of(l, command_node(l, key, command), command + use->at, use->n);
    const struct rb_space *space = &l->job->space;
    const bool exists = rb_trial_variable_exists(space, use->name, l->arena), in_setup = strcmp(key, "setup") == 0;
    if (in_setup && exists && strcmp(use->name, "RB_NODE_DEVICES") != 0) {
        rb_err_set_at(next_warning(l), RB_E_LINT_VARIABLE, place, key,
                      "$%s is a trial's, and `setup` runs once on each node, before any trial: it is empty there",
                      use->name);
    } else if (!exists && in_setup) {
        rb_err_set_at(next_warning(l), RB_E_LINT_VARIABLE, place, key, "$%s is not a variable of a node", use->name);
    } else if (!in_setup && strcmp(use->name, "RB_DATA_DIR") == 0 && !rb_job_has_data_dir(l->job)) {
        rb_err_set_at(next_warning(l), RB_E_LINT_VARIABLE, place, key,
                      "$RB_DATA_DIR is empty: the job has neither data.fetch nor data.mount");
    } else if (!exists) {
        const char *near = rb_trial_variable_closest(space, use->name, l->arena);
        rb_err_set_at(next_warning(l), RB_E_LINT_VARIABLE, place, key, "$%s is not a variable of a trial%s%s%s",
                      use->name, near ? "; did you mean $" : "", near ? near : "", near ? "?" : "");
    }
}

static void check_variables(struct lint *l, const char *key, const char *command, const struct rb_shell_text *text)
{
    for (int i = 0; i < text->n_uses; i++) {
        const struct rb_shell_use *use = &text->uses[i];
        if (strncmp(use->name, "RB_", 3) == 0 && !use->is_default && !is_assigned(command, use->name, l->arena))
            check_variable(l, key, command, use);
    }
}

// --- values of one parameter

static bool is_number(const struct rb_value *v)
{
    return v->kind == RB_VALUE_INT || v->kind == RB_VALUE_FLOAT;
}

// "64 128", "1e-3x", "0,1"; a word such as auto or none may well appear beside numbers.
static bool looks_like_numbers(const char *text)
{
    text += strspn(text, " +-.");
    return isdigit((unsigned char)*text);
}

static void check_values(struct lint *l, const struct rb_param *p)
{
    const struct rb_node *values =
        rb_node_member(rb_node_member(rb_node_member(l->root, "parameters"), p->name), "values");
    bool has_number = false;
    for (int i = 0; i < p->n_values; i++)
        has_number = has_number || is_number(&p->values[i]);
    const struct rb_node *node = values && values->n_children == p->n_values ? values->first : NULL;
    for (int i = 0; i < p->n_values; i++, node = node ? node->next : NULL) {
        const struct rb_value *v = &p->values[i];
        if (!has_number || v->kind != RB_VALUE_STRING || !looks_like_numbers(v->string))
            continue;
        const struct rb_place place = node ? rb_node_place(node) : (struct rb_place){.file = l->path};
        const char *key = rb_arena_printf(l->arena, "parameters.%s.values[%d]", p->name, i);
        rb_err_set_at(next_warning(l), RB_E_LINT_VALUES, place, key, "\"%.60s\" is text beside numbers%s", v->string,
                      strchr(v->string, ' ') ? ": is a comma missing?" : ": a script that wants a number refuses it");
    }
}

// --- scripts

static char *read_file(const struct lint *l, const char *path)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    struct stat st;
    const char *full = path[0] == '/' ? path : rb_arena_printf(l->arena, "%s/%s", l->workdir, path);
    if (stat(full, &st) != 0 || !S_ISREG(st.st_mode) || !rb_read_file(full, SCRIPT_MAX_BYTES, &text, &n, NULL))
        return NULL;
    return rb_arena_strndup(l->arena, text, strnlen(text, n));
}

static void warn_missing(struct lint *l, const struct rb_run_script *s)
{
    const size_t before = strlen(l->workdir) + 1;
    const char *full = rb_arena_printf(l->arena, "%s/%s", l->workdir, s->path);
    char near[512];
    const bool is_near = rb_closest_file(full, near, sizeof near);
    rb_err_set_at(next_warning(l), RB_E_LINT_SCRIPT, run_place(l, s->at, strlen(s->written)), "run",
                  "there is no %s in the work directory %s%s%s%s", s->path, l->workdir,
                  is_near ? "; did you mean " : "", is_near ? near + before : "",
                  is_near ? "?" : ": correct the name, or `workdir`");
}

static bool exists(const struct lint *l, const char *path)
{
    return access(rb_arena_printf(l->arena, "%s/%s", l->workdir, path), F_OK) == 0;
}

static bool brings_files(const struct lint *l)
{
    return rb_run_brings_files(l->job->run, &l->run, l->arena) ||
           (l->job->setup && rb_run_brings_files(l->job->setup, &l->setup, l->arena));
}

static void check_script(struct lint *l, const struct rb_run_script *s)
{
    if (s->path[0] == '/' || exists(l, s->path) || exists(l, s->written))
        return;
    if (!s->is_module && !brings_files(l))
        warn_missing(l, s);
}

// --- the arguments of a script

// The use of $RB_ARGS as words among its arguments; NULL: none.
static const struct rb_shell_use *args_given_to(const struct lint *l, const struct rb_run_script *s)
{
    for (int i = 0; i < l->run.n_uses; i++) {
        const struct rb_shell_use *use = &l->run.uses[i];
        if (use->is_word && strcmp(use->name, "RB_ARGS") == 0 && use->at > s->at && use->at < s->end)
            return use;
    }
    return NULL;
}

static struct rb_place parameter_place(const struct lint *l, const char *name)
{
    const struct rb_node *node = rb_node_member(rb_node_member(l->root, "parameters"), name);
    return node ? (struct rb_place){l->path, node->key_line, node->key_column} : (struct rb_place){.file = l->path};
}

// What the script calls the parameter; NULL: it is not given as an option of its name.
static const char *script_name(const struct rb_job *job, const struct rb_param *p)
{
    const struct rb_trial_args *a = &job->trial.args;
    if (a->given && (a->file_path || a->style == RB_ARGS_BARE || a->style == RB_ARGS_PAIRS))
        return NULL;
    for (int i = 0; i < a->n_switches; i++)
        if (strcmp(a->switches[i].name, p->name) == 0)
            return NULL;
    for (int i = 0; i < a->n_renames; i++)
        if (strcmp(a->renames[i].key, p->name) == 0)
            return a->renames[i].value;
    return p->name;
}

static void check_parameters(struct lint *l, const struct rb_run_script *s, const char *source)
{
    const char *dot = strrchr(s->path, '.');
    struct rb_script script;
    if (!dot || strcmp(dot, ".py") != 0)
        return;
    rb_script_read(source, l->arena, &script);
    for (int i = 0; i < l->job->space.n_params; i++) {
        const struct rb_param *p = &l->job->space.params[i];
        struct rb_param named = *p;
        named.name = script_name(l->job, p);
        const char *refusal = named.name ? rb_script_refuses(&script, &named, l->arena) : NULL;
        if (refusal)
            rb_err_set_at(next_warning(l), RB_E_LINT_OPTION, parameter_place(l, p->name),
                          rb_arena_printf(l->arena, "parameters.%s", p->name), "%s %s", s->written, refusal);
    }
}

static void check_quoted(struct lint *l, const struct rb_run_script *s)
{
    for (int i = 0; i < l->run.n_words; i++) {
        const struct rb_shell_word w = l->run.words[i];
        const char *text = rb_arena_strndup(l->arena, l->job->run + w.at, w.n);
        if (w.at > s->at && w.at < s->end && (strcmp(text, "\"$RB_ARGS\"") == 0 || strcmp(text, "\"${RB_ARGS}\"") == 0))
            rb_err_set_at(next_warning(l), RB_E_LINT_QUOTED, run_place(l, w.at, w.n), "run",
                          "in quotes, $RB_ARGS is one word with all parameters in it: leave the quotes out");
    }
}

static void warn_to_do(struct lint *l, struct rb_place place, const char *key, const char *text)
{
    const char *word = text ? strstr(text, "TODO_") : NULL;
    const size_t n = word ? strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") : 0;
    if (n > 5)
        rb_err_set_at(next_warning(l), RB_E_LINT_TO_DO, place, key, "put a value in place of %.*s", (int)n, word);
}

// Where `rbplan init` leaves them: words of `run`, values of `envs`, words of trial.args.
static void check_to_do(struct lint *l)
{
    for (int i = 0; i < l->run.n_words; i++) {
        const struct rb_shell_word w = l->run.words[i];
        const char *text = rb_arena_strndup(l->arena, l->job->run + w.at, w.n), *word = strstr(text, "TODO_");
        if (word)
            warn_to_do(l, run_place(l, w.at + (size_t)(word - text), w.n - (size_t)(word - text)), "run", text);
    }
    for (int i = 0; i < l->job->n_envs; i++) {
        const char *key = rb_arena_printf(l->arena, "envs.%s", l->job->envs[i].key);
        warn_to_do(l, key_place(l, key, NULL), key, l->job->envs[i].value);
    }
    static const char *const parts[RB_ARGS_PARTS] = {"fixed", "start", "end",        "seed",
                                                     "gpus",  "nodes", "checkpoint", "resume"};
    for (int part = 0; part < RB_ARGS_PARTS; part++) {
        const char *key = rb_arena_printf(l->arena, "trial.args.%s", parts[part]);
        for (int i = 0; i < l->job->trial.args.parts[part].n; i++)
            warn_to_do(l, key_place(l, key, "TODO_"), key, l->job->trial.args.parts[part].items[i]);
    }
}

// --- is any parameter used?

static bool run_uses_parameters(const struct lint *l)
{
    if (l->job->trial.args.given)
        return true; // as "$@", which was checked
    for (int i = 0; i < l->run.n_uses; i++)
        if (strcmp(l->run.uses[i].name, "RB_ARGS") == 0 || strncmp(l->run.uses[i].name, "RB_PARAM", 8) == 0)
            return true;
    return false;
}

static bool reads_parameters(const char *source)
{
    return strstr(source, "RB_ARGS") || strstr(source, "RB_PARAM") || strstr(source, "rubberband_trial");
}

// May a file beside the script read them? Packages are not searched.
static bool import_may_read(const struct lint *l, const char *script_path, const struct rb_py_token *module)
{
    const char *slash = strrchr(script_path, '/');
    const char *stem = rb_arena_printf(l->arena, "%.*s%.*s", slash ? (int)(slash - script_path) + 1 : 0, script_path,
                                       (int)module->n, module->at);
    const char *source = read_file(l, rb_arena_printf(l->arena, "%s.py", stem));
    return source ? reads_parameters(source) : exists(l, stem);
}

static bool imports_may_read(const struct lint *l, const struct rb_run_script *s, const char *source)
{
    struct rb_py_text text;
    rb_py_read(source, l->arena, &text);
    for (int i = 0; i < text.n; i++) {
        const struct rb_py_token *t = &text.tokens[i];
        const bool begins = i == 0 || t[-1].kind == RB_PY_NEWLINE;
        if (!begins || !(rb_py_is(t, "import") || rb_py_is(t, "from")))
            continue;
        for (int k = i + 1; k < text.n && text.tokens[k].kind == RB_PY_NAME; k += 2) { // import a, b
            if (import_may_read(l, s->path, &text.tokens[k]))
                return true;
            if (rb_py_is(t, "from") || !rb_py_is(&text.tokens[k + 1], ","))
                break;
        }
        if (rb_py_is(&text.tokens[i + 1], "."))
            return true;
    }
    return false;
}

// Certain only if every script of the command was read.
static void check_use(struct lint *l)
{
    const struct rb_place place = run_place(l, 0, 1);
    if (l->job->space.n_params == 0 || run_uses_parameters(l) || l->n_scripts == 0 || !l->run.is_whole)
        return;
    for (int i = 0; i < l->n_scripts; i++) {
        const char *source = read_file(l, l->scripts[i].path);
        if (!source || reads_parameters(source) || imports_may_read(l, &l->scripts[i], source))
            return;
    }
    rb_err_set_at(next_warning(l), RB_E_LINT_UNUSED, place, "run",
                  "neither this nor %s uses the parameters: write $RB_ARGS behind %s", l->scripts[0].written,
                  l->scripts[0].written);
}

// --- what the job says of its trials

static void warn_of_trial(void *ctx, int number, const char *key, const char *needle, const char *message)
{
    struct lint *l = ctx;
    rb_err_set_at(next_warning(l), number, key_place(l, key, needle), key, "%s", message);
}

static bool gets_words(const struct lint *l, const struct rb_run_script *s)
{
    for (int i = 0; i < l->run.n_words; i++) {
        const struct rb_shell_word w = l->run.words[i];
        const char *text = rb_arena_strndup(l->arena, l->job->run + w.at, w.n);
        if (w.at > s->at && w.at < s->end && strcmp(text, "\"$@\"") == 0)
            return l->job->trial.args.given;
    }
    return false;
}

static bool imports_from_beside(const struct lint *l, const struct rb_run_script *s, const struct rb_py_text *text)
{
    const char *slash = strrchr(s->path, '/');
    const int folder = slash ? (int)(slash - s->path) + 1 : 0;
    for (int i = 0; i + 1 < text->n; i++) {
        const struct rb_py_token *t = &text->tokens[i];
        if ((!rb_py_is(t, "import") && !rb_py_is(t, "from")) || (i > 0 && t[-1].kind != RB_PY_NEWLINE))
            continue;
        for (int k = i + 1; k < text->n && text->tokens[k].kind != RB_PY_NEWLINE; k++) {
            const struct rb_py_token *module = &text->tokens[k];
            const char *stem = rb_arena_printf(l->arena, "%.*s%.*s", folder, s->path, (int)module->n, module->at);
            if (rb_py_is(module, ".") && k == i + 1)
                return true;
            if (module->kind == RB_PY_NAME && (exists(l, stem) || exists(l, rb_arena_printf(l->arena, "%s.py", stem))))
                return true;
        }
    }
    return false;
}

static void check_trial(struct lint *l, const struct rb_run_script *s)
{
    const char *source = rb_has_ending(s->path, ".py") ? read_file(l, s->path) : NULL;
    struct rb_script script;
    if (!source)
        return;
    rb_script_read(source, l->arena, &script);
    const struct rb_lint_subject subject = {
        .job = l->job,
        .script = &script,
        .source = source,
        .written = s->written,
        .is_alone = l->n_scripts == 1 && !imports_from_beside(l, s, &script.text),
        .gets_words = gets_words(l, s),
        .arena = l->arena,
        .warn = warn_of_trial,
        .ctx = l,
    };
    rb_lint_trial(&subject);
}

// --- the whole

static void find_workdir(struct lint *l)
{
    const char *slash = strrchr(l->path, '/'), *workdir = l->job->workdir ? l->job->workdir : ".";
    const char *beside = slash ? rb_arena_printf(l->arena, "%.*s", (int)(slash - l->path), l->path) : ".";
    if (slash == l->path)
        beside = "/";
    l->workdir = workdir[0] == '/'           ? workdir
                 : strcmp(workdir, ".") == 0 ? beside
                 : strcmp(beside, ".") == 0  ? workdir
                                             : rb_arena_printf(l->arena, "%s/%s", beside, workdir);
}

// By place; warnings of one place stay in order.
static void sort(struct rb_err *items, int n)
{
    for (int i = 1; i < n; i++) {
        for (int k = i; k > 0; k--) {
            const struct rb_err before = items[k - 1], after = items[k];
            if (before.line < after.line || (before.line == after.line && before.column <= after.column))
                break;
            items[k - 1] = after;
            items[k] = before;
        }
    }
}

void rb_job_lint(const struct rb_job *job, const struct rb_node *root, const char *text, const char *path,
                 struct rb_arena *arena, struct rb_job_warnings *out)
{
    struct lint l = {.job = job, .root = root, .text = text, .path = path, .arena = arena};
    if (strcmp(path, "-") == 0)
        l.path = "<stdin>"; // as in errors
    l.items = rb_arena_array(arena, MAX_WARNINGS + 1, sizeof *l.items);
    find_workdir(&l);
    rb_shell_read(job->run, arena, &l.run);
    rb_shell_read(job->setup ? job->setup : "", arena, &l.setup);
    l.n_scripts = rb_run_scripts(job->run, &l.run, arena, &l.scripts);
    for (int i = 0; i < job->space.n_params; i++)
        check_values(&l, &job->space.params[i]);
    check_variables(&l, "setup", job->setup ? job->setup : "", &l.setup);
    check_variables(&l, "run", job->run, &l.run);
    check_to_do(&l);
    for (int i = 0; i < l.n_scripts; i++) {
        const struct rb_run_script *s = &l.scripts[i];
        const char *source = args_given_to(&l, s) || gets_words(&l, s) ? read_file(&l, s->path) : NULL;
        check_script(&l, s);
        check_quoted(&l, s);
        if (source)
            check_parameters(&l, s, source);
        check_trial(&l, s);
    }
    rb_lint_secrets(job, arena, warn_of_trial, &l);
    check_use(&l);
    sort(l.items, l.n);
    *out = (struct rb_job_warnings){l.items, l.n};
}
