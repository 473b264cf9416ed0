package engine_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
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
		if err != nil || !reflect.DeepEqual(got, want) {
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

func TestFileInADirectoryThatOthersCanWrite(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(engine.WriteFile(dir, engine.File{Address: "127.0.0.1:1"}), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if f, err := engine.ReadFile(dir); !errors.Is(err, engine.ErrNotOurs) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestEngineWritesThroughNoLink: one in the place of a file of the engine has it write where the user can and
// whoever made the link cannot.
func TestEngineWritesThroughNoLink(t *testing.T) {
	program := filepath.Join(t.TempDir(), "engine")
	if err := proctest.WriteProgram(program, "#!/bin/sh\necho '{\"error\": \"it was started\"}'\n"); err != nil {
		t.Fatal(err)
	}
	t.Setenv(engine.ProgramVariable, program)
	for _, name := range []string{"", "-wal", "-shm", ".lock", ".version", ".log"} {
		t.Run("engine.db"+name, func(t *testing.T) {
			dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
			if err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, filepath.Join(dir, "engine.db"+name))); err != nil {
				t.Fatal(err)
			}
			_, err := engine.Start(t.Context(), engine.Options{DB: filepath.Join(dir, "engine.db")})
			refused(t, err, "engine.db"+name+" is a link")
			if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
				t.Errorf("it holds %q, %v", b, err)
			}
		})
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.Symlink(filepath.Join(t.TempDir(), "victim"), log); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Start(t.Context(), engine.Options{DB: newDB(t), Log: log})
	refused(t, err, "not a regular file")
	_, err = engine.Start(t.Context(), engine.Options{DB: newDB(t)})
	refused(t, err, "it was started")
}
