// Any bytes as an answer of slurmrestd: refused, or values that are safe to act upon.
#include "providers/slurm/slurm_decode.h"
#include "providers/slurm/slurm_errors.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

// Numbers and node names become parts of paths and of command lines.
static void check_job(const struct rb_instance *i)
{
    require(i->id[0] && strspn(i->id, "0123456789") == strlen(i->id));
    require(!i->address || (i->address[0] != '-' && !strpbrk(i->address, " /'\"$`\\;|&<>\n")));
    require(i->state >= RB_INSTANCE_PENDING && i->state <= RB_INSTANCE_TERMINATED && i->state_reason);
    require(i->state != RB_INSTANCE_PENDING || i->running_at_us == -1);
    require(i->terminated_at_us == -1 || i->state == RB_INSTANCE_TERMINATED);
}

static void check_answer(const struct rb_node *answer)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_slurm_jobs jobs;
    struct rb_err err = {0};
    enum rb_api_reaction reaction;
    int64_t id;
    int number;
    if (rb_slurm_decode_jobs(answer, "root", &arena, &jobs, &err))
        for (int i = 0; i < jobs.n; i++)
            check_job(&jobs.instances[i]);
    if (rb_slurm_decode_submission(answer, &id, &err))
        require(id >= 0);
    if (rb_slurm_first_error(answer, &number, &reaction, &err))
        require(err.code != RB_ERR_NONE && number >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct rb_doc doc = {0};
    struct rb_err err = {0};
    for (long status = 400; status <= 503; status += 103)
        rb_slurm_judge(status, (const char *)data, n, &err);
    require(err.code != RB_ERR_NONE);
    if (rb_doc_parse_json(&doc, "answer", (const char *)data, n, NULL))
        check_answer(doc.root);
    rb_doc_finish(&doc);
    return 0;
}
