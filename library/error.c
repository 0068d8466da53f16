// Errors for callers of the library.
#include "library/handles.h"

#include "base/errors/err_catalog.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *rubberband_version(void)
{
    return RB_VERSION;
}

struct rubberband_error *rubberband_error_new(void)
{
    struct rubberband_error *error = rb_xcalloc(1, sizeof *error);
    error->nearest_deadline_us = error->nearest_budget_uusd = -1;
    error->nearest_confidence = -1;
    return error;
}

void rubberband_error_free(struct rubberband_error *error)
{
    free(error);
}

int rb_library_infeasible(struct rubberband_error *error, const struct rb_err *err, const struct rb_plan_result *result)
{
    if (error) {
        *error = (struct rubberband_error){*err, -1, -1, -1};
        if (result) {
            error->nearest_deadline_us = result->nearest_deadline_us;
            error->nearest_budget_uusd = result->nearest_budget_uusd;
            error->nearest_confidence = isnan(result->nearest_confidence) ? -1 : result->nearest_confidence;
        }
    }
    return rb_err_exit_code(err);
}

int rb_library_fail(struct rubberband_error *error, const struct rb_err *err)
{
    return rb_library_infeasible(error, err, NULL);
}

int rubberband_error_status(const struct rubberband_error *error)
{
    return error->err.code == RB_ERR_NONE ? RUBBERBAND_OK : rb_err_exit_code(&error->err);
}

const char *rubberband_error_message(const struct rubberband_error *error)
{
    return error->err.message;
}

const char *rubberband_error_name(const struct rubberband_error *error)
{
    return error->err.code == RB_ERR_NONE ? "" : rb_err_code_name(error->err.code);
}

int rubberband_error_number(const struct rubberband_error *error)
{
    return error->err.code == RB_ERR_NONE ? 0 : rb_err_number(&error->err);
}

const char *rubberband_error_remedy(const struct rubberband_error *error)
{
    return error->err.code == RB_ERR_NONE ? "" : rb_err_entry(rb_err_number(&error->err))->remedy;
}

const char *rubberband_error_file(const struct rubberband_error *error)
{
    return error->err.file;
}

int rubberband_error_line(const struct rubberband_error *error)
{
    return error->err.line;
}

int rubberband_error_column(const struct rubberband_error *error)
{
    return error->err.column;
}

const char *rubberband_error_key(const struct rubberband_error *error)
{
    return error->err.key;
}

int64_t rubberband_error_nearest_deadline_us(const struct rubberband_error *error)
{
    return error->nearest_deadline_us;
}

int64_t rubberband_error_nearest_budget_uusd(const struct rubberband_error *error)
{
    return error->nearest_budget_uusd;
}

double rubberband_error_nearest_confidence(const struct rubberband_error *error)
{
    return error->nearest_confidence;
}
