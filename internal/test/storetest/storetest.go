// Package storetest makes buckets for tests.
package storetest

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// Variable names the environment variable with the program of an S3 server, versitygw. `.ci/nightly hosts` builds it.
const Variable = "VERSITYGW"

const key = "ratchet" // of the server, and its secret

// New returns the URL of an empty bucket, and the directory in which its objects are files under their keys. It is on an
// S3 server if the environment names the server's program, and a directory if not.
func New(t testing.TB) (url, dir string) {
	t.Helper()
	program := os.Getenv(Variable)
	if program == "" {
		dir = t.TempDir()
		return "file://" + dir, dir
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} { // of this process and its workers
		if err := os.Setenv(name, key); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	root := t.TempDir()
	dir = filepath.Join(root, "bucket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--access", key, "--secret", key, "--port", address, "--quiet", "posix", root)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually.Holds(t, "the S3 server answers", func() bool {
		resp, err := http.Get("http://" + address)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close() == nil
	})
	return "s3://bucket?region=us-east-1&use_path_style=true&endpoint=http://" + address, dir
}
