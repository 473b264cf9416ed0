package checkout_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/checkout"
)

// borrower makes git directories in a directory of its own.
type borrower struct {
	*testing.T
	top string
}

func newBorrower(t *testing.T) borrower {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return borrower{t, top}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dir makes a git directory with a list of what it borrows, and returns it.
func (b borrower) dir(name, alternates string) string {
	b.Helper()
	path := filepath.Join(b.top, name)
	must(b.T, os.MkdirAll(filepath.Join(path, "objects", "info"), 0o700))
	if alternates != "" {
		must(b.T, os.WriteFile(filepath.Join(path, "objects", "info", "alternates"), []byte(alternates), 0o600))
	}
	return path
}

func TestBorrowed(t *testing.T) {
	b := newBorrower(t)
	top, dir := b.top, b.dir
	whole := dir("whole", "")
	for _, name := range []string{"pack", "ab", "tmp_objdir-incoming-x1y2z3"} {
		must(t, os.Mkdir(filepath.Join(whole, "objects", name), 0o700))
	}
	for _, name := range []string{"tmp_obj_x1y2z3", "maintenance.lock", "schedule_x"} {
		must(t, os.WriteFile(filepath.Join(whole, "objects", name), nil, 0o600))
	}
	fork := dir("fork", "# of whole\n../../whole/objects\n../../whole/objects/\n\"broken\n/no/such\n\n")
	round := dir("round", top+"/round/objects\n")
	line := dir("a\nb", "")
	must(t, os.Symlink(whole, filepath.Join(top, "link")))
	chain := whole + "/objects"
	var deep []string // the deepest that git reads comes last
	for i := range 8 {
		chain = dir(fmt.Sprint("deep", i), chain+"\n") + "/objects"
		deep = append([]string{chain}, deep...)
	}
	for name, test := range map[string]struct {
		of   string
		want []string
	}{
		"a repository that borrows nothing":        {whole, nil},
		"one that borrows":                         {fork, []string{whole + "/objects"}},
		"one that borrows from one that does":      {dir("tree", fork+"/objects\n"), []string{fork + "/objects", whole + "/objects"}},
		"one that borrows from itself":             {round, []string{round + "/objects"}},
		"by a link":                                {dir("by-link", top+"/link/objects\n"), []string{top + "/link/objects"}},
		"by a name in quotes, and by the next one": {dir("quoted", `"`+top+`/a\nb/objects"`+"\n"+whole+"/objects"), []string{line + "/objects", whole + "/objects"}},
		"more than git follows":                    {dir("deepest", chain+"\n"), deep[:6]},
		"of Ratchet, and named by its own list":    {dir("own", dir("private/x", "")+"/objects\n"), []string{top + "/private/x/objects"}},
		"a directory that is no repository":        {top, nil},
	} {
		if got, err := checkout.Borrowed(test.of, top+"/private"); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}

func TestBorrowedRefuses(t *testing.T) {
	for _, test := range []struct{ name, what, names string }{
		{"another directory", "mkdir .ssh", ".ssh"},
		{"another directory by a link of the right name", "mkdir .ssh; ln -s .ssh objects", "objects"},
		{"another directory of the right name", "mkdir -p x/objects/pack; echo secret >x/objects/key", "x/objects"},
		{"a file with the name of objects", "mkdir -p x/objects; echo secret >x/objects/ab", "x/objects"},
		{"a directory that holds another", "mkdir -p x/objects/ab x/objects/abc", "x/objects"},
		{"very many entries", "mkdir -p x/objects; cd x/objects; seq -f tmp_obj_%g 2000 | xargs touch", "x/objects"},
		{"what belongs to Ratchet", "mkdir -p private/run/objects/pack", "private/run/objects"},
		{"what holds what belongs to Ratchet", "mkdir -p other/objects; rmdir private; ln -s other/objects/ab private; mkdir -p other/objects/ab", "other/objects"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBorrower(t)
			must(t, os.Mkdir(filepath.Join(b.top, "private"), 0o700))
			b.shell(test.what)
			user := b.dir("user", "../../"+test.names+"\n")
			got, err := checkout.Borrowed(b.dir("tree", user+"/objects\n"), filepath.Join(b.top, "private"))
			if !errors.Is(err, checkout.ErrBorrowed) || !strings.Contains(err.Error(), filepath.Join(b.top, test.names)) {
				t.Errorf("%q, %v; want %v", got, err, checkout.ErrBorrowed)
			}
		})
	}
	t.Run("a repository whose objects are elsewhere", func(t *testing.T) {
		b := newBorrower(t)
		b.shell("mkdir .ssh private user; ln -s ../.ssh user/objects")
		if got, err := checkout.Borrowed(b.dir("tree", b.top+"/user/objects\n"), b.top+"/private"); !errors.Is(err, checkout.ErrBorrowed) {
			t.Errorf("%q, %v; want %v", got, err, checkout.ErrBorrowed)
		}
	})
	t.Run("too many", func(t *testing.T) {
		b := newBorrower(t)
		var list strings.Builder
		for i := range 100 {
			list.WriteString(b.dir(fmt.Sprint(i), "") + "/objects\n")
		}
		if _, err := checkout.Borrowed(b.dir("tree", list.String()), b.top); !errors.Is(err, checkout.ErrBorrowed) {
			t.Errorf("%v, want %v", err, checkout.ErrBorrowed)
		}
	})
	for name, do := range map[string]func(list string) error{
		"a pipe":        func(list string) error { return syscall.Mkfifo(list, 0o600) },
		"a link":        func(list string) error { return os.Symlink("/dev/zero", list) },
		"a huge list":   func(list string) error { return os.WriteFile(list, make([]byte, 1<<20), 0o600) },
		"another place": func(list string) error { return os.Mkdir(list, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBorrower(t)
			user := b.dir("user", "")
			must(t, do(user+"/objects/info/alternates"))
			if got, err := checkout.Borrowed(b.dir("tree", user+"/objects\n"), b.top); !errors.Is(err, checkout.ErrBorrowed) {
				t.Errorf("%q, %v; want %v", got, err, checkout.ErrBorrowed)
			}
		})
	}
}

func (b borrower) shell(script string) {
	b.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = b.top
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", script, err, out)
	}
}
