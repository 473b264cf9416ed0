package nobody_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/nobody"
)

const lent = "RATCHET_TEST_LENT"

func TestRunsWithoutPrivileges(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(secret, []byte("lent"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !nobody.Runs(t, nobody.Lent{Variable: lent, Path: secret}) {
		return
	}
	if os.Geteuid() == 0 {
		t.Fatal("the superuser runs it")
	}
	if _, err := os.ReadFile("/etc/shadow"); err == nil {
		t.Error("it reads what is root's alone")
	}
	if path := os.Getenv(lent); path != "" { // unset where nobody had to be started
		if b, err := os.ReadFile(path); err != nil || string(b) != "lent" {
			t.Errorf("what was lent: %q, %v", b, err)
		}
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "own"), nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestRunsASubtestAlone(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		if nobody.Runs(t) && os.Geteuid() == 0 {
			t.Error("the superuser runs it")
		}
	})
	t.Run("another", func(t *testing.T) {
		if os.Getuid() == nobody.ID {
			t.Error("it runs beside the one that was asked for")
		}
	})
}

func TestASkipIsTakenOver(t *testing.T) {
	if !nobody.Runs(t) {
		t.Error("it passed")
		return
	}
	t.Skip("to be seen by who started it")
}
