// Matches segment by segment: a pattern is cut at each {*}, and every segment is looked for from the left. Segments match in
// one way only, so the leftmost place of each is always good enough.
#include "profiles/job/metric_pattern.h"

#include "base/text/number.h"

#include <ctype.h>
#include <string.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@:-"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

// The end of "{...}" that begins at p; NULL: p begins something else.
static const char *capture_end(const char *p)
{
    return p[0] == '{' && p[1] != '{' ? strchr(p, '}') : NULL;
}

static bool is_star(const char *p)
{
    return strncmp(p, "{*}", 3) == 0;
}

bool rb_metric_pattern_check(const char *pattern, struct rb_err *err)
{
    int n = 0;
    if (strlen(pattern) > RB_PATTERN_LENGTH)
        return rb_err_set(err, RB_E_METRIC_PATTERN, "a pattern has at most %d bytes", RB_PATTERN_LENGTH);
    for (const char *p = pattern; *p; p++) {
        if ((p[0] == '{' || p[0] == '}') && p[1] == p[0]) {
            p++;
            continue;
        }
        if (*p == '}')
            return rb_err_set(err, RB_E_METRIC_PATTERN, "} without {: write }} for a brace");
        if (*p != '{')
            continue;
        const char *end = capture_end(p);
        if (!end)
            return rb_err_set(err, RB_E_METRIC_PATTERN, "{ without }: write {{ for a brace");
        const size_t len = (size_t)(end - p) - 1;
        if (!is_star(p)) {
            if (len == 0 || len >= RB_PATTERN_NAME || strspn(p + 1, NAME_CHARACTERS) != len)
                return rb_err_set(err, RB_E_METRIC_PATTERN,
                                  "expected {resource}, {*} or the name of a metric in braces, got %.*s", (int)len + 2,
                                  p);
            n++;
        }
        p = end;
    }
    if (n == 0)
        return rb_err_set(err, RB_E_METRIC_PATTERN,
                          "it captures nothing: write {resource} and {NAME} where numbers stand");
    return n <= RB_PATTERN_CAPTURES ||
           rb_err_set(err, RB_E_METRIC_PATTERN, "a pattern captures at most %d numbers", RB_PATTERN_CAPTURES);
}

// --- one number ---

static const char *digits_end(const char *p, const char *end)
{
    while (p < end && isdigit((unsigned char)*p))
        p++;
    return p;
}

// nan, inf and infinity, with no letter behind; NULL: none of them.
static const char *word_end(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && isalpha((unsigned char)*q))
        q++;
    double v;
    return q > p && rb_parse_printed(p, (size_t)(q - p), &v) ? q : NULL;
}

// The end of the longest number that begins at p; NULL: none does.
static const char *number_end(const char *p, const char *end)
{
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *word = word_end(p, end), *q = digits_end(p, end);
    if (word)
        return word;
    const bool has_whole = q > p;
    if (q < end && *q == '.') {
        const char *fraction = digits_end(q + 1, end);
        if (!has_whole && fraction == q + 1)
            return NULL;
        q = fraction;
    } else if (!has_whole) {
        return NULL;
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        const char *sign = q + 1 + (q + 1 < end && (q[1] == '-' || q[1] == '+')), *exponent = digits_end(sign, end);
        if (exponent > sign)
            q = exponent;
    }
    return q;
}

// --- one segment ---

struct captures {
    struct rb_pattern_capture *items;
    int n;
};

// A number at p, as the capture that the pattern names at `at`. Its end; NULL: there is none.
static const char *take_number(const char *at, const char *at_end, const char *p, const char *end, struct captures *c)
{
    const char *stop = number_end(p, end);
    struct rb_pattern_capture *capture = &c->items[c->n];
    if (!stop || !rb_parse_printed(p, (size_t)(stop - p), &capture->value))
        return NULL;
    if (stop < end && *stop == '%' && at_end[1] != '%') {
        capture->value /= 100;
        stop++;
    }
    const size_t len = (size_t)(at_end - at) - 1;
    memcpy(capture->name, at + 1, len);
    capture->name[len] = '\0';
    c->n++;
    return stop;
}

// The segment that begins at `pattern` matches the line from p on: where it ends there. *next: behind the segment.
static const char *match_segment(const char *pattern, const char *p, const char *end, struct captures *c,
                                 const char **next)
{
    while (*pattern && !is_star(pattern)) {
        const char *name_end = capture_end(pattern);
        if (name_end) {
            p = take_number(pattern, name_end, p, end, c);
            if (!p)
                return NULL;
            pattern = name_end + 1;
        } else if (is_blank(*pattern)) {
            if (p == end || !is_blank(*p))
                return NULL;
            p = skip_blanks(p, end);
            pattern = skip_blanks(pattern, pattern + strlen(pattern));
        } else {
            pattern += (*pattern == '{' || *pattern == '}');
            if (p == end || *p != *pattern)
                return NULL;
            p++;
            pattern++;
        }
    }
    *next = pattern;
    return p;
}

int rb_metric_pattern_match(const char *pattern, const char *line, size_t n,
                            struct rb_pattern_capture out[RB_PATTERN_CAPTURES])
{
    const char *end = line + n, *p = line;
    struct captures c = {.items = out};
    while (*pattern) {
        if (is_star(pattern)) {
            pattern += 3;
            continue;
        }
        const int before = c.n;
        const char *stop = NULL, *next = pattern;
        for (; !stop && p <= end; p++) {
            c.n = before;
            stop = match_segment(pattern, p, end, &c, &next);
        }
        if (!stop)
            return -1;
        p = stop;
        pattern = next;
    }
    return c.n;
}
