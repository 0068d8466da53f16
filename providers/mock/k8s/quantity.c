// Digits are taken one by one: a double would not hold every byte of a large memory.
#include "providers/mock/k8s/quantity.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MAX_MILLI  INT64_C(9000000000000000000)
#define MAX_DIGITS 18

__extension__ typedef __int128 wide;

struct suffix {
    const char *text;
    int64_t factor; // of a thousandth
    bool is_binary;
};

// From the largest, which the canonical form tries first.
static const struct suffix suffixes[] = {
    {"Pi", 1000 * (INT64_C(1) << 50), true},
    {"Ti", 1000 * (INT64_C(1) << 40), true},
    {"Gi", 1000 * (INT64_C(1) << 30), true},
    {"Mi", 1000 * (INT64_C(1) << 20), true},
    {"Ki", 1000 * (INT64_C(1) << 10), true},
    {"P", INT64_C(1000000000000000000), false},
    {"T", INT64_C(1000000000000000), false},
    {"G", INT64_C(1000000000000), false},
    {"M", INT64_C(1000000000), false},
    {"k", INT64_C(1000000), false},
    {"", INT64_C(1000), false},
    {"m", INT64_C(1), false},
};
#define N_SUFFIXES (sizeof suffixes / sizeof *suffixes)

static const struct suffix *find_suffix(const char *text)
{
    for (size_t k = 0; k < N_SUFFIXES; k++)
        if (strcmp(suffixes[k].text, text) == 0)
            return &suffixes[k];
    return NULL;
}

bool rb_quantity_parse(const char *text, struct rb_quantity *out)
{
    wide value = 0, divisor = 1;
    int n_digits = 0;
    bool in_fraction = false;
    const char *c = text;
    for (; isdigit((unsigned char)*c) || (*c == '.' && !in_fraction); c++) {
        if (*c == '.') {
            in_fraction = true;
            continue;
        }
        if (++n_digits > MAX_DIGITS)
            return false;
        value = value * 10 + (*c - '0');
        divisor *= in_fraction ? 10 : 1;
    }
    const struct suffix *s = find_suffix(c);
    if (n_digits == 0 || !s || value > MAX_MILLI / s->factor * divisor)
        return false;
    *out = (struct rb_quantity){(int64_t)((value * s->factor + divisor - 1) / divisor), s->is_binary};
    return true;
}

char *rb_quantity_format(const struct rb_quantity *q, char out[static 32])
{
    // A binary number below 1024, or with a fraction, is written in decimal.
    const bool is_binary = q->is_binary && q->milli % 1000 == 0 && q->milli >= 1024 * 1000;
    for (size_t k = 0; k < N_SUFFIXES; k++) {
        const bool is_plain = suffixes[k].text[0] == '\0' || suffixes[k].text[0] == 'm';
        if ((is_plain || suffixes[k].is_binary == is_binary) && q->milli % suffixes[k].factor == 0) {
            const char *suffix = q->milli == 0 ? "" : suffixes[k].text;
            snprintf(out, 32, "%lld%s", (long long)(q->milli / suffixes[k].factor), suffix);
            break;
        }
    }
    return out;
}
