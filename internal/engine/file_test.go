package engine_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

func TestFileIsReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []engine.File{
		{Address: "127.0.0.1:7233", UI: "http://127.0.0.1:8233", RunsDir: dir, PID: 42, DB: filepath.Join(dir, "engine.db")},
		{Address: "127.0.0.1:1"},
	} {
		if err := engine.WriteFile(dir, want); err != nil {
			t.Fatal(err)
		}
		got, err := engine.ReadFile(dir)
		if err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		if _, err := engine.ReadFile(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error is %v", err)
		}
	})
	for name, content := range map[string]string{"torn": `{"address": "127.`, "empty": "", "without an address": `{"pid": 1}`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, engine.FileName), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := engine.ReadFile(dir)
			refused(t, err, engine.FileName)
		})
	}
}

func TestFileIsNotWrittenWhereNoDirectoryIs(t *testing.T) {
	if err := engine.WriteFile(filepath.Join(t.TempDir(), "none"), engine.File{Address: "127.0.0.1:1"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}
