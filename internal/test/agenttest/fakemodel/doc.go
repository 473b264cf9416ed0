// Package fakemodel is a model for tests: a server that implements the APIs of coding agents,
// Anthropic's Messages and OpenAI's Chat Completions and Responses. It needs no key. Directives in
// the user's prompt decide its texts and calls:
//
//	[[say:TEXT]]               the final answer; several add up
//	[[fill:N]]                 N bytes more of it, all in one line: see [Filler]
//	[[think:TEXT]]             thoughts before it, where the API has them
//	[[slow:N]]                 N pieces more of it, a while apart
//	[[tool:NAME {json}]]       a call of a tool; each is a round of its own. GROUP/NAME is a tool of a group, where
//	                           the API has them
//	[[par:NAME {json}]]        a call in the round of the one before
//	[[usage:IN,OUT,CACHED]]    the tokens of each request, CACHED a part of IN
//	[[hang]]                   begin to answer, then send nothing for ever
//	[[drop]]                   cut the stream off after its first piece
//	[[error:STATUS:TYPE:TEXT]] an error of the API
//	[[errorx:N:STATUS:TYPE:TEXT]], [[hang:N]], [[drop:N]]
//	                           the same, for the first N requests alone
//
// TEXT may be a JSON string, which can hold anything. Without quotes it ends at the first "]]".
// [Say], [Tool] and [Par] write directives. Hang, drop and error happen in their place: after the
// rounds of tools before them.
//
// All state but the counts of N is in the conversation: a script survives its agent. The last user
// message with directives is the script. Later user messages without directives continue it until
// it is finished. It is finished when each of its calls has a result and its final answer was
// given. A call is made again when its result says that it was interrupted. A denied call counts as
// done. After that, and without a script, the answer is "ECHO: " and the user's text. The final
// answer of a script without one is "TOOLS DONE: " and the last result, or "DONE".
//
// A request without tools is a request on the side, for a title or a summary. It is answered at
// once, and the script does not otherwise apply to it.
package fakemodel
