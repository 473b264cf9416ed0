package engine_test

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

func TestAKeyIsMadeOnceAndForThisUserAlone(t *testing.T) {
	dir := t.TempDir()
	first, err := engine.MakeKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v, want mode 0600", first.Path, info, err)
	}
	before, _ := os.ReadFile(first.Path)
	if _, err := engine.MakeKey(dir); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(first.Path); string(after) != string(before) {
		t.Error("the second start made another key")
	}
	for name, spoil := range map[string]func() error{
		"others can read it": func() error { return os.Chmod(first.Path, 0o644) },
		"it is a link": func() error {
			return errors.Join(os.Rename(first.Path, first.Path+".old"), os.Symlink(first.Path+".old", first.Path))
		},
		"it is torn": func() error {
			return errors.Join(os.Remove(first.Path), os.WriteFile(first.Path, before[:len(before)/2], 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(first.Path), os.WriteFile(first.Path, before, 0o600), spoil()); err != nil {
				t.Fatal(err)
			}
			_, err := engine.MakeKey(dir)
			refused(t, err, first.Path, "remove it")
		})
	}
}

// TestAKeyAdmitsItsOwnCertificateAlone, and is no authority over others.
func TestAKeyAdmitsItsOwnCertificateAlone(t *testing.T) {
	mine, err := engine.MakeKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, err := engine.MakeKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		key  engine.Key
		want bool
	}{{"the same", mine, true}, {"another", other, false}} {
		l, err := tls.Listen("tcp", "127.0.0.1:0", tt.key.TLS())
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := l.Accept(); err == nil {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}
		}()
		conn, err := tls.Dial("tcp", l.Addr().String(), mine.TLS())
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			_ = conn.Close()
		}
		_ = l.Close()
	}
	if leaf := mine.TLS().Certificates[0].Leaf; leaf.IsCA {
		t.Error("the certificate can sign others")
	}
	if filepath.Base(mine.Path) != engine.KeyFile {
		t.Errorf("the key is at %s", mine.Path)
	}
}
