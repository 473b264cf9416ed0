package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Use says which program Start runs as the engine.
type Use string

// The programs. The zero Use means Own.
const (
	// Auto is Own where its program or its database is there already, else Command where that is new
	// enough, else Own.
	Auto Use = "auto"
	// Own is the engine of this module, built when it is missing.
	Own Use = "own"
	// Command is the temporal command on PATH. It admits every user and program of this machine.
	Command Use = "temporal"
)

// ParseUse returns the Use of a word.
func ParseUse(word string) (Use, error) {
	if u := Use(word); slices.Contains([]Use{Auto, Own, Command}, u) {
		return u, nil
	}
	return "", fmt.Errorf("engine %q: want %s, %s or %s", word, Auto, Own, Command)
}

// Choice describes the program that Start would run.
type Choice struct {
	Program string `json:"program,omitempty"` // path; empty: it has to be built first
	Name    string `json:"name"`              // ratchet-engine or temporal
	Version string `json:"version,omitempty"` // of the program
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Server  string `json:"server,omitempty"` // version of Temporal's server
	Note    string `json:"note,omitempty"`   // why it is not another one
}

// String returns the choice in one line.
func (c Choice) String() string {
	text := strings.TrimSpace(c.Name + " " + c.Version)
	if c.Server != "" {
		text += ", Temporal server " + c.Server
	}
	if c.Program != "" {
		text += ", " + c.Program
	} else {
		text += ", to be built by the first `starter up`"
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return text
}

// Choose says which program Start would run for a database, without building or starting it. The
// zero Use means Own. The error says what to do when there is none.
func Choose(ctx context.Context, use Use, db string) (Choice, error) {
	command, err := chooseCommand(ctx, use, db)
	if command.Program != "" || err != nil {
		return command, err
	}
	path, b, err := locateProgram()
	var c Choice
	switch {
	case err != nil:
		return Choice{}, err
	case path == "":
		c, err = describeSources(b)
	default:
		c, err = describeProgram(ctx, path)
	}
	c.Note = command.Note
	return c, err
}

// chooseCommand returns the temporal command where it has to serve. Where our own engine has to, the choice
// holds no program, and a note if the command is there and cannot serve.
func chooseCommand(ctx context.Context, use Use, db string) (Choice, error) {
	switch use {
	case Command:
		return findCommand(ctx)
	case Auto:
	default:
		return Choice{}, nil
	}
	path, _, err := locateProgram()
	if _, missing := os.Stat(db); path != "" || os.Getenv(ProgramVariable) != "" || missing == nil {
		return Choice{}, nil
	}
	c, refused := findCommand(ctx)
	switch {
	case refused == nil:
		return c, nil
	case err == nil && !errors.Is(refused, exec.ErrNotFound):
		return Choice{Note: refused.Error()}, nil
	}
	return Choice{}, nil
}

// askTimeout bounds a program's answer to --version. A large one on a cold disk takes its time.
const askTimeout = 30 * time.Second

// askProgram returns what a program writes to standard output. The program gets no secret and no configuration of the user.
func askProgram(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(environment(), userless(os.TempDir())...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

func describeProgram(ctx context.Context, path string) (Choice, error) {
	c := Choice{Program: path, Name: programName}
	out, err := askProgram(ctx, path, "--version", "--json")
	if err != nil {
		return c, fmt.Errorf("%s does not say its version: %w", path, err)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		return c, fmt.Errorf("%s is not the engine's program: it wrote %.80q", path, out)
	}
	c.Program, c.Name = path, programName
	return c, nil
}

// describeSources says what a build would make.
func describeSources(b builder) (Choice, error) {
	c := Choice{Name: programName}
	mod, err := os.ReadFile(filepath.Join(b.sources, "go.mod"))
	for line := range bytes.Lines(mod) {
		if version, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("go.temporal.io/server v")); ok {
			c.Server = string(version)
		}
	}
	return c, err
}
