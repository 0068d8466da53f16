// Secrets stay in the arena and are never printed.
#include "providers/mock/server/mock_keys.h"
#include "base/document/doc.h"
#include "providers/wire/digest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES (1 << 20) // a credentials file has a few lines
#define MAX_KEYS       256

#define KEY_BYTES    8
#define SECRET_BYTES 20

static const char console_header[] = "Access key ID,Secret access key";

struct reader {
    const char *path;
    struct rb_arena *arena;
    struct rb_mock_key *keys;
    int n, line;
    struct rb_mock_key profile; // ini: what the current section has given so far
};

static bool fail(const struct reader *r, struct rb_err *err, const char *what)
{
    return rb_err_set_at(err, RB_E_MOCK_KEYS, (struct rb_place){.file = r->path, .line = r->line}, NULL, "%s", what);
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    return s;
}

static bool add(struct reader *r, const char *access_key, const char *secret_key, struct rb_err *err)
{
    if (!access_key || !*access_key || !secret_key || !*secret_key)
        return fail(r, err, "expected an access key and its secret");
    if (r->n == MAX_KEYS)
        return fail(r, err, "more than 256 keys");
    r->keys[r->n++] =
        (struct rb_mock_key){rb_arena_strdup(r->arena, access_key), rb_arena_strdup(r->arena, secret_key)};
    return true;
}

static bool read_csv_line(struct reader *r, char *line, struct rb_err *err)
{
    char *comma = strchr(line, ',');
    if (!comma)
        return fail(r, err, "expected ACCESS_KEY,SECRET");
    *comma = '\0';
    return add(r, trim(line), trim(comma + 1), err);
}

static bool end_profile(struct reader *r, struct rb_err *err)
{
    struct rb_mock_key p = r->profile;
    r->profile = (struct rb_mock_key){0};
    return (!p.access_key && !p.secret_key) || add(r, p.access_key, p.secret_key, err);
}

static bool read_ini_line(struct reader *r, char *line, struct rb_err *err)
{
    char *equals = strchr(line, '=');
    if (*line == '[')
        return end_profile(r, err);
    if (!equals)
        return fail(r, err, "expected [profile] or key = value");
    *equals = '\0';
    const char *key = trim(line), *value = rb_arena_strdup(r->arena, trim(equals + 1));
    if (strcmp(key, "aws_access_key_id") == 0)
        r->profile.access_key = value;
    else if (strcmp(key, "aws_secret_access_key") == 0)
        r->profile.secret_key = value;
    return true; // region, output and so on mean nothing here
}

static bool read_lines(struct reader *r, char *text, struct rb_err *err)
{
    char *save;
    bool csv = false;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) // the console's CSV begins with a byte order mark
        text += 3;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        r->line++;
        line = trim(line);
        if (!*line || *line == '#' || *line == ';')
            continue;
        if (strcmp(line, console_header) == 0)
            csv = true;
        else if (!(csv ? read_csv_line(r, line, err) : read_ini_line(r, line, err)))
            return false;
    }
    return end_profile(r, err);
}

static void give_one(struct rb_arena *arena, const char *access_key, const char *secret_key, struct rb_mock_keys *out)
{
    struct rb_mock_key *key = rb_arena_alloc(arena, sizeof *key);
    *key = (struct rb_mock_key){access_key, secret_key};
    *out = (struct rb_mock_keys){key, 1};
}

void rb_mock_keys_make(struct rb_arena *arena, struct rb_mock_keys *out)
{
    unsigned char bytes[KEY_BYTES + SECRET_BYTES];
    char id[2 * KEY_BYTES + 1], secret[2 * SECRET_BYTES + 1];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, KEY_BYTES, id);
    rb_digest_hex(bytes + KEY_BYTES, SECRET_BYTES, secret);
    give_one(arena, rb_arena_printf(arena, "rbmock%s", id), rb_arena_strdup(arena, secret), out);
}

bool rb_mock_keys_parse(const char *text, struct rb_arena *arena, struct rb_mock_keys *out)
{
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || !colon[1])
        return false;
    for (const char *c = text; *c; c++)
        if (!isgraph((unsigned char)*c) || *c == '/' || *c == '\'')
            return false;
    give_one(arena, rb_arena_strndup(arena, text, (size_t)(colon - text)), rb_arena_strdup(arena, colon + 1), out);
    return true;
}

bool rb_mock_keys_read(const char *path, struct rb_arena *arena, struct rb_mock_keys *out, struct rb_err *err)
{
    char *text;
    size_t n;
    if (!rb_read_file(path, MAX_FILE_BYTES, &text, &n, err))
        return false;
    struct reader r = {.path = path, .arena = arena, .keys = rb_arena_array(arena, MAX_KEYS, sizeof *r.keys)};
    bool ok = read_lines(&r, text, err);
    free(text);
    if (ok && r.n == 0)
        ok = rb_err_set_at(err, RB_E_MOCK_KEYS, (struct rb_place){.file = path}, NULL,
                           "no key: expected \"%s\" and lines under it, or aws_access_key_id = ... in an ini file",
                           console_header);
    if (ok)
        *out = (struct rb_mock_keys){r.keys, r.n};
    return ok;
}
