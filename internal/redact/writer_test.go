package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/redacttest"
)

// written passes text through a writer in pieces of size bytes.
func written(t *testing.T, r *redact.Redactor, text string, size int) string {
	t.Helper()
	var to bytes.Buffer
	w := r.Writer(&to)
	for rest := []byte(text); len(rest) > 0; {
		piece := bytes.Clone(rest[:min(size, len(rest))])
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(piece), err)
		}
		rest = rest[len(piece):]
		clear(piece) // a writer may not keep what it was given
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to.String()
}

// everyForm holds the canary in every form that is replaced.
func everyForm() string {
	texts := []string{
		canary, jsonOf(canary), jsonOf(jsonOf(canary)), url.QueryEscape(canary), url.PathEscape(canary),
		hex.EncodeToString([]byte(canary)), strings.ToUpper(hex.EncodeToString([]byte(canary))),
	}
	for before := range 3 {
		plain := []byte("xyz"[:before] + canary + "end")
		texts = append(texts, base64.StdEncoding.EncodeToString(plain), base64.RawURLEncoding.EncodeToString(plain))
	}
	return "start " + strings.Join(texts, " between ") + " end, cnry"
}

func TestASecretCutAnywhere(t *testing.T) {
	r := redact.New([]string{"MODEL_KEY=" + canary})
	text := everyForm()
	want := r.String(text)
	if found := redacttest.Find([]byte(want), canary); found != nil {
		t.Fatalf("%s still holds %q", want, found)
	}
	for cut := range len(text) + 1 {
		var to bytes.Buffer
		w := r.Writer(&to)
		io.WriteString(w, text[:cut])
		io.WriteString(w, text[cut:])
		w.Close()
		if to.String() != want {
			t.Fatalf("cut at %d: got %q\nwant %q", cut, to.String(), want)
		}
	}
	for size := 1; size < 100; size++ {
		if got := written(t, r, text, size); got != want {
			t.Fatalf("pieces of %d: got %q\nwant %q", size, got, want)
		}
	}
}

// TestPiecesByThemselvesLeak is the control of the test above: a writer that
// redacts each piece by itself does not pass it.
func TestPiecesByThemselvesLeak(t *testing.T) {
	r := redact.New([]string{"MODEL_KEY=" + canary})
	text := everyForm()
	leaks := 0
	for cut := range len(text) {
		if redacttest.Find([]byte(r.String(text[:cut])+r.String(text[cut:])), canary) != nil {
			leaks++
		}
	}
	if leaks < len(text)/2 {
		t.Errorf("only %d of %d cuts leak", leaks, len(text))
	}
}

func TestAWriterHoldsBackNoMoreThanItMust(t *testing.T) {
	var to bytes.Buffer
	w := redact.New([]string{"MODEL_KEY=" + canary}).Writer(&to)
	for _, step := range []struct{ write, shown string }{
		{"a line\n", "a line\n"},
		{"half: cnr", "half: "},
		{"y and on\n", "cnry and on\n"},
		{canary[:len(canary)-1], ""},
		{canary[len(canary)-1:], "[redacted:MODEL_KEY]"},
		{"c", ""},
	} {
		to.Reset()
		io.WriteString(w, step.write)
		if to.String() != step.shown {
			t.Errorf("after %q: shown %q, want %q", step.write, to.String(), step.shown)
		}
	}
	to.Reset()
	w.Close()
	if to.String() != "c" {
		t.Errorf("Close shows %q", to.String())
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAWriterReportsAndRemembersAnError(t *testing.T) {
	w := redact.New([]string{"MODEL_KEY=" + canary}).Writer(full{})
	for range 2 {
		if n, err := w.Write([]byte("text ")); n != 0 || !errors.Is(err, errFull) {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("closed with %v", err)
	}
}

// FuzzWriter holds the writer against the one-shot redactor: two secrets whose
// ends overlap, and a text in any pieces.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("abababab-abababab-abababab"), uint8(3))
	f.Add([]byte("-ababab-abababab--ab"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		secrets := []string{"abababab", "ababab-ababab", "b-ababab-b"}
		r := redact.New(nil, redact.Secret{Name: "1", Value: secrets[0]}, redact.Secret{Name: "2", Value: secrets[1]}, redact.Secret{Name: "3", Value: secrets[2]})
		want := r.String(string(text))
		for _, s := range secrets {
			if strings.Contains(want, s) {
				t.Errorf("%q still holds %s", want, s)
			}
		}
		if got := written(t, r, string(text), max(int(size), 1)); got != want {
			t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
		}
	})
}
