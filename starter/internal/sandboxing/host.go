package sandboxing

import (
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Host returns what runs checks on this machine as a worker with these toolchains does.
func Host(c *factory.Factory, toolchains []string) (host.Config, error) {
	config := host.Config{Environ: c.Environ}
	for _, dir := range toolchains {
		if err := config.AddToolchain(dir); err != nil {
			return config, usage.Errorf("--toolchain %s: %w", display.Line(dir), err)
		}
	}
	return config, nil
}
