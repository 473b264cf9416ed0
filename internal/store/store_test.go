package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/test/storetest"
)

func TestABucket(t *testing.T) {
	url, _ := storetest.New(t)
	b, err := store.Open(t.Context(), url, time.Second)
	if err == nil {
		err = b.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"runs/a/2", "runs/a/1", "runs/b/1"} {
		if err := b.Put(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := b.Keys(t.Context(), "runs/a/"); err != nil || !slices.Equal(keys, []string{"runs/a/1", "runs/a/2"}) {
		t.Errorf("keys %v, %v", keys, err)
	}
	if names, err := b.Names(t.Context(), "runs/"); err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names %v, %v", names, err)
	}
	if body, err := b.Get(t.Context(), "runs/b/1"); err != nil || string(body) != "runs/b/1" {
		t.Errorf("got %q, %v", body, err)
	}
	for range 2 {
		if err := b.Delete(t.Context(), "runs/b/1"); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Get(t.Context(), "runs/b/1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed key: %v, want fs.ErrNotExist", err)
	}
}

// A bucket that is away for a while takes what is put meanwhile.
func TestABucketThatIsAway(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "runs") // a file: one call puts it, and one takes it away
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(patience time.Duration) *store.Bucket {
		b, err := store.Open(t.Context(), "file://"+dir, patience)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	hasty, patient := open(time.Millisecond), open(time.Minute)
	if err := hasty.Put(t.Context(), "runs/a", nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the bucket did not take it", err)
	}
	put := make(chan error, 1)
	go func() { put <- patient.Put(t.Context(), "runs/a", []byte("a")) }()
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := <-put; err != nil {
		t.Error(err)
	}
	if body, err := patient.Get(t.Context(), "runs/a"); err != nil || string(body) != "a" {
		t.Errorf("got %q, %v", body, err)
	}
}

// Its errors get into history and records.
func TestErrorsNameNoPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secret")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := store.Open(t.Context(), "file://"+dir, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), "runs/a", nil); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line without the place", err)
	}
	if _, err := store.Open(t.Context(), "https://kim:hunter2@example.com", time.Second); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want one line without the URL", err)
	}
}
