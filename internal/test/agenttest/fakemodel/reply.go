package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reply is the model's answer to one request, independent of any API's form.
type Reply struct {
	Think string
	// Pieces add up to the text. Pace is the pause after each.
	Pieces []string
	Pace   time.Duration
	Calls  []ToolCall
	Usage  TokenCount
	// Fault happens instead of the answer, or in the middle of it; nil means no fault.
	Fault *Fault
}

// Text returns the whole text.
func (r Reply) Text() string { return strings.Join(r.Pieces, "") }

// TokenCount counts the tokens of a request. Cached is a part of Input.
type TokenCount struct{ Input, Output, Cached int }

// Fault is the failure of a request: an error of the API with a status, or a stream that hangs or
// is cut off.
type Fault struct {
	Status     int
	Type, Text string
	Hang, Drop bool
}

// pace is the pause between the pieces of a slow answer.
const pace = 300 * time.Millisecond

// state is the progress of a script in a conversation.
type state struct {
	script
	prompt string       // the text with the script
	done   map[int]bool // the finished calls, by their index
	result string       // the last result
	said   []string     // the assistant's texts since, one per message
	later  string       // the user's last text since
}

// reply chooses the answer to a request. counted counts one more fault of a prompt, and returns the
// count.
func reply(q Request, counted func(prompt string, f fault) int) Reply {
	s, err := follow(q.Messages)
	if err != nil {
		return Reply{Fault: &Fault{Status: http.StatusBadRequest, Type: "invalid_request_error", Text: "fakemodel: " + err.Error()}}
	}
	r := Reply{Usage: s.usage}
	round := s.round()
	switch {
	case len(q.Tools) == 0:
		r.Pieces = pieces(s.aside())
		return r
	case s.prompt == "" || s.finished():
		r.Pieces = pieces(s.rest())
		return r
	case round < s.rounds:
		r.Calls = s.calling(round)
	default:
		r.Think, r.Pieces = s.think, append(pieces(s.answer()), s.slowly()...)
		if s.slow > 0 {
			r.Pace = pace
		}
	}
	r.Fault = s.fault(round, counted)
	return r
}

// follow finds the script of a conversation and the progress of the script.
func follow(messages []Message) (state, error) {
	s := state{done: map[int]bool{}}
	at := 0
	for i, m := range messages {
		for _, text := range m.Texts {
			if m.Role == User && holdsScript(text) {
				s.prompt, at = text, i+1
			}
		}
	}
	for _, m := range messages[at:] {
		s.take(m)
	}
	var err error
	s.script, err = parse(s.prompt)
	return s, err
}

// take updates the progress from a message after the script.
func (s *state) take(m Message) {
	for _, r := range m.Results {
		s.result = r.Text
		if i, ok := indexOf(r.CallID); ok && !interrupted.MatchString(r.Text) {
			s.done[i] = true
		}
	}
	if m.Role == Assistant {
		s.said = append(s.said, strings.TrimSpace(strings.Join(m.Texts, "")))
		return
	}
	for _, text := range m.Texts {
		if !added.MatchString(text) {
			s.later = text
		}
	}
}

// interrupted matches the beginning of the result of a call whose outcome is not known, or that an
// interrupt prevented. Claude Code also calls the latter rejected (internal/agent/claude/CLIENT.md,
// 8; internal/agent/codex/CLIENT.md, 8).
var interrupted = regexp.MustCompile(`^(Wall time: .*\s)?(?i:\W*(tool )?(call |execution |use |operation )?(was )?(interrupted|aborted|cancelled)\b)|` +
	`^The user doesn't want to .* STOP what you are doing and wait|^No result provided$|` +
	`^Tool permission request failed: .*stream closed before response received`)

// added matches the texts that clients add to the user's text.
var added = regexp.MustCompile(`^\s*(<(system-reminder|environment_context|user_instructions|turn_aborted)|\[Request interrupted|$)`)

// round returns the first round that is not done.
func (s *state) round() int {
	for i, c := range s.calls {
		if !s.done[i] {
			return c.round
		}
	}
	return s.rounds
}

// calling returns the calls of a round that are not done. Their ids contain the index of the call.
func (s *state) calling(round int) []ToolCall {
	var calls []ToolCall
	for i, c := range s.calls {
		if c.round == round && !s.done[i] {
			c.ID = fmt.Sprintf("call_%s_%d", rand.Text()[:16], i)
			calls = append(calls, c.ToolCall)
		}
	}
	return calls
}

func indexOf(id string) (int, bool) {
	i, err := strconv.Atoi(id[strings.LastIndexByte(id, '_')+1:])
	return i, err == nil && strings.HasPrefix(id, "call_")
}

func (s *state) finished() bool {
	whole := strings.TrimSpace(s.answer() + strings.Join(s.slowly(), ""))
	return s.round() == s.rounds && slices.Contains(s.said, whole)
}

// aside returns the answer to a request on the side.
func (s *state) aside() string {
	if s.rounds > 0 || s.slow > 0 {
		return "A title"
	}
	return s.rest()
}

// rest returns the answer when the script has nothing left to do.
func (s *state) rest() string {
	if s.later != "" {
		return "ECHO: " + tail(s.later, 200)
	}
	return s.answer()
}

func (s *state) answer() string {
	switch {
	case s.say != "" || s.slow > 0:
		return s.say
	case s.rounds > 0:
		return "TOOLS DONE: " + s.result
	default:
		return "DONE"
	}
}

func (s *state) slowly() []string {
	var slow []string
	for i := range s.slow {
		slow = append(slow, fmt.Sprintf("slow%d ", i))
	}
	return slow
}

func (s *state) fault(round int, counted func(string, fault) int) *Fault {
	for _, f := range s.faults {
		if f.after == round && (f.first == 0 || counted(s.prompt, f) <= f.first) {
			return &f.Fault
		}
	}
	return nil
}

// pieces cuts a text for a stream, between runes.
func pieces(text string) []string {
	size := max(12, len(text)/64)
	var cut []string
	for part := range slices.Chunk([]rune(text), size) {
		cut = append(cut, string(part))
	}
	return cut
}

func tail(text string, size int) string {
	runes := []rune(strings.TrimSpace(text))
	return string(runes[max(0, len(runes)-size):])
}

// Message is one message of a conversation.
type Message struct {
	Role    Role
	Texts   []string
	Calls   []ToolCall
	Results []Result
}

// Role is the author of a message.
type Role string

// The roles. The results of tools come in messages of the user.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// ToolCall is a call of a tool.
type ToolCall struct {
	ID, Tool string
	Input    json.RawMessage
}

// Result is the result of a call.
type Result struct {
	CallID, Text string
	Error        bool
}
