// Holds the conversation of `conversation.json` through a TypeScript SDK and prints what came back.
//
// usage: typescript_client.mjs PACKAGES MODE SERVER [ARGUMENT…]
//
// PACKAGES is the folder that holds `node_modules` with either line of the SDK. MODE is `legacy`, `auto` or a
// protocol revision; the 1.x line knows `legacy` only. The judgement is left to `check_conversation.py`: this file
// only speaks, so that every client is judged alike.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [packages, mode, command, ...args] = process.argv.slice(2);
// The packages live outside of the repository, where a plain `import` does not look.
const require = createRequire(resolve(packages, "package.json"));
const second = existsSync(join(packages, "node_modules/@modelcontextprotocol/client"));
const { Client } = require(second ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require(
  second ? "@modelcontextprotocol/client/stdio" : "@modelcontextprotocol/sdk/client/stdio.js",
);
const { turns } = JSON.parse(readFileSync(new URL("conversation.json", import.meta.url), "utf8"));

const client = new Client(
  { name: "companion-memory-check", version: "1" },
  { versionNegotiation: { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } } },
);
const transport = new StdioClientTransport({ command, args });
let revision;
// The 1.x line tells the revision to its transport only.
transport.setProtocolVersion = (version) => (revision = version);
await client.connect(transport);
// The SDK checks results against the schemas that it has been told, so the list comes first.
const { tools } = await client.listTools();
const answers = [];
for (const { call, with: given } of turns) answers.push(await client.callTool({ name: call, arguments: given }));
const transcript = {
  revision: client.getNegotiatedProtocolVersion?.() ?? revision,
  server: client.getServerVersion()?.name,
  tools,
  answers,
};
const closedAt = performance.now();
await client.close();
transcript.close_seconds = (performance.now() - closedAt) / 1000;
console.log(JSON.stringify(transcript));
