package openai

import "github.com/ratchet-dev/ratchet/internal/provider/chat"

// families lists the limits of models by the beginning of their names, the more specific
// first, from platform.openai.com/docs/models. The window of the GPT-5 family is
// its limit for the input; it has more for the answer. Where models of a family
// differ, the table has the smaller numbers.
var families = []chat.Family{
	{"gpt-5-chat", 128_000, 16_384},
	{"gpt-5.1-chat", 128_000, 16_384},
	{"gpt-5.2-chat", 128_000, 16_384},
	{"gpt-5.3-chat", 128_000, 16_384},
	{"gpt-5", 272_000, 128_000},
	{"gpt-oss", 131_072, 0},
	{"gpt-4.1", 1_047_576, 32_768},
	{"gpt-4.5", 128_000, 16_384},
	{"gpt-4o-2024-05-13", 128_000, 4_096},
	{"gpt-4o", 128_000, 16_384},
	{"chatgpt-4o", 128_000, 16_384},
	{"gpt-4-turbo", 128_000, 4_096},
	{"gpt-4-0125", 128_000, 4_096},
	{"gpt-4-1106", 128_000, 4_096},
	{"gpt-4-32k", 32_768, 0},
	{"gpt-4", 8_192, 0},
	{"gpt-3.5-turbo-instruct", 4_096, 0},
	{"gpt-3.5", 16_385, 4_096},
	{"o1-preview", 128_000, 32_768},
	{"o1-mini", 128_000, 65_536},
	{"o1", 200_000, 100_000},
	{"o3", 200_000, 100_000},
	{"o4-mini", 200_000, 100_000},
}

// reserve is kept free for the answer when the request does not bound it.
const reserve = 16_000
