// Package catalog knows the kinds of providers: it reads a spec such as
// command:./agent.py, says before a run whether it can work, and opens it. A
// spec holds no secret: it enters the workflow's history.
package catalog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/provider/replay"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// Kind is the kind of a provider: what a spec has before its colon.
type Kind string

// The kinds.
const (
	Command Kind = "command"
	Replay  Kind = "replay"
)

// forms are the specs that Parse takes.
const forms = "command:<program and arguments>, replay:<directory>"

// planned are kinds that have a name and nothing behind it.
var planned = []Kind{"anthropic", "openai", "claude", "codex", "acp", "openclaw"}

// Spec names one provider. Parse makes it; the zero Spec names none.
type Spec struct {
	Kind Kind
	Argv []string // of a Command: the program and its arguments
	Dir  string   // of a Replay: the directory of the answers
}

// Parse reads a spec. The arguments of a command are taken apart as a shell
// does it, quotes included, and nothing is expanded.
func Parse(text string) (Spec, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), ":")
	s := Spec{Kind: Kind(name)}
	var err error
	switch {
	case s.Kind == Command:
		s.Argv, err = splitArgv(rest)
	case s.Kind == Replay:
		if s.Dir = rest; rest == "" {
			err = errors.New("it names no directory: give replay:<directory>")
		}
	case slices.Contains(planned, s.Kind):
		err = fmt.Errorf("%s is not available in this version: use one of %s", name, forms)
	default:
		err = fmt.Errorf("no such kind of provider: use one of %s", forms)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("provider %q: %w", text, err)
	}
	return s, nil
}

func splitArgv(text string) ([]string, error) {
	argv, err := shellquote.Split(text)
	if err != nil {
		return nil, fmt.Errorf("split the command: %s", strings.ToLower(err.Error()))
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("it names no program: give command:<program and arguments>")
	}
	return argv, nil
}

// String is the spec that Parse reads back.
func (s Spec) String() string {
	if s.Kind == Command {
		return "command:" + shellquote.Join(s.Argv...)
	}
	return string(s.Kind) + ":" + s.Dir
}

// Validate says, before a run is started, what would keep the provider from
// working on this machine. Relative names count from dir.
func (s Spec) Validate(dir string) error {
	var err error
	switch {
	case s.Kind == Command && len(s.Argv) > 0:
		err = command.Find(dir, s.Argv[0])
	case s.Kind == Replay:
		err = replay.Find(from(dir, s.Dir))
	default:
		err = fmt.Errorf("not a whole spec: use one of %s", forms)
	}
	if err != nil {
		return fmt.Errorf("provider %s: %w", s, err)
	}
	return nil
}

// Env is what a worker gives to the providers that it opens.
type Env struct {
	// Dir is where programs run, and where relative names count from.
	Dir string
	// Environ is the worker's environment, as os.Environ gives it. Programs see
	// little of it (see command.Config), and the variables that Allow names.
	Environ []string
	Allow   []string
	// Redact takes the worker's secrets out of all that a provider says.
	Redact *redact.Redactor
	// Log gets what a program writes to its standard error, in one Write at the
	// end of each call; nil discards it.
	Log io.Writer
}

// Open makes the provider. It starts nothing.
func (s Spec) Open(env Env) (provider.Provider, error) {
	switch {
	case s.Kind == Command && len(s.Argv) > 0:
		return command.New(command.Config{
			Argv: s.Argv, Dir: env.Dir, Environ: env.Environ, Allow: env.Allow, Redact: env.Redact, Log: env.Log,
		}), nil
	case s.Kind == Replay:
		return replay.New(from(env.Dir, s.Dir), env.Redact), nil
	}
	return nil, fmt.Errorf("open provider %s: not a whole spec", s)
}

func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
