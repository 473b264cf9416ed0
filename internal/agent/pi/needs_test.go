package pi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestHostsThatSettingsName(t *testing.T) {
	agenttest.CheckHosts(t, pi.APIHosts, map[string]agenttest.HostsCase{
		"models.json": {File: ".pi/agent/models.json", Text: `{"providers":{"a":{"baseUrl":"http://[::1]:8080/v1"}}}`, Want: []string{"[::1]:8080"}},
	})
}

func TestArgv(t *testing.T) {
	tests := map[string]struct {
		environ []string
		want    []string
		fails   string
	}{
		"unset":      {nil, []string{"pi"}, ""},
		"empty":      {[]string{"RATCHET_PI="}, []string{"pi"}, ""},
		"a line":     {[]string{"RATCHET_PI=node '/opt/my pi/cli.js'"}, []string{"node", "/opt/my pi/cli.js"}, ""},
		"blanks":     {[]string{"RATCHET_PI=  "}, nil, "RATCHET_PI: no program given"},
		"open quote": {[]string{"RATCHET_PI=node 'x"}, nil, "RATCHET_PI: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := pi.Argv(tt.environ)
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.fails == "") || err != nil && !strings.HasPrefix(err.Error(), tt.fails) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
