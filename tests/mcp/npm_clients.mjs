// Other people's clients against rbmcp: npm_clients.mjs MODULES RBMCP ROOT. MODULES has @modelcontextprotocol/client and /sdk, as
// `npm install @modelcontextprotocol/client@2.3.1 @modelcontextprotocol/sdk@1.32.2` leaves them. The sdk also checks
// structuredContent against outputSchema.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";
import assert from "node:assert";

const [modules, rbmcp, root] = process.argv.slice(2);
const require = createRequire(path.join(modules, "x.js"));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);

async function exercise(label, client, transport) {
    await client.connect(transport);
    const tools = (await client.listTools()).tools.map((t) => t.name).sort();
    assert.deepStrictEqual(tools, ["approve", "check", "estimate", "explain", "pareto", "report", "run", "status", "stop", "what_if"]);
    const call = async (name, args) => client.callTool({ name, arguments: args });
    const progress = [];
    const checked = await client.callTool({ name: "check", arguments: { job: "job.yaml" } }, ...(label === "sdk" ? [undefined] : []),
        { onprogress: (p) => progress.push(p) });
    assert.equal(checked.structuredContent.format, "rb-check/1");
    const plan = await call("estimate", { job: "job.yaml", set: ["deadline=4m"] });
    assert.equal(plan.structuredContent.format, "rb-plan/1");
    const kept = JSON.parse(plan.content[1].text);
    assert.equal((await call("what_if", { job: "job.yaml", changes: ["price=-20%"] })).structuredContent.format, "rb-what-if/1");
    assert.equal((await call("pareto", { job: "job.yaml" })).structuredContent.format, "rb-pareto/1");
    assert.equal((await call("explain", { job: "job.yaml" })).structuredContent.format, "rb-plan/1");
    const asked = await call("approve", { plan: kept.plan, max_cost: 5 });
    assert.equal(asked.structuredContent.pending, true);
    const refused = await call("run", { plan: kept.plan, plan_sha256: kept.plan_sha256, approval: asked.structuredContent.approval });
    assert.equal(refused.isError, true);
    const read = await client.readResource({ uri: "rb://errors/RB1112" });
    assert.match(read.contents[0].text, /RB1112/);
    assert.equal((await client.listResources()).resources.length, 0);
    assert.equal((await client.listPrompts()).prompts.length, 2);
    const prompt = await client.getPrompt({ name: "plan_within_budget", arguments: { job: "job.yaml", budget: "5" } });
    assert.match(prompt.messages[0].content.text, /job\.yaml/);
    await assert.rejects(client.readResource({ uri: "rb://nothing" }));
    await assert.rejects(client.callTool({ name: "nothing", arguments: {} }));
    await client.close();
    console.log("ok " + label);
}

const server = { command: rbmcp, args: ["--root", root], stderr: "ignore", env: process.env };
const info = { name: "test", version: "1" };
{
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
    await exercise("sdk", new Client(info), new StdioClientTransport(server));
}
{
    const { Client } = await load("@modelcontextprotocol/client");
    const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
    for (const [label, versionNegotiation] of [["client, legacy", undefined], ["client, auto", { mode: "auto" }],
                                               ["client, pinned", { mode: { pin: "2026-07-28" } }]])
        await exercise(label, new Client(info, versionNegotiation ? { versionNegotiation } : {}), new StdioClientTransport(server));
}
