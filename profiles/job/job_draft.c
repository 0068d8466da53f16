#include "profiles/job/job_draft.h"

#include "base/document/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH          120
#define NAME_MAX_CHARS 40 // of a job, as docs/formats/job.md says

const char rb_job_draft_contract[] = "The script finds its parameters in $RB_ARGS, the checkpoint to resume from in "
                                     "$RB_RESUME_FROM, where to write one in\n"
                                     "$RB_CHECKPOINT_DIR, and reports by a line such as `epoch=3 val_acc=0.81`.";

static const char *const section_names[RB_DRAFT_SECTIONS] = {
    "name",    "seed",  "metric", "parameters", "scheduler", "trial",    "envs",
    "secrets", "setup", "run",    "checkpoint", "resources", "deadline", "budget",
};

// Always one key per line: people add to them.
static bool is_list_of_keys(enum rb_draft_section section)
{
    return section == RB_DRAFT_PARAMETERS || section == RB_DRAFT_ENVS || section == RB_DRAFT_RESOURCES;
}

// --- filling

void rb_job_draft_init(struct rb_job_draft *d, struct rb_arena *arena)
{
    *d = (struct rb_job_draft){.arena = arena, .head = ""};
}

static void add(struct rb_job_draft *d, struct rb_draft_line line)
{
    if (d->n_lines == d->capacity) {
        const int capacity = d->capacity ? 2 * d->capacity : 32;
        struct rb_draft_line *lines = rb_arena_array(d->arena, (size_t)capacity, sizeof *lines);
        if (d->n_lines > 0)
            memcpy(lines, d->lines, (size_t)d->n_lines * sizeof *lines);
        d->lines = lines;
        d->capacity = capacity;
    }
    line.key = line.key ? rb_arena_strdup(d->arena, line.key) : NULL;
    line.value = line.value ? rb_arena_strdup(d->arena, line.value) : NULL;
    line.comment = line.comment ? rb_arena_strdup(d->arena, line.comment) : NULL;
    d->lines[d->n_lines++] = line;
}

void rb_job_draft_set(struct rb_job_draft *d, enum rb_draft_section section, const char *key, const char *value,
                      const char *comment, const struct rb_node *source)
{
    add(d, (struct rb_draft_line){section, key, value, comment, false, source});
}

void rb_job_draft_suggest(struct rb_job_draft *d, enum rb_draft_section section, const char *key, const char *value,
                          const char *comment)
{
    add(d, (struct rb_draft_line){section, key, value, comment, true, NULL});
}

void rb_job_draft_remark(struct rb_job_draft *d, enum rb_draft_section section, const char *comment)
{
    add(d, (struct rb_draft_line){.section = section, .comment = comment});
}

void rb_job_draft_where(struct rb_job_draft *d, const char *deadline)
{
    rb_job_draft_set(d, RB_DRAFT_RESOURCES, "infra", "[local]",
                     "or [aws/us-east-1], [gcp/us-central1], [slurm/PARTITION]", NULL);
    rb_job_draft_suggest(d, RB_DRAFT_RESOURCES, "instance_types", "[g5.12xlarge]", NULL);
    rb_job_draft_suggest(d, RB_DRAFT_RESOURCES, "image_id", "{aws/us-east-1: ami-...}", NULL);
    const bool has_deadline = deadline || rb_job_draft_find(d, RB_DRAFT_DEADLINE, NULL);
    rb_job_draft_suggest(d, RB_DRAFT_RESOURCES, "spot", has_deadline ? "safe" : "allow",
                         has_deadline ? "in a cloud: spot machines that cannot make the run late" : NULL);
    rb_job_draft_set(d, RB_DRAFT_RESOURCES, "max_nodes", "4", NULL, NULL);
    if (deadline)
        rb_job_draft_set(d, RB_DRAFT_DEADLINE, NULL, deadline, NULL, NULL);
    else if (!rb_job_draft_find(d, RB_DRAFT_DEADLINE, NULL))
        rb_job_draft_suggest(d, RB_DRAFT_DEADLINE, NULL, "2h", "from the start, machines included");
    rb_job_draft_suggest(d, RB_DRAFT_BUDGET, NULL, "40", "dollars, for the whole job");
}

// --- looking up

const struct rb_draft_line *rb_job_draft_find(const struct rb_job_draft *d, enum rb_draft_section section,
                                              const char *key)
{
    for (int i = 0; i < d->n_lines; i++) {
        const struct rb_draft_line *line = &d->lines[i];
        const bool same_key = key ? line->key && strcmp(line->key, key) == 0 : !line->key;
        if (line->section == section && line->value && !line->is_suggestion && same_key)
            return line;
    }
    return NULL;
}

// Does the path begin with the line's path, word by word?
static size_t length_shared(const struct rb_draft_line *line, const char *path)
{
    const char *section = section_names[line->section];
    size_t n = strlen(section);
    if (strncmp(path, section, n) != 0)
        return 0;
    if (line->key) {
        const size_t m = strlen(line->key);
        if (path[n] != '.' || strncmp(path + n + 1, line->key, m) != 0)
            return 0;
        n += 1 + m;
    }
    return path[n] == '\0' || path[n] == '.' || path[n] == '[' ? n : 0;
}

const struct rb_draft_line *rb_job_draft_about(const struct rb_job_draft *d, const char *path)
{
    const struct rb_draft_line *best = NULL;
    size_t longest = 0;
    for (int i = 0; i < d->n_lines; i++) {
        const struct rb_draft_line *line = &d->lines[i];
        const size_t n = line->value && !line->is_suggestion ? length_shared(line, path) : 0;
        if (n > longest) {
            longest = n;
            best = line;
        }
    }
    return best;
}

// --- texts

const char *rb_job_draft_name(const char *text, size_t n, struct rb_arena *arena)
{
    char name[NAME_MAX_CHARS + 1];
    size_t len = 0;
    bool says_something = false;
    for (size_t i = 0; i < n && len < NAME_MAX_CHARS; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool keep = isascii(c) && isalnum(c);
        name[len++] = keep ? (char)tolower(c) : '-';
        says_something |= keep;
    }
    name[len] = '\0';
    return rb_arena_strdup(arena, says_something ? name : "job");
}

static bool is_plain(const char *s)
{
    static const char *const words[] = {"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789./$=@+%^ -";
    const size_t n = strlen(s);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(s, words[i]) == 0)
            return false;
    }
    return n > 0 && (strchr(letters, s[0]) || strncmp(s, "./", 2) == 0 || s[0] == '/') && strspn(s, more) == n &&
           s[n - 1] != ' ';
}

// A JSON string is a double-quoted YAML scalar.
const char *rb_yaml_text(const char *text, struct rb_arena *arena)
{
    if (is_plain(text))
        return rb_arena_strdup(arena, text);
    RB_AUTO(rb_buf_finish) struct rb_buf quoted = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &quoted, false);
    rb_json_string(&j, text);
    return rb_arena_strndup(arena, rb_buf_str(&quoted), quoted.len);
}

// --- writing

// Words of a comment, wrapped at the width. Line ends are kept; any other control byte becomes a space, so that no text
// from a file can end the comment.
static void write_comment(const char *text, int indent, struct rb_buf *out)
{
    const char *p = text;
    while (*p) {
        size_t column = (size_t)indent + 1;
        rb_buf_printf(out, "%*s#", indent, "");
        for (bool first = true; *p && *p != '\n'; first = false) {
            const size_t n = strcspn(p, " \n");
            if (!first && column + 1 + n > WIDTH)
                break;
            rb_buf_putc(out, ' ');
            for (size_t i = 0; i < n; i++)
                rb_buf_putc(out, iscntrl((unsigned char)p[i]) ? ' ' : p[i]);
            column += 1 + n;
            p += n;
            p += *p == ' ';
        }
        rb_buf_putc(out, '\n');
        p += *p == '\n';
    }
}

// Behind the value if it fits, else in lines above it.
static void write_line(const struct rb_draft_line *line, const char *key, int indent, int column, struct rb_buf *out)
{
    const int before = indent + (line->is_suggestion ? 2 : 0);
    const int width = before + (int)(strlen(key) + 2 + strlen(line->value));
    const int gap = width + 2 > column ? 2 : column - width;
    const bool beside =
        line->comment && !strchr(line->comment, '\n') && width + gap + 2 + (int)strlen(line->comment) <= WIDTH;
    if (line->comment && !beside)
        write_comment(line->comment, indent, out);
    const bool is_block = line->value[0] == '\n';
    rb_buf_printf(out, "%*s%s%s:%s%s", indent, "", line->is_suggestion ? "# " : "", key, is_block ? "" : " ",
                  line->value);
    if (beside)
        write_comment(line->comment, gap, out);
    else
        rb_buf_putc(out, '\n');
}

struct section {
    bool has_keys, has_values, has_comments, has_blocks;
    size_t flow_chars;
};

static int next_line(const struct rb_job_draft *d, enum rb_draft_section section, int from)
{
    while (from < d->n_lines && d->lines[from].section != section)
        from++;
    return from;
}

static void look_at(const struct rb_job_draft *d, enum rb_draft_section name, struct section *s)
{
    *s = (struct section){.flow_chars = strlen(section_names[name]) + 4};
    for (int i = next_line(d, name, 0); i < d->n_lines; i = next_line(d, name, i + 1)) {
        const struct rb_draft_line *line = &d->lines[i];
        s->has_keys |= line->key != NULL;
        s->has_values |= line->value && !line->is_suggestion;
        s->has_comments |= line->comment || line->is_suggestion;
        s->has_blocks |= line->value && strchr(line->value, '\n');
        s->flow_chars += (line->key ? strlen(line->key) + 2 : 0) + (line->value ? strlen(line->value) : 0) + 2;
    }
}

// {name: val_acc, goal: maximize}
static void write_flow(const struct rb_job_draft *d, enum rb_draft_section name, struct rb_buf *out)
{
    const char *before = "{";
    rb_buf_printf(out, "%s: ", section_names[name]);
    for (int i = next_line(d, name, 0); i < d->n_lines; i = next_line(d, name, i + 1)) {
        rb_buf_printf(out, "%s%s: %s", before, rb_yaml_text(d->lines[i].key, d->arena), d->lines[i].value);
        before = ", ";
    }
    rb_buf_puts(out, "}\n");
}

static void write_section(const struct rb_job_draft *d, enum rb_draft_section name, struct rb_buf *out)
{
    enum { COMMENT_COLUMN = 32 };
    struct section s;
    look_at(d, name, &s);
    if (s.has_keys && !s.has_comments && !s.has_blocks && !is_list_of_keys(name) && s.flow_chars <= WIDTH) {
        write_flow(d, name, out);
        return;
    }
    if (s.has_keys)
        rb_buf_printf(out, "%s%s:\n", s.has_values ? "" : "# ", section_names[name]);
    for (int i = next_line(d, name, 0); i < d->n_lines; i = next_line(d, name, i + 1)) {
        const struct rb_draft_line *line = &d->lines[i];
        const int indent = s.has_keys ? 2 : 0;
        if (line->value)
            write_line(line, line->key ? rb_yaml_text(line->key, d->arena) : section_names[name], indent,
                       COMMENT_COLUMN, out);
        else
            write_comment(line->comment, indent, out);
    }
}

void rb_job_draft_write(const struct rb_job_draft *d, struct rb_buf *out)
{
    write_comment(d->head, 0, out);
    for (int section = 0; section < RB_DRAFT_SECTIONS; section++)
        write_section(d, (enum rb_draft_section)section, out);
}
