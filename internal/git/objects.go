package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// Object is an object read from a repository.
type Object struct {
	Kind    Kind
	Size    int64  // of the whole object
	Content []byte // its first bytes, as many as were asked for
}

// Objects reads objects by id, from one git that starts when it is first needed, and answers until Close. Objects is
// safe for concurrent use.
type Objects struct {
	repo Repo

	mu  sync.Mutex
	git *reader // nil: none runs
}

// NewObjects returns a reader of the objects of r. It starts no git yet.
func NewObjects(r Repo) *Objects { return &Objects{repo: r} }

// Read reads the first limit bytes of an object. The error matches ErrObject when
// the repository does not have it, or has another content under its id. The end of ctx ends the read.
func (o *Objects) Read(ctx context.Context, id ID, limit int64) (Object, error) {
	if !id.Valid() {
		return Object{}, fmt.Errorf("object %q: not an id", string(id))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Object{}, fmt.Errorf("object %s: %w", id, context.Cause(ctx))
	}
	object, err := o.ask(ctx, id, limit)
	if err == nil && object.Size <= limit && Identify(id, object.Kind, object.Content) != id {
		err = fmt.Errorf("%w: its content does not match the id", ErrObject)
	}
	if err != nil {
		return Object{}, fmt.Errorf("object %s: %w", id, err)
	}
	return object, nil
}

// ask reads an object through git.
func (o *Objects) ask(ctx context.Context, id ID, limit int64) (Object, error) {
	if o.git == nil {
		g, err := startReader(o.repo)
		if err != nil {
			return Object{}, err
		}
		o.git = g
	}
	stop := context.AfterFunc(ctx, o.git.kill)
	object, err := o.git.readObject(id, limit)
	if !stop() || err != nil && !errors.Is(err, ErrObject) { // the git is gone, or out of step
		err = errors.Join(err, context.Cause(ctx))
		o.git.kill()
		o.git.wait()
		if kind := classifyComplaint(o.git.stderr.buf.String()); kind != nil && ctx.Err() == nil { // the git has died of it
			err = fmt.Errorf("%w: %w", kind, err)
		}
		o.git = nil
	}
	return object, err
}

// Close ends the git that answers, if one runs. Reading again starts another.
func (o *Objects) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.git == nil {
		return nil
	}
	err := o.git.wait()
	o.git = nil
	if err != nil {
		return fmt.Errorf("end git cat-file: %w", err)
	}
	return nil
}

// reader is a running git cat-file --batch.
type reader struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *head
}

func startReader(r Repo) (*reader, error) {
	ctx, cancel := context.WithCancel(context.Background())
	args := []string{"cat-file", "--batch"}
	cmd := r.newCommand(ctx, args)
	stderr := &head{limit: maxStderr}
	cmd.Stderr = stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	err := errors.Join(err1, err2)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, failedError(ctx, args, "", err)
	}
	return &reader{cmd: cmd, cancel: cancel, in: in, out: bufio.NewReader(out), stderr: stderr}, nil
}

func (r *reader) kill() { r.cancel() }

func (r *reader) wait() error {
	defer r.cancel()
	r.in.Close() // git ends at the end of its input
	return r.cmd.Wait()
}

// readObject asks for one object. It sends a line, and receives a line of id, kind and size, the content,
// and a line feed.
func (r *reader) readObject(id ID, limit int64) (Object, error) {
	if _, err := io.WriteString(r.in, string(id)+"\n"); err != nil {
		return Object{}, err
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		return Object{}, err
	}
	fields := strings.Fields(line)
	if len(fields) == 2 {
		return Object{}, ErrObject
	}
	if len(fields) != 3 {
		return Object{}, fmt.Errorf("git cat-file: unexpected answer %q", line)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, fmt.Errorf("git cat-file: unexpected answer %q", line)
	}
	content := make([]byte, max(0, min(size, limit)))
	if _, err := io.ReadFull(r.out, content); err != nil {
		return Object{}, err
	}
	if _, err := io.CopyN(io.Discard, r.out, size-int64(len(content))+1); err != nil {
		return Object{}, err
	}
	return Object{Kind: Kind(fields[1]), Size: size, Content: content}, nil
}
