#include "executor/sinks/mlflow_api.h"

#include "base/errors/log.h"
#include "base/text/utf8.h"
#include "executor/transport/loop_uv.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_US = 20000000 };

struct rb_mlflow_api {
    const char *uri;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_buf authorization; // a header; empty: none
};

// --- who we are

static void authorize(struct rb_buf *header)
{
    const char *token = getenv("MLFLOW_TRACKING_TOKEN"), *user = getenv("MLFLOW_TRACKING_USERNAME"),
               *password = getenv("MLFLOW_TRACKING_PASSWORD");
    if (token && token[0]) {
        rb_buf_printf(header, "Authorization: Bearer %s", token);
    } else if (user && user[0]) {
        struct rb_buf pair = RB_BUF_INIT;
        rb_buf_printf(&pair, "%s:%s", user, password ? password : "");
        RB_AUTO(rb_auto_free) char *encoded = rb_xcalloc(4 * ((pair.len + 2) / 3) + 1, 1);
        rb_base64_encode(pair.data, pair.len, encoded);
        rb_buf_printf(header, "Authorization: Basic %s", encoded);
        explicit_bzero(pair.data, pair.len);
        explicit_bzero(encoded, strlen(encoded));
        rb_buf_finish(&pair);
    }
}

bool rb_mlflow_api_open(const char *uri, struct rb_mlflow_api **out, struct rb_err *err)
{
    struct rb_mlflow_api *a = rb_xcalloc(1, sizeof *a);
    a->uri = uri;
    a->uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(a->uv), &a->http, err)) {
        rb_mlflow_api_close(a);
        return false;
    }
    authorize(&a->authorization);
    *out = a;
    return true;
}

void rb_mlflow_api_close(struct rb_mlflow_api *a)
{
    if (!a)
        return;
    rb_http_destroy(a->http);
    rb_loop_uv_destroy(a->uv);
    if (a->authorization.data)
        explicit_bzero(a->authorization.data, a->authorization.len);
    rb_buf_finish(&a->authorization);
    free(a);
}

// --- one call

struct answer {
    struct rb_mlflow_api *api;
    long status;
    struct rb_buf body;
    char trouble[200];
};

static void answered(void *arg, const struct rb_http_response *r)
{
    struct answer *a = arg;
    a->status = r->status;
    rb_buf_append(&a->body, r->body ? r->body : "", r->body ? r->body_len : 0);
    snprintf(a->trouble, sizeof a->trouble, "%s", r->transport_error ? r->transport_error : "no answer");
    rb_loop_uv_stop(a->api->uv);
}

static bool transmit(struct rb_mlflow_api *api, const char *method, const char *path, const struct rb_buf *body,
                     struct answer *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    const char *headers[3] = {"Accept: application/json"};
    int n = 1;
    rb_buf_printf(&url, "%s/api/2.0/mlflow/%s", api->uri, path);
    if (body)
        headers[n++] = "Content-Type: application/json";
    if (api->authorization.len)
        headers[n++] = rb_buf_str(&api->authorization);
    const struct rb_http_request request = {
        .method = method,
        .url = rb_buf_str(&url),
        .headers = headers,
        .n_headers = n,
        .body = body ? rb_buf_str(body) : NULL,
        .body_len = body ? body->len : 0,
        .timeout_us = TIMEOUT_US,
        .once = strcmp(method, "POST") == 0, // what appends must not be sent twice
    };
    if (!rb_http_send(api->http, &request, answered, out, err))
        return false;
    rb_loop_uv_run(api->uv);
    return true;
}

// {"error_code": "...", "message": "..."}; what is no such thing is shown as it is, cut short.
static bool refuse(const struct answer *a, const char *path, bool *exists, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char text[240], code[64] = "";
    const struct rb_node *root =
        rb_doc_parse_json(&doc, "answer", rb_buf_str(&a->body), a->body.len, NULL) ? doc.root : NULL;
    const struct rb_node *error_code = rb_node_member(root, "error_code"), *message = rb_node_member(root, "message");
    if (error_code && error_code->kind == RB_NODE_STRING)
        rb_log_sanitise(error_code->text, error_code->text_len, code, sizeof code);
    if (exists && strcmp(code, "RESOURCE_ALREADY_EXISTS") == 0) {
        *exists = true;
        return true;
    }
    const bool has_message = message && message->kind == RB_NODE_STRING;
    rb_log_sanitise(has_message ? message->text : rb_buf_str(&a->body), has_message ? message->text_len : a->body.len,
                    text, sizeof text);
    const int method_length = (int)strcspn(path, "?");
    if (a->status == 401 || a->status == 403)
        return rb_err_set(err, RB_E_SINK_DENIED,
                          "mlflow: %.*s: %ld %s: set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and "
                          "MLFLOW_TRACKING_PASSWORD, in the environment",
                          method_length, path, a->status, text);
    const bool passing = a->status >= 500 || a->status == 429 || a->status == 408;
    return rb_err_set(err, passing ? RB_E_SINK_SERVER : RB_E_SINK_REFUSED, "mlflow: %.*s: %ld %s%s%s", method_length,
                      path, a->status, code, code[0] && text[0] ? ": " : "", text);
}

static bool judge(const struct answer *a, const char *uri, const char *path, bool *exists, struct rb_doc *out,
                  struct rb_err *err)
{
    if (a->status == 0)
        return rb_err_set(err, RB_E_SINK_SERVER, "mlflow: %s: %s", uri, a->trouble);
    if (a->status < 200 || a->status >= 300)
        return refuse(a, path, exists, err);
    if (rb_doc_parse_json(out, "answer", rb_buf_str(&a->body), a->body.len, NULL))
        return true;
    return rb_err_set(err, RB_E_SINK_SERVER,
                      "mlflow: %s answers %.*s with something that is no JSON; is it a tracking server?", uri,
                      (int)strcspn(path, "?"), path);
}

bool rb_mlflow_call(struct rb_mlflow_api *api, const char *method, const char *path, const struct rb_buf *body,
                    bool *exists, struct rb_doc *out, struct rb_err *err)
{
    struct answer a = {.api = api};
    if (exists)
        *exists = false;
    const bool ok = transmit(api, method, path, body, &a, err) && judge(&a, api->uri, path, exists, out, err);
    rb_buf_finish(&a.body);
    return ok;
}

// --- texts

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_-. ", c));
}

static void put_segment(const char *from, size_t n, struct rb_buf *out)
{
    const bool dots = (n == 1 && from[0] == '.') || (n == 2 && from[0] == '.' && from[1] == '.');
    rb_buf_puts(out, out->len ? "/" : "");
    for (size_t i = 0; i < n; i++)
        rb_buf_putc(out, dots || !is_key_char(from[i]) ? '_' : from[i]);
}

void rb_mlflow_key(const char *name, char out[static RB_MLFLOW_KEY_BYTES + 1])
{
    RB_AUTO(rb_buf_finish) struct rb_buf key = RB_BUF_INIT;
    for (const char *p = name; *p;) {
        const size_t n = strcspn(p, "/");
        if (n > 0)
            put_segment(p, n, &key);
        p += n + (p[n] == '/');
    }
    size_t n = key.len < RB_MLFLOW_KEY_BYTES ? key.len : RB_MLFLOW_KEY_BYTES;
    // A cut may have left what is no clean path.
    while (n > 0 && key.len > RB_MLFLOW_KEY_BYTES && (key.data[n - 1] == '/' || key.data[n - 1] == '.'))
        n--;
    snprintf(out, RB_MLFLOW_KEY_BYTES + 1, "%.*s", n ? (int)n : 6, n ? key.data : "metric");
}

void rb_mlflow_text(struct rb_json *j, const char *text, size_t max)
{
    const size_t len = strlen(text);
    size_t n = 0;
    while (n < len) {
        const size_t step = rb_utf8_char_len(text + n, len - n);
        if (n + (step ? step : 1) > max)
            break;
        n += step ? step : 1;
    }
    RB_AUTO(rb_auto_free) char *cut = rb_xcalloc(n + 1, 1);
    memcpy(cut, text, n);
    rb_json_string(j, cut);
}

void rb_mlflow_query(const char *text, struct rb_buf *out)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
            rb_buf_putc(out, *text);
        else
            rb_buf_printf(out, "%%%02X", (unsigned char)*text);
}
