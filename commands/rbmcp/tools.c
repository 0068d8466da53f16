#include "commands/rbmcp/tools.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "commands/mcp_schemas.h" // generated: rb_schema_*
#include "commands/rbmcp/kept_plans.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- words

void rb_mcp_work_finish(struct rb_mcp_work *w)
{
    rb_arena_finish(&w->arena);
    rb_buf_finish(&w->result);
}

void rb_mcp_word(struct rb_mcp_work *w, const char *fmt, ...)
{
    RB_AUTO(rb_buf_finish) struct rb_buf word = RB_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&word, fmt, ap);
    va_end(ap);
    if (w->n_words + 1 < RB_MCP_WORDS)
        w->argv[w->n_words++] = rb_arena_strdup(&w->arena, rb_buf_str(&word));
}

void rb_mcp_program(const struct rb_mcp_setting *s, struct rb_mcp_work *w, const char *name)
{
    rb_mcp_word(w, "%s/%s", s->bin, name);
}

void rb_mcp_state_words(const struct rb_mcp_setting *s, struct rb_mcp_work *w)
{
    if (s->state_dir)
        rb_mcp_word(w, "--state-dir=%s", s->state_dir);
}

static const char *text_of(const struct rb_node *args, const char *name)
{
    const struct rb_node *node = rb_node_member(args, name);
    return node ? node->text : "";
}

bool rb_mcp_is_run_id(const char *text)
{
    const size_t n = strlen(text);
    return n > 0 && n < 128 && text[0] != '-' && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool take_run(const struct rb_node *args, const char **out, struct rb_err *err)
{
    *out = text_of(args, "run");
    return rb_mcp_is_run_id(*out) ||
           rb_err_set(err, RB_E_RUN_UNKNOWN, "expected the id of a run: lower-case letters, digits and dashes");
}

// --- questions about a job

static bool prepare_estimate(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w,
                             struct rb_err *err)
{
    (void)args, (void)err;
    w->keep = rb_arena_printf(&w->arena, "%s/new-%d-%d.json", s->sandbox.plans, (int)getpid(), s->n_scratch++);
    rb_mcp_word(w, "--output=%s", w->keep);
    return true;
}

static bool prepare_explain(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w,
                            struct rb_err *err)
{
    (void)s, (void)args, (void)err;
    w->explains = true;
    return true;
}

static bool make_scratch(struct rb_mcp_setting *s, struct rb_err *err)
{
    if (s->scratch[0])
        return true;
    strcpy(s->scratch, "/tmp/rbmcp-XXXXXX");
    if (mkdtemp(s->scratch))
        return true;
    rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", s->scratch, strerror(errno));
    s->scratch[0] = '\0';
    return false;
}

static bool prepare_pareto(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w,
                           struct rb_err *err)
{
    (void)args;
    if (!make_scratch(s, err))
        return false;
    rb_mcp_word(w, "--pareto=%s/pareto.json", s->scratch);
    return true;
}

// --- money

static bool digest_file(const char *path, char out_hex[65], struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    if (!rb_read_file(path, RB_LIMIT_PLAN_BYTES, &bytes, &n, err))
        return false;
    rb_digest_sha256(bytes, n, out_hex);
    return true;
}

// Files nothing: what counts is what a person types. The plan stays for that long.
static bool prepare_approve(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w,
                            struct rb_err *err)
{
    char plan[PATH_MAX], digest[65], dollars[32];
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, approval = RB_BUF_INIT;
    int64_t uusd;
    if (!rb_mcp_sandbox_plan(&s->sandbox, text_of(args, "plan"), plan, err) ||
        !rb_node_money(rb_node_member(args, "max_cost"), &uusd, err) || !digest_file(plan, digest, err))
        return false;
    rb_mcp_plans_hold(s->sandbox.plans, plan);
    rb_buf_printf(&approval, "%s/approval-%.12s.json", s->sandbox.root, digest);
    rb_buf_puts(&command, "rbplan approve ");
    rb_buf_shell_quote(&command, plan);
    rb_buf_printf(&command, " --max-cost %s --for 24h -o ", rb_format_money_exact(uusd, dollars));
    rb_buf_shell_quote(&command, rb_buf_str(&approval));
    struct rb_json j = {.out = &w->result};
    rb_json_put(&j, "{pending: true command: %s plan_sha256: %s approval: %s}", rb_buf_str(&command), digest,
                rb_buf_str(&approval));
    return true;
}

static bool find_approval(struct rb_mcp_setting *s, const char *path, char out[static PATH_MAX], struct rb_err *err)
{
    struct rb_err why;
    if (rb_mcp_sandbox_find(&s->sandbox, path, out, &why))
        return true;
    if (rb_err_number(&why) == RB_E_FILE_MISSING)
        return rb_err_set(err, RB_E_APPROVAL_REQUIRED,
                          "this plan has no approval yet: there is no %.200s; a person makes it with the command "
                          "that approve returns",
                          path);
    *err = why;
    return false;
}

static bool prepare_run(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w, struct rb_err *err)
{
    char plan[PATH_MAX], approval[PATH_MAX], digest[65];
    if (!rb_mcp_sandbox_plan(&s->sandbox, text_of(args, "plan"), plan, err) ||
        !find_approval(s, text_of(args, "approval"), approval, err) || !digest_file(plan, digest, err))
        return false;
    if (strcmp(digest, text_of(args, "plan_sha256")) != 0)
        return rb_err_set(err, RB_E_MCP_PLAN,
                          "%.200s has the digest %.12s..., and another one was given; estimate the "
                          "job again",
                          text_of(args, "plan"), digest);
    w->goes_on = w->begins_run = w->last_line = true;
    rb_mcp_program(s, w, "rbrun");
    rb_mcp_word(w, "%s", plan);
    rb_mcp_word(w, "--approval=%s", approval);
    rb_mcp_word(w, "--json");
    rb_mcp_state_words(s, w);
    return true;
}

// Ending what costs money is always allowed, and nothing but itself ends it.
static bool prepare_stop(struct rb_mcp_setting *s, const struct rb_node *args, struct rb_mcp_work *w,
                         struct rb_err *err)
{
    (void)s, (void)args, (void)err;
    w->goes_on = w->last_line = true;
    return true;
}

// --- the table

#define JOB                                                                                     \
    {                                                                                           \
        "job", RB_MCP_TEXT, true, "Path of the job file (job.yaml), below the server's folder." \
    }
#define RUN                                                              \
    {                                                                    \
        "run", RB_MCP_TEXT, true, "Id of the run, as `run` returned it." \
    }
#define PLAN                                                                                                           \
    {                                                                                                                  \
        "plan", RB_MCP_TEXT, true, "rb://plans/SHA256 as `estimate` returned it, or a path below the server's folder." \
    }

static const char approve_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"pending\",\"command\",\"plan_sha256\","
    "\"approval\"],\"properties\":{\"pending\":{\"const\":true},\"command\":{\"type\":\"string\"},"
    "\"plan_sha256\":{\"type\":\"string\"},\"approval\":{\"type\":\"string\"}}}";
static const char run_schema[] = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"run\"],"
                                 "\"properties\":{\"run\":{\"type\":\"string\"}}}";

static const struct rb_mcp_tool tools[] = {
    {"check",
     "Check a job file",
     "Checks a job file and lists probable mistakes. Launches nothing and costs nothing.",
     {JOB},
     .output_schema = rb_schema_check,
     .read_only = true,
     .idempotent = true,
     .words = "rbplan --check"},
    {"estimate",
     "Plan a job and estimate its cost",
     "Finds the cheapest plan of a job that keeps its deadline and budget. Returns the plan with its cost and time, "
     "and "
     "keeps it under the digest that `approve` and `run` take. Launches nothing. Where no plan keeps the limits, the "
     "error lists the nearest limits that one does.",
     {JOB, {"set", RB_MCP_TEXTS, false, "Keys of the job to change, e.g. [\"deadline=2h\", \"budget=40\"].", "set"}},
     .output_schema = rb_schema_plan,
     .read_only = true,
     .idempotent = true,
     .words = "rbplan",
     .prepare = prepare_estimate},
    {"explain",
     "Plan a job and say why",
     "As estimate, with the reasons why other candidates lost. Launches nothing.",
     {JOB},
     .output_schema = rb_schema_plan,
     .read_only = true,
     .idempotent = true,
     .words = "rbplan --explain",
     .prepare = prepare_explain},
    {"what_if",
     "Compare changes of a job",
     "Plans a job as it is and with each of the changes, and compares cost and time. Launches nothing.",
     {JOB,
      {"changes", RB_MCP_TEXTS, true, "Each a change, e.g. [\"price=-20%\", \"deadline=3h,spot=allow\"].", "what-if"}},
     .output_schema = rb_schema_what_if,
     .read_only = true,
     .idempotent = true,
     .words = "rbplan"},
    {"pareto",
     "Cost against deadline",
     "The cheapest cost at each of a range of deadlines. Launches nothing.",
     {JOB},
     .output_schema = rb_schema_pareto,
     .read_only = true,
     .idempotent = true,
     .words = "rbplan",
     .prepare = prepare_pareto},
    {"approve",
     "Ask a person for approval",
     "Returns the command with which a person approves one run of a plan. It approves nothing by itself: a person has "
     "to type the command and the amount on a terminal. Show the command to the user and wait.",
     {PLAN, {"max_cost", RB_MCP_DOLLARS, true, "Most that the run may cost, in US dollars."}},
     .output_schema = approve_schema,
     .idempotent = true,
     .prepare = prepare_approve},
    {"run",
     "Carry an approved plan out",
     "Begins a run of a plan that a person has approved. It rents machines and costs money, at most the approved "
     "amount. Fails without a valid approval. The run goes on when this server ends.",
     {PLAN,
      {"plan_sha256", RB_MCP_TEXT, true, "Digest of the plan, as `approve` returned it."},
      {"approval", RB_MCP_TEXT, true, "Path of the approval, as `approve` returned it, once the person has made it."}},
     .output_schema = run_schema,
     .destructive = true,
     .prepare = prepare_run},
    {"status",
     "State of a run",
     "Progress, cost so far and probable end of a run.",
     {RUN},
     .output_schema = rb_schema_status,
     .read_only = true,
     .idempotent = true,
     .words = "rbrun status"},
    {"report",
     "Report of a run",
     "What a run did and cost, beside what was predicted.",
     {RUN},
     .output_schema = rb_schema_report,
     .read_only = true,
     .idempotent = true,
     .words = "rbrun report"},
    {"stop",
     "End a run",
     "Ends a run and its machines, and lists the cloud to show that none is left. Always allowed.",
     {RUN},
     .output_schema = rb_schema_report,
     .destructive = true,
     .idempotent = true,
     .words = "rbrun stop",
     .prepare = prepare_stop},
};
enum { N_TOOLS = sizeof tools / sizeof *tools };

const struct rb_mcp_tool *rb_mcp_tool_find(const char *name)
{
    for (int i = 0; i < N_TOOLS; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

static int n_args(const struct rb_mcp_tool *tool)
{
    int n = 0;
    while (n < RB_MCP_ARGS && tool->args[n].name)
        n++;
    return n;
}

// --option=VALUE for each: a value can be no option of its own.
static void add_each(struct rb_mcp_work *w, const char *option, const struct rb_node *list)
{
    for (const struct rb_node *item = list ? list->first : NULL; item; item = item->next)
        rb_mcp_word(w, "--%s=%s", option, item->text);
}

bool rb_mcp_tool_prepare(const struct rb_mcp_tool *tool, struct rb_mcp_setting *s, const struct rb_node *args,
                         struct rb_mcp_work *w, struct rb_err *err)
{
    char path[PATH_MAX];
    const char *operand = path;
    if (!tool->words)
        return tool->prepare(s, args, w, err);
    char *rest = rb_arena_strdup(&w->arena, tool->words), *program = strsep(&rest, " ");
    const bool is_run = strcmp(program, "rbrun") == 0;
    if (is_run ? !take_run(args, &operand, err)
               : !rb_mcp_sandbox_job(&s->sandbox, text_of(args, "job"), path, err))
        return false;
    rb_mcp_program(s, w, program);
    if (rest)
        rb_mcp_word(w, "%s", rest);
    rb_mcp_word(w, "--json");
    if (is_run)
        rb_mcp_state_words(s, w);
    for (int i = 0; i < n_args(tool); i++)
        if (tool->args[i].option)
            add_each(w, tool->args[i].option, rb_node_member(args, tool->args[i].name));
    if (tool->prepare && !tool->prepare(s, args, w, err))
        return false;
    rb_mcp_word(w, "%s", operand);
    return true;
}

static void write_arg(const struct rb_mcp_arg *arg, struct rb_json *j)
{
    rb_json_put(j, "%s: {description: %s|null", arg->name, arg->description);
    if (arg->type == RB_MCP_TEXT)
        rb_json_put(j, "type: 'string' minLength: 1");
    else if (arg->type == RB_MCP_TEXTS)
        rb_json_put(j, "type: 'array' minItems: 1 maxItems: 16 items: {type: 'string' minLength: 1}");
    else
        rb_json_put(j, "type: 'number' exclusiveMinimum: 0 maximum: 1000000");
    rb_json_end_object(j);
}

static void write_input(const struct rb_mcp_tool *tool, struct rb_json *j)
{
    rb_json_put(j, "inputSchema: {type: 'object' additionalProperties: false required: [");
    for (int i = 0; i < n_args(tool); i++)
        if (tool->args[i].required)
            rb_json_string(j, tool->args[i].name);
    rb_json_put(j, "] properties: {");
    for (int i = 0; i < n_args(tool); i++)
        write_arg(&tool->args[i], j);
    rb_json_put(j, "}}");
}

static void write_tool(const struct rb_mcp_tool *tool, struct rb_json *j)
{
    rb_json_put(j, "{name: %s title: %s description: %s", tool->name, tool->title, tool->description);
    write_input(tool, j);
    rb_buf_puts(j->out, ",\"outputSchema\":");
    rb_buf_puts(j->out, tool->output_schema);
    rb_json_put(j, "annotations: {readOnlyHint: %i destructiveHint: %i idempotentHint: %i openWorldHint: %i}}",
                tool->read_only, tool->destructive, tool->idempotent, !tool->read_only);
}

void rb_mcp_tools_write(struct rb_json *j)
{
    rb_json_karray(j, "tools");
    for (int i = 0; i < N_TOOLS; i++)
        write_tool(&tools[i], j);
    rb_json_end_array(j);
}

// --- arguments

static bool is_text(const struct rb_node *node)
{
    return node->kind == RB_NODE_STRING && node->text[0];
}

static bool has_type(const struct rb_node *node, enum rb_mcp_type type)
{
    if (type == RB_MCP_TEXT)
        return is_text(node);
    if (type == RB_MCP_DOLLARS)
        return (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT) && node->number > 0 && node->number <= 1e6;
    if (node->kind != RB_NODE_LIST || node->n_children < 1 || node->n_children > 16)
        return false;
    for (const struct rb_node *item = node->first; item; item = item->next)
        if (!is_text(item))
            return false;
    return true;
}

static const struct rb_mcp_arg *find_arg(const struct rb_mcp_tool *tool, const char *name)
{
    for (int i = 0; i < n_args(tool); i++)
        if (strcmp(tool->args[i].name, name) == 0)
            return &tool->args[i];
    return NULL;
}

bool rb_mcp_tool_takes(const struct rb_mcp_tool *tool, const struct rb_node *args, struct rb_buf *out_why)
{
    static const char *const types[] = {"a string", "a list of 1 to 16 strings", "a number of dollars above 0"};
    if (args && args->kind != RB_NODE_MAP) {
        rb_buf_puts(out_why, "arguments must be an object");
        return false;
    }
    for (const struct rb_node *given = args ? args->first : NULL; given; given = given->next) {
        const struct rb_mcp_arg *arg = find_arg(tool, given->key);
        if (!arg || !has_type(given, arg->type)) {
            rb_buf_printf(out_why, "%s: %s%s", tool->name, arg ? arg->name : "an argument that it does not take",
                          arg ? " must be " : "");
            rb_buf_puts(out_why, arg ? types[arg->type] : "");
            return false;
        }
    }
    for (int i = 0; i < n_args(tool); i++) {
        if (!tool->args[i].required || rb_node_member(args, tool->args[i].name))
            continue;
        rb_buf_printf(out_why, "%s: %s is needed", tool->name, tool->args[i].name);
        return false;
    }
    return true;
}
