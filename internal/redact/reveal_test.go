package redact_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/redact"
)

func TestReveal(t *testing.T) {
	r := redact.New([]string{"API_TOKEN=tok-9f8a7b6c", "DB_PASSWORD=password", "PEM_KEY=first-line-0a1b\nsecond-line-2c3d",
		"A_URL=x://a:one0one1one2@h y://a:two0two1two2@h"})
	const (
		token = "[redacted:API_TOKEN]"
		head  = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n"
	)
	for _, tt := range []struct{ name, diff, want, added string }{
		{name: "none", diff: head + " a\n-b\n+c\n", want: head + " a\n-b\n+c\n"},
		{name: "a kept line", diff: head + " t=" + token + ";\n-b\n+c\n", want: head + " t=tok-9f8a7b6c;\n-b\n+c\n"},
		{name: "a deleted line", diff: head + "-t=" + token + "\n+c\n", want: head + "-t=tok-9f8a7b6c\n+c\n"},
		{name: "a changed line", diff: head + "-t=" + token + "\n+u=" + token + "\n", want: head + "-t=tok-9f8a7b6c\n+u=tok-9f8a7b6c\n"},
		{name: "the added line first", diff: head + "+u=" + token + "\n-t=" + token + "\n", want: head + "+u=tok-9f8a7b6c\n-t=tok-9f8a7b6c\n"},
		{name: "an added line", diff: head + " a\n+t=" + token + "\n", added: token},
		{name: "added in another hunk", diff: head + "-t=" + token + "\n@@ -9 +9 @@\n+t=" + token + "\n", added: token},
		{name: "added in another file", diff: head + "+t=" + token + "\ndiff --git a/y b/y\n" + head + "-t=" + token + "\n", added: token},
		{name: "a label of nobody", diff: head + "+[redacted:OTHER]\n", want: head + "+[redacted:OTHER]\n"},
		{name: "a word", diff: head + "+[redacted:DB_PASSWORD]\n", want: head + "+[redacted:DB_PASSWORD]\n"},
		{name: "several lines", diff: head + " [redacted:PEM_KEY]\n", want: head + " [redacted:PEM_KEY]\n"},
		{name: "several lines, added", diff: head + "+[redacted:PEM_KEY]\n", added: "[redacted:PEM_KEY]"},
		{name: "several values", diff: head + " [redacted:A_URL]\n", want: head + " [redacted:A_URL]\n"},
		{name: "a label without an end", diff: head + " [redacted:API_TOKEN", want: head + " [redacted:API_TOKEN"},
	} {
		got, added := r.Reveal([]byte(tt.diff))
		if added != tt.added || added == "" && string(got) != tt.want {
			t.Errorf("%s: got %q, %q; want %q, %q", tt.name, got, added, tt.want, tt.added)
		}
	}
}
