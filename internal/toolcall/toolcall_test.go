package toolcall_test

import (
	"fmt"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct{ name, tool, input, want string }{
		{"a command of Claude Code", "Bash", `{"command":"go vet ./...\ngo test","description":"Vet"}`, `go vet ./... …||[{description Vet}]`},
		{"a command of Codex", "shell", `{"command":["bash","-lc","go test ./..."],"cwd":"/w"}`, `bash -lc 'go test ./...'||[{cwd /w}]`},
		{"an edit", "Edit", `{"file_path":"slug.go","old_string":"a\n","new_string":"a\nb"}`, `slug.go|+2 -1|[{new_string a
b} {old_string a
}]`},
		{"a written file", "Write", `{"filePath":"x","content":"1\n2\n3\n"}`, "x|+3 -0|[{content 1\n2\n3\n}]"},
		{"a search", "Grep", `{"pattern":"TODO","output_mode":"content"}`, `TODO||[{output_mode content}]`},
		{"an unknown tool", "magic", `{"depth":2,"on":{"a":true}}`, "||[{depth 2} {on {\n  \"a\": true\n}}]"},
		{"no object", "magic", `[1]`, `||[{ [1]}]`},
		{"no JSON", "magic", `boo`, `||[{ boo}]`},
		{"nothing", "magic", ``, `||[]`},
		{"null", "magic", `null`, `||[]`},
		{"a word that a shell would read", "exec", `{"cmd":["echo","$HOME","it's",""]}`, `echo '$HOME' 'it'\''s' ''||[]`},
	} {
		c := toolcall.Read(tt.tool, []byte(tt.input))
		if got := fmt.Sprintf("%s|%s|%v", c.Target, c.Change(), c.Rest); got != tt.want || c.Tool != tt.tool {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
