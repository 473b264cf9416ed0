package layer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/layer"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// tree returns the files below a directory with their content, and the links with where they lead.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			must(t, err)
			lines = append(lines, name+" -> "+to)
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			must(t, err)
			lines = append(lines, name+"="+string(b))
		}
		return nil
	}))
	return strings.Join(lines, " ")
}

func TestKeepMovesWhatIsNew(t *testing.T) {
	dir, upper := t.TempDir(), filepath.Join(t.TempDir(), "upper")
	l := layer.At(filepath.Join(dir, "layers"), "go-mod")
	write(t, upper+"/a/one", "1")
	must(t, l.Keep(t.Context(), upper))
	write(t, upper+"/a/one", "one")
	write(t, upper+"/a/two", "2")
	write(t, upper+"/mod@v1/x.go", "x")
	must(t, os.Chmod(upper+"/mod@v1", 0o500)) // as Go makes the directories of modules
	must(t, unix.Mkfifo(upper+"/pipe", 0o600))
	must(t, l.Keep(t.Context(), upper))
	if got := tree(t, dir+"/layers/go-mod"); got != "a/one=one a/two=2 mod@v1/x.go=x" {
		t.Errorf("the layer holds %s", got)
	}
	must(t, l.Keep(t.Context(), upper))
}

// A hostile program has made links in the place of directories, in what is kept and in the layer.
func TestKeepFollowsNoLink(t *testing.T) {
	outside, dir, upper := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "upper")
	write(t, outside+"/users", "own")
	l := layer.At(dir, "npm")
	must(t, os.MkdirAll(upper, 0o700))
	must(t, os.Symlink(outside, upper+"/a"))
	must(t, l.Keep(t.Context(), upper))
	write(t, upper+"/a/users", "evil")
	write(t, upper+"/b/x", "x")
	must(t, os.Symlink(outside, upper+"/c"))
	must(t, l.Keep(t.Context(), upper))
	write(t, upper+"/c/users", "evil")
	must(t, l.Keep(t.Context(), upper))
	if got := tree(t, dir+"/npm"); got != "a/users=evil b/x=x c/users=evil" {
		t.Errorf("the layer holds %s", got)
	}
	if got := tree(t, outside); got != "users=own" {
		t.Errorf("outside is %s", got)
	}
}

func TestALayerInUseStaysAsItIs(t *testing.T) {
	dir, upper := t.TempDir(), filepath.Join(t.TempDir(), "upper")
	l := layer.At(dir, "npm")
	write(t, upper+"/new", "new")
	at, release, err := l.Use()
	must(t, err)
	_, again, err := l.Use()
	must(t, err)
	again()
	if err := l.Keep(t.Context(), upper); !errors.Is(err, layer.ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	if got := tree(t, at); got != "" {
		t.Errorf("it holds %s", got)
	}
	release()
	must(t, l.Keep(t.Context(), upper))
	if got := tree(t, at); got != "new=new" {
		t.Errorf("then it holds %s", got)
	}
}
