package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/blang/semver/v4"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	namespace    = "default"
	retention    = 30 * 24 * time.Hour // of closed workflows in namespace
	lockPatience = 5 * time.Second
	lockPoll     = 50 * time.Millisecond
)

// writer is the content of the file beside the database: it describes the server that writes the
// database. Complete is false while the schema is being made: the database holds nothing of value
// then.
type writer struct {
	Server     string `json:"server"`
	Schema     string `json:"schema"`
	Visibility string `json:"visibility"`
	Complete   bool   `json:"complete"`
}

var thisServer = writer{
	Server: headers.ServerVersion, Schema: sqlite.Version, Visibility: sqlite.VisibilityVersion,
}

// database is an SQLite file that only this process writes, until it closes the lock or ends.
type database struct {
	sql  *config.SQL
	lock *os.File
}

// openDatabase opens the file at path and makes it when it is missing.
func openDatabase(ctx context.Context, path string) (*database, error) {
	if path == "" {
		return nil, errors.New("no database file: name one with --db")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	held, err := lock(ctx, path)
	if err != nil {
		return nil, err
	}
	db := &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: escapePath(path),
		// With more than one connection, SQLite answers "database is locked" and does half the
		// work.
		MaxConns:     1,
		MaxIdleConns: 1,
		// WAL with synchronous=normal keeps every commit when the process dies; a loss of power may take the last ones.
		// On macOS a checkpoint is in the right order on the disk by a full sync alone; elsewhere it makes no difference.
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "normal", "checkpoint_fullfsync": "true"},
	}
	fresh, err := admit(path)
	if err != nil {
		return nil, err
	}
	if fresh {
		if err := create(path, db); err != nil {
			return nil, fmt.Errorf("make database %s: %w", path, err)
		}
	} else if err := inspect(ctx, path); err != nil {
		return nil, err
	}
	return &database{sql: db, lock: held}, thisServer.write(path, true)
}

// escapePath escapes a path for SQLite's URI.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// lock locks the database. It waits for up to lockPatience, because a killed engine may still be
// about to end.
func lock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	deadline := time.Now().Add(lockPatience)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, sign(f)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("lock database %s: %w", path, err)
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			var pid int
			_, _ = fmt.Fscan(f, &pid)
			return nil, fmt.Errorf("another engine (process %d) uses database %s: stop it, or name another file with --db", pid, path)
		}
		time.Sleep(lockPoll)
	}
}

// sign writes the id of the lock's holder.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}

// admit reports whether the database has to be made, and refuses a database that this server must
// not write.
func admit(path string) (fresh bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("database: %w", err)
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("database %s is not a file", path)
	}
	b, err := os.ReadFile(versionFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("this engine did not make %s (%s is missing): name another file with --db", path, versionFile(path))
	}
	var by writer
	if err == nil {
		err = json.Unmarshal(b, &by)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", versionFile(path), err)
	}
	if by.Complete && !by.readableBy(thisServer) {
		return false, fmt.Errorf("Temporal server %s (schema %s) wrote database %s; this engine is %s (schema %s) "+
			"and does not migrate it: use the engine that wrote it, or name another file with --db",
			by.Server, by.Schema, path, thisServer.Server, thisServer.Schema)
	}
	return !by.Complete, nil
}

// readableBy reports whether reader has the same schema and is not older than the writer.
func (w writer) readableBy(reader writer) bool {
	wrote, err := semver.Parse(w.Server)
	if err != nil {
		return false
	}
	return w.Schema == reader.Schema && w.Visibility == reader.Visibility && wrote.LE(semver.MustParse(reader.Server))
}

func (w writer) write(path string, complete bool) error {
	w.Complete = complete
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	tmp := versionFile(path) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, versionFile(path))
}

func versionFile(path string) string { return path + ".version" }

// create makes schema and namespace. The version file is incomplete meanwhile: a start after a kill
// starts again.
func create(path string, db *config.SQL) error {
	if err := thisServer.write(path, false); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := sqlite.SetupSchema(db); err != nil {
		return err
	}
	ns, err := sqlite.NewNamespaceConfig(clusterName, namespace, false, searchAttributes())
	if err != nil {
		return err
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	return sqlite.CreateNamespaces(db, ns)
}
