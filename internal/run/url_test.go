package run_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://git.example.com/acme/shop.git":    "https://git.example.com/acme/shop.git",
		"https://GIT.example.com:8443/acme/shop/":  "https://git.example.com:8443/acme/shop",
		"ssh://git@git.example.com:22/acme/a+b":    "ssh://git@git.example.com:22/acme/a+b",
		"ssh://git.example.com/~kim/shop":          "ssh://git.example.com/~kim/shop",
		"git@git.example.com:acme/shop.git":        "git@git.example.com:acme/shop.git",
		"file:///srv/git/shop.git":                 "file:///srv/git/shop.git",
		"https://[::1]:8443/shop":                  "https://[::1]:8443/shop",
		"https://git.example.com/with%20space.git": "https://git.example.com/with%20space.git",
	} {
		if got, err := run.ParseURL(text); err != nil || got != want || !run.IsURL(text) {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
		if again, err := run.ParseURL(want); err != nil || again != want {
			t.Errorf("%s: parsed again: %q, %v", want, again, err)
		}
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"https://kim:hunter2@git.example.com/shop": "credential helper",
		"https://ghp_hunter2@git.example.com/shop": "credential helper",
		"ssh://kim:hunter2@git.example.com/shop":   "password",
		"ext::sh -c hunter2":                       "want https://HOST/PATH, ssh://",
		"my-helper+x::hunter2":                     "starts no remote helper of git: want https://",
		"ext://hunter2":                            "does not reach",
		"http://git.example.com/hunter2":           "does not reach",
		"git://git.example.com/hunter2":            "does not reach",
		"ftp://git.example.com/hunter2":            "does not reach",
		"ssh://-oProxyCommand=hunter2/shop":        "no host",
		"ssh://-x@git.example.com/hunter2":         "malformed",
		"-u@git.example.com:hunter2":               "not a URL",
		"git@-oProxyCommand=x:hunter2":             "not a URL",
		"git@git.example.com:-hunter2":             "not a URL",
		"--upload-pack=hunter2":                    "not a URL",
		"https://git.example.com/hunter2\nx":       "character",
		"https://git.example.com/hunter2\x00":      "character",
		"https://git.example.com/hunter2%0ax":      "control character",
		"https://git.example.com/hunter2\x1b[2J":   "character",
		"https://git.example.com/$(hunter2)":       "character",
		"https://git.example.com/shop?hunter2":     "no ?",
		"https://git.example.com/shop#hunter2":     "no ?",
		"https://git.example.com":                  "no repository",
		"https:///hunter2":                         "no host",
		"file://host/hunter2":                      "no host",
		"file://hunter2":                           "no host",
		"hunter2":                                  "not a URL",
		"https://git.example.com/" + strings.Repeat("x", run.MaxURL) + "hunter2": "bytes",
	} {
		got, err := run.ParseURL(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: got %q, %v; want one line with %q that does not quote the URL", text, got, err, want)
		}
	}
}

func TestIsURL(t *testing.T) {
	for _, text := range []string{".", "/srv/shop", "../shop", "C:shop", "shop@2", "a/b@c:d", "--upload-pack=x"} {
		if run.IsURL(text) {
			t.Errorf("%q is taken for a URL", text)
		}
	}
	for _, text := range []string{"ext::sh -c x", "https://x", "git@host:x"} {
		if !run.IsURL(text) {
			t.Errorf("%q is not taken for a URL", text)
		}
	}
}
