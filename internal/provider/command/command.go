// Package command is the provider that asks a program. It writes the request as JSON to the program's
// standard input and reads the answer from its standard output.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// MaxOutput bounds the output of a program, in bytes. A program that prints more is
// ended.
const MaxOutput = 16 << 20

// Config says which program to ask, and how.
type Config struct {
	Argv []string // the program, which must be there, and its arguments
	Dir  string   // its working directory, and the directory to which a relative program is relative
	// Environ is our own environment. Of it the program sees PATH, HOME, USER,
	// LANG, LC_*, TMPDIR, and the variables in Allow. It also gets RATCHET_RUN_ID,
	// RATCHET_PHASE, RATCHET_ITERATION and RATCHET_ROLE.
	Environ []string
	Allow   []string
	// Sandbox is the boundary around the program. Inside of it the program has its working directory to
	// read, the files that it consists of, and no network but the targets of the Sandbox.
	Sandbox child.Sandbox
	Redact  *redact.Redactor // nil: nothing is redacted
	// Log gets the head and the tail of the program's standard
	// error, in one Write for each call; nil discards it.
	Log io.Writer
}

// ErrNotOnPath is the remedy for a program that is named without a directory and not found.
var ErrNotOnPath = errors.New("install it, or name its path")

// Find returns an error if the program cannot be started: from our own PATH, or relative to dir if its
// name is a relative path.
func Find(dir, program string) error {
	path := program
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		path = filepath.Join(dir, program)
	}
	_, err := exec.LookPath(path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not executable: make it so with chmod +x, or name its interpreter first", path)
	case strings.Contains(program, "/"):
		return fmt.Errorf("no program at %s: name one that exists, relative to %s or absolute", path, dir)
	}
	return fmt.Errorf("no program %s on PATH: %w", program, ErrNotOnPath)
}

type command struct{ Config }

// New returns a provider that runs the program once for each request. The program's
// output is the answer: a ProviderResponse of the contract if it is a JSON object
// with a member rawText, else raw text.
//
// The program and all programs that it started are ended before Generate returns.
func New(c Config) provider.Provider { return command{c} }

func (c command) Capabilities() provider.Capabilities {
	return provider.Capabilities{Name: "command", SupportsPatchFirst: true, SupportsStreaming: true}
}

func (c command) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return provider.Response{}, err
	}
	if err := req.Check(); err != nil {
		return provider.FailedResponse(err, "", 0), err
	}
	input, err := encodeRequest(req)
	if err != nil {
		e := &failure.Error{Code: failure.BadRequest, Message: "request: " + err.Error()}
		return provider.FailedResponse(e, "", 0), e
	}
	out, end := c.runProgram(ctx, req, input, progress)
	answer := readAnswer(out)
	answer.raw = c.Redact.String(answer.raw) // JSON escapes could hide a secret from the redaction of the output
	if ctx.Err() != nil && !(end.err == nil && end.result.End == proc.Exited) {
		return provider.Response{RawText: answer.raw, FinishReason: provider.Failed, DurationMs: time.Since(start).Milliseconds()}, ctx.Err()
	}
	resp := answer.toResponse(classifyEnding(end))
	resp.DurationMs = time.Since(start).Milliseconds()
	if resp.Error != nil {
		resp.Error.Message = display.Clip(c.Redact.String(resp.Error.Message), failure.MaxMessage)
		return resp, resp.Error
	}
	return resp, nil
}

// encodeRequest writes one line, for programs that read only one.
func encodeRequest(req provider.Request) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(req)
	return line.Bytes(), err
}

// run runs the program inside of the boundary.
func (c command) run(ctx context.Context, p proc.Command) (proc.Result, error) {
	if !c.Sandbox.Held() {
		return proc.Run(ctx, p)
	}
	p.Argv = slices.Clone(p.Argv)
	for i, arg := range p.Argv { // the scripts among the arguments belong to the program
		if path := filepath.Join(p.Dir, arg); strings.Contains(arg, "/") && !filepath.IsAbs(arg) && isFile(path) {
			p.Argv[i] = path
		}
	}
	if !strings.Contains(p.Argv[0], "/") {
		path, err := child.FindProgram(p.Argv[0], child.ParseEnviron(p.Env)["PATH"])
		if err != nil {
			return proc.Result{}, fmt.Errorf("%w: %w", proc.ErrNotFound, err)
		}
		p.Argv[0] = path
	}
	in, err := c.Sandbox.Enclose(child.Client{Argv: p.Argv, Env: p.Env}, agent.Options{Dir: c.Dir, Sandbox: agent.ReadOnly})
	if err != nil {
		return proc.Result{}, err
	}
	p.Env, p.Box = in.Env, in.Box
	return proc.Run(ctx, p)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (c command) runProgram(ctx context.Context, req provider.Request, input []byte, progress func(provider.Progress)) ([]byte, ending) {
	ctx, stop := context.WithTimeout(ctx, req.Constraints.Timeout())
	defer stop()
	out := &output{limit: MaxOutput, full: stop, progress: progress}
	said := complaint{long: proc.NewHeadTail(32<<10, 32<<10), short: proc.NewHeadTail(200, 600)}
	stdout, stderr := c.Redact.Writer(out), c.Redact.Writer(said)

	result, err := c.run(ctx, proc.Command{
		Argv:   c.Argv,
		Dir:    c.Dir,
		Env:    c.buildEnviron(req),
		Stdin:  bytes.NewReader(input),
		Stdout: stdout,
		Stderr: stderr,
	})
	// Neither can fail: both writers take everything.
	stdout.Close()
	stderr.Close()
	said.writeLog(c.Log)
	return out.kept, ending{
		program: c.Argv[0], result: result, err: err,
		flooded: out.over, timeout: req.Constraints.Timeout(), said: strings.TrimSpace(said.short.String()),
	}
}
