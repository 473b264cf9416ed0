package redact_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/redact"
)

const token = "[redacted:API_TOKEN]"

func newRevealer() *redact.Redactor {
	return redact.New([]string{"API_TOKEN=tok-9f8a7b6c", "DB_PASSWORD=password", "PEM_KEY=first-line-0a1b\nsecond-line-2c3d",
		"A_URL=x://a:one0one1one2@h y://a:two0two1two2@h"})
}

func TestReveal(t *testing.T) {
	for _, tt := range []struct{ name, diff, want string }{
		{"none", " a\n-b\n+c\n", " a\n-b\n+c\n"},
		{"a label", " t=" + token + ";\n", " t=tok-9f8a7b6c;\n"},
		{"a label of nobody", "+[redacted:OTHER]\n", "+[redacted:OTHER]\n"},
		{"a word", "+[redacted:DB_PASSWORD]\n", "+[redacted:DB_PASSWORD]\n"},
		{"several lines", " [redacted:PEM_KEY]\n", " [redacted:PEM_KEY]\n"},
		{"several values", " [redacted:A_URL]\n", " [redacted:A_URL]\n"},
	} {
		if got := newRevealer().Reveal([]byte(tt.diff)); string(got) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAdds(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", "a", "b", ""},
		{"a value that stays", "t=tok-9f8a7b6c", "u=tok-9f8a7b6c", ""},
		{"a value that goes", "tok-9f8a7b6c", "", ""},
		{"a value", "a", "tok-9f8a7b6c", token},
		{"a value once more", "tok-9f8a7b6c", "tok-9f8a7b6c tok-9f8a7b6c", token},
		{"a value in base64", "a", "dG9rLTlmOGE3YjZj", token},
		{"a label", "a", token, token},
		{"a label that stays", token, token + ".", ""},
		{"a label of several lines", "a", "[redacted:PEM_KEY]", "[redacted:PEM_KEY]"},
		{"a word", "a", "password", ""},
	} {
		if got := newRevealer().Adds([]byte(tt.before), []byte(tt.after)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
