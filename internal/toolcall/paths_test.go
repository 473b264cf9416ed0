package toolcall_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

func TestShortenPaths(t *testing.T) {
	const dir = "/r/agents/r1/developer/checkout/tree"
	for _, tt := range []struct{ name, text, want string }{
		{"a file", dir + "/slug.go", "slug.go"},
		{"the directory", dir, "."},
		{"the directory, with a slash", dir + "/", "./"},
		{"a command", "cd " + dir + " && go test " + dir + "/a " + dir + "/b.go", "cd . && go test a b.go"},
		{"quotes", `cat "` + dir + `/a b.go" --file='` + dir + `'`, `cat "a b.go" --file='.'`},
		{"another directory", "/etc/passwd", "/etc/passwd"},
		{"a directory beside it", dir + "2/x", dir + "2/x"},
		{"a path that leads out again", "rm -r " + dir + "/a/../../other", "rm -r " + dir + "/a/../../other"},
		{"a path behind a path", "/mnt" + dir + "/x", "/mnt" + dir + "/x"},
		{"what a shell changes", dir + "/$HOME/x " + dir + "/~ " + dir + "//etc", dir + "/$HOME/x " + dir + "/~ " + dir + "//etc"},
		{"a name like a flag", "rm " + dir + "/-rf", "rm " + dir + "/-rf"},
	} {
		if got := toolcall.ShortenPaths(tt.text, dir); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := toolcall.ShortenPaths("/a/b", ""); got != "/a/b" {
		t.Errorf("without a directory: got %q", got)
	}
	call := toolcall.Read("Read", []byte(`{"file_path":"`+dir+`/a.go","cwd":"`+dir+`"}`))
	if short := call.Within(dir); short.Target != "a.go" || short.Rest[0].Value != "." || call.Rest[0].Value != dir {
		t.Errorf("got %+v of %+v", short, call)
	}
}
