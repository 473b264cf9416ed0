package run_test

import (
	"fmt"
	"slices"
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
	if n := run.Name("my-shop#120"); n.Label() != "my-shop" || n.Number() != 120 || run.Name("").Number() != 0 {
		t.Errorf("%q, %d", n.Label(), n.Number())
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

// No two runs get one number, whatever is claimed in whichever order, and a claim that the engine has twice
// is one.
func TestNoTwoRunsHaveANumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOf(rapid.Custom(func(t *rapid.T) run.Claim {
			return run.Claim{
				RunID:  run.ID(rapid.SampledFrom([]string{"a", "b", "c", "d", "../e", ""}).Draw(t, "id")),
				Above:  rapid.SampledFrom([]int{0, 0, 0, 1, 5, -1, run.MaxNumber}).Draw(t, "above"),
				Number: rapid.SampledFrom([]int{0, 0, 0, 2, 7, run.MaxNumber, -3}).Draw(t, "number"),
			}
		})).Draw(t, "claims")
		var n run.Numbers
		owners := map[int]run.ID{}
		for _, c := range claims {
			before := n.Of(c.RunID)
			n.Add(c)
			number := n.Of(c.RunID)
			if owner, taken := owners[number]; taken && owner != c.RunID {
				t.Fatalf("%d is %s's and given to %s", number, owner, c.RunID)
			}
			if number != 0 {
				owners[number] = c.RunID
			}
			if number < before || number > run.MaxNumber || number < 0 {
				t.Fatalf("%s had %d and has %d", c.RunID, before, number)
			}
		}
		for number, id := range owners {
			if n.Run(number) != id {
				t.Errorf("%d is %s's, not %s's", number, n.Run(number), id)
			}
		}
	})
}

func TestNumbersFollowTheClaims(t *testing.T) {
	var n run.Numbers
	var got []int
	for _, c := range []run.Claim{
		{RunID: "a"}, {RunID: "a"}, {RunID: "b"}, {RunID: "c", Above: 10}, {RunID: "d"}, {RunID: "a", Above: 1},
		{RunID: "resumed", Number: 7}, {RunID: "thief", Number: 7}, {RunID: "e"},
	} {
		n.Add(c)
		got = append(got, n.Of(c.RunID))
	}
	if want := []int{1, 1, 2, 11, 12, 13, 7, 0, 14}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := fmt.Sprintf("%s %s %s %s", n.Run(1), n.Run(13), n.Run(7), n.Run(3)); got != "a a resumed " {
		t.Errorf("%q", got)
	}
}
