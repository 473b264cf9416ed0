package proc_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

func lookupIn(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestEnviron(t *testing.T) {
	ours := lookupIn(map[string]string{"PATH": "/p", "LANG": "de_DE.UTF-8", "SECRET_KEY": "canary", "GOPROXY": "off", "EMPTY": "", "HOME": "/home/kim"})
	for name, test := range map[string]struct {
		lookup func(string) (string, bool)
		names  []string
		extra  map[string]string
		want   []string
	}{
		"nothing asked for":              {ours, nil, nil, []string{"LANG=de_DE.UTF-8", "PATH=/p"}},
		"a name let through":             {ours, []string{"GOPROXY"}, nil, []string{"GOPROXY=off", "LANG=de_DE.UTF-8", "PATH=/p"}},
		"a name that is set to nothing":  {ours, []string{"EMPTY"}, nil, []string{"EMPTY=", "LANG=de_DE.UTF-8", "PATH=/p"}},
		"a name that is not set":         {ours, []string{"NONE"}, nil, []string{"LANG=de_DE.UTF-8", "PATH=/p"}},
		"extra wins over a name":         {ours, []string{"HOME"}, map[string]string{"HOME": "/h"}, []string{"HOME=/h", "LANG=de_DE.UTF-8", "PATH=/p"}},
		"our own environment is empty":   {lookupIn(nil), nil, nil, []string{"LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"}},
		"a name that is asked for twice": {ours, []string{"GOPROXY", "GOPROXY"}, nil, []string{"GOPROXY=off", "LANG=de_DE.UTF-8", "PATH=/p"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := proc.Environ(test.lookup, test.names, test.extra); !slices.Equal(got, test.want) {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}

func TestProgramSeesNothingOfOurEnvironment(t *testing.T) {
	t.Setenv("RATCHET_TEST_SECRET", "canary")
	var out bytes.Buffer
	if _, err := proc.Run(t.Context(), proc.Command{Argv: self("play-environ"), Env: []string{"A=1"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != "A=1" {
		t.Errorf("the program has %q", got)
	}
}
