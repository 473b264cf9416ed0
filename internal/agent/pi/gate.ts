// The gate of ratchet: every call of a tool waits for the word of the program
// that started pi. Without an answer there is no call.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const answers = ["allow", "deny", "abort"];

export default function (pi: ExtensionAPI) {
	pi.on("session_start", (_event, ctx) => ctx.ui.setStatus("ratchet-gate", "closed"));

	pi.on("tool_call", async ({ toolName, toolCallId, input }, ctx) => {
		const question = JSON.stringify({ gate: 1, toolName, toolCallId, input });
		// An interrupt of the turn takes the question back.
		const answer = (await ctx.ui.select(question, answers, { signal: ctx.signal })) ?? "deny";
		if (answer === "allow") return undefined;
		if (answer === "abort") ctx.abort();
		// What follows the word is for the model.
		return { block: true, reason: answer.replace(/^(deny|abort):?\s*/, "") || "denied" };
	});
}
