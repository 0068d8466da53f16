#include "executor/launcher/last_lines.h"

#include "base/errors/log.h"

#include <ctype.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void rb_last_lines_take(struct rb_last_lines *l, const char *bytes, size_t n)
{
    char *line = l->lines[l->n % RB_LAST_LINES], before[RB_LAST_LINE];
    memcpy(before, line, sizeof before);
    while (n > 0 && isspace((unsigned char)bytes[n - 1]))
        n--;
    rb_log_sanitise(bytes, n, line, RB_LAST_LINE);
    if (line[strspn(line, " ?")] == '\0') // a line of control characters is as good as empty
        memcpy(line, before, sizeof before);
    else
        l->n++;
}

// The k-th of the last `of` lines; of <= those there are.
static const char *line_at(const struct rb_last_lines *l, int k, int of)
{
    return l->lines[(l->n - of + k) % RB_LAST_LINES];
}

static int at_most(const struct rb_last_lines *l, int n)
{
    return l->n < n ? l->n : n;
}

char *rb_last_lines_text(const struct rb_last_lines *l, char *out, size_t size)
{
    static const char between[] = " | ";
    int n = 0;
    size_t need = 1;
    for (; n < at_most(l, RB_LAST_LINES); n++) {
        need += strlen(line_at(l, 0, n + 1)) + (n ? strlen(between) : 0);
        if (need > size)
            break;
    }
    out[0] = '\0';
    if (n == 0 && l->n > 0) // not even the last one fits
        snprintf(out, size, "%s", line_at(l, 0, 1));
    for (int k = 0; k < n; k++) {
        if (k > 0)
            strcat(out, between);
        strcat(out, line_at(l, k, n));
    }
    return out;
}

// ---- what two failures have in common

static const char *end_of_number(const char *s)
{
    for (;;) {
        while (isdigit((unsigned char)*s))
            s++;
        const bool exponent = *s == 'e' || *s == 'E';
        const char *next = s + 1 + (exponent && (s[1] == '-' || s[1] == '+'));
        if (*s == '\0' || (!exponent && !strchr(".,:_", *s)) || !isdigit((unsigned char)*next))
            return s;
        s = next;
    }
}

// The end of the word of hexadecimal digits and dashes that begins here; s itself: it is none.
static const char *end_of_digest(const char *s)
{
    const char *e = s;
    bool digit = false;
    for (; isxdigit((unsigned char)*e) || *e == '-'; e++)
        digit = digit || isdigit((unsigned char)*e);
    return digit && e - s >= 8 && !isalnum((unsigned char)*e) ? e : s;
}

// The end of the part to leave out here; s itself: nothing to leave out.
static const char *end_of_variable(const char *s, bool begins_word)
{
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && isxdigit((unsigned char)s[2]))
        return s + 2 + strspn(s + 2, "0123456789abcdefABCDEF");
    const char *e = begins_word ? end_of_digest(s) : s;
    if (e > s)
        return e;
    if (begins_word && (*s == '-' || *s == '+') && isdigit((unsigned char)s[1]))
        s++;
    return isdigit((unsigned char)*s) ? end_of_number(s) : e;
}

static const char *skip_directories(const char *s)
{
    const size_t word = strcspn(s, " \t");
    for (size_t i = word; i > 0; i--)
        if (s[i - 1] == '/' && i < word)
            return s + i;
    return s;
}

char *rb_last_lines_normalise(const char *line, char *out, size_t size)
{
    size_t n = 0;
    bool between = true;
    for (const char *s = line; *s && n + 1 < size;) {
        if (isspace((unsigned char)*s)) {
            if (!between)
                out[n++] = ' ';
            between = true;
            s++;
            continue;
        }
        if (between)
            s = skip_directories(s);
        const bool begins = n == 0 || (!isalnum((unsigned char)out[n - 1]) && out[n - 1] != '#');
        const char *e = end_of_variable(s, begins);
        out[n++] = e > s ? '#' : *s;
        s = e > s ? e : s + 1;
        between = false;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return out;
}

// FNV-1a, public domain.
static uint64_t add(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return (h ^ '\n') * UINT64_C(0x100000001b3);
}

uint64_t rb_last_lines_signature(const struct rb_last_lines *l, int exit_code)
{
    char text[RB_LAST_LINE];
    const int n = at_most(l, RB_LAST_LINES_COMPARED);
    if (exit_code == 128 + SIGHUP || exit_code == 128 + SIGINT || exit_code == 128 + SIGKILL ||
        exit_code == 128 + SIGTERM)
        return 0;
    snprintf(text, sizeof text, "%d", exit_code);
    uint64_t h = add(UINT64_C(0xcbf29ce484222325), text);
    for (int k = 0; k < n; k++)
        h = add(h, rb_last_lines_normalise(line_at(l, k, n), text, sizeof text));
    return h ? h : 1;
}
