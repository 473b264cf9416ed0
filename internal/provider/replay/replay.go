// Package replay is the provider of recorded answers: files of one directory,
// <phase>-<iteration>.md.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// MaxAnswer bounds one recorded answer in bytes.
const MaxAnswer = 16 << 20

// Find returns an error if dir is not a directory that can be read.
func Find(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("no directory of recorded answers: %w: name one with files such as plan-1.md and execute-1.md", err)
	}
	return root.Close()
}

type replay struct {
	dir    string
	redact *redact.Redactor
}

// New returns a provider that answers from dir. The answer to the request of a
// phase and an iteration is the file <phase>-<iteration>.md. From the second
// call on, <phase>-<iteration>.<call>.md takes precedence. A missing answer is a
// BAD_REQUEST. The provider reads nothing outside dir, not even by links.
func New(dir string, redact *redact.Redactor) provider.Provider {
	return replay{dir, redact}
}

func (r replay) Capabilities() provider.Capabilities {
	return provider.Capabilities{Name: "replay", SupportsPatchFirst: true}
}

func (r replay) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return provider.Response{}, err
	}
	if err := req.Check(); err != nil {
		return provider.FailedResponse(err, "", time.Since(start)), err
	}
	raw, err := r.readAnswer(req)
	if err != nil {
		e := &failure.Error{Code: failure.BadRequest, Message: display.Clip(r.redact.String(err.Error()), failure.MaxMessage)}
		return provider.FailedResponse(e, "", time.Since(start)), e
	}
	raw = r.redact.Bytes(raw)
	if progress != nil {
		progress(provider.Progress{Bytes: int64(len(raw)), Tail: provider.Tail(raw)})
	}
	return provider.Response{RawText: string(raw), FinishReason: provider.Stop, DurationMs: time.Since(start).Milliseconds()}, nil
}

// readAnswer reads the recorded answer of a request.
func (r replay) readAnswer(req provider.Request) ([]byte, error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, fmt.Errorf("open recorded answers: %w", err)
	}
	defer root.Close()
	plain := fmt.Sprintf("%s-%d.md", req.Phase, req.Iteration)
	if req.Call > 1 {
		raw, err := readFile(root, fmt.Sprintf("%s-%d.%d.md", req.Phase, req.Iteration, req.Call))
		if !errors.Is(err, fs.ErrNotExist) {
			return raw, err
		}
	}
	raw, err := readFile(root, plain)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no recorded answer: %s is missing", filepath.Join(r.dir, plain))
	}
	return raw, err
}

// readFile opens without blocking, because a pipe of that name may have no writer.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("recorded answer: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("recorded answer: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("recorded answer %s: not a regular file", name)
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxAnswer+1))
	if err == nil && len(raw) > MaxAnswer {
		err = fmt.Errorf("more than %d bytes", MaxAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("recorded answer %s: %w", name, err)
	}
	return raw, nil
}
