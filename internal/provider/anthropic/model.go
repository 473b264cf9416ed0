package anthropic

import "github.com/ratchet-dev/ratchet/internal/provider/chat"

// families lists the limits of models by the beginning of their names, the more specific
// first, from platform.claude.com/docs/en/models/overview and the pages of older
// models. Where models of a family differ, or a larger window has to be requested,
// the table has the smaller numbers.
var families = []chat.Family{
	{"claude-opus-5", 1_000_000, 128_000},
	{"claude-sonnet-5", 1_000_000, 128_000},
	{"claude-fable-5", 1_000_000, 128_000},
	{"claude-mythos-5", 1_000_000, 128_000},
	{"claude-opus-4-20", 200_000, 32_000},
	{"claude-opus-4-0", 200_000, 32_000},
	{"claude-opus-4-1", 200_000, 32_000},
	{"claude-opus-4", 200_000, 64_000},
	{"claude-sonnet-4", 200_000, 64_000},
	{"claude-haiku-4", 200_000, 64_000},
	{"claude-3-7-sonnet", 200_000, 64_000},
	{"claude-3-5-", 200_000, 8_192},
	{"claude-3-", 200_000, 4_096},
	{"claude-", 200_000, 0},
}

// reserve is the length of the answer if the request does not bound it, because
// the API demands a number. Thoughts count, too.
const reserve = 32_000
