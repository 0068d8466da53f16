#include "profiles/script/script.h"

#include <ctype.h>
#include <string.h>

static bool calls_keras(const struct rb_py_text *text)
{
    bool keras = false, fits = false;
    for (int i = 0; i < text->n; i++) {
        keras = keras || rb_py_is(&text->tokens[i], "keras");
        const bool fit = rb_py_is(&text->tokens[i], "fit") || rb_py_is(&text->tokens[i], "fit_generator");
        fits = fits || (fit && rb_py_is(&text->tokens[i + 1], "("));
    }
    return keras && fits;
}

void rb_script_read(const char *source, struct rb_arena *arena, struct rb_script *out)
{
    *out = (struct rb_script){0};
    rb_py_read(source, arena, &out->text);
    out->is_keras = calls_keras(&out->text);
    rb_script_read_options(out, arena);
    rb_script_read_metrics(out, arena);
}

// Does a part of the name, between _ - . / and digits, begin with the word? "acc" is in val_acc1, not in vacc.
static bool has_part(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = name; *p; p++)
        if ((p == name || !isalpha((unsigned char)p[-1])) && strncmp(p, word, n) == 0 &&
            (n > 3 || !isalpha((unsigned char)p[n]) || strncmp(p, "acc", 3) == 0))
            return true;
    return false;
}

int rb_script_goal(const char *name)
{
    static const char *const less[] = {"loss", "err",  "error",      "mse",          "rmse",    "mae", "mape",
                                       "nll",  "ppl",  "perplexity", "wer",          "cer",     "fid", "bpc",
                                       "bpb",  "cost", "xent",       "crossentropy", "logloss", "bce", NULL};
    static const char *const more[] = {"acc",   "accuracy", "auc",     "auroc",  "f1",   "precision", "recall",
                                       "score", "bleu",     "rouge",   "map",    "iou",  "miou",      "dice",
                                       "r2",    "top",      "reward",  "return", "psnr", "ssim",      "mrr",
                                       "ndcg",  "corr",     "fitness", "hit",    "elo",  NULL};
    char lower[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof lower; n++)
        lower[n] = (char)tolower((unsigned char)name[n]);
    lower[n] = '\0';
    for (const char *const *w = less; *w; w++)
        if (has_part(lower, *w))
            return -1;
    for (const char *const *w = more; *w; w++)
        if (has_part(lower, *w))
            return 1;
    return 0;
}

// --- what it imports and names

static bool is_at(const struct rb_script *s, int i, const char *text)
{
    return i >= 0 && i < s->text.n && rb_py_is(&s->text.tokens[i], text);
}

bool rb_script_imports(const struct rb_script *s, const char *module)
{
    for (int i = 0; i + 1 < s->text.n; i++) {
        const bool begins = i == 0 || s->text.tokens[i - 1].kind == RB_PY_NEWLINE;
        if (!begins || !(is_at(s, i, "import") || is_at(s, i, "from")))
            continue;
        if (is_at(s, i + 1, module))
            return true;
        for (int k = i + 1; k < s->text.n && s->text.tokens[k].kind != RB_PY_NEWLINE && is_at(s, i, "import"); k++)
            if (is_at(s, k, ",") && is_at(s, k + 1, module))
                return true;
    }
    return false;
}

bool rb_script_names(const struct rb_script *s, const char *name)
{
    for (int i = 0; i < s->text.n; i++)
        if (s->text.tokens[i].kind == RB_PY_NAME && is_at(s, i, name))
            return true;
    return false;
}

// start_epoch = 1, the first such line; -1: no number is given to it.
static int first_value(const struct rb_script *s, const struct rb_py_token *name)
{
    for (int i = 0; i + 2 < s->text.n; i++) {
        const struct rb_py_token *t = &s->text.tokens[i];
        if (t->n == name->n && strncmp(t->at, name->at, t->n) == 0 && rb_py_is(t + 1, "=") && t[2].kind == RB_PY_NUMBER)
            return rb_py_is(t + 2, "1") ? 1 : rb_py_is(t + 2, "0") ? 0 : -1;
    }
    return -1;
}

// Of range(n), range(1, n), range(start, n).
static int first_of_range(const struct rb_script *s, int open, struct rb_arena *arena)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(&s->text, open, arena, &a);
    if (n < 1)
        return -1;
    const struct rb_py_token *first = &s->text.tokens[a[0].value.first];
    if (n == 1)
        return 0;
    if (first->kind == RB_PY_NUMBER)
        return rb_py_is(first, "1") ? 1 : rb_py_is(first, "0") ? 0 : -1;
    return a[0].value.end - a[0].value.first == 1 ? first_value(s, first) : -1;
}

int rb_script_first_epoch(const struct rb_script *s, const char *call, struct rb_arena *arena)
{
    for (int i = 0; i + 4 < s->text.n; i++) {
        const struct rb_py_token *name = &s->text.tokens[i + 1];
        if (!is_at(s, i, "for") || !is_at(s, i + 2, "in") || name->n < 2 || strncmp(name->at, "ep", 2) != 0)
            continue;
        int range = i + 3;
        while (range < s->text.n && !is_at(s, range, ":") && !(is_at(s, range, "range") && is_at(s, range + 1, "(")))
            range++;
        if (!is_at(s, range, "range"))
            continue;
        const int first = first_of_range(s, range + 1, arena);
        const char *next = rb_arena_printf(arena, "%.*s + 1", (int)name->n, name->at);
        const char *close = rb_arena_printf(arena, "%.*s+1", (int)name->n, name->at);
        if (call && !strstr(call, rb_arena_strndup(arena, name->at, name->n)))
            return -1;
        return first == 0 && call && (strstr(call, next) || strstr(call, close)) ? 1 : first;
    }
    return -1;
}
