// Package remote reaches git repositories on servers. It is the only package that lets git reach a network, by one
// protocol at a time of a fixed list. It follows no redirect, runs no hook and fetches no submodule.
package remote

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Remote is a repository on a server.
type Remote struct {
	URL string // without a password
	// User and Password, where they are set, are in the environment of git alone, which then reads none of the
	// configuration of the worker's user. Otherwise that user's credential helper or key counts.
	User, Password string
	CA             string // file with certificates; empty: the system's
}

// transferLimit bounds one transfer of objects.
const transferLimit = 2 * time.Hour

// protocols are those by which a worker reaches the URL of a run, unless GIT_ALLOW_PROTOCOL in its environment says so of
// other ones. Run.ParseURL knows no more than these and file.
var protocols = []string{"https", "ssh"}

// protocolOf returns the protocol of a URL.
func protocolOf(text string) string {
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		return scheme
	}
	return "ssh"
}

// on returns the repository with the right to reach the remote, and nothing else.
func (m Remote) on(r git.Repo) (git.Repo, error) {
	noRedirects := [2]string{"http.followRedirects", "false"}
	if m.Password == "" {
		if text, err := run.ParseURL(m.URL); err != nil || text != m.URL {
			return r, &Error{URL: m.URL, Final: true, Text: "not a URL that a run can use"}
		}
		protocol, allowed := protocolOf(m.URL), protocols
		if list, ok := os.LookupEnv("GIT_ALLOW_PROTOCOL"); ok {
			allowed = strings.Split(list, ":")
		}
		if !slices.Contains(allowed, protocol) {
			return r, &Error{URL: m.URL, Final: true, Text: fmt.Sprintf("the worker does not use the protocol %s: only %s", protocol, strings.Join(allowed, ", "))}
		}
		return r.On(git.Network{Protocol: protocol, Operator: true, Config: [][2]string{noRedirects,
			{"transfer.fsckObjects", "true"}, {"fetch.fsck.zeroPaddedFilemode", "ignore"}, {"fetch.fsck.badTimezone", "ignore"},
			{"fetch.fsck.missingSpaceBeforeDate", "ignore"}, // old repositories have these, and they do no harm
		}}), nil
	}
	u, err := url.Parse(m.URL)
	if err != nil || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return r, fmt.Errorf("invalid URL %q of a server", m.URL)
	}
	basic := base64.StdEncoding.EncodeToString([]byte(m.User + ":" + m.Password))
	n := git.Network{Protocol: u.Scheme, Config: [][2]string{noRedirects, {"http." + m.URL + ".extraHeader", "Authorization: Basic " + basic}}}
	if m.CA != "" {
		n.Config = append(n.Config, [2]string{"http.sslCAInfo", m.CA})
	}
	return r.On(n), nil
}

// served returns the option by which git starts the other side of a file URL itself; none for a server.
func (m Remote) served(option, program string) []string {
	if protocolOf(m.URL) != "file" {
		return nil
	}
	return []string{"--" + option + "=" + git.Served(program)}
}

// advertised returns what the server has: the ids of the references of these full names, and the branch that HEAD names.
func (m Remote) advertised(ctx context.Context, r git.Repo, refs ...string) (ids map[string]string, head string, err error) {
	r, err = m.on(r)
	if err != nil {
		return nil, "", err
	}
	args := slices.Concat([]string{"ls-remote", "--quiet", "--symref"}, m.served("upload-pack", "upload-pack"), []string{"--", m.URL}, refs)
	out, err := r.Run(ctx, args...)
	if err != nil {
		return nil, "", m.explain(err)
	}
	ids = map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !slices.Contains(refs, ref) {
			continue
		}
		if target, symbolic := strings.CutPrefix(id, "ref: "); symbolic {
			head = target
		} else if git.ID(id).Valid() {
			ids[ref] = id
		}
	}
	return ids, head, nil
}

// Branches returns the commits of the server's branches with these names. A name that is missing has none there.
func (m Remote) Branches(ctx context.Context, r git.Repo, names ...string) (map[string]string, error) {
	var refs []string
	for _, name := range names {
		refs = append(refs, "refs/heads/"+name)
	}
	ids, _, err := m.advertised(ctx, r, refs...)
	found := map[string]string{}
	for ref, id := range ids {
		found[strings.TrimPrefix(ref, "refs/heads/")] = id
	}
	return found, err
}

// Bring fetches the commits of a branch of the server into the objects of the repository. It moves no reference of theirs.
// The repository has the commit have, from which the server computes what is missing.
func (m Remote) Bring(ctx context.Context, r git.Repo, branch, have string) error {
	if _, err := r.Run(ctx, "update-ref", "refs/heads/have", have); err != nil {
		return err
	}
	on, err := m.on(r)
	if err != nil {
		return err
	}
	on.Timeout = transferLimit
	args := slices.Concat([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}, m.served("upload-pack", "upload-pack"),
		[]string{"--", m.URL, "refs/heads/" + branch})
	_, err = on.Run(ctx, args...)
	return m.explain(err)
}

// ErrMoved is returned by Push if the branch of the server is not where the caller expects it.
var ErrMoved = errors.New("the branch of the server has moved")

// Push sets a branch of the server to a commit if it stands at expected there; empty: if it is absent. It never forces
// more than that. A branch that is at the commit already is a success. The error is ErrMoved or says why the server
// refuses.
func (m Remote) Push(ctx context.Context, r git.Repo, branch, commit, expected string) error {
	err := m.push(ctx, r, branch, commit, expected)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// Git has several texts for a branch that has moved, its own and the server's: the branch itself decides.
	at, look := m.Branches(ctx, r, branch)
	switch {
	case look != nil:
		return err
	case at[branch] == commit:
		return nil
	case at[branch] != expected:
		return ErrMoved
	}
	return err
}

// MayPush returns why a commit could not be pushed to a new branch, as far as the server says it without a push.
func (m Remote) MayPush(ctx context.Context, r git.Repo, branch, commit string) error {
	return m.push(ctx, r, branch, commit, "", "--dry-run")
}

func (m Remote) push(ctx context.Context, r git.Repo, branch, commit, expected string, more ...string) error {
	r, err := m.on(r)
	if err != nil {
		return err
	}
	r.Timeout = transferLimit
	ref := "refs/heads/" + branch
	args := slices.Concat([]string{"push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}, more,
		m.served("receive-pack", "receive-pack"), []string{"--force-with-lease=" + ref + ":" + expected, "--", m.URL, commit + ":" + ref})
	_, err = r.Run(ctx, args...)
	return m.explain(err)
}
