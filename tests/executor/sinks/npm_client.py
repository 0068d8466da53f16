#!/usr/bin/env python3
"""Is the tracking server of these tests one that other people's clients can use? The npm package mlflow, unmodified, creates an
experiment and a run, logs, and reads back. RB_MLFLOW_NPM names the folder in which it was installed; without it skipped.
    npm_client.py"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import fake_mlflow  # noqa: E402: its folder is known only here

NPM = os.environ.get("RB_MLFLOW_NPM")
SCRIPT = """
const MLflow = require('mlflow');
const { Experiments, Runs, Metrics } = new MLflow({ endpoint: process.argv[1], headers: { Authorization: 'Bearer secret' } });
(async () => {
  const { experiment_id } = await Experiments.create({ name: 'digits' });
  const refused = await Experiments.create({ name: 'digits' }).then(() => 'taken twice', () => 'refused');
  const { run: { info: { run_id } } } = await Runs.create({ experiment_id, start_time: 1000,
    tags: [{ key: 'rubberband_run', value: 'digits-1' }] });
  await Runs.logBatch({ run_id, metrics: [{ key: 'loss', value: 0.5, timestamp: 1001, step: 1 },
    { key: 'loss', value: 0.25, timestamp: 1002, step: 2 }], params: [{ key: 'lr', value: '0.1' }], tags: [] });
  await Runs.update({ run_id, status: 'FINISHED', end_time: 2000 });
  const { metrics } = await Metrics.getHistory({ run_id, metric_key: 'loss' });
  const { runs } = await Runs.search({ experiment_ids: [experiment_id], filter: 'tags.rubberband_run = "digits-1"', max_results: 10 });
  console.error(JSON.stringify({ refused, losses: metrics.map((m) => m.value), status: runs[0].info.status }));
})().catch((e) => { console.error(e); process.exit(1); });
"""


class NpmClient(unittest.TestCase):
    def test_it_works_with_the_server(self):
        server = fake_mlflow.Server(token="secret")
        self.addCleanup(server.stop)
        done = subprocess.run(["node", "-e", SCRIPT, server.url], cwd=NPM, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.strip().splitlines()[-1], '{"refused":"refused","losses":[0.5,0.25],"status":"FINISHED"}')
        self.assertEqual(server.violations, [])


if __name__ == "__main__":
    if not NPM:
        print("skipped: no npm client of MLflow; npm install --prefix DIR mlflow@2.0.7, and RB_MLFLOW_NPM=DIR")
        sys.exit(77)
    unittest.main()
