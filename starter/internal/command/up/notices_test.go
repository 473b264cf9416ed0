package up

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// A flag of notices stands above the user's file, and what the file leads to is told.
func TestNoticesComeFromTheUsersFile(t *testing.T) {
	const file = "[notify]\ncommand = 'tell-me'\nwebhook = 'https://hooks.example.com/x'\nbell = false\n"
	for _, tc := range []struct {
		name, file       string
		args             []string
		command, webhook string
		told             int
	}{
		{"the file alone", file, nil, "tell-me", "https://hooks.example.com/x", 2},
		{"a flag and the file", file, []string{"--notify", "other"}, "other", "https://hooks.example.com/x", 1},
		{"neither", "", nil, "", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, said := clitest.LocalFactory(t, engine.File{}, false)
			if tc.file != "" {
				clitest.Must(t, os.MkdirAll(filepath.Dir(c.SettingsPath()), 0o700))
				clitest.Write(t, c.SettingsPath(), tc.file)
			}
			var worker host.Config
			ofWorker := flag.NewFlagSet("worker", flag.ContinueOnError)
			worker.AddFlags(ofWorker)
			flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
			flags.AddGoFlagSet(ofWorker)
			clitest.Must(t, flags.Parse(tc.args))
			clitest.Must(t, fillNotices(c, flags))
			if n := worker.Notify; n.Command != tc.command || n.Webhook != tc.webhook {
				t.Errorf("%+v", n)
			}
			if lines := strings.Count(said.String(), c.SettingsPath()); lines != tc.told || strings.Contains(said.String(), "hooks.example.com") {
				t.Errorf("it tells %q", said)
			}
		})
	}
}
