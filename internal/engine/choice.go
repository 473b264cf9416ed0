package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Choice describes the program that Start would run.
type Choice struct {
	Program string `json:"program,omitempty"` // path; empty: it has to be built first
	Name    string `json:"name"`              // ratchet-engine
	Version string `json:"version,omitempty"` // of the program
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Server  string `json:"server,omitempty"` // version of Temporal's server
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
		text += ", built by the first `starter up`"
	}
	return text
}

// Choose says which program Start would run, without building or starting it. The error says what to do when there is
// none.
func Choose(ctx context.Context) (Choice, error) {
	path, b, err := locateProgram()
	switch {
	case err != nil:
		return Choice{}, err
	case path == "":
		return describeSources(b)
	default:
		return describeProgram(ctx, path)
	}
}

// askTimeout bounds a program's answer to --version. A large one on a cold disk takes its time.
const askTimeout = 30 * time.Second

func describeProgram(ctx context.Context, path string) (Choice, error) {
	c := Choice{Program: path, Name: programName}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version", "--json")
	// It gets no secret and no configuration of the user.
	cmd.Env = append(environment(), userless(os.TempDir())...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("%s does not print its version: %w", path, err)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		return c, fmt.Errorf("%s is not the engine's program: it printed %.80q", path, out)
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
