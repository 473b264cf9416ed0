package child

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Manifests remembers the manifest of a client, once for each state of its
// program. The zero value is ready.
type Manifests struct {
	mu   sync.Mutex
	seen map[string]agent.Manifest
}

// GetOrDetect returns the manifest of the client that argv runs. If it cannot, it
// returns the manifest that missing makes of the reason. Detect asks the client;
// its answer is kept if whole is true. GetOrDetect waits for it while ctx lasts,
// and for ManifestTimeout at most.
func (m *Manifests) GetOrDetect(
	ctx context.Context, argv []string, missing func(why string) agent.Manifest, detect func(context.Context) (found agent.Manifest, whole bool),
) agent.Manifest {
	state := programState(argv)
	m.mu.Lock()
	known, ok := m.seen[state]
	m.mu.Unlock()
	if ok {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	told := make(chan agent.Manifest, 1)
	go func() {
		found, whole := detect(ctx)
		if whole {
			m.keepManifest(state, found)
		}
		told <- found
	}()
	select {
	case found := <-told:
		return found
	case <-ctx.Done():
		return missing(fmt.Sprintf("%s did not answer in time: %v", argv[0], ctx.Err()))
	}
}

func (m *Manifests) keepManifest(state string, found agent.Manifest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[string]agent.Manifest{}
	}
	m.seen[state] = found
}

// programState returns a string that changes when the program or a file changes
// that argv names.
func programState(argv []string) string {
	var s strings.Builder
	for _, arg := range argv {
		s.WriteString(arg + "\x00")
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(&s, "%d %s\x00", info.Size(), info.ModTime())
		}
	}
	return s.String()
}
