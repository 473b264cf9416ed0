package answer_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/answer"
)

// FuzzParse feeds raw answers to the parser: each is refused in words, or fulfils the
// promises of its type, and parses to the same again when it is wrapped in the canonical form.
func FuzzParse(f *testing.F) {
	for _, tt := range answers() {
		f.Add([]byte(tt.raw), tt.finish)
	}
	f.Fuzz(func(t *testing.T, raw []byte, finish string) {
		a, err := answer.Parse(raw, finish)
		if err != nil {
			if e, ok := errors.AsType[*answer.Error](err); !ok || e.Code == "" || e.Message == "" {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if finish != "" && finish != "stop" {
			t.Errorf("an answer with finish reason %q was taken", finish)
		}
		switch a.Kind {
		case answer.Patch:
			wrapsAgain(t, a)
		case answer.Ask:
			if a.Question == "" || a.Diff != nil {
				t.Errorf("%+v", a)
			}
		case answer.Noop:
			if a.Diff != nil {
				t.Errorf("%+v", a)
			}
		default:
			t.Errorf("kind %q", a.Kind)
		}
	})
}

func wrapsAgain(t *testing.T, a answer.Answer) {
	t.Helper()
	if len(a.Diff) == 0 {
		t.Error("a patch without a diff")
	}
	if bytes.Contains(a.Diff, []byte("AIO_")) || bytes.Contains(a.Diff, []byte("[PATCH_")) || bytes.Contains(a.Diff, []byte("```")) || bytes.Contains(a.Diff, []byte("~~~")) {
		return
	}
	diff := append(bytes.Trim(a.Diff, " \t\r\n\v\f\u0085\u00a0"), '\n')
	raw := "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: s\n<<<AIO_RESULT_END>>>\n[PATCH_BEGIN]\n" + string(diff) + "[PATCH_END]\n"
	again, err := answer.Parse([]byte(raw), "stop")
	if err != nil {
		if len(bytes.TrimSpace(diff)) == 0 {
			return
		}
		t.Fatalf("in canonical form: %v\n%q", err, raw)
	}
	if !bytes.Equal(bytes.TrimSpace(again.Diff), bytes.TrimSpace(diff)) {
		t.Errorf("got %q, want %q", again.Diff, diff)
	}
}
