#include "views/tables/report_csv.h"

#include "base/document/csv.h"
#include "views/pages/document.h"
#include "views/tables/report_trials.h"

#include <string.h>

// --- cells

static void begin_cell(struct rb_buf *out, bool *first)
{
    rb_buf_puts(out, *first ? "" : ",");
    *first = false;
}

static void put_cell(const struct rb_node *value, struct rb_buf *out, bool *first)
{
    begin_cell(out, first);
    if (!value || value->kind == RB_NODE_NULL)
        return;
    if (value->kind == RB_NODE_STRING)
        rb_csv_put_text(value->text, true, out);
    else
        rb_buf_puts(out, value->text);
}

// Key names need no quotes; a parameter's holds only letters, digits and _ . -
static void put_name(const char *group, const char *name, struct rb_buf *out, bool *first)
{
    begin_cell(out, first);
    rb_buf_printf(out, "%s%s%s", group, group[0] ? "." : "", name);
}

static void end_row(struct rb_buf *out)
{
    rb_buf_puts(out, "\r\n");
}

// --- tables

static const char *const node_columns[] = {
    "id",         "infra",    "instance_type", "market",    "state", "requested_us",
    "running_us", "ready_us", "terminated_us", "cost_uusd", NULL};
static const char *const stage_columns[] = {
    "stage",    "trials", "resource_end",      "gpus_per_trial",      "nodes",
    "start_us", "end_us", "predicted_time_us", "predicted_cost_uusd", "cost_uusd",
    NULL};
static const char *const trial_columns[] = {"trial", "state", "resource", "metric", "restarts", NULL};
static const char *const reason_columns[] = {"origin", "because", NULL}; // of trials that a sampler proposed

static void put_header(const char *const *columns, struct rb_buf *out, bool *first)
{
    for (; *columns; columns++)
        put_name("", *columns, out, first);
}

static void put_members(const struct rb_node *row, const char *const *columns, struct rb_buf *out, bool *first)
{
    for (; *columns; columns++)
        put_cell(rb_document_member(row, *columns), out, first);
}

static void write_list(const struct rb_node *report, const char *list, const char *const *columns, struct rb_buf *out)
{
    bool first = true;
    put_header(columns, out, &first);
    end_row(out);
    for (const struct rb_node *row = rb_document_items(report, list); row; row = row->next) {
        first = true;
        put_members(row, columns, out, &first);
        end_row(out);
    }
}

static void write_nodes(const struct rb_node *report, struct rb_buf *out)
{
    write_list(report, "nodes", node_columns, out);
}

static void write_stages(const struct rb_node *report, struct rb_buf *out)
{
    write_list(report, "stages", stage_columns, out);
}

static void write_trials(const struct rb_node *report, struct rb_buf *out)
{
    const char *names[RB_LIMIT_PARAMETERS];
    const int n_names = rb_report_parameters(report, NULL, names);
    const bool has_reasons = rb_report_has_reasons(report);
    bool first = true;
    put_header(trial_columns, out, &first);
    for (int i = 0; i < n_names; i++)
        put_name("params", names[i], out, &first);
    if (has_reasons)
        put_header(reason_columns, out, &first);
    end_row(out);
    for (const struct rb_node *trial = rb_document_items(report, "trials"); trial; trial = trial->next) {
        first = true;
        put_members(trial, trial_columns, out, &first);
        for (int i = 0; i < n_names; i++)
            put_cell(rb_document_member(rb_document_member(trial, "params"), names[i]), out, &first);
        if (has_reasons)
            put_members(trial, reason_columns, out, &first);
        end_row(out);
    }
}

static void write_costs(const struct rb_node *report, struct rb_buf *out)
{
    const struct rb_node *by = rb_document_member(rb_document_member(report, "cost_uusd"), "by");
    rb_buf_puts(out, "part,cost_uusd\r\n");
    for (const struct rb_node *part = by ? by->first : NULL; part; part = part->next) {
        bool first = false;
        rb_csv_put_text(part->key, true, out);
        put_cell(part, out, &first);
        end_row(out);
    }
}

// Events of all kinds.
static void write_notes(const struct rb_node *report, struct rb_buf *out)
{
    static const char *const kinds[][2] = {
        {"faults", "fault"}, {"replans", "replan"}, {"spot", "spot"}, {"drifts", "drift"}, {"warnings", "warning"}};
    static const char *const columns[] = {"at_us", "text", NULL};
    bool first = true;
    put_name("", "kind", out, &first);
    put_header(columns, out, &first);
    end_row(out);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (const struct rb_node *note = rb_document_items(report, kinds[i][0]); note; note = note->next) {
            first = false;
            rb_csv_put_text(kinds[i][1], true, out);
            put_members(note, columns, out, &first);
            end_row(out);
        }
    }
}

static const struct {
    const char *name;
    void (*write)(const struct rb_node *report, struct rb_buf *out);
} tables[] = {
    {"costs", write_costs},   {"nodes", write_nodes},   {"notes", write_notes},
    {"stages", write_stages}, {"trials", write_trials},
};

bool rb_report_csv_write(const struct rb_node *report, const char *table, struct rb_buf *out, struct rb_err *err)
{
    if (strcmp(rb_document_text(report, "format"), "rb-report/1") != 0)
        return rb_node_refuse(report, err, RB_E_FORMAT_WRONG, "expected a document of format rb-report/1");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].name, table) == 0) {
            tables[i].write(report, out);
            return true;
        }
    }
    return rb_err_set(err, RB_E_OPTION_VALUE, "--csv: expected " RB_REPORT_CSV_TABLES ", got \"%.40s\"", table);
}
