package egress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func TestProgramsOfABoxReachTheTargets(t *testing.T) {
	need.Sandbox(t)
	curl := need.Program(t, "curl")
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	good := newOrigin(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	other := newOrigin(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret") })
	target, err := allow.Parse(good.address())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	boxes := egress.NewBoxes(egress.Config{Dir: dir, Targets: []allow.Target{target}})
	run := func(boxes *egress.Boxes, argv ...string) (string, proc.Result, error) {
		var out bytes.Buffer
		r, err := proc.Run(t.Context(), proc.Command{
			Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out,
			Dir: dir, Box: boxes.For(b, box.Spec{Write: []string{dir}}),
		})
		return out.String(), r, err
	}
	for range 2 {
		if out, r, err := run(boxes, curl, "-sS", good.URL); err != nil || out != "hello" || r.ExitCode != 0 {
			t.Errorf("%q, %+v, %v", out, r, err)
		}
	}
	if out, r, err := run(boxes, curl, "-sS", other.URL, "http://name.example/", "-k", "https://name.example/"); err != nil || strings.Contains(out, "secret") || r.ExitCode == 0 {
		t.Errorf("%q, %+v, %v", out, r, err)
	}
	if got := boxes.Traffic(); len(got.Reached) != 1 || !slices.Equal(slices.Collect(maps.Values(got.Reached)), []int{2}) || got.RefusedCount() != 2 {
		t.Errorf("noted %s", got)
	}
	if out, r, err := run(egress.NewBoxes(egress.Config{}), curl, "-sS", good.URL); err != nil || r.ExitCode == 0 {
		t.Errorf("without targets: %q, %+v, %v", out, r, err)
	}
	if _, r, err := run(boxes, "/bin/sh", "-c", "exit 125"); err != nil || r.ExitCode != 125 {
		t.Errorf("the end of a program: %+v, %v", r, err)
	}
	script := dir + "/script"
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, err = run(boxes, script)
	if boxed, ok := errors.AsType[*proc.BoxError](err); !ok || !strings.Contains(boxed.Error(), "no such file") {
		t.Errorf("a program that does not start: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left in %s: %v", dir, entries)
	}
	if in := boxes.For(nil, box.Spec{}); in != nil {
		t.Errorf("no box is %v", fmt.Sprint(in))
	}
}
