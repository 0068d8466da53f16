// Edit distance over short words.
#include "base/text/closest.h"

#include <string.h>

#define MAX_LEN 64 // longer words are not misspelt names

bool rb_is_one_of(const char *word, const char *const *names)
{
    while (*names && strcmp(word, *names) != 0)
        names++;
    return *names != NULL;
}

static int fold(char c)
{
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int min3(int a, int b, int c)
{
    const int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

// Edits that turn a into b: insert, delete, replace, swap neighbours. Case and '-' against '_' are free.
// Source: optimal string alignment distance; three rows of its table are enough.
static int edit_distance(const char *a, int n, const char *b, int m)
{
    int rows[3][MAX_LEN + 1];
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int differ = fold(a[i - 1]) != fold(b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + differ);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]) &&
                above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

// "dead" is the beginning of "deadline" rather than a misspelt "seed".
static const char *shortest_beginning_with(const char *word, size_t len, const char *const *names, int n)
{
    const char *best = NULL;
    for (int i = 0; i < n && len >= 3; i++) {
        if (names[i] && strncmp(names[i], word, len) == 0 && (!best || strlen(names[i]) < strlen(best)))
            best = names[i];
    }
    return best;
}

const char *rb_closest(const char *word, const char *const *names, int n)
{
    const size_t len = strlen(word);
    if (len == 0 || len > MAX_LEN)
        return NULL;
    const char *best = shortest_beginning_with(word, len, names, n);
    if (best)
        return best;
    int best_distance = (int)(len + 2) / 3 + 1; // one edit for every three letters begun
    for (int i = 0; i < n; i++) {
        const size_t name_len = names[i] ? strlen(names[i]) : 0;
        if (name_len == 0 || name_len > MAX_LEN)
            continue;
        const int longer = (int)(len > name_len ? len : name_len);
        const int distance = edit_distance(word, (int)len, names[i], (int)name_len);
        if (distance < best_distance && distance < longer) { // at least one letter in common
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
