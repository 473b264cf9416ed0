package git

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Remote is a repository on a server that git reaches by HTTP.
type Remote struct {
	URL            string // without user and password
	User, Password string // in the environment of git alone
	CA             string // file with certificates; empty: the system's
}

// ErrMoved is returned by Push if the reference of the server is not where the caller expects it.
var ErrMoved = errors.New("the branch of the server has moved")

// proxies are the variables by which git finds a proxy. No other call of git reaches the network.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// reaching returns the repository with the right to reach the server, and no other.
func (r Repo) reaching(m Remote) (Repo, error) {
	u, err := url.Parse(m.URL)
	if err != nil || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return r, fmt.Errorf("invalid URL %q of a server", m.URL)
	}
	basic := base64.StdEncoding.EncodeToString([]byte(m.User + ":" + m.Password))
	r.protocol = u.Scheme
	r.overrides = append(slices.Clone(r.overrides),
		[2]string{"protocol." + u.Scheme + ".allow", "always"},
		[2]string{"http." + m.URL + ".extraHeader", "Authorization: Basic " + basic},
		[2]string{"http.followRedirects", "false"},
	)
	if m.CA != "" {
		r.overrides = append(r.overrides, [2]string{"http.sslCAInfo", m.CA})
	}
	return r, nil
}

// RemoteBranches returns the commits of the server's branches with these names. A name that is missing has none there.
func (r Repo) RemoteBranches(ctx context.Context, m Remote, names ...string) (map[string]string, error) {
	r, err := r.reaching(m)
	if err != nil {
		return nil, err
	}
	args := []string{"ls-remote", "--quiet", "--", m.URL}
	for _, name := range names {
		args = append(args, "refs/heads/"+name)
	}
	out, err := r.Run(ctx, args...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if commit, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && slices.Contains(names, name) {
				found[name] = commit
			}
		}
	}
	return found, nil
}

// Push sets a branch of the server to a commit if it stands at expected there; empty: if it is absent. It never forces
// more than that. A branch that is at the commit already is a success. The error is ErrMoved or an *Error.
func (r Repo) Push(ctx context.Context, m Remote, branch, commit, expected string) error {
	r, err := r.reaching(m)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	said, err := r.Run(ctx, "push", "--quiet", "--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no",
		"--force-with-lease="+ref+":"+expected, "--", m.URL, commit+":"+ref)
	if err != nil && strings.Contains(string(said), "(stale info)") {
		return ErrMoved
	}
	return err
}

// fetchTimeout bounds a fetch, which may bring many commits.
const fetchTimeout = 10 * time.Minute

// Fetch brings the commits of a branch of the server into the objects of the repository. It moves no reference of theirs.
// The repository has the commit have, from which the server tells what is missing.
func (r Repo) Fetch(ctx context.Context, m Remote, branch, have string) error {
	if _, err := r.Run(ctx, "update-ref", "refs/heads/have", have); err != nil {
		return err
	}
	r, err := r.reaching(m)
	if err != nil {
		return err
	}
	r.Timeout = fetchTimeout
	_, err = r.Run(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--", m.URL, "refs/heads/"+branch)
	return err
}
