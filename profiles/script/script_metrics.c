// What a script prints about its training: the texts of its print and logging calls, with a mark in place of each
// value, parsed in the way of rbrun, and in the ways in which people write them.
#include "profiles/script/script.h"

#include "base/text/buf.h"
#include "base/text/closest.h"
#include "profiles/script/script_pattern.h"

#include <ctype.h>
#include <string.h>

#define MARK RB_SCRIPT_MARK

struct reader {
    const struct rb_py_text *text;
    struct rb_arena *arena;
    struct rb_script *s;
    struct rb_script_metric *metrics;
    const char *call; // the source of the call that is looked at
};

static const struct rb_py_token *token(const struct reader *r, int i)
{
    return &r->text->tokens[i >= 0 && i < r->text->n ? i : r->text->n];
}

static bool is(const struct reader *r, int i, const char *text)
{
    return rb_py_is(token(r, i), text);
}

static void add(struct reader *r, struct rb_script_metric m)
{
    r->s->metrics = r->metrics = rb_arena_grow(r->arena, r->metrics, r->s->n_metrics, sizeof m);
    r->metrics[r->s->n_metrics++] = m;
}

// --- names

static const char *lower(const char *text, size_t n, struct rb_arena *arena)
{
    char *name = rb_arena_strndup(arena, text, n);
    for (char *c = name; *c; c++)
        *c = *c == ' ' || *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    return name;
}

static bool is_resource(const char *name)
{
    static const char *const names[] = {"epoch",     "epochs", "step", "steps",       "iter",     "iters",
                                        "iteration", "round",  "ep",   "global_step", "resource", NULL};
    return rb_is_one_of(name, names);
}

static bool is_validation_word(const char *word)
{
    static const char *const words[] = {"val", "valid", "validation", "test", "eval", "evaluation", "dev", NULL};
    return rb_is_one_of(word, words);
}

static bool is_validation(const char *name)
{
    const size_t n = strcspn(name, "_/.-:");
    char word[16] = "";
    if (n < sizeof word)
        memcpy(word, name, n);
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return n < sizeof word && is_validation_word(word);
}

static bool is_metric_name(const char *s)
{
    return *s && s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@:-")] == '\0';
}

// --- a printed line

static const char *shown(const char *line, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (; *line && text.len < 100; line++) {
        if (*line == MARK)
            rb_buf_puts(&text, "...");
        else
            rb_buf_putc(&text, iscntrl((unsigned char)*line) ? ' ' : *line);
    }
    const char *p = rb_buf_str(&text);
    return rb_arena_strdup(arena, p + strspn(p, " "));
}

static bool separates(char c)
{
    return c == '\0' || isspace((unsigned char)c) || c == ',' || c == ';';
}

// name=MARK as a separate word, which executor/metrics/metric_line.h reads. Returns the name; NULL: no such word.
static const char *exact_name(const char *line, const char *mark, struct rb_arena *arena)
{
    const char *p = mark;
    if (p == line || p[-1] != '=' || !separates(mark[1]))
        return NULL;
    while (p > line && !separates(p[-1]))
        p--;
    const char *name = rb_arena_strndup(arena, p, (size_t)(mark - 1 - p));
    return is_metric_name(name) ? name : NULL;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || strchr("_/.@-", c);
}

// The beginning of the word that ends before `end`.
static const char *word_before(const char *line, const char *end)
{
    while (end > line && is_word_byte(end[-1]) && end[-1] != '\0')
        end--;
    return end;
}

// "Val Loss: MARK" -> val_loss; "Epoch MARK" -> epoch. NULL: no name before it.
static const char *loose_name(const char *line, const char *mark, struct rb_arena *arena)
{
    const char *end = mark;
    while (end > line && strchr(" \t:=([", end[-1]))
        end--;
    const char *start = word_before(line, end);
    while (start < end && !isalpha((unsigned char)*start))
        start++;
    if (start == end || (size_t)(end - start) > 40)
        return NULL;
    const char *name = lower(start, (size_t)(end - start), arena);
    const char *before_end = start;
    while (before_end > line && before_end[-1] == ' ')
        before_end--;
    const char *before = word_before(line, before_end);
    const char *qualifier = lower(before, (size_t)(before_end - before), arena);
    if (is_validation_word(qualifier) || strcmp(qualifier, "train") == 0 || strcmp(qualifier, "training") == 0)
        return rb_arena_printf(arena, "%s_%s", qualifier[0] == 't' && qualifier[1] == 'r' ? "train" : qualifier, name);
    return name;
}

// "Test set: ..." is about the test set, even if its names do not show that.
static bool begins_with_validation(const char *line, struct rb_arena *arena)
{
    line += strspn(line, " [=*#>-");
    size_t n = 0;
    while (isalpha((unsigned char)line[n]))
        n++;
    return is_validation_word(lower(line, n, arena));
}

// The resource by which the line counts, as name=value; NULL: none.
static const char *resource_of(const char *line, struct rb_arena *arena)
{
    for (const char *mark = strchr(line, MARK); mark; mark = strchr(mark + 1, MARK)) {
        const char *name = exact_name(line, mark, arena);
        if (name && is_resource(name))
            return name;
    }
    return NULL;
}

static bool is_beside_the_point(const char *name)
{
    static const char *const words[] = {"lr",     "time", "sec",        "elapsed", "eta",   "batch",  "norm",
                                        "seed",   "mem",  "throughput", "samples", "speed", "params", "rank",
                                        "device", "size", "best",       "dt",      "it",    NULL};
    for (const char *const *w = words; *w; w++)
        if (strcmp(name, *w) == 0 || (strlen(*w) > 3 && strstr(name, *w)))
            return true;
    return is_resource(name);
}

static void read_progress(struct reader *r, const char *line)
{
    bool steps;
    const char *pattern = rb_script_progress_pattern(line, &steps, r->arena);
    struct rb_script_progress *p = steps ? &r->s->steps : &r->s->epochs;
    if (pattern && !p->pattern)
        *p = (struct rb_script_progress){pattern, r->call};
}

static void read_line(struct reader *r, const char *line, int number)
{
    const char *resource = resource_of(line, r->arena), *text = shown(line, r->arena);
    const bool validation = begins_with_validation(line, r->arena);
    read_progress(r, line);
    for (const char *mark = strchr(line, MARK); mark; mark = strchr(mark + 1, MARK)) {
        const char *exact = exact_name(line, mark, r->arena), *name = exact ? exact : loose_name(line, mark, r->arena);
        const bool is_count = mark[1] == '/'; // 3/10, 9000/10000 (90%)
        if (is_count || !name || !is_metric_name(name) || is_beside_the_point(lower(name, strlen(name), r->arena)))
            continue;
        if (!exact && validation && !is_validation(name))
            name = rb_arena_printf(r->arena, "test_%s", name);
        const int goal = rb_script_goal(name);
        bool counts = false;
        if (goal == 0 && !(exact && resource))
            continue;
        add(r, (struct rb_script_metric){
                   .name = name,
                   .resource = resource,
                   .shown = text,
                   .is_report = exact && resource,
                   .is_printed = true,
                   .is_validation = is_validation(name) || validation,
                   .goal = goal,
                   .line = number,
                   .pattern = rb_script_pattern(line, mark, name, strcasestr(r->call, "epoch"), &counts, r->arena),
                   .counts_itself = counts,
                   .call = r->call});
    }
}

static void read_lines(struct reader *r, const char *text, int number)
{
    char *rest = rb_arena_strdup(r->arena, text);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strchr(line, MARK))
            read_line(r, line, number);
}

// --- format strings

// f"{acc=:.2f}" prints its own name.
static void put_own_name(const char *expression, size_t n, struct rb_buf *out)
{
    const char *end = expression + n, *stop = expression;
    int depth = 0;
    while (stop < end && (depth > 0 || !(*stop == ':' || (*stop == '!' && stop[1] != '=')))) {
        depth += strchr("([{", *stop) != NULL;
        depth -= strchr(")]}", *stop) != NULL;
        stop++;
    }
    while (stop > expression && stop[-1] == ' ')
        stop--;
    if (stop > expression + 1 && stop[-1] == '=' && !strchr("=<>!", stop[-2]))
        rb_buf_append(out, expression, (size_t)(stop - expression));
}

// {...} of an f-string or of str.format.
static const char *put_braces(const char *p, bool is_f, struct rb_buf *out)
{
    const char *start = p + 1;
    int depth = 0;
    do {
        depth += *p == '{';
        depth -= *p == '}';
        p++;
    } while (*p && depth > 0);
    const char *end = p[-1] == '}' ? p - 1 : p;
    if (is_f)
        put_own_name(start, (size_t)(end - start), out);
    rb_buf_putc(out, MARK);
    if (end > start && end[-1] == '%')
        rb_buf_putc(out, '%'); // {x:.1%}
    return p;
}

static void put_format(const char *text, bool is_f, struct rb_buf *out)
{
    for (const char *p = text; *p;) {
        if ((*p == '{' || *p == '}') && p[1] == *p) {
            rb_buf_putc(out, *p);
            p += 2;
        } else if (*p == '{') {
            p = put_braces(p, is_f, out);
        } else {
            rb_buf_putc(out, *p++);
        }
    }
}

// "%d %.4f %(name)s"
static void put_percent(const char *text, struct rb_buf *out)
{
    for (const char *p = text; *p;) {
        if (*p != '%') {
            rb_buf_putc(out, *p++);
            continue;
        }
        if (*++p == '%') {
            rb_buf_putc(out, *p++);
            continue;
        }
        p += *p == '(' ? strcspn(p, ")") : 0;
        p += strspn(p, ")0123456789.+- #*l");
        p += *p != '\0';
        rb_buf_putc(out, MARK);
    }
}

static int skip_operand(const struct reader *r, int i, int end)
{
    while (i < end && !is(r, i, "+"))
        i = token(r, i)->kind == RB_PY_OP && strchr("([{", *token(r, i)->at) ? token(r, i)->match + 1 : i + 1;
    return i;
}

// Adjacent strings, and how they are formatted; returns the token behind them.
static int put_strings(struct reader *r, int i, int end, bool is_percent, struct rb_buf *out)
{
    int last = i;
    while (last < end && token(r, last)->kind == RB_PY_STRING)
        last++;
    const bool percent = is_percent || is(r, last, "%"), format = is(r, last, ".") && is(r, last + 1, "format");
    for (; i < last; i++) {
        const char *text = rb_py_string(token(r, i), r->arena);
        if (!text)
            continue;
        if (rb_py_is_fstring(token(r, i)) || format)
            put_format(text, rb_py_is_fstring(token(r, i)), out);
        else if (percent)
            put_percent(text, out);
        else
            rb_buf_puts(out, text);
    }
    return skip_operand(r, last, end);
}

// One argument: strings and values, joined by +.
static void put_argument(struct reader *r, struct rb_py_span span, bool is_percent, struct rb_buf *out)
{
    for (int i = span.first; i < span.end; i++) { // the + is skipped
        if (token(r, i)->kind == RB_PY_STRING) {
            i = put_strings(r, i, span.end, is_percent, out);
        } else {
            rb_buf_putc(out, MARK);
            i = skip_operand(r, i, span.end);
        }
    }
}

// json.dumps({"epoch": epoch, "val_acc": acc}): its keys as name=value, which is how rbrun reads it.
static bool put_json(struct reader *r, struct rb_py_span span, struct rb_buf *out)
{
    int i = span.first;
    while (i < span.end && !(is(r, i, "dumps") && is(r, i + 1, "(") && is(r, i + 2, "{")))
        i++;
    if (i >= span.end)
        return false;
    const struct rb_py_argument *items;
    const int n = rb_py_arguments(r->text, i + 2, r->arena, &items);
    for (int k = 0; k < n; k++) {
        const char *key = rb_py_string(token(r, items[k].value.first), r->arena);
        if (key)
            rb_buf_printf(out, "%s=%c ", key, MARK);
    }
    return true;
}

static void read_print(struct reader *r, int i, bool is_logging)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const bool one_only = is_logging && n > 1 && token(r, a[0].value.first)->kind == RB_PY_STRING;
    const bool is_report = is(r, i, "report"); // of rubberband_trial: report(epoch, val_acc=x)
    for (int k = 0; k < n && is_report; k++)
        rb_buf_printf(&text, "%.*s=%c ", a[k].name ? (int)a[k].name->n : 5, a[k].name ? a[k].name->at : "epoch", MARK);
    for (int k = 0; k < n && !is_report && !a[k].name && (k == 0 || !one_only); k++) {
        if (k > 0)
            rb_buf_putc(&text, ' ');
        if (!put_json(r, a[k].value, &text))
            put_argument(r, a[k].value, one_only, &text);
    }
    r->call = rb_py_source(r->text, (struct rb_py_span){i, token(r, i + 1)->match + 1}, r->arena);
    read_lines(r, rb_buf_str(&text), token(r, i)->line);
}

// --- values logged with a library: self.log("val_acc", x), writer.add_scalar("val/acc", x, step),
// wandb.log({"val_acc": x})

static void add_logged(struct reader *r, const struct rb_py_token *t)
{
    const char *name = rb_py_string(t, r->arena);
    if (!name || !is_metric_name(name) || rb_py_is_fstring(t) ||
        is_beside_the_point(lower(name, strlen(name), r->arena)))
        return;
    const int goal = rb_script_goal(name);
    if (goal != 0)
        add(r, (struct rb_script_metric){
                   .name = name, .shown = name, .is_validation = is_validation(name), .goal = goal, .line = t->line});
}

// The end of the last string of what is assigned to the name, at most `hops` names away: "logs/" + now + "/test" -> test.
// NULL: there is none.
static const char *folder_named(const struct reader *r, struct rb_py_span span, int hops)
{
    for (int i = span.end - 1; i >= span.first; i--) {
        const char *text = rb_py_string(token(r, i), r->arena);
        if (text && *text) {
            const char *slash = strrchr(text, '/');
            return slash && slash[1] ? slash + 1 : text;
        }
    }
    const struct rb_py_token *name = token(r, span.first);
    for (int i = 0; i + 1 < r->text->n && hops > 0 && span.end - span.first == 1; i++) {
        const struct rb_py_token *t = token(r, i);
        if (t->kind != RB_PY_NAME || t->n != name->n || strncmp(t->at, name->at, t->n) != 0 || !is(r, i + 1, "="))
            continue;
        int end = i + 2;
        while (end < r->text->n && token(r, end)->kind != RB_PY_NEWLINE)
            end++;
        for (int k = i + 2; k + 1 < end; k++) {
            const bool opens = is(r, k, "create_file_writer") || is(r, k, "FileWriter") || is(r, k, "SummaryWriter");
            if (opens && is(r, k + 1, "("))
                return folder_named(r, (struct rb_py_span){k + 2, token(r, k + 1)->match}, hops - 1);
        }
        return folder_named(r, (struct rb_py_span){i + 2, end}, hops - 1);
    }
    return NULL;
}

// The folder of a writer of event files: of writer.add_scalar(...), or of the last `with writer.as_default()`.
static const char *run_of_writer(const struct reader *r, int i)
{
    const bool own = is(r, i, "add_scalar");
    int writer = own ? i - 2 : i;
    while (!own && writer > 0 && !is(r, writer, "as_default"))
        writer--;
    writer -= own ? 0 : 2;
    if (writer < 0)
        return "";
    const char *run = folder_named(r, (struct rb_py_span){writer, writer + 1}, 3);
    return run && is_validation_word(lower(run, strlen(run), r->arena)) ? run : run && strstr(run, "train") ? run : "";
}

// tf.summary.scalar("loss", x, step=epoch)
static void read_summary(struct reader *r, int i)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
    const int before = r->s->n_metrics;
    if (n > 1)
        add_logged(r, token(r, a[0].value.first));
    if (r->s->n_metrics == before)
        return;
    struct rb_script_metric *m = &r->metrics[before];
    m->run = run_of_writer(r, i);
    m->is_validation = m->is_validation || is_validation(m->run);
}

static void read_logged(struct reader *r, int i)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
    if (n == 0)
        return;
    if (!is(r, a[0].value.first, "{")) {
        if (n > 1)
            add_logged(r, token(r, a[0].value.first));
        return;
    }
    const struct rb_py_argument *items;
    const int n_items = rb_py_arguments(r->text, a[0].value.first, r->arena, &items);
    for (int k = 0; k < n_items; k++)
        add_logged(r, token(r, items[k].value.first));
}

void rb_script_read_metrics(struct rb_script *s, struct rb_arena *arena)
{
    static const char *const printing[] = {"print", "write", "echo", "rprint", "print_log", NULL};
    static const char *const logging[] = {"info", "warning", "debug", "log_info", "rank_zero_info", NULL};
    static const char *const libraries[] = {"log",      "log_metric", "log_metrics", "add_scalar",
                                            "log_dict", "report",     NULL};
    struct reader r = {.text = &s->text, .arena = arena, .s = s};
    const bool has_helper = rb_script_imports(s, "rubberband_trial");
    for (int i = 0; i < s->text.n; i++) {
        const struct rb_py_token *t = token(&r, i);
        if (t->kind != RB_PY_NAME || t->n > 20 || !is(&r, i + 1, "(") || is(&r, i - 1, "def"))
            continue;
        const char *name = rb_arena_strndup(arena, t->at, t->n);
        if (rb_is_one_of(name, printing) || rb_is_one_of(name, logging) || (has_helper && strcmp(name, "report") == 0))
            read_print(&r, i, rb_is_one_of(name, logging));
        else if (is(&r, i - 1, ".") &&
                 (strcmp(name, "add_scalar") == 0 || (strcmp(name, "scalar") == 0 && is(&r, i - 2, "summary"))))
            read_summary(&r, i);
        else if (rb_is_one_of(name, libraries) && is(&r, i - 1, "."))
            read_logged(&r, i);
    }
}
