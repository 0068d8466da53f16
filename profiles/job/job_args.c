// The words of a script that was not written for this program.
#include "profiles/job/job_args.h"

#include "base/limits.h"
#include "profiles/job/job.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORDS 256 // of one key

static const char *const part_names[] = {"fixed", "start", "end", "seed", "gpus", "nodes", "checkpoint", "resume"};

// --- words in braces ---

enum word {
    WORD_NONE, // text
    WORD_START,
    WORD_END,
    WORD_MAX,
    WORD_SEED,
    WORD_GPUS,
    WORD_NODES,
    WORD_CHECKPOINT,
    WORD_RESUME,
    WORD_FILE,
    WORD_UNKNOWN
};

static const char *const word_names[] = {"",     "start", "end",        "max",    "seed",
                                         "gpus", "nodes", "checkpoint", "resume", "file"};

// The next piece of a template: a run of text without braces, one brace, or a word.
struct piece {
    enum word word;
    const char *text; // of a text; of {resume:GLOB} the glob, else NULL
    size_t n;
};

static enum word find_word(const char *name, size_t n)
{
    for (int w = WORD_START; w < WORD_UNKNOWN; w++)
        if (strlen(word_names[w]) == n && memcmp(word_names[w], name, n) == 0)
            return (enum word)w;
    return WORD_UNKNOWN;
}

static struct piece word_between(const char *name, size_t n)
{
    const char *colon = memchr(name, ':', n);
    if (!colon)
        return (struct piece){.word = find_word(name, n)};
    struct piece p = {find_word(name, (size_t)(colon - name)), colon + 1, n - (size_t)(colon + 1 - name)};
    if (p.word != WORD_RESUME || p.n == 0)
        p.word = WORD_UNKNOWN;
    return p;
}

// False: the text is at its end.
static bool next_piece(const char **text, struct piece *out)
{
    const char *s = *text;
    const size_t plain = strcspn(s, "{}");
    if (*s == '\0')
        return false;
    if (plain > 0) {
        *out = (struct piece){.text = s, .n = plain};
        *text = s + plain;
    } else if (s[1] == s[0]) {
        *out = (struct piece){.text = s, .n = 1};
        *text = s + 2;
    } else {
        const size_t n = *s == '{' ? strcspn(s + 1, "{}") : 0;
        const bool closed = *s == '{' && s[1 + n] == '}';
        *out = closed ? word_between(s + 1, n) : (struct piece){.word = WORD_UNKNOWN};
        *text = s + 1 + n + closed;
    }
    return true;
}

bool rb_arg_word_check(const struct rb_node *node, const char *text, bool may_resume, bool has_file, struct rb_err *err)
{
    struct piece p;
    for (const char *at = text, *before = at; next_piece(&at, &p); before = at) {
        const int n = (int)(at - before);
        if (p.word == WORD_UNKNOWN)
            return rb_node_refuse(node, err, RB_E_ARGS_WORD,
                                  "%.*s is not a word of trial.args: those are {start} {end} {max} {seed} {gpus} "
                                  "{nodes} {checkpoint} {resume} {resume:GLOB} {file}; write {{ and }} for braces",
                                  n < 60 ? n : 60, before);
        if (p.word == WORD_RESUME && !may_resume)
            return rb_node_refuse(node, err, RB_E_ARGS_WORD,
                                  "{resume} has no meaning on a first start: only args.resume may have it, which is "
                                  "then left out");
        if (p.word == WORD_FILE && !has_file)
            return rb_node_refuse(node, err, RB_E_ARGS_WORD,
                                  "{file} is the copy of args.file: give args.file: {path, base}");
    }
    return true;
}

// --- reading ---

static bool read_words(const struct rb_node *node, bool may_resume, bool has_file, struct rb_arena *arena,
                       struct rb_string_list *out, struct rb_err *err)
{
    if (!node)
        return true;
    const bool is_list = node->kind == RB_NODE_LIST;
    const int n = is_list ? node->n_children : 1;
    if (n > MAX_WORDS)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at most %d words, got %d", MAX_WORDS, n);
    const char **items = rb_arena_array(arena, (size_t)n + 1, sizeof *items);
    const struct rb_node *item = is_list ? node->first : node;
    for (int i = 0; i < n; i++, item = item->next) {
        if (item->kind == RB_NODE_NULL || item->kind == RB_NODE_LIST || item->kind == RB_NODE_MAP)
            return rb_node_refuse(item, err, RB_E_TYPE_WRONG,
                                  "expected a word of the command, or a list of words; in YAML, text that begins "
                                  "with { stands in quotes");
        items[i] = rb_arena_strdup(arena, item->text); // numbers as they were written
        if (!rb_arg_word_check(item, items[i], may_resume, has_file, err))
            return false;
    }
    *out = (struct rb_string_list){.items = items, .n = n};
    return true;
}

static const struct rb_param *param_of(const struct rb_space *space, const struct rb_node *key, struct rb_err *err)
{
    for (int i = 0; i < space->n_params; i++)
        if (strcmp(space->params[i].name, key->key) == 0)
            return &space->params[i];
    rb_node_refuse(key, err, RB_E_ARGS_PARAMETER, "%.64s is not one of the job's parameters", key->key);
    return NULL;
}

static bool is_boolean(const struct rb_param *p)
{
    for (int i = 0; i < p->n_values; i++)
        if (p->values[i].kind != RB_VALUE_BOOL)
            return false;
    return p->n_values > 0;
}

static bool read_switch(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                        struct rb_arg_switch *out, struct rb_err *err)
{
    const struct rb_param *p = param_of(space, node, err);
    if (!p)
        return false;
    if (!is_boolean(p))
        return rb_node_refuse(node, err, RB_E_ARGS_PARAMETER,
                              "%.64s is not a parameter that is true or false: write it as `%.64s: {flag: true}`",
                              p->name, p->name);
    if (node->kind != RB_NODE_LIST || node->n_children != 2 || node->first->kind != RB_NODE_STRING ||
        node->first->next->kind != RB_NODE_STRING)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG,
                              "expected two words, for true and for false, as [--%.64s, \"\"]; \"\" is none", p->name);
    *out = (struct rb_arg_switch){p->name, rb_arena_strdup(arena, node->first->text),
                                  rb_arena_strdup(arena, node->first->next->text)};
    return true;
}

static bool read_switches(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                          struct rb_trial_args *a, struct rb_err *err)
{
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err))
        return false;
    struct rb_arg_switch *switches = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *switches);
    for (const struct rb_node *child = node->first; child; child = child->next)
        if (!read_switch(child, space, arena, &switches[a->n_switches++], err))
            return false;
    a->switches = switches;
    return true;
}

static bool read_renames(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                         struct rb_trial_args *a, struct rb_err *err)
{
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err))
        return false;
    struct rb_key_value *renames = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *renames);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        struct rb_key_value *r = &renames[a->n_renames++];
        if (!param_of(space, child, err) || !rb_node_text(child, arena, &r->value, err))
            return false;
        r->key = rb_arena_strdup(arena, child->key);
    }
    a->renames = renames;
    return true;
}

static bool leaves_its_folder(const char *path)
{
    return path[0] == '/' || strncmp(path, "../", 3) == 0 || strstr(path, "/../");
}

static bool read_file(const struct rb_node *node, struct rb_arena *arena, struct rb_trial_args *a, struct rb_err *err)
{
    static const char *const keys[] = {"path", "base", NULL};
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "path", arena, &a->file_path, err) ||
        !rb_keys_need_text(&m, "base", arena, &a->file_base, err))
        return false;
    const struct rb_node *path = rb_map_get(&m, "path");
    return !leaves_its_folder(a->file_path) ||
           rb_node_refuse(path, err, RB_E_TEXT_FORM, "expected a path inside the checkpoint folder, got \"%.60s\"",
                          a->file_path);
}

bool rb_trial_args_read(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                        struct rb_trial_args *out, struct rb_err *err)
{
    static const char *const keys[] = {"style", "switches", "rename", "file",       "fixed",  "start", "end",
                                       "seed",  "gpus",     "nodes",  "checkpoint", "resume", NULL};
    struct rb_trial_args a = {.given = true};
    struct rb_map m;
    int style;
    if (!node) {
        *out = (struct rb_trial_args){0};
        return true;
    }
    if (!rb_keys_begin(&m, node, keys, err) ||
        !rb_keys_choice(&m, "style", rb_args_style_names, rb_names_count(rb_args_style_names), RB_ARGS_EQ, &style,
                        err) ||
        !read_switches(rb_keys_given(&m, "switches"), space, arena, &a, err) ||
        !read_renames(rb_keys_given(&m, "rename"), space, arena, &a, err) ||
        !read_file(rb_keys_given(&m, "file"), arena, &a, err))
        return false;
    a.style = (enum rb_args_style)style;
    for (int i = 0; i < RB_ARGS_PARTS; i++)
        if (!read_words(rb_keys_given(&m, part_names[i]), i == RB_ARGS_RESUME, a.file_path != NULL, arena, &a.parts[i],
                        err))
            return false;
    *out = a;
    return true;
}

// $@, $*, $1, ${@} and so on.
static bool uses_words(const char *run)
{
    for (const char *s = strchr(run, '$'); s; s = strchr(s + 1, '$')) {
        const char c = s[1] == '{' ? s[2] : s[1];
        if (c == '@' || c == '*' || c == '#' || (isdigit((unsigned char)c) && c != '0'))
            return true;
    }
    return false;
}

bool rb_trial_args_check(const struct rb_job *job, const struct rb_node *node, struct rb_err *err)
{
    const struct rb_trial_args *a = &job->trial.args;
    if (!a->given)
        return true;
    if (!uses_words(job->run))
        return rb_node_refuse(node, err, RB_E_ARGS_UNUSED,
                              "`run` does not use these words: write \"$@\" behind the script's name%s",
                              strstr(job->run, "RB_ARGS") ? ", in place of $RB_ARGS" : "");
    if (job->starts_over && a->parts[RB_ARGS_RESUME].n > 0)
        return rb_node_refuse(rb_node_member(node, "resume"), err, RB_E_ARGS_WORD,
                              "never used: checkpoint.resume is false, so every start is a first one; remove one of "
                              "them");
    return true;
}

// --- writing ---

static void write_words(const char *key, const struct rb_string_list *words, struct rb_json *j)
{
    if (words->n > 0)
        rb_json_kstrings(j, key, words->items, words->n);
}

void rb_trial_args_write(const struct rb_trial_args *a, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "style", rb_args_style_names[a->style]);
    rb_json_kobject(j, "switches");
    for (int i = 0; i < a->n_switches; i++)
        rb_json_kstrings(j, a->switches[i].name, (const char *[]){a->switches[i].when_true, a->switches[i].when_false},
                         2);
    rb_json_end_object(j);
    rb_json_kobject(j, "rename");
    for (int i = 0; i < a->n_renames; i++)
        rb_json_kstring(j, a->renames[i].key, a->renames[i].value);
    rb_json_end_object(j);
    if (a->file_path)
        rb_json_put(j, "file: {path: %s, base: %s}", a->file_path, a->file_base);
    for (int i = 0; i < RB_ARGS_PARTS; i++)
        write_words(part_names[i], &a->parts[i], j);
    rb_json_end_object(j);
}

// --- rendering ---

// One word being made, as it is or in sh.
struct maker {
    const struct rb_args_order *order;
    bool shell;
    struct rb_buf text; // in sh: what is not quoted yet
    struct rb_buf word;
};

static void flush(struct maker *m)
{
    if (!m->shell)
        rb_buf_append(&m->word, rb_buf_str(&m->text), m->text.len);
    else if (m->text.len > 0)
        rb_buf_shell_quote(&m->word, rb_buf_str(&m->text));
    rb_buf_clear(&m->text);
}

// What a node knows: a variable of its script, or the text given here.
static void put_known(struct maker *m, const char *variable, const char *text)
{
    flush(m);
    rb_buf_printf(&m->word, m->shell ? "\"$%s\"" : "%s", m->shell ? variable : text);
}

static void put_file(struct maker *m)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", m->order->checkpoint ? m->order->checkpoint : "",
             m->order->job->trial.args.file_path);
    put_known(m, "rb_file", path);
}

static void put_newest(struct maker *m, const char *glob, size_t n)
{
    flush(m);
    if (!m->shell) {
        rb_buf_printf(&m->word, "%s/%.*s", m->order->resume, (int)n, glob);
        return;
    }
    rb_buf_append(&m->text, glob, n);
    rb_buf_puts(&m->word, "\"$(newest ");
    flush(m);
    rb_buf_puts(&m->word, ")\"");
}

static void put_piece(struct maker *m, const struct piece *p)
{
    const struct rb_args_order *o = m->order;
    char number[32];
    switch (p->word) {
    case WORD_NONE:
        rb_buf_append(&m->text, p->text, p->n);
        break;
    case WORD_START:
        rb_buf_printf(&m->text, "%" PRId64, o->start);
        break;
    case WORD_END:
        rb_buf_printf(&m->text, "%" PRId64, o->end);
        break;
    case WORD_MAX:
        rb_buf_printf(&m->text, "%" PRId64, o->job->scheduler.max_resource);
        break;
    case WORD_SEED:
        rb_buf_printf(&m->text, "%" PRId64, o->seed);
        break;
    case WORD_GPUS:
        snprintf(number, sizeof number, "%d", o->gpus);
        put_known(m, "RB_GPUS_PER_NODE", number);
        break;
    case WORD_NODES:
        rb_buf_printf(&m->text, "%d", o->nodes);
        break;
    case WORD_CHECKPOINT:
        put_known(m, "RB_CHECKPOINT_DIR", o->checkpoint);
        break;
    case WORD_FILE:
        put_file(m);
        break;
    case WORD_RESUME:
        if (p->text)
            put_newest(m, p->text, p->n);
        else
            put_known(m, "RB_RESUME_FROM", o->resume);
        break;
    case WORD_UNKNOWN: // refused when it was read
        break;
    }
}

static void fill_word(struct maker *m, const char *text)
{
    struct piece p;
    rb_buf_clear(&m->word);
    while (next_piece(&text, &p))
        put_piece(m, &p);
    flush(m);
    if (m->shell && m->word.len == 0)
        rb_buf_puts(&m->word, "''");
}

// A word that holds no words in braces.
static void plain_word(struct maker *m, const char *text)
{
    rb_buf_clear(&m->word);
    rb_buf_puts(&m->text, text);
    flush(m);
    if (m->shell && m->word.len == 0)
        rb_buf_puts(&m->word, "''");
}

static void finish_maker(struct maker *m)
{
    rb_buf_finish(&m->text);
    rb_buf_finish(&m->word);
}

void rb_arg_word_shell(const struct rb_args_order *order, const char *text, struct rb_buf *out)
{
    struct maker m RB_AUTO(finish_maker) = {.order = order, .shell = true};
    fill_word(&m, text);
    rb_buf_append(out, rb_buf_str(&m.word), m.word.len);
}

// Python's own words for true and false: argparse, Hydra, literal_eval and YAML read them.
static void value_text(const struct rb_value *v, struct rb_buf *out)
{
    if (v->kind == RB_VALUE_BOOL)
        rb_buf_puts(out, v->boolean ? "True" : "False");
    else
        rb_value_text(v, out); // a float keeps its point
}

static const char *name_of(const struct rb_trial_args *a, const char *name)
{
    for (int i = 0; i < a->n_renames; i++)
        if (strcmp(a->renames[i].key, name) == 0)
            return a->renames[i].value;
    return name;
}

static const struct rb_arg_switch *switch_of(const struct rb_trial_args *a, const char *name)
{
    for (int i = 0; i < a->n_switches; i++)
        if (strcmp(a->switches[i].name, name) == 0)
            return &a->switches[i];
    return NULL;
}

typedef void emit_fn(void *ctx, const struct rb_buf *word);

static void emit_plain(struct maker *m, const char *text, emit_fn *emit, void *ctx)
{
    plain_word(m, text);
    emit(ctx, &m->word);
}

static void emit_parameter(struct maker *m, const struct rb_param *p, const struct rb_value *v, emit_fn *emit,
                           void *ctx)
{
    const struct rb_trial_args *a = &m->order->job->trial.args;
    const struct rb_arg_switch *s = switch_of(a, p->name);
    const char *name = name_of(a, p->name), *const dashes = a->style <= RB_ARGS_SPACE ? "--" : "";
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, value = RB_BUF_INIT;
    if (s) {
        const char *word = v->boolean ? s->when_true : s->when_false;
        if (*word)
            emit_plain(m, word, emit, ctx);
        return;
    }
    rb_buf_printf(&text, "%s%s", dashes, name);
    value_text(v, &value);
    if (p->is_flag && a->style <= RB_ARGS_SPACE) {
        if (v->boolean)
            emit_plain(m, rb_buf_str(&text), emit, ctx);
    } else if (a->style == RB_ARGS_SPACE || a->style == RB_ARGS_PAIRS) {
        emit_plain(m, rb_buf_str(&text), emit, ctx);
        emit_plain(m, rb_buf_str(&value), emit, ctx);
    } else {
        rb_buf_printf(&text, "=%s", rb_buf_str(&value));
        emit_plain(m, rb_buf_str(&text), emit, ctx);
    }
}

static void emit_words(const struct rb_args_order *order, bool shell, emit_fn *emit, void *ctx)
{
    struct maker m RB_AUTO(finish_maker) = {.order = order, .shell = shell};
    const struct rb_trial_args *a = &order->job->trial.args;
    for (int i = 0; i < RB_ARGS_PARTS; i++)
        for (int k = 0; k < a->parts[i].n && (i != RB_ARGS_RESUME || order->resume); k++) {
            fill_word(&m, a->parts[i].items[k]);
            emit(ctx, &m.word);
        }
    for (int i = 0; i < order->job->space.n_params && !a->file_path; i++) // those of detectron2 stand last
        if (order->values[i].kind != RB_VALUE_ABSENT)
            emit_parameter(&m, &order->job->space.params[i], &order->values[i], emit, ctx);
}

struct words {
    struct rb_arena *arena;
    const char **items; // room for `most`
    int n, most;
};

static void keep_word(void *ctx, const struct rb_buf *word)
{
    struct words *w = ctx;
    if (w->n < w->most)
        w->items[w->n++] = rb_arena_strdup(w->arena, rb_buf_str(word));
}

struct rb_string_list rb_trial_args_render(const struct rb_args_order *order, struct rb_arena *arena)
{
    const struct rb_trial_args *a = &order->job->trial.args;
    struct words w = {.arena = arena, .most = 2 * order->job->space.n_params};
    for (int i = 0; i < RB_ARGS_PARTS; i++)
        w.most += a->parts[i].n;
    w.items = rb_arena_array(arena, (size_t)w.most + 1, sizeof *w.items);
    emit_words(order, false, keep_word, &w);
    return (struct rb_string_list){w.items, w.n};
}

static void append_word(void *ctx, const struct rb_buf *word)
{
    struct rb_buf *out = ctx;
    if (out->len > 0)
        rb_buf_putc(out, ' ');
    rb_buf_append(out, rb_buf_str(word), word->len);
}

void rb_trial_args_shell(const struct rb_args_order *order, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    emit_words(order, true, append_word, &words);
    rb_buf_append(out, rb_buf_str(&words), words.len);
}

void rb_trial_args_file(const struct rb_args_order *order, struct rb_buf *out)
{
    const struct rb_job *job = order->job;
    for (int i = 0; i < job->space.n_params; i++) {
        struct rb_json j;
        if (order->values[i].kind == RB_VALUE_ABSENT)
            continue;
        rb_buf_printf(out, "%s ", name_of(&job->trial.args, job->space.params[i].name));
        rb_json_init(&j, out, false);
        rb_value_json(&order->values[i], &j);
        rb_buf_putc(out, '\n');
    }
}
