package run_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestParseName(t *testing.T) {
	for text, want := range map[string]run.Name{
		"slug#14": "slug#14", "slug/14": "slug#14", "my-shop#1": "my-shop#1", "x#999999": "x#999999",
		"slug#0": "", "slug#014": "", "slug#1000000": "", "slug#-1": "", "slug": "", "#14": "", "slug#14 ": "", "Slug#14": "",
		"--repo#1": "", "a--b#1": "", "slug#1#2": "", "slug#14\n": "", "../x#1": "", "a/b/1": "", "slug#１": "",
		"abcdefghijklmnopqrstuvwxyz#1": "",
	} {
		got, ok := run.ParseName(text)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	if n := run.Name("my-shop#120"); n.Number() != 120 || run.Name("").Number() != 0 {
		t.Errorf("got number %d", n.Number())
	}
}

func TestLabel(t *testing.T) {
	for path, want := range map[string]string{
		"/home/kim/src/slug": "slug", "/srv/git/Shop.git": "shop", "/src/My Shop (2)": "my-shop-2", "/": "repository", "/src/합계": "repository",
		"/src/--x;rm -rf ~": "x-rm-rf", "/src/a-very-long-name-of-a-repository": "a-very-long-name-of-a-re", "/src/shop/.git": "shop",
	} {
		if got := run.Label(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.String().Draw(t, "path")
		if name := run.NewName(run.Label("/"+path), 1); name.Validate() != nil {
			t.Errorf("%q gives %q", path, name)
		}
	})
}
