package newrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// validateNamed looks for what the provider names by a path.
func validateNamed(spec catalog.Spec, dir string) error {
	if !spec.Named() {
		return nil
	}
	return spec.Validate(dir, os.Environ())
}

// providersOfWorker returns the specs of the providers whose programs or keys the worker's environment
// decides.
func providersOfWorker(p run.Providers) []string {
	return slices.DeleteFunc(p.Specs(), func(text string) bool {
		spec, err := catalog.Parse(text)
		return err != nil || spec.Named()
	})
}

// validateHere looks for the providers in this process's environment, where no worker can be asked.
func validateHere(p run.Providers) error {
	for _, text := range providersOfWorker(p) {
		spec, err := catalog.Parse(text)
		if err == nil {
			err = spec.Validate(p.Dir, os.Environ())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MissingHere looks for the providers in this process's environment, after err has kept a worker from being asked. Where
// engine or worker were only too slow to answer it finds nothing missing: the worker may have what this process lacks.
func MissingHere(err error, p run.Providers) error {
	engine, ok := errors.AsType[*temporalclient.Unreachable](err)
	if ok && !engine.Silent() || errors.Is(err, runs.ErrNoWorker) {
		return validateHere(p)
	}
	return nil
}

// Probe asks the worker whether the providers can work there, before the run is started and
// anybody is paid. If there is no worker, it looks in this environment. It says when none answers: the run itself
// asks later about a provider that is missing.
func Probe(ctx context.Context, c *factory.Factory, client *runs.Client, in *run.Input) error {
	in.Notify = ChannelsHere(c)
	if err := checkWords(*in); err != nil {
		return err
	}
	p, given := in.Providers, in.OptionsBySpec()
	specs := providersOfWorker(p)
	for _, spec := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(specs, spec) {
			specs = append(specs, spec)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	found, err := client.Probe(ctx, activities.ProbeInput{Specs: specs, Dir: p.Dir, Sandbox: in.Sandbox, Options: given})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if missing := MissingHere(err, p); missing != nil {
			return missing
		}
		fmt.Fprintf(c.Err, "starter: no worker says whether it has %s (%s): the run asks if one is missing\n", strings.Join(specs, ", "), display.Line(err.Error()))
		return nil
	}
	in.Notify = found.Notify
	list := ProblemsOf(found)
	if hint := wordsHint(*in); hint != "" && len(list) > 0 && len(given) > 1 { // one of several agents may not know the mode
		list = append(list, errors.New(hint))
	}
	return errors.Join(list...)
}

// ProblemsOf returns what keeps providers from working on the worker.
func ProblemsOf(found activities.ProbeResult) (list []error) {
	for _, why := range found.Problems {
		list = append(list, fmt.Errorf("on the worker: %s", display.Line(why)))
	}
	return list
}

// ChannelsHere returns the channels by which the worker of `starter up` notifies people about runs. A worker that is asked
// says it itself.
func ChannelsHere(c *factory.Factory) []run.Channel {
	f, err := engine.ReadFile(c.RunsDir)
	if err != nil {
		return nil
	}
	return f.Notify
}
