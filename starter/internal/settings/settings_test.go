package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

func TestReadIsStrict(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		mode       os.FileMode
		want       run.Sandbox
		fault      string
	}{
		{"empty", "", 0o600, "", ""},
		{"off", "# no box here\nsandbox = \"off\"\n", 0o600, run.SandboxOff, ""},
		{"required", "sandbox = \"required\"", 0o644, run.SandboxRequired, ""},
		{"an unknown key", "sandbox = \"off\"\nSandbocks = true\n", 0o600, "", "unknown key"},
		{"a table", "[run]\nsandbox = \"off\"\n", 0o600, "", ":1: unknown key"},
		{"an unknown word", "sandbox = \"none\"\n", 0o600, "", "unknown sandbox policy"},
		{"an empty word", "sandbox = \"\"\n", 0o600, "", "sandbox is empty"},
		{"a wrong type", "sandbox = false\n", 0o600, "", "sandbox"},
		{"a key twice", "sandbox = \"off\"\nsandbox = \"off\"\n", 0o600, "", "already"},
		{"no TOML", "sandbox: off\n", 0o600, "", ":1: "},
		{"too large", strings.Repeat("#\n", 64<<10), 0o600, "", "more than"},
		{"writable for a group", "sandbox = \"off\"\n", 0o660, "", "can be written by other users"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
			s, err := settings.Read(path)
			if s.Sandbox() != tc.want || (err == nil) != (tc.fault == "") {
				t.Errorf("%q, %v", s.Sandbox(), err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path)) {
				t.Errorf("not %q in one line with the path: %q", tc.fault, err)
			}
		})
	}
}

func TestReadTakesNoFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Read(path); err == nil {
		t.Error("it is read")
	}
}

func TestRememberSandboxKeepsTheFile(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no file", "", "sandbox = \"off\"\n"},
		{"a file without it", "# mine", "sandbox = \"off\"\n# mine"},
		{"a file that ends in a table", "[repository.\"/src\"]\nmax-fix = 1\n", "sandbox = \"off\"\n[repository.\"/src\"]\nmax-fix = 1\n"},
		{"a file that says required", "sandbox = \"required\"\n", "sandbox = \"required\"\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := settings.Path(func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] })
			if tc.text != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := settings.RememberSandbox(path, run.SandboxOff); err != nil {
					t.Fatal(err)
				}
			}
			b, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			if err != nil || string(b) != tc.want || info.Mode().Perm() != 0o600 {
				t.Errorf("%q, %v, %v", b, info.Mode(), err)
			}
		})
	}
	if err := settings.RememberSandbox("", run.SandboxOff); err == nil {
		t.Error("without a place it is remembered")
	}
}

// TestRememberSandboxKeepsWhatItHasChecked has another file put in the place of the user's all the time: one that
// every user can write. Its lines must not become those of a file that only the user can write.
func TestRememberSandboxKeepsWhatItHasChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	put := func(text string, mode os.FileMode) error {
		next := path + ".next"
		return errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Chmod(next, mode), os.Rename(next, path))
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := errors.Join(put("max-fix = 1\n", 0o600), put("approve = \"never\"\n", 0o666)); err != nil {
				ended <- err
				return
			}
		}
	}()
	remembered, began := 0, time.Now()
	for n := 0; n < 1500 || remembered == 0 && time.Since(began) < 5*time.Minute; n++ {
		if settings.RememberSandbox(path, run.SandboxOff) != nil { // it met the other file
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(b), "sandbox") {
			remembered++
		}
		if strings.HasPrefix(string(b), "sandbox") && strings.Contains(string(b), "approve") {
			t.Fatalf("it remembers\n%s", b)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if remembered == 0 {
		t.Error("nothing was remembered")
	}
}
