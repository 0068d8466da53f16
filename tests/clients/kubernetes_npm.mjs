// @kubernetes/client-node: a pod, commands in it, its end. Usage: kubernetes_npm.mjs KUBECONFIG MODULES POD
import assert from "node:assert";
import { createRequire } from "node:module";
import { PassThrough, Readable, Writable } from "node:stream";

const [kubeconfig, modules, pod] = process.argv.slice(2);
const k8s = createRequire(modules + "/")("@kubernetes/client-node");

const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const space = { namespace: "rb" };

async function until(holds) {
  for (let tries = 0; tries < 300; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("not so after 30 s");
}

class Sink extends Writable {
  text = "";
  _write(chunk, _encoding, done) {
    this.text += chunk;
    done();
  }
}

async function run(command, stdin) {
  const out = new Sink(), err = new Sink();
  const status = await new Promise((resolve, reject) => {
    new k8s.Exec(config).exec("rb", "rb-1", "node", command, out, err, stdin, false, resolve).catch(reject);
  });
  return { status, out: out.text, err: err.text };
}

await core.createNamespacedPod({ ...space, body: JSON.parse(pod) });
await assert.rejects(core.createNamespacedPod({ ...space, body: JSON.parse(pod) }), (e) => e.code === 409);
await until(async () => (await core.readNamespacedPod({ ...space, name: "rb-1" })).status.phase === "Running");

const plain = await run(["sh", "-c", "echo out; echo err >&2"], null);
assert.deepStrictEqual([plain.status.status, plain.out, plain.err], ["Success", "out\n", "err\n"]);
const failed = await run(["sh", "-c", "exit 7"], null);
assert.strictEqual(failed.status.details.causes[0].message, "7");
const typed = new PassThrough();
typed.write("typed\n");
assert.strictEqual((await run(["head", "-c", "6"], typed)).out, "typed\n");
const large = "x".repeat(1 << 20);
assert.strictEqual((await run(["head", "-c", String(1 << 20)], Readable.from([large]))).out, large);

await core.deleteNamespacedPod({ ...space, name: "rb-1" });
await until(async () => (await core.listNamespacedPod(space)).items.length === 0);
process.exit(0);
