package replay_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/replay"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func recorded(t *testing.T, answers map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range answers {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Answers: func(t *testing.T, raw string) provider.Provider {
			return replay.New(recorded(t, map[string]string{"execute-1.md": raw}), nil)
		},
		Fails: func(t *testing.T) provider.Provider { return replay.New(t.TempDir(), nil) },
	})
}

func TestWhichFileAnswers(t *testing.T) {
	dir := recorded(t, map[string]string{
		"plan-1.md": "a plan", "execute-1.md": "a patch", "execute-1.2.md": "a second patch", "fix-2.md": "a fix", "fix-12.md": "a late fix",
	})
	tests := map[string]struct {
		phase     run.Phase
		iteration int
		call      int
		want      string
	}{
		"the plan":                               {run.Plan, 1, 0, "a plan"},
		"the first call by its number":           {run.Execute, 1, 1, "a patch"},
		"the second call":                        {run.Execute, 1, 2, "a second patch"},
		"a third call falls back":                {run.Execute, 1, 3, "a patch"},
		"the fix of the second iteration":        {run.Fix, 2, 1, "a fix"},
		"the second fix that has no file itself": {run.Fix, 2, 2, "a fix"},
		"two digits":                             {run.Fix, 12, 1, "a late fix"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := providertest.Request()
			req.Phase, req.Role, req.Iteration, req.Call = tt.phase, tt.phase.Role(), tt.iteration, tt.call
			resp, err := replay.New(dir, nil).Generate(t.Context(), req, nil)
			if err != nil || resp.RawText != tt.want || resp.Usage != nil {
				t.Errorf("got %+v, %v, want %q", resp, err, tt.want)
			}
		})
	}
}

func TestNoAnswer(t *testing.T) {
	outside := filepath.Join(recorded(t, map[string]string{"secret": "outside"}), "secret")
	tests := map[string]struct {
		prepare func(dir string) error
		call    int
		says    string
	}{
		"the file is missing":               {func(string) error { return nil }, 1, "execute-1.md is missing"},
		"the file of a call is missing too": {func(string) error { return nil }, 2, "execute-1.md is missing"},
		"the directory is missing":          {os.Remove, 1, "no such file or directory"},
		"a directory of that name":          {func(dir string) error { return os.Mkdir(filepath.Join(dir, "execute-1.md"), 0o700) }, 1, "not a regular file"},
		"a pipe of that name":               {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "execute-1.md"), 0o600) }, 1, "not a regular file"},
		"a link to the outside":             {func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "execute-1.md")) }, 1, "escapes"},
		"a link to the outside for a call":  {func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "execute-1.2.md")) }, 2, "escapes"},
		"more than fits":                    {func(dir string) error { return sparse(filepath.Join(dir, "execute-1.md"), replay.MaxAnswer+1) }, 1, "more than 16777216 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.prepare(dir); err != nil {
				t.Fatal(err)
			}
			req := providertest.Request()
			req.Call = tt.call
			resp, err := replay.New(dir, nil).Generate(t.Context(), req, nil)
			e, ok := errors.AsType[*failure.Error](err)
			if !ok || e.Code != failure.BadRequest || e.Retriable || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %v, want a BAD_REQUEST that says %q", err, tt.says)
			}
			if resp.RawText != "" {
				t.Errorf("got %d bytes", len(resp.RawText))
			}
		})
	}
}

func sparse(name string, size int64) error {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(name, size)
}

func TestALinkInsideIsFollowed(t *testing.T) {
	dir := recorded(t, map[string]string{"plan-1.md": "the same"})
	if err := os.Symlink("plan-1.md", filepath.Join(dir, "execute-1.md")); err != nil {
		t.Fatal(err)
	}
	resp, err := replay.New(dir, nil).Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != "the same" {
		t.Errorf("got %q, %v", resp.RawText, err)
	}
}

func TestARecordedSecretIsRedacted(t *testing.T) {
	dir := recorded(t, map[string]string{"execute-1.md": "key: canary-0123\n"})
	resp, err := replay.New(dir, redact.New([]string{"MODEL_KEY=canary-0123"})).Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != "key: [redacted:MODEL_KEY]\n" {
		t.Errorf("got %q, %v", resp.RawText, err)
	}
}

func TestFind(t *testing.T) {
	dir := recorded(t, map[string]string{"file": ""})
	if err := replay.Find(dir); err != nil {
		t.Error(err)
	}
	for _, name := range []string{filepath.Join(dir, "nothing"), filepath.Join(dir, "file")} {
		if err := replay.Find(name); err == nil {
			t.Errorf("%s passes for a directory", name)
		}
	}
}
