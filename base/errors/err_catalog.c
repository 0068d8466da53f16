// Areas of the catalogue, and the search in it.
#include "base/errors/err_catalog.h"

#include <assert.h>
#include <stddef.h>

static const struct rb_err_area areas[] = {
    {1000, "The command line", "Options, operands and the answers a command asks for."},
    {1100, "Files and formats", "Reading and writing files, and the syntax that all formats share: YAML, JSON, CSV."},
    {1200, "The job file", "The contents of job.yaml, beyond its syntax. docs/formats/job.md describes every key."},
    {1300, "Profiles and their store",
     "Measured and imported profiles, fitted models, and the sqlite file that keeps them."},
    {1400, "Prices and machines on offer", "Price lists, and which machines of them the job may use."},
    {1500, "Plans", "plan.json, read back."},
    {2000, "Planning", "The search for a plan, and why there is none."},
    {3000, "Clouds", "What all providers share: credentials, permission, quota, capacity, answers."},
    {3100, "Amazon EC2", "Errors that only AWS reports."},
    {3200, "Google Compute Engine", "Errors that only Google Cloud reports."},
    {3300, "Slurm", "Errors that only slurmrestd and Slurm report."},
    {3400, "This machine", "The provider `local`, and nodes that a pool lends."},
    {3500, "Kubernetes", "Errors that only clusters of Kubernetes report."},
    {4000, "Runs", "Carrying a plan out: run directories, the journal, resuming."},
    {4100, "Nodes", "Starting, reaching and preparing the machines of a run."},
    {4200, "Trials and checkpoints", "Training processes, their files, and where these are kept."},
    {4300, "Trackers and sinks", "Results sent to MLflow, TensorBoard, Optuna, CSV files and Prometheus."},
    {4400, "Around a run", "Notices, reservations, container images, controllers on other hosts and machines, and the job's data."},
    {5000, "Simulation", "rbsim, learning curves, and traces of many jobs."},
    {6000, "The mock cloud", "rbmock: its price list, chaos, nodes and files."},
    {7000, "Reports and pictures", "HTML, SVG and text made from plans, estimates and reports."},
};

static const struct rb_err_entry entries[] = {
#define E(number, name, class, words, cause, remedy, example) {number, RB_ERR_##class, words, cause, remedy, example},
#include "base/errors/err_catalog.def"
#undef E
};

const struct rb_err_entry *rb_err_entries(int *out_n)
{
    *out_n = (int)(sizeof entries / sizeof entries[0]);
    return entries;
}

const struct rb_err_entry *rb_err_entry(int number)
{
    int low = 0, high = (int)(sizeof entries / sizeof entries[0]);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (entries[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    const int n = (int)(sizeof entries / sizeof entries[0]);
    return low < n && entries[low].number == number ? &entries[low] : NULL;
}

const struct rb_err_area *rb_err_area(int number)
{
    assert(number >= areas[0].first);
    size_t i = sizeof areas / sizeof areas[0] - 1;
    while (areas[i].first > number)
        i--;
    return &areas[i];
}
