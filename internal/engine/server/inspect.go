package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	sqliteDriver = "sqlite" // of modernc.org/sqlite, a dependency of the server
	sqliteMagic  = "SQLite format 3\x00"

	// inspectTime bounds the check of a large database. The server finds other damage when it reads
	// it.
	inspectTime = 2 * time.Second
)

// serverTables are some of the tables that every database of the server has.
var serverTables = []string{"executions", "history_node", "namespaces", "queue_messages", "executions_visibility"}

// inspect refuses a file that is not a database of the server, and a damaged database. It writes
// nothing.
func inspect(ctx context.Context, path string) error {
	if err := checkMagic(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	db, err := sql.Open(sqliteDriver, "file:"+escapePath(path)+"?mode=ro")
	if err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	defer db.Close()
	tables, err := countTables(ctx, db)
	if err == nil && tables < len(serverTables) {
		return fmt.Errorf("database %s lacks the tables of the engine: it belongs to another program, or %s-wal was lost: restore a backup "+
			"of both, or name another file with --db", path, path)
	}
	if err == nil {
		err = checkPages(ctx, db)
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return damaged(path, err.Error())
}

func damaged(path, why string) error {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	return fmt.Errorf("database %s is damaged (%s): restore a backup, or start a new one with --db and "+
		"bring the open runs back with `starter resume`", path, why)
}

func checkMagic(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read database %s: %w", path, err)
	}
	if !bytes.Equal(head, []byte(sqliteMagic)) {
		return damaged(path, "it is not an SQLite file")
	}
	return nil
}

// countTables returns the number of serverTables that exist.
func countTables(ctx context.Context, db *sql.DB) (n int, err error) {
	names := "'" + strings.Join(serverTables, "', '") + "'"
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ("+names+")").Scan(&n)
	return n, err
}

// checkPages makes SQLite check every page until it finds a damaged one.
func checkPages(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return errors.New(strings.Join(strings.Fields(verdict), " "))
	}
	return nil
}
