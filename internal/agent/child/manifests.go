package child

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Manifests remembers what a client told of itself, once for each state of its
// program. The zero value is ready.
type Manifests struct {
	mu   sync.Mutex
	seen map[string]agent.Manifest
}

// Of is the manifest of the client that argv runs, or the one that missing
// makes of the reason why there is none. Detect asks the client; its answer is
// kept if it is whole. It is waited for while ctx lasts, for ManifestTimeout at
// most.
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

// stateOf changes when the program does, or a file that it is given to run.
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
