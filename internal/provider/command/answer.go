package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// answer is the parsed output of a program.
type answer struct {
	raw    string
	finish provider.FinishReason // empty: not given
	usage  *run.Usage
	err    *failure.Error // the error that it reports
	broken error          // the defect of its report
}

// readAnswer distinguishes a ProviderResponse from raw text by the member rawText. It ignores members that
// the contract does not know, and durationMs, which this package measures itself.
func readAnswer(out []byte) answer {
	members, text, ok := findResponse(bytes.TrimPrefix(out, []byte("\ufeff")))
	if !ok {
		return answer{raw: string(out)}
	}
	a := answer{raw: string(out)}
	a.broken = errors.Join(
		a.readText(text),
		readMember(members, "finishReason", &a.finish),
		a.readUsage(members),
		a.readError(members),
	)
	return a
}

// footer is what package managers and terminals write behind a program's output.
var footer = regexp.MustCompile(`(?:\s|(?m:^Done in [0-9.]+ ?m?s\.?$)|\x1b\[[0-9;?]*[A-Za-z])+$`)

// maxFooter bounds it.
const maxFooter = 512

// codes are control sequences of a terminal at the beginning of a line.
var codes = regexp.MustCompile(`^(?:\x1b\[[0-9;?]*[A-Za-z])+`)

// findResponse returns the members of the response in an output: of the whole output, or of its last line, before which
// libraries of the program may have printed lines of their own.
func findResponse(out []byte) (members map[string]json.RawMessage, text json.RawMessage, ok bool) {
	tail := max(0, len(out)-maxFooter)
	if at := footer.FindIndex(out[tail:]); at != nil {
		out = out[:tail+at[0]]
	}
	trimmed := bytes.TrimSpace(out)
	last := bytes.TrimPrefix(trimmed[bytes.LastIndexByte(trimmed, '\n')+1:], []byte("\ufeff"))
	last = last[len(codes.Find(last)):]
	begin := bytes.Index(trimmed, []byte("\n{")) + 1 // a response of several lines behind a banner
	for _, part := range [][]byte{trimmed, last, trimmed[begin:]} {
		members = nil
		if !bytes.HasPrefix(part, []byte("{")) || json.Unmarshal(part, &members) != nil {
			continue
		}
		if text, ok = members["rawText"]; ok {
			return members, text, true
		}
	}
	return nil, nil, false
}

func (a *answer) readText(member json.RawMessage) error {
	var text *string
	if err := json.Unmarshal(member, &text); err != nil || text == nil {
		return errors.New("rawText is not a string")
	}
	a.raw = *text
	return nil
}

func (a *answer) readUsage(members map[string]json.RawMessage) error {
	var u *run.Usage
	if err := readMember(members, "usage", &u); err != nil || u == nil {
		return err
	}
	if min(u.InputTokens, u.OutputTokens, u.TotalTokens) < 0 {
		return errors.New("usage: a negative number of tokens")
	}
	a.usage = u
	return nil
}

func (a *answer) readError(members map[string]json.RawMessage) error {
	var said *struct {
		Code         string `json:"code"`
		Message      string `json:"message"`
		Retriable    *bool  `json:"retriable"`
		RetryAfterMs int64  `json:"retryAfterMs"`
	}
	if err := readMember(members, "error", &said); err != nil || said == nil {
		return err
	}
	a.err = &failure.Error{Code: failure.Code(said.Code), Message: said.Message}
	if !slices.Contains(failure.Codes, a.err.Code) {
		a.err.Code = failure.Unknown
	}
	a.err.Retriable = a.err.Code != failure.Auth && a.err.Code != failure.BadRequest
	if said.Retriable != nil {
		a.err.Retriable = *said.Retriable
	}
	most := failure.MaxRetryAfter.Milliseconds()
	a.err.RetryAfter = time.Duration(min(max(said.RetryAfterMs, 0), most)) * time.Millisecond
	return nil
}

// readMember leaves to unchanged if the member is absent or null.
func readMember(members map[string]json.RawMessage, name string, to any) error {
	member, ok := members[name]
	if !ok || string(member) == "null" {
		return nil
	}
	if err := json.Unmarshal(member, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// toResponse combines the program's report with its ending. The program's own report of an error says
// more than its exit code.
func (a answer) toResponse(ended *failure.Error) provider.Response {
	if err := cmp.Or(a.err, ended, a.breachError(), a.unexplainedError()); err != nil {
		resp := provider.FailedResponse(err, a.raw, 0)
		resp.Usage = a.usage
		return resp
	}
	return provider.Response{RawText: a.raw, FinishReason: cmp.Or(a.finish, provider.Stop), Usage: a.usage}
}

// breachError returns the error of a response that breaks the contract.
func (a answer) breachError() *failure.Error {
	if a.broken == nil {
		return nil
	}
	return &failure.Error{Code: failure.BadRequest, Message: "the program's response breaks the contract: " + a.broken.Error()}
}

// unexplainedError returns the error of a response that reports one by its finish reason alone.
func (a answer) unexplainedError() *failure.Error {
	switch a.finish {
	case provider.TimedOut:
		return &failure.Error{Code: failure.Timeout, Message: "the program reports a timeout", Retriable: true}
	case provider.Failed:
		return &failure.Error{Code: failure.Unknown, Message: "the program reports an error without a text", Retriable: true}
	}
	return nil
}
