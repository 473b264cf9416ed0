// Package fakemodel is a model for tests: a server that speaks the APIs which
// coding agents talk to, Anthropic's Messages and OpenAI's Chat Completions and
// Responses. It needs no key, and says and calls what the user's prompt tells it
// to, by directives:
//
//	[[say:TEXT]]               the final answer; several add up
//	[[fill:N]]                 N bytes more of it, all in one line: see [Filler]
//	[[think:TEXT]]             thoughts before it, where the API has them
//	[[slow:N]]                 N pieces more of it, a while apart
//	[[tool:NAME {json}]]       a call of a tool; each is a round of its own
//	[[par:NAME {json}]]        a call in the round of the one before
//	[[usage:IN,OUT,CACHED]]    the tokens of each request, CACHED a part of IN
//	[[hang]]                   begin to answer, then send nothing for ever
//	[[drop]]                   cut the stream off after its first piece
//	[[error:STATUS:TYPE:TEXT]] an error of the API
//	[[errorx:N:STATUS:TYPE:TEXT]], [[hang:N]], [[drop:N]]
//	                           the same, for the first N requests alone
//
// TEXT may be a JSON string, which can hold anything; without quotes it ends at
// the first "]]". [Say], [Tool] and [Par] write directives. Hang, drop and error
// happen where they stand: after the rounds of tools before them.
//
// All state but the counts of N is in the conversation, so that a script
// survives its agent. The last user message with directives is the script; what
// the user says later without any goes on with it until it is finished, which
// it is when each of its calls has a result and its final answer was given. A
// call whose result says that it was interrupted is made again; a denied one
// counts as done. After that, and without a script, the answer is "ECHO: " and
// what the user said. The final answer of a script that has none is "TOOLS DONE: "
// and the last result, or "DONE".
//
// A request without tools is one on the side, for a title or a summary: it is
// answered at once, and nothing else of a script happens to it.
package fakemodel
