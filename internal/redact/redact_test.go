package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/redacttest"
)

const (
	canary = `cnry "7Qx/ü" <b+c>9`
	pem    = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcnry\nq8Zr1hVd3m0Lk9xT2wYpN5sBfUoEaJcGiK7vQhSgRtMjXzWlPbDyAn6e\n-----END PRIVATE KEY-----\n"
)

func TestForms(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"as it is":                      {"key " + canary + "!", "key [redacted:MODEL_KEY]!"},
		"twice side by side":            {canary + canary, "[redacted:MODEL_KEY][redacted:MODEL_KEY]"},
		"in a JSON document":            {jsonOf(canary), `"[redacted:MODEL_KEY]"`},
		"in JSON in JSON":               {jsonOf(jsonOf(canary)), `"\"[redacted:MODEL_KEY]\""`},
		"in JSON that spares HTML":      {`"` + strings.ReplaceAll(canary, `"`, `\"`) + `"`, `"[redacted:MODEL_KEY]"`},
		"in JSON that escapes slashes":  {`"cnry \"7Qx\/ü\" <b+c>9"`, `"[redacted:MODEL_KEY]"`},
		"in JSON of ASCII":              {`"cnry \"7Qx/\u00fc\" <b+c>9"`, `"[redacted:MODEL_KEY]"`},
		"in JSON of ASCII, upper case":  {`"cnry \"7Qx/\u00FC\" <b+c>9"`, `"[redacted:MODEL_KEY]"`},
		"in a query":                    {"?k=" + url.QueryEscape(canary) + "&", "?k=[redacted:MODEL_KEY]&"},
		"in a query, lower case":        {"?k=cnry+%227Qx%2f%c3%bc%22+%3cb%2bc%3e9", "?k=[redacted:MODEL_KEY]"},
		"in a path":                     {"/" + url.PathEscape(canary), "/[redacted:MODEL_KEY]"},
		"in a URL as a browser does it": {"?k=cnry%20%227Qx%2F%C3%BC%22%20%3Cb%2Bc%3E9", "?k=[redacted:MODEL_KEY]"},
		"in hexadecimal":                {hex.EncodeToString([]byte(canary)), "[redacted:MODEL_KEY]"},
		"in HEXADECIMAL":                {strings.ToUpper(hex.EncodeToString([]byte(canary))), "[redacted:MODEL_KEY]"},
		"a part of it":                  {canary[:len(canary)-1], canary[:len(canary)-1]},
		"nothing":                       {"", ""},
	}
	r := redact.New([]string{"MODEL_KEY=" + canary})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.String(tt.text); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestBase64WhereverItBegins(t *testing.T) {
	r := redact.New([]string{"MODEL_KEY=" + canary})
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 6 {
			for after := range 6 {
				text := enc.EncodeToString([]byte("before"[:before] + canary + "behind"[:after]))
				if redacttest.Find([]byte(text), canary) == nil {
					t.Fatalf("nothing to redact in %s", text)
				}
				got := r.String(text)
				if found := redacttest.Find([]byte(got), canary); found != nil || !strings.Contains(got, "[redacted:MODEL_KEY]") {
					t.Errorf("%q still holds it: %q", got, found)
				}
			}
		}
	}
}

func TestNothingIsOverlookedInNestedValues(t *testing.T) {
	r := redact.New([]string{"MODEL_KEY=" + canary})
	doc := jsonOf(map[string]any{
		canary: "as a name",
		"list": []any{"a", canary, []any{canary, map[string]any{"deep": "x" + canary + "y"}}},
		"text": jsonOf([]string{canary}),
		"data": []byte(canary),
	})
	got := r.Bytes([]byte(doc))
	if !json.Valid(got) {
		t.Errorf("no JSON any more: %s", got)
	}
	if found := redacttest.Find(got, canary); found != nil {
		t.Errorf("%s still holds %q", got, found)
	}
}

func TestSecretsThatOverlap(t *testing.T) {
	r := redact.New(nil, redact.Secret{Name: "A", Value: "xxxx-abcdefgh"}, redact.Secret{Name: "B", Value: "abcdefgh-yyyy"},
		redact.Secret{Name: "C", Value: "abcdefgh"}, redact.Secret{Name: "D", Value: "abcdefgh-yyyy-and-more"}, redact.Secret{Name: "E", Value: "abcdefgh"})
	tests := map[string]struct{ text, want string }{
		"the longest of those that start together":   {"-abcdefgh-yyyy-", "-[redacted:B]-"},
		"the longest of all":                         {"abcdefgh-yyyy-and-more", "[redacted:D]"},
		"nearly the longest":                         {"abcdefgh-yyyy-and-mor", "[redacted:B]-and-mor"},
		"the shortest":                               {"abcdefgh-yyy", "[redacted:C]-yyy"},
		"one within another":                         {"xxxx-abcdefgh!", "[redacted:A]!"},
		"one that begins in another and outlasts it": {"xxxx-abcdefgh-yyyy!", "[redacted:A]!"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.String(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := written(t, r, tt.text, 1); got != tt.want {
				t.Errorf("written byte by byte: %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheLinesOfAKey(t *testing.T) {
	r := redact.New([]string{"SIGNING_KEY=" + pem})
	var diff strings.Builder
	for line := range strings.Lines(pem) {
		diff.WriteString("+" + line)
	}
	const want = "+-----BEGIN PRIVATE KEY-----\n+[redacted:SIGNING_KEY]\n+[redacted:SIGNING_KEY]\n+-----END PRIVATE KEY-----\n"
	if got := r.String(diff.String()); got != want {
		t.Errorf("got %s", got)
	}
	if got := r.String("key: " + strings.TrimSpace(pem)); got != "key: [redacted:SIGNING_KEY]" {
		t.Errorf("got %s", got)
	}
}

func TestTextsWithoutSecretsAreNotCopied(t *testing.T) {
	text := []byte("nothing secret in here, nor in cnry \"7Qx")
	for name, r := range map[string]*redact.Redactor{
		"no redactor": nil, "the zero one": new(redact.Redactor), "one without secrets": redact.New(nil), "one with a secret": redact.New([]string{"MODEL_KEY=" + canary}),
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.Bytes(text); &got[0] != &text[0] {
				t.Errorf("got a copy: %q", got)
			}
			if got := r.String(string(text)); got != string(text) {
				t.Errorf("got %q", got)
			}
			if got := written(t, r, string(text), 7); got != string(text) {
				t.Errorf("written: %q", got)
			}
			if r.Bytes(nil) != nil || r.String("") != "" || r.ShortNames() != nil {
				t.Error("nothing became something")
			}
		})
	}
}

func TestTheArgumentIsLeftAlone(t *testing.T) {
	text := []byte("key " + canary)
	before := bytes.Clone(text)
	redact.New([]string{"MODEL_KEY=" + canary}).Bytes(text)
	if !bytes.Equal(text, before) {
		t.Errorf("changed to %q", text)
	}
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
