package agenttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// HostsCase is a file of a client's settings, and the hosts that the client asks with it. HOME in Env is the home directory.
type HostsCase struct {
	File string // below HOME; empty: none
	Text string
	Env  map[string]string
	Want []string
}

// CheckHosts tests which hosts a client asks.
func CheckHosts(t *testing.T, hosts func(map[string]string) []string, cases map[string]HostsCase) {
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			values := map[string]string{"HOME": home}
			for k, v := range tt.Env {
				values[k] = strings.Replace(v, "HOME", home, 1)
			}
			if tt.File != "" {
				path := filepath.Join(home, tt.File)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tt.Text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := hosts(values); !slices.Equal(got, tt.Want) {
				t.Errorf("got %q, want %q", got, tt.Want)
			}
		})
	}
}
