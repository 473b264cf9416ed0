package supervisor_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

// onAnotherThread runs f on a thread that is not the first one.
func onAnotherThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if syscall.Gettid() == os.Getpid() {
			onAnotherThread(f) // this thread is taken meanwhile
			return
		}
		f()
	}()
	<-done
}

// The list of the first thread lacks what another one has started.
func TestChildrenThatNoListHasAreKilled(t *testing.T) {
	onAnotherThread(func() {
		for range 3 {
			if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "300"}, nil); err != nil {
				t.Error(err)
			}
		}
		if n := supervisor.ListedChildren(); n != 0 {
			t.Errorf("the list has %d children", n)
		}
		if left := supervisor.KillChildren(time.Minute); left != 0 {
			t.Errorf("%d are left", left)
		}
	})
}
