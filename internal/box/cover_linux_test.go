package box_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// newState returns a directory, with a link to it beside it, and the path of a socket below it that answers "reached".
func newState(t *testing.T) (state, linked, socket string) {
	t.Helper()
	top, err := os.MkdirTemp("/tmp", "cover-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	state, linked = mkdir(t, top, "state"), filepath.Join(top, "linked")
	if err := os.Symlink("state", linked); err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(mkdir(t, state, "of/user"), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "reached") }))
	return state, linked, socket
}

// connect is a script that tries a socket.
func connect(path string) string {
	return "curl -s -m 60 --unix-socket '" + path + "' http://x/ || echo refused"
}

func TestASocketIsCoveredByEveryPath(t *testing.T) {
	b := openBox(t)
	state, linked, socket := newState(t)
	byLink := linked + "/of/user/s"
	for name, tt := range map[string]struct {
		spec box.Spec
		at   string
		want string
	}{
		"not covered":                    {box.Spec{Write: []string{state}}, socket, "reached"},
		"in a writable directory":        {box.Spec{Write: []string{state}, Covered: []string{socket}}, socket, "refused\n"},
		"in one to read":                 {box.Spec{Read: []string{state}, Covered: []string{socket}}, socket, "refused\n"},
		"in one that is shown by a link": {box.Spec{Write: []string{linked}, Covered: []string{socket}}, byLink, "refused\n"},
		"named by a link":                {box.Spec{Write: []string{state}, Covered: []string{byLink}}, socket, "refused\n"},
		"in one that is shown twice":     {box.Spec{Write: []string{state, linked}, Covered: []string{socket}}, byLink, "refused\n"},
		"in a directory below":           {box.Spec{Write: []string{state}, Read: []string{state + "/of"}, Covered: []string{socket}}, socket, "refused\n"},
		"in a directory that it moves":   {box.Spec{Write: []string{state}, Covered: []string{socket}}, "moved/user/s", "refused\n"},
		"in a directory that is covered": {box.Spec{Write: []string{state}, Covered: []string{state + "/of/user"}}, socket, "refused\n"},
		"in a covered one that it moves": {box.Spec{Write: []string{state}, Covered: []string{state + "/of/user"}}, "moved/user/s", "refused\n"},
		"in one that another stands for": {box.Spec{Write: []string{state}, Lent: []box.Loan{{From: t.TempDir(), Dir: state + "/of"}}, Covered: []string{socket}}, socket, "refused\n"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Tree = t.TempDir()
			script := connect(tt.at)
			if tt.at == "moved/user/s" {
				script = "cd " + state + " && mv of moved && " + script
				defer os.Rename(state+"/moved", state+"/of")
			}
			if out, _ := inBox(t, b, tt.spec, script); out != tt.want {
				t.Errorf("got %q", out)
			}
			if info, err := os.Lstat(socket); tt.at != "moved/user/s" && (err != nil || info.Mode().Type() != fs.ModeSocket) {
				t.Errorf("on the host: %v, %v", info, err)
			}
		})
	}
}

// A program of the user may remove its socket at any time. Bwrap makes a file in the place of a mount that has none.
func TestASocketThatIsGone(t *testing.T) {
	need.Sandbox(t)
	bwrap := need.Program(t, "bwrap")
	for name, late := range map[string]bool{"before the box": false, "while the box is made": true} {
		t.Run(name, func(t *testing.T) {
			b := openBox(t)
			state, _, socket := newState(t)
			if late {
				last := filepath.Join(t.TempDir(), "bwrap")
				write(t, last, fmt.Sprintf("#!/bin/sh\nrm -f '%s'\nexec '%s' \"$@\"\n", socket, bwrap), 0o755)
				b = b.WithProgram(last)
			} else if err := os.Remove(socket); err != nil {
				t.Fatal(err)
			}
			if out, _ := inBox(t, b, box.Spec{Tree: t.TempDir(), Write: []string{state}, Covered: []string{socket}}, "echo runs"); out != "runs\n" {
				t.Errorf("got %q", out)
			}
			if info, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("on the host: %v, %v", info, err)
			}
		})
	}
}
