// Source: "About VM metadata", project/project-id.
#include "providers/gcp/google_project.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "providers/wire/http_tls.h"

#include <string.h>

enum { PATIENCE_MS = 5000, ID_BYTES = 64 };

struct answer {
    char text[ID_BYTES];
    size_t n;
    bool is_theirs; // another server at that address may answer, but does not send this header
};

// Fewer bytes than came end the transfer: no project has such an id.
static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;
    n *= size;
    if (n >= sizeof a->text - a->n)
        return 0;
    memcpy(a->text + a->n, bytes, n);
    a->n += n;
    return n;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *arg)
{
    static const char flavor[] = "Metadata-Flavor: Google";
    struct answer *a = arg;
    a->is_theirs = a->is_theirs || (size * n >= strlen(flavor) && strncasecmp(bytes, flavor, strlen(flavor)) == 0);
    return size * n;
}

static bool ask(CURL *easy, const char *url, struct curl_slist *headers, struct answer *out, struct rb_err *err)
{
    long status = 0;
    if (!rb_http_protect(easy, true, NULL, err))
        return false;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)PATIENCE_MS);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, out);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, out);
    const CURLcode rc = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return (rc == CURLE_OK && status == 200 && out->is_theirs && out->n > 0) ||
           rb_err_set(err, RB_E_GCP_PROJECT,
                      "this machine's metadata service at %.100s does not say its project (%s, status %ld); set "
                      "GOOGLE_CLOUD_PROJECT",
                      url, rc == CURLE_OK ? "answered" : curl_easy_strerror(rc), status);
}

bool rb_google_project_of_machine(const char *service, char out[static 64], struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    struct answer answer = {.n = 0};
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Metadata-Flavor: Google");
    rb_buf_printf(&url, "%s%scomputeMetadata/v1/project/project-id", service,
                  service[strlen(service) - 1] == '/' ? "" : "/");
    const bool ok = easy && headers ? ask(easy, rb_buf_str(&url), headers, &answer, err)
                                    : rb_err_set(err, RB_E_HTTP_LIBRARY, "libcurl cannot begin a request");
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
    if (ok)
        memcpy(out, answer.text, sizeof answer.text);
    return ok;
}
