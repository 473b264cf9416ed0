package citizen_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// As a child the test binary registers a session in the store given.
const asRegistrar = "CITIZEN_TEST_STORE"

func TestMain(m *testing.M) {
	dir := os.Getenv(asRegistrar)
	if dir == "" {
		os.Exit(m.Run())
	}
	store := citizen.Store{Dir: dir}
	if _, err := store.Register(context.Background(), session("n-1")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func session(native string) citizen.Birth {
	return citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: native, CWD: "/w"}
}

// registrar runs the child with a failpoint, and says whether it got killed.
func registrar(t *testing.T, dir, failpoints string) (killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asRegistrar+"="+dir, "RATCHET_FAILPOINTS="+failpoints, "GORACE=atexit_sleep_ms=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if err != nil && cmd.ProcessState.Exited() {
		t.Fatalf("%v: %s", err, said.String())
	}
	return err != nil
}

var noon = time.Date(2026, 6, 12, 12, 0, 0, 0, time.Local)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
