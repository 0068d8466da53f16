// Lists every limit of the program with its reason. Exceeding a limit is an error that names it.
#ifndef RB_BASE_LIMITS_H
#define RB_BASE_LIMITS_H

#include <stdint.h>

#define RB_LIMIT_DOC_BYTES      (4 << 20)   // a job or profile is written by people; 4 MiB holds 100k lines
#define RB_LIMIT_PLAN_BYTES     (64 << 20)  // plans and reports are written by us: 100k trials fit
#define RB_LIMIT_CSV_BYTES      (256 << 20) // largest measured trace is a few MiB; price lists are streamed
#define RB_LIMIT_CSV_CELLS      (32 << 20)  // one pointer each: 256 MiB
#define RB_LIMIT_CSV_COLUMNS    1024        // the widest table we know has 40
#define RB_LIMIT_DOC_DEPTH      64          // deeper nesting is an attack, not a document
#define RB_LIMIT_DOC_NODES      2000000     // bounds memory of a parsed document to some 300 MiB
#define RB_LIMIT_TRIALS         131072      // 100k-trial jobs are a goal
#define RB_LIMIT_RESOURCE       1000000     // units a trial may train; each is one sample of every simulated trial
#define RB_LIMIT_DURATION_S     31622400    // 366 days: a longer deadline or timeout is a typing error
#define RB_LIMIT_KEEP_S         604800      // a week: a controller's machine that is kept for longer is forgotten
#define RB_LIMIT_RELEASE_S      86400       // a day: an autoscaler that keeps an empty machine for longer is broken
// 300 years, since a run began or since 1970: a later time is wrong
#define RB_LIMIT_TIME_US        INT64_C(9467280000000000)
#define RB_LIMIT_NODE_UUSD      INT64_C(100000000000000) // cost of one node: 16384 of them still add up in 64 bits
#define RB_LIMIT_STAGES         64          // eta >= 2 and R/r <= 2^63 cannot give more
#define RB_LIMIT_NODES          16384       // nodes ever requested in one run
#define RB_LIMIT_GPUS_PER_NODE  64          // largest node sold has 16; bit masks are 64 wide
#define RB_LIMIT_TRIALS_PER_GPU 10         // with more, no trial gets enough of the GPU; shares are counted in 2520ths of a GPU
#define RB_LIMIT_PARAMETERS     256
#define RB_LIMIT_INSTANCE_TYPES 256         // offers considered in one plan
#define RB_LIMIT_LAYOUTS        256         // measured (gpus, nodes) points of one accelerator
#define RB_LIMIT_THROUGHPUT_SAMPLES 512    // placements and batches one run learns from; each new one is a fit of all
#define RB_LIMIT_METRIC_LINE    65536       // a longer line from a node is cut: it is untrusted bytes
#define RB_LIMIT_HTTP_BYTES     (64 << 20)  // a cloud's answer; one page of 1000 instances is 4 MiB
#define RB_LIMIT_XML_DEPTH      64
#define RB_LIMIT_SEARCH_LINE    (256 << 10) // a configuration of 256 parameters is 32 KiB; the program may be broken
#define RB_LIMIT_MCP_LINE       (4 << 20)   // a message names files, it does not hold them
#define RB_LIMIT_MCP_OUTPUT     (16 << 20)  // what one tool returns; a plan of 64 stages is 100 KiB
#define RB_LIMIT_MCP_TEXT       4096        // one string of a tool's result: names and commands come from strangers
#define RB_LIMIT_MCP_PLANS      100         // that estimate keeps: an agent estimates all day
#define RB_LIMIT_MCP_CALLS      8           // tools at work at once
#define RB_LIMIT_SHARED_REPORT  (16 << 20)  // 1000 trials with 400 reports each are 9 MiB; it was written by others
#define RB_LIMIT_SHARED_REPORTS 10000       // of one folder: more belong into several
#define RB_LIMIT_USER_DATA      16384       // EC2: 16 KiB before base64

#endif
