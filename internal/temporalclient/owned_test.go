package temporalclient_test

import (
	"os"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc/proctest"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// TestTheCommandOfAnEngineFile has the temporal command as the engine, which proves nothing.
func TestTheCommandOfAnEngineFile(t *testing.T) {
	isolate(t)
	for _, tt := range []struct {
		name  string
		pid   int
		takes bool
	}{
		{"its process lives", os.Getpid(), true},
		{"its process has ended, and another has its port", proctest.Ended(t), false},
		{"its process is not named", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeServer{}
			dir := t.TempDir()
			if err := engine.WriteFile(dir, engine.File{Address: f.serve(t), PID: tt.pid, Command: "temporal 1.9.1"}); err != nil {
				t.Fatal(err)
			}
			door, knocked := temporalclient.Knock(t.Context(), dir, 0)
			c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: dir})
			if err == nil {
				c.Close()
			}
			if (err == nil) != tt.takes || (knocked == nil) != tt.takes || door.Locked() {
				t.Fatalf("dial: %v, knock: %v", err, knocked)
			}
			if !tt.takes {
				saysOnALine(t, err, engine.ErrNotOwned.Error(), "starter up")
				if told := f.called(); len(told) != 0 {
					t.Errorf("it was told %q", told)
				}
			}
		})
	}
}
