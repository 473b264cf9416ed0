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
