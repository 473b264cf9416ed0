package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

func TestTextKeepsItsBytes(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":                    {`"a b"`, "a b"},
		"empty":                    {`""`, ""},
		"escapes":                  {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		"an escaped character":     {`"x\u00e9y"`, "xéy"},
		"a pair of escapes":        {`"x\ud83d\ude00y"`, "x😀y"},
		"half a pair":              {`"x\ud83dy"`, "x�y"},
		"half a character":         {"\"x\xe2\x98\"", "x\xe2\x98"},
		"bytes that are not UTF-8": {"\"\xff\\n\xfe\"", "\xff\n\xfe"},
		"no string":                {`7`, ""},
		"null":                     {`null`, ""},
		"an object":                {`{"a":"b"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got chat.Text
			if err := json.Unmarshal([]byte(tt.in), &got); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
