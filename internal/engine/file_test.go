package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
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

// TestFileThatSomethingElseWrote is one that a commit, a copy or another boot has brought. Its mode and owner are right.
func TestFileThatSomethingElseWrote(t *testing.T) {
	dir := t.TempDir()
	if err := engine.WriteFile(dir, engine.File{Address: "127.0.0.1:7233", API: "https://127.0.0.1:8233"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, engine.FileName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bring := range map[string]func(dir string) error{
		"a copy": func(dir string) error { return os.WriteFile(filepath.Join(dir, engine.FileName), b, 0o600) },
		"a copy in its place": func(dir string) error {
			next := filepath.Join(dir, "next")
			return errors.Join(os.WriteFile(next, b, 0o600), os.Rename(next, filepath.Join(dir, engine.FileName)))
		},
		"a checkout": func(dir string) error {
			repo := t.TempDir()
			git := func(args ...string) error {
				return gittest.Command(t.Context(), repo, append([]string{"-c", "core.sharedRepository=0600"}, args...)...).Run()
			}
			err := errors.Join(git("init", "-q"), os.WriteFile(filepath.Join(repo, engine.FileName), b, 0o600), git("add", "."), git("commit", "-q", "-m", "c"))
			if err != nil {
				return err
			}
			defer syscall.Umask(syscall.Umask(0o077))
			return gittest.Command(t.Context(), repo, "--work-tree", dir, "checkout", "-q", "-f", "HEAD", "--", ".").Run()
		},
		"one of another boot":     func(dir string) error { return rewriteOrigin(dir, `"boot": "`, `"boot": "0`) },
		"one of an older version": func(dir string) error { return rewriteOrigin(dir, `"origin"`, `"unknown"`) },
	} {
		t.Run(name, func(t *testing.T) {
			other := t.TempDir()
			if err := bring(other); err != nil {
				t.Fatal(err)
			}
			if f, err := engine.ReadFile(other); !errors.Is(err, engine.ErrNotHere) {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.ReadFile(moved); err != nil {
		t.Errorf("in a directory that was moved: %v", err)
	}
}

// rewriteOrigin writes an engine.json and then changes it in its place.
func rewriteOrigin(dir, before, after string) error {
	if err := engine.WriteFile(dir, engine.File{Address: "127.0.0.1:7233", API: "https://127.0.0.1:8233"}); err != nil {
		return err
	}
	path := filepath.Join(dir, engine.FileName)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(b), before, after, 1)
	if changed == string(b) {
		return fmt.Errorf("no %s in %s", before, b)
	}
	return os.WriteFile(path, []byte(changed), 0o600)
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
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '{\"error\": \"it was started\"}'\n"), 0o755); err != nil {
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
