// The dialect of INI that the AWS tools write: sections, `key = value`, full-line comments, and one level of indented
// `key = value` lines below a key without a value.
#include "providers/aws/aws_config.h"

#include "base/arena.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETTINGS = 8192 };

static const char blanks[] = " \t\r\f\v";

struct reader {
    struct rb_aws_config *config;
    const struct rb_private_file *file;
    const char *kind, *name; // of the section; NULL before the first
    int line, key_indent;
    struct rb_aws_setting *last; // the plain key read last in this section, NULL: none
    struct rb_err *err;
};

static bool fail(const struct reader *r, const char *reason)
{
    return rb_err_set_at(r->err, RB_E_CREDENTIALS_SETTING, (struct rb_place){.file = r->file->path, .line = r->line},
                         NULL, "%s", reason);
}

static char *trim(char *s)
{
    s += strspn(s, blanks);
    size_t n = strlen(s);
    while (n > 0 && strchr(blanks, s[n - 1]))
        n--;
    s[n] = '\0';
    return s;
}

// "[default]" and "[profile x]" are profiles; in the credentials file every section is.
static bool read_section(struct reader *r, char *line)
{
    char *end = strrchr(line, ']');
    if (!end || *trim(end + 1) != '\0')
        return fail(r, "expected [section]");
    *end = '\0';
    char *words = trim(line + 1);
    char *name = words + strcspn(words, blanks);
    const bool two_words = *name != '\0' && r->file == &r->config->config;
    if (two_words)
        *name++ = '\0';
    r->kind = two_words ? words : "profile";
    r->name = two_words ? trim(name) : words;
    r->last = NULL;
    return *r->name != '\0' || fail(r, "expected a name inside []");
}

static struct rb_aws_setting *add_setting(struct rb_aws_config *c)
{
    c->settings = rb_xrealloc(c->settings, (size_t)c->n_settings + 1, sizeof *c->settings);
    return &c->settings[c->n_settings++];
}

static bool is_duplicate(const struct reader *r, const char *group, const char *key)
{
    const struct rb_aws_setting *same = rb_aws_config_find(r->config, r->kind, r->name, group, key);
    return same && same->file == r->file;
}

static bool read_setting(struct reader *r, char *line, int indent)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return fail(r, "expected key = value");
    if (!r->kind)
        return fail(r, "expected a [section] before the first key");
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    const bool nested = r->last && indent > r->key_indent;
    if (nested && *r->last->value != '\0')
        return fail(r, "an indented line continues the value above, which is not supported; remove the indentation");
    const char *group = nested ? r->last->key : NULL;
    if (r->config->n_settings == MAX_SETTINGS)
        return fail(r, "more than 8192 settings; is this the file of the AWS tools?");
    if (is_duplicate(r, group, key))
        return fail(r, "this key is already set in this section; remove one of the two");
    const ptrdiff_t last = r->last ? r->last - r->config->settings : -1;
    struct rb_aws_setting *s = add_setting(r->config);
    *s = (struct rb_aws_setting){r->file, r->kind, r->name, group, key, value, r->line};
    r->last = nested ? &r->config->settings[last] : s; // the array may have moved
    if (!nested)
        r->key_indent = indent;
    return true;
}

static bool read_line(struct reader *r, char *line)
{
    const int indent = (int)strspn(line, blanks);
    line = trim(line);
    if (*line == '\0' || *line == '#' || *line == ';')
        return true;
    return *line == '[' ? read_section(r, line) : read_setting(r, line, indent);
}

static bool read_settings(struct rb_aws_config *c, const struct rb_private_file *file, struct rb_err *err)
{
    if (!file->present)
        return true;
    struct reader r = {.config = c, .file = file, .err = err};
    if (strlen(file->text) != file->len)
        return fail(&r, "contains a NUL byte; expected text");
    for (char *line = file->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        if (!read_line(&r, line))
            return false;
    }
    return true;
}

static void choose_profile(struct rb_aws_config *c)
{
    const char *profile = getenv("AWS_PROFILE");
    if (!profile || !*profile)
        profile = getenv("AWS_DEFAULT_PROFILE");
    c->profile_is_chosen = profile && *profile;
    c->profile = c->profile_is_chosen ? profile : "default";
}

bool rb_aws_config_load(struct rb_aws_config *out, struct rb_err *err)
{
    *out = (struct rb_aws_config){0};
    choose_profile(out);
    out->credentials.path = rb_private_file_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    out->config.path = rb_private_file_path("AWS_CONFIG_FILE", ".aws/config");
    if (rb_private_file_read(&out->credentials, err) && read_settings(out, &out->credentials, err) &&
        rb_private_file_read(&out->config, err) && read_settings(out, &out->config, err))
        return true;
    rb_aws_config_finish(out);
    return false;
}

void rb_aws_config_finish(struct rb_aws_config *c)
{
    rb_private_file_finish(&c->credentials);
    rb_private_file_finish(&c->config);
    free(c->settings);
    *c = (struct rb_aws_config){0};
}

bool rb_aws_config_has(const struct rb_aws_config *c, const char *kind, const char *name)
{
    for (int i = 0; i < c->n_settings; i++)
        if (strcmp(c->settings[i].kind, kind) == 0 && strcmp(c->settings[i].name, name) == 0)
            return true;
    return false;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

const struct rb_aws_setting *rb_aws_config_find(const struct rb_aws_config *c, const char *kind, const char *name,
                                                const char *group, const char *key)
{
    for (int i = 0; i < c->n_settings; i++) {
        const struct rb_aws_setting *s = &c->settings[i];
        if (same(s->kind, kind) && same(s->name, name) && same(s->group, group) && same(s->key, key))
            return s;
    }
    return NULL;
}
