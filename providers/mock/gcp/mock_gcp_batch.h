// Reads and writes batches: POST /batch/compute/v1 with multipart/mixed, one HTTP request per part; the answer has one
// HTTP answer per part. Every part is answered on its own, with the batch's headers where it has none of the name.
// Pure. Source: "Batching requests" in Compute Engine's documentation; gcloud and Google's client libraries send them.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_BATCH_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_BATCH_H

#include "base/arena.h"
#include "providers/mock/cloud/exchange.h"

#define RB_GCP_BATCH_PATH "/batch/compute/v1"
#define RB_GCP_MAX_BATCH  1000

struct rb_gcp_batch {
    struct rb_gcp_batch_part {
        const char *content_id; // as sent, "<...>"; "": none
        struct rb_exchange_request request;
    } *parts;                   // [n]
    int n;
};

// Everything lives in the arena or in the request. false: *out_why says what is wrong with it.
bool rb_gcp_batch_read(const struct rb_exchange_request *request, struct rb_arena *arena, struct rb_gcp_batch *out,
                       const char **out_why);

extern const char rb_gcp_batch_content_type[];
void rb_gcp_batch_put(const struct rb_gcp_batch_part *part, const struct rb_exchange_answer *answer, struct rb_buf *out);
void rb_gcp_batch_end(struct rb_buf *out);

#endif
