#include "providers/wire/api_rows.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Is the code this word, which ends at a blank?
static bool is_word(const char *word, const char *code)
{
    for (;; word++, code++) {
        word += strspn(word, "_");
        code += strspn(code, "_");
        if (*word == '*')
            return true;
        if (*word == ' ' || *word == '\0')
            return *code == '\0';
        if (toupper((unsigned char)*word) != toupper((unsigned char)*code))
            return false;
    }
}

static bool is_among(const char *words, const char *code)
{
    for (;; words++) {
        if (is_word(words, code))
            return true;
        words += strcspn(words, " ");
        if (!*words)
            return false;
    }
}

const struct rb_api_row *rb_api_find_row(const struct rb_api_row *rows, size_t n, const char *code, const char *message)
{
    for (size_t i = 0; i < n; i++)
        if ((!rows[i].codes || is_among(rows[i].codes, code)) && (!rows[i].text || strcasestr(message, rows[i].text)))
            return &rows[i];
    return NULL;
}

struct rb_api_row rb_api_classify(const struct rb_api_row *rows, size_t n, long status, const char *code,
                                  const char *message)
{
    const struct rb_api_row *found = rb_api_find_row(rows, n, code, message);
    struct rb_api_row row = {.number = RB_E_NONE};
    if (!found)
        row.reaction = rb_api_judge_status(status, &row.number);
    return found ? *found : row;
}

struct rb_api_row rb_api_classify_by_status(const struct rb_api_row *codes, size_t n_codes,
                                            const struct rb_api_row *statuses, size_t n_statuses, long status,
                                            const char *code, const char *message)
{
    char status_text[32];
    const struct rb_api_row *row = rb_api_find_row(codes, n_codes, code, message);
    snprintf(status_text, sizeof status_text, "%ld", status);
    return row ? *row : rb_api_classify(statuses, n_statuses, status, status_text, "");
}
