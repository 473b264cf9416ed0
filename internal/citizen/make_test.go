package citizen_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// places returns the registry of a home, and its directories.
func places(t *testing.T, home string, environ ...string) (citizen.Dirs, []string) {
	t.Helper()
	d, err := citizen.FindDirs(func(name string) (string, bool) {
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return home, name == "HOME"
	})
	must(t, err)
	return d, []string{d.Sessions, d.Mailboxes, d.Senders, d.Receivers, d.Sockets}
}

func TestTheRegistryIsMadeForOneUser(t *testing.T) {
	d, dirs := places(t, t.TempDir())
	for range 2 {
		must(t, d.Make(t.Context()))
	}
	for _, dir := range append(dirs, filepath.Dir(d.Agent), d.Agent) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
}

// TestARegistryOfOthersIsRefused has places in which others can put records, mail and sockets. The control is
// the same home before the attack.
func TestARegistryOfOthersIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		attack func(t *testing.T, home string)
		says   string
		root   bool // the attack needs it
	}{
		"everyone writes the records":         {func(t *testing.T, home string) { open777(t, home, ".pi/agent/meta-sessions") }, "can be written by other users", false},
		"everyone writes the sockets":         {func(t *testing.T, home string) { open777(t, home, ".pi/entwurf-control") }, "can be written by other users", false},
		"everyone can replace the directory":  {func(t *testing.T, home string) { open777(t, home, ".pi/agent") }, "can be written by other users", false},
		"everyone can replace all":            {func(t *testing.T, home string) { open777(t, home, ".pi") }, "can be written by other users", false},
		"another user owns the mail":          {func(t *testing.T, home string) { give(t, home, ".pi/agent/meta-mailbox") }, "belongs to user 65534", true},
		"another user owns a directory above": {func(t *testing.T, home string) { give(t, home, ".pi") }, "belongs to user 65534", true},
		"a link to a place of others": {func(t *testing.T, home string) {
			open777(t, home, "shared/pi")
			must(t, os.Symlink(filepath.Join(home, "shared/pi"), filepath.Join(home, ".pi")))
		}, "can be written by other users", false},
		"a link to nothing": {func(t *testing.T, home string) {
			must(t, os.Symlink(filepath.Join(home, "none"), filepath.Join(home, ".pi")))
		}, "broken link", false},
		"a file in the place": {func(t *testing.T, home string) {
			must(t, os.WriteFile(filepath.Join(home, ".pi"), nil, 0o600))
		}, "not a directory", false},
		"a repository brings the records": {func(t *testing.T, home string) {
			must(t, os.MkdirAll(filepath.Join(home, ".pi/agent/meta-sessions"), 0o700))
			must(t, os.WriteFile(filepath.Join(home, ".pi/agent/meta-sessions/x.meta.json"), []byte("{}"), 0o600))
			for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "x"}} {
				gittest.Run(t, filepath.Join(home, ".pi"), args...)
			}
		}, "git has checked out", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give a directory away")
			}
			home := t.TempDir()
			control, _ := places(t, t.TempDir())
			must(t, control.Make(t.Context()))
			d, _ := places(t, home)
			tt.attack(t, home)
			err := d.Make(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, tt.says)
			}
			h := citizen.Host{Dirs: d}
			if id, _, err := h.Open(t.Context(), "", "/w", guest, mute{}); err == nil {
				t.Errorf("%s was registered there", id)
			}
		})
	}
}

func TestALinkToAPlaceOfOursServes(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, "dotfiles/pi"), 0o700))
	must(t, os.Symlink(filepath.Join(home, "dotfiles/pi"), filepath.Join(home, ".pi")))
	d, _ := places(t, home)
	must(t, d.Make(t.Context()))
}

func TestWhatIsNotOursIsSaidToBe(t *testing.T) {
	home := t.TempDir()
	open777(t, home, ".pi")
	d, _ := places(t, home)
	if err := d.Make(t.Context()); !errors.Is(err, file.ErrNotOurs) {
		t.Error(err)
	}
}

func open777(t *testing.T, home, name string) {
	t.Helper()
	dir := filepath.Join(home, name)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.Chmod(dir, 0o777))
}

func give(t *testing.T, home, name string) {
	t.Helper()
	dir := filepath.Join(home, name)
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.Chown(dir, 65534, 65534))
}
