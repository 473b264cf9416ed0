// Package sandboxing chooses the sandbox of a command, and refuses a run that the worker here would not execute.
package sandboxing

import (
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Choose returns the policy that a flag names, else the one that the user has decided on, else
// run.SandboxRequired. If the policy is off by the user's settings, it prints that.
func Choose(c *factory.Factory, flag string) (policy run.Sandbox, err error) {
	if flag != "" {
		if err := policy.UnmarshalText([]byte(flag)); err != nil {
			return "", usage.Errorf("--sandbox: %w", err)
		}
		return policy, nil
	}
	s, err := settings.Read(c.SettingsPath())
	if err != nil {
		return "", err
	}
	if s.Sandbox().Off() {
		fmt.Fprintf(c.Err, "starter: sandbox off, as %s says\n", c.SettingsPath())
	}
	return s.Sandbox().WithDefault(), nil
}

// Check refuses a run that the worker beside the local engine would not execute, before anything
// is paid for it. A person's first --sandbox off on a machine without a box is remembered.
func Check(c *factory.Factory, want run.Sandbox, flag bool) error {
	local, ok := localEngine(c)
	if !ok {
		return nil
	}
	if want.Off() && flag && c.Interactive && local.NoBox != "" {
		if err := settings.RememberSandbox(c.SettingsPath(), want); err != nil {
			return err
		}
		fmt.Fprintf(c.Err, "starter: remembered in %s\n", c.SettingsPath())
	}
	return Fits(want, local, c.Hint("up"), c.Hint("run --sandbox off"))
}

// Fits returns nil if the worker of the engine takes runs with the policy. Up and off are the
// commands that start a worker, and a run without the box.
func Fits(want run.Sandbox, local engine.File, up, off string) error {
	worker := run.Sandbox(local.Sandbox)
	switch {
	case want.Off() && !worker.Off():
		return fmt.Errorf("the run says --sandbox off, but the worker requires the sandbox: restart it with `%s --sandbox off`, or start the run without it", up)
	case !want.Off() && worker.Off():
		return fmt.Errorf("the run requires the sandbox, but the worker was started with --sandbox off: restart it with `%s --sandbox required`, or start the run with --sandbox off", up)
	case !want.Off() && local.NoBox != "":
		return errors.New(local.NoBox + fmt.Sprintf("; then start `%s` again; or let what runs execute do all that you can do: `%s`", up, off))
	}
	return nil
}

// localEngine returns the file of the engine in use, if that is one of this machine and has a worker
// beside it.
func localEngine(c *factory.Factory) (engine.File, bool) {
	target, err := temporalclient.Resolve(temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil || target.Source != temporalclient.EngineFile {
		return engine.File{}, false
	}
	f, err := engine.ReadFile(target.RunsDir)
	return f, err == nil && f.Sandbox != ""
}

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
