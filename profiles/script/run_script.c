#include "profiles/script/run_script.h"

#include "base/text/closest.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Programs that start the script named behind them.
static bool starts_scripts(const char *program)
{
    static const char *const names[] = {
        "torchrun", "accelerate", "deepspeed", "horovodrun", "composer", "colossalai", "sh",       "bash",    "dash",
        "zsh",      "ksh",        "Rscript",   "julia",      "node",     "perl",       "ruby",     "uv",      "poetry",
        "pipenv",   "pdm",        "conda",     "micromamba", "srun",     "mpirun",     "mpiexec",  "env",     "exec",
        "time",     "nice",       "nohup",     "timeout",    "numactl",  "xvfb-run",   "coverage", "ipython", NULL};
    const char *name = base_name(program);
    return rb_is_one_of(name, names) || strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

static bool is_script_name(const char *word)
{
    static const char *const endings[] = {".py", ".sh", ".bash", ".R", ".r", ".jl", ".js", ".pl", ".rb", NULL};
    const char *dot = strrchr(base_name(word), '.');
    return word[0] != '-' && !strchr(word, '=') && dot && dot != word && rb_is_one_of(dot, endings);
}

static const char *joined(const char *folder, const char *path, struct rb_arena *arena)
{
    if (path[0] == '/' || !*folder)
        return path;
    return rb_arena_printf(arena, "%s/%s", folder, strncmp(path, "./", 2) == 0 ? path + 2 : path);
}

// torch.distributed.run starts another script, as torchrun does.
static bool is_launcher_module(const char *module)
{
    return strncmp(module, "torch.distributed", 17) == 0 || strncmp(module, "accelerate", 10) == 0;
}

static const char *module_path(const char *module, struct rb_arena *arena)
{
    char *path = rb_arena_printf(arena, "%s.py", module);
    for (char *p = path; p < path + strlen(module); p++)
        *p = *p == '.' ? '/' : *p;
    return path;
}

struct finder {
    const char *command, *folder; // folder NULL: not known
    const struct rb_shell_text *text;
    struct rb_arena *arena;
    struct rb_run_script *found;
    int n;
};

static const char *plain(const struct finder *f, int i)
{
    return rb_shell_plain(f->command, f->text->words[i], f->arena);
}

static void add(struct finder *f, int i, const char *written, int first, int end, bool is_module)
{
    const char *path = is_module ? module_path(written, f->arena) : written;
    f->found[f->n++] = (struct rb_run_script){
        .path = joined(f->folder, path, f->arena),
        .written = written,
        .at = f->text->words[i].at,
        .first = f->text->words[first].at,
        .end = end < f->text->n_words ? f->text->words[end].at : strlen(f->command),
        .is_module = is_module,
    };
}

// cd without a folder goes home.
static void change_folder(struct finder *f, int first, int end)
{
    const char *to = end == first + 2 ? plain(f, first + 1) : NULL;
    if (!to || to[0] == '/' || to[0] == '-' || !f->folder)
        f->folder = NULL;
    else
        f->folder = joined(f->folder, to, f->arena);
}

// One command: words first..end - 1.
static void look_at(struct finder *f, int first, int end)
{
    const char *program = plain(f, first);
    if (program && (strcmp(program, "cd") == 0 || strcmp(program, "pushd") == 0 || strcmp(program, "popd") == 0)) {
        change_folder(f, first, end);
        return;
    }
    if (!program || !f->folder)
        return;
    if (!starts_scripts(program)) {
        if (strchr(program, '/') && program[0] != '/')
            add(f, first, program, first, end, false);
        return;
    }
    for (int i = first + 1; i < end; i++) {
        const char *word = plain(f, i), *next = i + 1 < end ? plain(f, i + 1) : NULL;
        if (word && strcmp(word, "-c") == 0)
            return;
        if (word && strcmp(word, "-m") == 0 && next && !is_launcher_module(next)) {
            add(f, i + 1, next, first, end, true);
            return;
        }
        if (word && is_script_name(word)) {
            add(f, i, word, first, end, false);
            return;
        }
    }
}

int rb_run_scripts(const char *command, const struct rb_shell_text *text, struct rb_arena *arena,
                   const struct rb_run_script **out)
{
    struct finder f = {.command = command, .folder = "", .text = text, .arena = arena};
    f.found = rb_arena_array(arena, (size_t)text->n_words + 1, sizeof *f.found);
    for (int i = 0; i < text->n_words && text->is_whole;) {
        int end = i + 1;
        while (end < text->n_words && !text->words[end].is_first)
            end++;
        look_at(&f, i, end);
        i = end;
    }
    *out = f.found;
    return f.n;
}

bool rb_run_brings_files(const char *command, const struct rb_shell_text *text, struct rb_arena *arena)
{
    static const char *const programs[] = {
        "git",   "wget", "curl", "tar", "unzip",           "cp",     "mv",   "ln",     "aws", "gsutil", "gcloud",
        "rsync", "scp",  "dvc",  "hf",  "huggingface-cli", "kaggle", "make", "docker", "cat", "tee",    NULL};
    for (int i = 0; i < text->n_words; i++) {
        const char *word = text->words[i].is_first ? rb_shell_plain(command, text->words[i], arena) : NULL;
        if (word && rb_is_one_of(word, programs))
            return true;
    }
    return false;
}
