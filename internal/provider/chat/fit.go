package chat

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

const (
	frameBytes = 8 << 10 // the tools and the note
	maxNamed   = 20      // artifacts that the note names
)

// artifacts holds the artifacts of a request that go with the conversation, and the
// dropped ones.
type artifacts struct{ kept, dropped []prompt.Artifact }

func artifactsOf(req provider.Request) artifacts {
	var a artifacts
	for _, given := range req.ContextArtifacts {
		a.kept = append(a.kept, prompt.Artifact(given))
	}
	return a
}

// keepFirst drops all but the first n, because the most important come first.
func (a artifacts) keepFirst(n int) artifacts {
	all := append(a.kept[:len(a.kept):len(a.kept)], a.dropped...)
	return artifacts{all[:n], all[n:]}
}

// fitInto keeps as many as fit into size bytes. ok is false if there is no room at all.
func (a artifacts) fitInto(size int) (_ artifacts, ok bool) {
	if size < 0 {
		return a, false
	}
	for n := range a.kept {
		one := prompt.Prompt{Artifacts: a.kept[n : n+1]}
		if size -= len(one.Message()); size < 0 {
			return a.keepFirst(n), true
		}
	}
	return a, true
}

// writeText returns the artifacts as package prompt writes them, and a note on the dropped ones.
func (a artifacts) writeText() string {
	text := prompt.Prompt{Artifacts: a.kept}.Message()
	if len(a.dropped) == 0 {
		return text
	}
	var names []string
	for _, d := range a.dropped[:min(len(a.dropped), maxNamed)] {
		names = append(names, fmt.Sprintf("%.200q", d.Name))
	}
	if more := len(a.dropped) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return text + fmt.Sprintf("# Artifacts left out\n\nThese did not fit into the model's context window, even if the text below mentions them: %s.\n\n", strings.Join(names, ", "))
}

// estimateTokens estimates the tokens of a text of n bytes.
func estimateTokens(n int) int { return (n + 3) / 4 }

// fitContext makes the context out of the artifacts for which the model's window has room. It fails if the
// window has none for the rest of the prompt.
func (c *activeCall) fitContext() *failure.Error {
	fixed := len(c.conv.System) + len(c.conv.User) + frameBytes
	room := 4*(c.Model.Window-c.conv.MaxOutput) - fixed
	kept, ok := c.artifacts.fitInto(room)
	if !ok {
		return &failure.Error{Code: failure.BadRequest, Message: fmt.Sprintf(
			"%s: about %d tokens of prompt and %d of answer do not fit into the %d of %s",
			failure.TooLong, estimateTokens(fixed), c.conv.MaxOutput, c.Model.Window, c.Model.Name)}
	}
	c.artifacts = kept
	c.conv.Context = kept.writeText()
	return nil
}

// shrinkContext drops half of the artifacts, once. ok is false if that is impossible.
func (c *activeCall) shrinkContext() (ok bool) {
	if c.shrunk || len(c.artifacts.kept) == 0 {
		return false
	}
	c.shrunk = true
	c.artifacts = c.artifacts.keepFirst(len(c.artifacts.kept) / 2)
	c.conv.Context = c.artifacts.writeText()
	return true
}

// setMaxOutput sets the length of the next message.
func (c *activeCall) setMaxOutput() {
	want := c.req.Constraints.MaxOutputTokens
	if c.conv.Bounded = want > 0; !c.conv.Bounded {
		want = min(c.Model.Reserve, c.Model.Window/4)
	}
	if most := c.Model.MaxOutput; most > 0 {
		want = min(want, most)
	}
	if budget := c.req.Work.Left.Tokens; budget > 0 {
		if left := budget - c.used.toUsage(c.Price).TotalTokens; left < int64(want) {
			want, c.conv.Bounded = int(max(left, 1)), true
		}
	}
	c.conv.MaxOutput = want
}
