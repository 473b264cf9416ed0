package host_test

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host"
)

func TestToolchainThatNoBoxShowsIsRefused(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	tools := filepath.Join(home, "sdk", "1.2")
	check(t, os.MkdirAll(tools, 0o700))
	file := filepath.Join(home, "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for dir, want := range map[string]string{
		tools:                         "",
		filepath.Join(home, "absent"): "no such file or directory",
		file:                          "not a directory",
		home:                          "home directory",
		filepath.Dir(home):            "home directory",
		"/":                           "belongs to the system",
		"/proc/self":                  "belongs to the system",
	} {
		var c host.Config
		flags := flag.NewFlagSet("worker", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		c.AddFlags(flags)
		err := flags.Parse([]string{"-toolchain", dir})
		switch {
		case want == "" && (err != nil || len(c.Toolchains) != 1):
			t.Errorf("%s: %v, %q", dir, err, c.Toolchains)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(c.Toolchains) > 0):
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestCachedRuns(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "100000": 100_000, "0": 0, "-1": 0, "100001": 0, "many": 0, "1e3": 0, "": 0} {
		var c host.Config
		flags := flag.NewFlagSet("worker", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		c.AddFlags(flags)
		err := flags.Parse([]string{"-cached-runs", text})
		if refused := err != nil; refused != (want == 0) || c.CachedRuns != want {
			t.Errorf("%q: %d, %v", text, c.CachedRuns, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "1 to 100000") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
