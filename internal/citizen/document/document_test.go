package document_test

import (
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func TestParse(t *testing.T) {
	rows := map[string]bool{
		`{}`: true, ` {"a":1} `: true, `{"a":1,"a":2}`: true,
		`[]`: false, `null`: false, `"x"`: false, `1`: false, ``: false, `{`: false, `{} {}`: false, `{"a":}`: false,
	}
	for text, ok := range rows {
		if _, err := document.Parse([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMembers(t *testing.T) {
	all := `{"text":"x","empty":"","null":null,"flag":true,"n":7,"half":1.5,"pi":"pi","other":"gemini","in":{"x":"y"},"list":[]}`
	rows := []struct {
		name string
		take func(o *document.Object) any
		want any
		ok   bool
	}{
		{"a string", func(o *document.Object) any { return o.Text("text") }, "x", true},
		{"a string by its name in other letters", func(o *document.Object) any { return o.Text("TEXT") }, "", false},
		{"an empty string", func(o *document.Object) any { return o.Text("empty") }, "", false},
		{"null for a string", func(o *document.Object) any { return o.Text("null") }, "", false},
		{"a number for a string", func(o *document.Object) any { return o.Text("n") }, "", false},
		{"a nullable string", func(o *document.Object) any { return o.Nullable("text") }, "x", true},
		{"null", func(o *document.Object) any { return o.Nullable("null") }, "", true},
		{"an empty string where null is allowed", func(o *document.Object) any { return o.Nullable("empty") }, "", false},
		{"nothing where null is allowed", func(o *document.Object) any { return o.Nullable("none") }, "", false},
		{"an optional string that is not there", func(o *document.Object) any { return o.Optional("none") }, "", true},
		{"an optional string", func(o *document.Object) any { return o.Optional("text") }, "x", true},
		{"an optional string that is null", func(o *document.Object) any { return o.Optional("null") }, "", false},
		{"a flag", func(o *document.Object) any { return o.Flag("flag") }, true, true},
		{"a string for a flag", func(o *document.Object) any { return o.Flag("text") }, false, false},
		{"a number", func(o *document.Object) any { return o.Int("n") }, 7, true},
		{"half a number", func(o *document.Object) any { return o.Int("half") }, 0, false},
		{"a word", func(o *document.Object) any { var b dispatch.Backend; o.Word("pi", &b); return b }, dispatch.Pi, true},
		{"an unknown word", func(o *document.Object) any { var b dispatch.Backend; o.Word("other", &b); return b }, dispatch.Backend(""), false},
		{"null for a word", func(o *document.Object) any { var b dispatch.Backend; o.Word("null", &b); return b }, dispatch.Backend(""), false},
		{"an object", func(o *document.Object) any { return o.Object("in").Text("x") }, "y", true},
		{"an array for an object", func(o *document.Object) any { return o.Object("list") == nil }, true, false},
		{"whether it is there", func(o *document.Object) any { return o.Has("null") && !o.Has("none") }, true, true},
		{"only these members", func(o *document.Object) any { o.Only("text"); return nil }, nil, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o, err := document.Parse([]byte(all))
			if err != nil {
				t.Fatal(err)
			}
			if got := row.take(o); got != row.want || (o.Err() == nil) != row.ok {
				t.Errorf("%v, %v; want %v, ok %v", got, o.Err(), row.want, row.ok)
			}
		})
	}
}

func TestForm(t *testing.T) {
	v := struct {
		A string  `json:"a"`
		B *string `json:"b"`
	}{A: "<&>"}
	b, err := document.Marshal(v)
	if want := "{\n  \"a\": \"<&>\",\n  \"b\": null\n}\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
	b, err = document.Line(v)
	if want := "{\"a\":\"<&>\",\"b\":null}\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
	b, err = document.Line("\u2028 \\u2028 \\\u2029 \x01\x7f\b\f\r\n\t\"é")
	if want := "\"\u2028 \\\\u2028 \\\\\u2029 \\u0001\x7f\\b\\f\\r\\n\\t\\\"é\"\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
	at := time.Date(2026, 6, 12, 9, 30, 0, 1_999_999, time.FixedZone("KST", 9*3600))
	if got := document.Stamp(at); got != "2026-06-12T00:30:00.001Z" {
		t.Error(got)
	}
}
