package activities

import (
	"cmp"
	"context"
	"os"
	"reflect"
	"strings"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// header returns the header of the input that embeds it.
func (h *Header) header() *Header { return h }

// Attend prepares this host for an activity of a run with a repository on a server: the record comes from the bucket, and
// the commits from the server, unless they are here. It returns the arguments with the place of the repository on this host.
// The caller calls done after the activity, which puts into the bucket what the record has since. Host is the name of this
// host in the identity of its workers. Without a bucket, and for other activities, Attend does nothing.
func Attend(ctx context.Context, a *Activities, host string, args []any) (_ context.Context, here []any, done func() error, err error) {
	nothing := func() error { return nil }
	if rundir.Bucket(a.runs.Dir()) == nil {
		return ctx, args, nothing, nil
	}
	for i, arg := range args {
		in := reflect.New(reflect.TypeOf(arg))
		in.Elem().Set(reflect.ValueOf(arg))
		headed, ok := in.Interface().(interface{ header() *Header })
		if !ok || headed.header().Repository.URL == "" {
			continue
		}
		h := headed.header()
		h.Repository.Path = a.mirrors.Path(h.Repository.URL)
		done, err := a.attendRun(ctx, *h)
		if err != nil {
			return ctx, nil, nil, err
		}
		here = append([]any{}, args...)
		here[i] = in.Elem().Interface()
		return context.WithValue(ctx, hostKey{}, host), here, done, nil
	}
	return ctx, args, nothing, nil
}

func (a *Activities) attendRun(ctx context.Context, h Header) (done func() error, err error) {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "reads the record in the bucket"})
	defer stop()
	leave, err := a.runs.Attend(ctx, h.RunID)
	if err != nil {
		return nil, err
	}
	if err := a.bringCommits(ctx, h); err != nil {
		leave()
		return nil, a.remoteError(err)
	}
	failpoint.Hit("store.attended")
	return func() error {
		defer leave()
		_, stop := report.Heartbeat(ctx, report.Progress{Doing: "writes the record to the bucket"})
		defer stop()
		return a.runs.Run(h.RunID).Publish()
	}, nil
}

// bringCommits brings the run's branch to where it stands on the server, if this host is behind. A branch that is not on
// the server begins at the base. One that has a commit which is not on the server yet stays: Apply makes that again.
func (a *Activities) bringCommits(ctx context.Context, h Header) error {
	base, head := string(h.Repository.Base), string(h.Entry.Standing.Head)
	if facts, err := a.runs.Run(h.RunID).Facts(); head == "" && err == nil {
		head = string(facts.Head)
	}
	head = cmp.Or(head, base)
	branch := cmp.Or(h.Branch, h.RunID.Branch())
	ref, url := "refs/heads/"+branch, h.Repository.URL
	mirror := git.Repo{Dir: a.runs.Dir(), GitDir: h.Repository.Path}
	at := resolve(ctx, mirror, ref)
	if at == head || at != "" && head == base {
		return nil
	}
	there, err := remote.Remote{URL: url}.Branches(ctx, mirror, branch)
	if err != nil {
		return err
	}
	to := cmp.Or(there[branch], base)
	switch {
	case resolve(ctx, mirror, to+"^{commit}") != "":
	case there[branch] != "":
		_, err = a.mirrors.Fetch(ctx, url, ref)
	default:
		_, err = a.mirrors.Fetch(ctx, url, base)
	}
	if err != nil || at == to {
		return err
	}
	if at == "" {
		return mirror.UpdateRef(ctx, git.RefMove{Name: ref, Old: git.ID(to).Zero(), New: git.ID(to), Message: "ratchet"})
	}
	if _, err := mirror.Run(ctx, "merge-base", "--is-ancestor", at, to); err != nil {
		return nil // see above; what else it has is asked about
	}
	return mirror.UpdateRef(ctx, git.RefMove{Name: ref, Old: git.ID(at), New: git.ID(to), Message: "ratchet"})
}

// resolve returns the object that a name means; empty: there is none.
func resolve(ctx context.Context, r git.Repo, name string) string {
	if _, err := os.Stat(r.GitDir); err != nil {
		return ""
	}
	out, err := r.Run(ctx, "rev-parse", "--verify", "-q", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
