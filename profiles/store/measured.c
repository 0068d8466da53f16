#include "profiles/store/measured.h"

#include "base/text/buf.h"
#include "base/file.h"
#include "base/text/units.h"
#include "profiles/job/job.h"
#include "profiles/job/keys.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_SCRIPT_BYTES (4 << 20) // a larger file is data or a program, not a script
#define MAX_COUNT        1000000000
#define MAX_LOAD         1e6
#define MAX_CPUS         65536

// --- of which script

static const char *digest_of(const void *bytes, size_t n, rb_digest_fn *digest, struct rb_arena *arena)
{
    char hex[65];
    digest(bytes, n, hex);
    return rb_arena_strdup(arena, hex);
}

static const char *digest_of_command(const struct rb_job *job, rb_digest_fn *digest, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "%s\n%s", job->setup ? job->setup : "", job->run);
    if (job->trial.args.given) {
        struct rb_json j = {.out = &text};
        rb_trial_args_write(&job->trial.args, &j);
    }
    return digest_of(rb_buf_str(&text), text.len, digest, arena);
}

static const char *digest_of_space(const struct rb_job *job, rb_digest_fn *digest, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    rb_space_write(&job->space, &j);
    return digest_of(rb_buf_str(&text), text.len, digest, arena);
}

static bool is_within(const char *path, const char *directory)
{
    const size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 && (path[n] == '/' || n == 1);
}

// NULL: no script of the work directory.
static const char *digest_of_file(const char *workdir, const char *name, rb_digest_fn *digest, struct rb_arena *arena)
{
    char path[PATH_MAX], real[PATH_MAX], root[PATH_MAX], *bytes;
    struct stat st;
    size_t n;
    if (name[0] == '/' || snprintf(path, sizeof path, "%s/%s", workdir, name) >= (int)sizeof path ||
        !realpath(path, real) || !realpath(workdir, root) || !is_within(real, root) || stat(real, &st) != 0 ||
        !S_ISREG(st.st_mode) || !rb_read_file(real, MAX_SCRIPT_BYTES, &bytes, &n, NULL))
        return NULL;
    const char *hex = digest_of(bytes, n, digest, arena);
    free(bytes);
    return hex;
}

static bool is_listed(const struct rb_measured_file *files, int n, const char *path)
{
    for (int i = 0; i < n; i++)
        if (strcmp(files[i].path, path) == 0)
            return true;
    return false;
}

// Words of a shell command that could be file names: quotes and operators end a word.
static const char *next_word(const char **at, struct rb_arena *arena)
{
    static const char ends[] = " \t\r\n'\"`;&|<>(){}=,";
    *at += strspn(*at, ends);
    const size_t n = strcspn(*at, ends);
    const char *word = n > 0 ? rb_arena_strndup(arena, *at, n) : NULL;
    *at += n;
    return word;
}

static void add_files(const char *command, const char *workdir, rb_digest_fn *digest, struct rb_arena *arena,
                      struct rb_measured_file *files, int *n)
{
    const char *word;
    while (command && *n < RB_MEASURED_FILES && (word = next_word(&command, arena))) {
        word += strncmp(word, "./", 2) == 0 ? 2 : 0;
        const char *sha256 =
            word[0] && !is_listed(files, *n, word) ? digest_of_file(workdir, word, digest, arena) : NULL;
        if (sha256)
            files[(*n)++] = (struct rb_measured_file){word, sha256};
    }
}

void rb_measured_of_job(const struct rb_job *job, const char *workdir, rb_digest_fn *digest, struct rb_arena *arena,
                        struct rb_measured_of *out)
{
    struct rb_measured_file *files = rb_arena_array(arena, RB_MEASURED_FILES, sizeof *files);
    int n = 0;
    if (workdir) {
        add_files(job->setup, workdir, digest, arena, files, &n);
        add_files(job->run, workdir, digest, arena, files, &n);
    }
    *out = (struct rb_measured_of){
        .command = digest_of_command(job, digest, arena),
        .space = digest_of_space(job, digest, arena),
        .files = files,
        .n_files = n,
    };
}

static const char *sha256_of(const struct rb_measured_of *of, const char *path)
{
    for (int i = 0; i < of->n_files; i++)
        if (strcmp(of->files[i].path, path) == 0)
            return of->files[i].sha256;
    return NULL;
}

int rb_measured_changes(const struct rb_measured_of *then, const struct rb_measured_of *now,
                        const char *out[static RB_MEASURED_FILES + 2])
{
    int n = 0;
    if (!then->command || !now->command)
        return 0;
    if (strcmp(then->command, now->command) != 0)
        out[n++] = "the command";
    if (strcmp(then->space, now->space) != 0)
        out[n++] = "parameters";
    for (int i = 0; i < then->n_files && n < RB_MEASURED_FILES + 2; i++) {
        const char *sha256 = sha256_of(now, then->files[i].path);
        if (!sha256 || strcmp(sha256, then->files[i].sha256) != 0)
            out[n++] = then->files[i].path;
    }
    return n;
}

// --- for people

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

void rb_measured_text(const struct rb_measured *m, struct rb_buf *out)
{
    rb_buf_printf(out, "%d configuration%s, %d unit%s", m->configurations, plural(m->configurations), m->units,
                  plural(m->units));
    if (m->load >= 0)
        rb_buf_printf(out, ", load %.1f on %d processor%s", m->load, m->cpus, plural(m->cpus));
}

// --- files

static bool is_sha256(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool need_sha256(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const char *text;
    if (!rb_keys_need_text(m, key, arena, &text, err))
        return false;
    *out = text;
    return is_sha256(text) ||
           rb_node_refuse(rb_map_get(m, key), err, RB_E_OUT_OF_RANGE, "expected a digest of 64 hex digits");
}

static bool read_file(const struct rb_node *node, struct rb_arena *arena, struct rb_measured_file *out,
                      struct rb_err *err)
{
    static const char *const keys[] = {"path", "sha256", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && rb_keys_need_text(&m, "path", arena, &out->path, err) &&
           need_sha256(&m, "sha256", arena, &out->sha256, err);
}

bool rb_measured_of_read(const struct rb_node *node, struct rb_arena *arena, struct rb_measured_of *out,
                         struct rb_err *err)
{
    static const char *const keys[] = {"command", "parameters", "files", NULL};
    struct rb_measured_of of = {0};
    struct rb_map m;
    const struct rb_node *list;
    if (!rb_keys_begin(&m, node, keys, err) || !need_sha256(&m, "command", arena, &of.command, err) ||
        !need_sha256(&m, "parameters", arena, &of.space, err) || !rb_map_need(&m, "files", &list, err) ||
        !rb_node_list_of(list, RB_MEASURED_FILES, "files", err))
        return false;
    struct rb_measured_file *files = rb_arena_array(arena, (size_t)list->n_children, sizeof *files);
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read_file(child, arena, &files[of.n_files++], err))
            return false;
    of.files = files;
    *out = of;
    return true;
}

static bool read_instant(struct rb_map *m, struct rb_arena *arena, int64_t *out_us, struct rb_err *err)
{
    const char *text;
    struct rb_err why;
    if (!rb_keys_need_text(m, "at", arena, &text, err))
        return false;
    return rb_parse_instant(text, out_us, &why) ||
           rb_node_refuse(rb_map_get(m, "at"), err, rb_err_number(&why), "%s", why.message);
}

// Both, or neither.
static bool read_load(struct rb_map *m, struct rb_measured *out, struct rb_err *err)
{
    const bool has_load = rb_keys_given(m, "load") != NULL, has_cpus = rb_keys_given(m, "cpus") != NULL;
    out->load = -1;
    if (has_load != has_cpus)
        return rb_node_refuse(m->node, err, RB_E_KEYS_TOGETHER, "expected both `load` and `cpus`, or neither");
    return !has_load || (rb_keys_double(m, "load", 0, MAX_LOAD, -1, &out->load, err) &&
                         rb_keys_count(m, "cpus", 1, MAX_CPUS, 1, &out->cpus, err));
}

bool rb_measured_read(const struct rb_node *node, struct rb_arena *arena, struct rb_measured *out, struct rb_err *err)
{
    static const char *const keys[] = {"configurations", "units", "at", "load", "cpus", "of", NULL};
    struct rb_measured made = {0};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) ||
        !rb_map_need_count(&m, "configurations", 1, MAX_COUNT, &made.configurations, err) ||
        !rb_map_need_count(&m, "units", 1, MAX_COUNT, &made.units, err) || !read_instant(&m, arena, &made.at_us, err) ||
        !read_load(&m, &made, err))
        return false;
    const struct rb_node *of = rb_keys_given(&m, "of");
    if (of && !rb_measured_of_read(of, arena, &made.of, err))
        return false;
    *out = made;
    return true;
}

void rb_measured_of_write(const struct rb_measured_of *of, struct rb_json *j)
{
    rb_json_put(j, "{command: %s|null parameters: %s|null files: [", of->command, of->space);
    for (int i = 0; i < of->n_files; i++)
        rb_json_put(j, "{path: %s sha256: %s|null}", of->files[i].path, of->files[i].sha256);
    rb_json_put(j, "]}");
}

void rb_measured_write(const struct rb_measured *m, struct rb_json *j)
{
    char at[32];
    rb_json_put(j, "{configurations: %d units: %d at: %s", m->configurations, m->units,
                rb_format_instant(m->at_us, at));
    if (m->load >= 0)
        rb_json_put(j, "load: %g cpus: %d", m->load, m->cpus);
    if (m->of.command) {
        rb_json_key(j, "of");
        rb_measured_of_write(&m->of, j);
    }
    rb_json_end_object(j);
}
