// An editor: takes one run of `starter acp` to its end, approves every patch, and prints what it is shown.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [library, repository, program, ...args] = process.argv.slice(2);
const acp = await import(library);
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

function pick({ toolCall, options }) {
  const diff = toolCall.content.find((c) => c.type === "diff");
  const option = options.find((o) => o.kind === "allow_once");
  console.log(`pick ${option.name}: ${diff.oldText.trim()} -> ${diff.newText.trim()}`);
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

const client = acp.client({ name: "editor" }).onRequest(acp.methods.client.session.requestPermission, (ctx) => pick(ctx.params));
await client.connectWith(stream, async (ctx) => {
  await ctx.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  await ctx.buildSession(repository).withSession(async (session) => {
    console.log(`session ${session.sessionId}`);
    session.prompt("Make it good");
    for (;;) {
      const message = await session.nextUpdate();
      if (message.kind === "stop") {
        console.log(`stop: ${message.response.stopReason}`);
        return;
      }
      const { update } = message.notification;
      if (update.sessionUpdate === "plan") console.log(`plan: ${update.entries.map((e) => e.content).join("; ")}`);
    }
  });
});
agent.stdin.end();
process.exit(0);
