package redacttest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/redacttest"
)

const canary = `cnry "7Qx/ü" <b+c>9`

func TestFind(t *testing.T) {
	asJSON := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	zipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(s))
		w.Close()
		return b.String()
	}
	base := base64.StdEncoding.EncodeToString
	half := len(canary) / 2
	tests := map[string]struct{ data, form string }{
		"as it is":                         {"the key is " + canary + ".", "raw"},
		"in a JSON document":               {asJSON(map[string]string{"key": canary}), "json"},
		"in JSON in JSON":                  {asJSON(asJSON(canary)), "json: json"},
		"in a query":                       {"k=" + url.QueryEscape(canary), "url"},
		"in a path":                        {"/k/" + url.PathEscape(canary), "url"},
		"in hexadecimal":                   {"0x" + hex.EncodeToString([]byte(canary)), "hex"},
		"in HEXADECIMAL":                   {strings.ToUpper(hex.EncodeToString([]byte(canary))), "hex"},
		"in base64":                        {base([]byte(canary)), "base64"},
		"in base64 after one byte":         {base([]byte("x" + canary)), "base64"},
		"in base64 after two bytes":        {base([]byte("xy" + canary + "z")), "base64"},
		"in base64 for URLs":               {base64.RawURLEncoding.EncodeToString([]byte("xy" + canary + "?>")), "base64"},
		"in base64 after letters":          {"abc" + base([]byte(canary)), "base64"},
		"in a JSON document in base64":     {base([]byte(asJSON(canary))), "base64: json"},
		"in base64 in base64":              {base([]byte(base([]byte(canary)))), "base64: base64"},
		"in base64 of gzip":                {`{"data":"` + base([]byte(zipped("it is "+canary))) + `"}`, "base64: gzip: raw"},
		"compressed":                       {"head" + zipped("it is "+canary) + "tail", "gzip: raw"},
		"compressed after another":         {zipped("nothing") + zipped(canary), "gzip: raw"},
		"compressed, with its end missing": {zipped(canary)[:len(zipped(canary))-8], "gzip: raw"},
		"backwards":                        {"9>c+b< \"" + "\xbc\xc3" + "/xQ7\" yrnc", "reversed"},
		"with its halves swapped":          {canary[half:] + canary[:half], "reversed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := redacttest.Find([]byte(tt.data), canary); !slices.Contains(got, tt.form) {
				t.Errorf("found %q, want %q among them", got, tt.form)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":        "",
		"half of it":     canary[:len(canary)/2],
		"another text":   strings.Repeat("cnry 7Qx ", 1000),
		"random letters": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("other", 100))),
		"a gzip header":  "\x1f\x8b\x08\x00 and no more",
	} {
		t.Run(name, func(t *testing.T) {
			if got := redacttest.Find([]byte(data), canary); got != nil {
				t.Errorf("found %q", got)
			}
		})
	}
}
