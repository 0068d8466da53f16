#include "providers/wire/http_tls.h"

#include "base/arena.h"
#include "base/text/buf.h"

#include <string.h>

bool rb_http_protect(CURL *easy, bool local, const char *ca_file, struct rb_err *err)
{
    const bool ok = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, local ? "http,https" : "https") == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
                    (!local || curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK) &&
                    (!ca_file || curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file) == CURLE_OK);
    return ok ||
           rb_err_set(err, RB_E_HTTP_LIBRARY, "libcurl %s lacks a security option; expected 7.85 or later with TLS",
                      curl_version_info(CURLVERSION_NOW)->version);
}

static bool set_pem(CURL *easy, CURLoption option, const char *pem)
{
    struct curl_blob blob = {.data = (void *)(uintptr_t)pem, .len = pem ? strlen(pem) : 0, .flags = CURL_BLOB_COPY};
    return !pem || curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

// curl compares the certificate with the URL's host: the URL gets the name, and leads to where it led before.
static bool set_name(CURL *easy, CURLU *url, const char *name, struct curl_slist **out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf to = RB_BUF_INIT;
    char *host = NULL, *port = NULL;
    const bool known = curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                       curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;
    if (known)
        rb_buf_printf(&to, "%s:%s:%s:%s", name, port, host, port);
    curl_free(host);
    curl_free(port);
    *out = known && curl_url_set(url, CURLUPART_HOST, name, 0) == CURLUE_OK ? curl_slist_append(NULL, to.data) : NULL;
    return *out && curl_easy_setopt(easy, CURLOPT_CONNECT_TO, *out) == CURLE_OK;
}

bool rb_http_set_peer(CURL *easy, CURLU *url, const struct rb_http_peer *peer, struct curl_slist **out_connect_to,
                      struct rb_err *err)
{
    *out_connect_to = NULL;
    const bool ok = !peer || (set_pem(easy, CURLOPT_CAINFO_BLOB, peer->ca_pem) &&
                              set_pem(easy, CURLOPT_SSLCERT_BLOB, peer->cert_pem) &&
                              set_pem(easy, CURLOPT_SSLKEY_BLOB, peer->key_pem) &&
                              (!peer->proxy || curl_easy_setopt(easy, CURLOPT_PROXY, peer->proxy) == CURLE_OK) &&
                              (!peer->tls_name || set_name(easy, url, peer->tls_name, out_connect_to)));
    return ok || rb_err_set(err, RB_E_HTTP_LIBRARY,
                            "libcurl %s does not take certificates from memory; expected 7.85 or later with OpenSSL",
                            curl_version_info(CURLVERSION_NOW)->version);
}
