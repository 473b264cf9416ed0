package engine_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestDatabaseThatCannotBeUsed is refused in a line that names the file and says what to do. Finding B13.
func TestDatabaseThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	headOnly, err := os.ReadFile(e.DB) // the rest is in the log beside it
	if err != nil {
		t.Fatal(err)
	}
	python(t, e.DB, "PRAGMA wal_checkpoint(TRUNCATE)")
	sound, err := os.ReadFile(e.DB)
	if err != nil {
		t.Fatal(err)
	}
	version, err := os.ReadFile(e.DB + ".version")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		bytes func() []byte
		say   string
	}{
		{"noise", func() []byte { return noise(1 << 20) }, "is damaged (it is not an SQLite file)"},
		{"text", func() []byte { return []byte("not a database\n") }, "is damaged (it is not an SQLite file"},
		{"noise behind a good beginning", func() []byte { return append(bytes.Clone(sound[:100]), noise(1<<20)...) }, "is damaged ("},
		{"a page overwritten", func() []byte {
			b := bytes.Clone(sound)
			copy(b[4*4096:], noise(4096))
			return b
		}, "is damaged ("},
		{"the second half cut off", func() []byte { return sound[:len(sound)/2/4096*4096] }, "is damaged ("},
		{"another program's", func() []byte { return foreign(t) }, "lacks the tables of the engine"},
		{"its log lost", func() []byte { return headOnly }, "engine.db-wal was lost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := newDB(t)
			content := tt.bytes()
			put(t, db, content)
			put(t, db+".version", version)
			_, err := engine.Start(t.Context(), engine.Options{DB: db})
			refused(t, err, db, tt.say, "--db")
			if after, err := os.ReadFile(db); err != nil || !bytes.Equal(after, content) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// foreign is an SQLite file of another program.
func foreign(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	python(t, path, "CREATE TABLE t (a)")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// python has another SQLite run a statement.
func python(t *testing.T, db, statement string) {
	t.Helper()
	const script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); c.close()"
	if out, err := exec.Command(need.Program(t, "python3"), "-c", script, db, statement).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
