// Reads and writes quantities of Kubernetes ("4", "1500m", "16Gi", "0.5") in thousandths. The API server answers in the
// canonical form, not in the one that it was sent: no fraction, the largest suffix that leaves a whole number, powers of
// two where the text had them. Source: apimachinery, pkg/api/resource.
#ifndef RB_PROVIDERS_MOCK_K8S_QUANTITY_H
#define RB_PROVIDERS_MOCK_K8S_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

struct rb_quantity {
    int64_t milli;  // thousandths of a core, a byte, a piece
    bool is_binary; // written with Ki, Mi, ...
};

// False: no quantity, negative, or beyond 9e15. What is finer than a thousandth is rounded up.
bool rb_quantity_parse(const char *text, struct rb_quantity *out);
char *rb_quantity_format(const struct rb_quantity *q, char out[static 32]); // canonical

#endif
