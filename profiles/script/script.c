#include "profiles/script/script.h"

#include <ctype.h>
#include <string.h>

static bool calls_keras(const struct rb_py_text *text)
{
    bool keras = false, fits = false;
    for (int i = 0; i < text->n; i++) {
        keras = keras || rb_py_is(&text->tokens[i], "keras");
        fits = fits || (rb_py_is(&text->tokens[i], "fit") && rb_py_is(&text->tokens[i + 1], "("));
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
