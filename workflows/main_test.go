package workflows_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/internal/engine"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

const (
	// doomedVariable makes the test binary a worker of the task queue that it names, whose activities never end.
	doomedVariable  = "RATCHET_TEST_DOOMED_WORKER"
	addressVariable = "RATCHET_TEST_ADDRESS"
	keyVariable     = "RATCHET_TEST_KEY"
)

func TestMain(m *testing.M) {
	temporaltest.ObeyCacheVariable()
	if queue := os.Getenv(doomedVariable); queue != "" {
		fmt.Fprintln(os.Stderr, serveDoomed(os.Getenv(addressVariable), os.Getenv(keyVariable), queue))
		os.Exit(1)
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case leakyProvider:
			os.Exit(provideLeaks(os.Stdin, os.Stdout, os.Stderr))
		case leakyCheck:
			os.Exit(checkLeaks(os.Stdout, os.Args[2:]))
		}
	}
	os.Exit(eventually.RunTests(m, 8))
}

// serveDoomed serves until the process is killed.
func serveDoomed(address, keyDir, queue string) error {
	key, err := engine.ReadKey(keyDir)
	if err != nil {
		return err
	}
	c, err := temporalclient.Dial(context.Background(), temporalclient.Options{Engine: address, Key: key, Identity: temporaltest.Identity})
	if err != nil {
		return err
	}
	defer c.Close()
	acts := activitiesByName(&fakeActivities{})
	acts["Plan"] = untilCanceled
	w := worker.New(c, queue, temporalclient.WorkerOptions(temporaltest.Identity))
	register(w, acts)
	return w.Run(make(chan any))
}
