// Calls an MLflow tracking server's REST API (2.0), one call at a time, and waits for its answer. Credentials come from the
// environment (MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME with MLFLOW_TRACKING_PASSWORD) and go nowhere else.
#ifndef RB_EXECUTOR_MLFLOW_API_H
#define RB_EXECUTOR_MLFLOW_API_H

#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/document/json.h"

// Its limits (mlflow/utils/validation.py).
enum {
    RB_MLFLOW_METRICS = 1000, // of one batch
    RB_MLFLOW_PARAMS = 100,
    RB_MLFLOW_BATCH_BYTES = 1000000,
    RB_MLFLOW_KEY_BYTES = 250,
    RB_MLFLOW_PARAM_BYTES = 6000, // of a value
    RB_MLFLOW_TAG_BYTES = 5000,
};

struct rb_mlflow_api;

// uri: borrowed, without a slash at its end.
bool rb_mlflow_api_open(const char *uri, struct rb_mlflow_api **out, struct rb_err *err);
void rb_mlflow_api_close(struct rb_mlflow_api *a); // NULL is fine

// method: "GET" or "POST"; path: "runs/create", with a query if it is a GET; body: JSON, NULL with GET. The answer goes into
// *out, which the caller finishes. Errors: SINK_SERVER (no answer, or one that may be another next time; whether the call took
// effect is unknown), SINK_DENIED, SINK_REFUSED. exists NULL: not expected; else an answer RESOURCE_ALREADY_EXISTS returns
// true with *exists set and no document.
bool rb_mlflow_call(struct rb_mlflow_api *a, const char *method, const char *path, const struct rb_buf *body,
                    bool *exists, struct rb_doc *out, struct rb_err *err);

// A key that the server accepts: of letters, digits and _ - . / and blank, a clean relative path, at most 250 bytes.
void rb_mlflow_key(const char *name, char out[static RB_MLFLOW_KEY_BYTES + 1]);
// Writes at most max bytes of the text as a string, whole characters only.
void rb_mlflow_text(struct rb_json *j, const char *text, size_t max);
// Appends the text as part of a query.
void rb_mlflow_query(const char *text, struct rb_buf *out);

#endif
