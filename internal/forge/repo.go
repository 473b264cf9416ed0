// Package forge talks to the servers that teams merge on: GitHub, and Gitea and Forgejo, whose API has the same form. It
// makes the few calls that a pull request of a run needs, and looks before each of its effects, so that a call that is
// repeated after a lost answer does nothing twice.
package forge

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Kind is the API that a server speaks.
type Kind string

// The kinds. Forgejo speaks the API of Gitea.
const (
	GitHub Kind = "github"
	Gitea  Kind = "gitea"
)

// Server is a server of repositories, and the right to act there.
type Server struct {
	Kind  Kind
	URL   string // scheme and host, without a slash at the end: https://github.com
	Token string // of the account that pushes; it stays in memory
	App   *App   // makes tokens, if Token is empty
	CA    string // file with the certificates of those who sign the server's; empty: the system's
	// OnAnswer, if set, gets the code of each answer, zero for none, and what the server said last of its limit.
	OnAnswer func(code int, r Rate)
}

// tokenPattern is the form of a token: no blank and no control character, which would end a header.
var tokenPattern = regexp.MustCompile(`^[!-~]{8,512}$`)

// Check returns an error if the server's settings are invalid.
func (s Server) Check() error {
	u, err := url.Parse(s.URL)
	switch {
	case s.Kind != GitHub && s.Kind != Gitea:
		return fmt.Errorf("unknown kind of server %q: want %s or %s", s.Kind, GitHub, Gitea)
	case err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("invalid URL of a server %q: want https://HOST", s.URL)
	case u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())):
		return fmt.Errorf("%s is not encrypted: want https (http only for loopback)", s.URL)
	}
	if s.App != nil {
		if s.Kind != GitHub {
			return fmt.Errorf("%s: only GitHub has apps", s.URL)
		}
		return nil
	}
	if err := CheckToken(s.Token); err != nil {
		return fmt.Errorf("%s: %w", s.URL, err)
	}
	return nil
}

// CheckToken returns an error for a text that is no token.
func CheckToken(text string) error {
	if !tokenPattern.MatchString(text) {
		return errors.New("the token is empty or malformed")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Host returns the host of the server as remotes name it, with a port where the URL has one.
func (s Server) Host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// Repo is a repository on a server.
type Repo struct {
	Host  string `json:"host"` // with a port where the remote names one by HTTP
	Owner string `json:"owner"`
	Name  string `json:"name"`
}

func (r Repo) String() string { return r.Host + "/" + r.Owner + "/" + r.Name }

// segment is the form of an owner and of a repository's name.
var segment = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// ErrNoServer is returned for a remote that is a directory or has another form than OWNER/NAME on a server.
var ErrNoServer = errors.New("it does not name a repository OWNER/NAME on a server")

// ParseRemote reads the URL of a git remote: https://HOST/OWNER/NAME.git, ssh://git@HOST/OWNER/NAME or
// git@HOST:OWNER/NAME. User and password are dropped. The port of an SSH server says nothing of the web server's.
func ParseRemote(text string) (Repo, error) {
	host, path := "", ""
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		switch u.Scheme {
		case "https", "http":
			host, path = u.Host, u.Path
		case "ssh", "git+ssh":
			host, path = u.Hostname(), u.Path
		}
	} else if at, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(at, "/") {
		_, host, _ = cutLast(at, "@")
		path = rest
	}
	parts := strings.Split(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	if host == "" || len(parts) != 2 || !segment.MatchString(parts[0]) || !segment.MatchString(parts[1]) {
		return Repo{}, ErrNoServer
	}
	return Repo{Host: strings.ToLower(host), Owner: parts[0], Name: parts[1]}, nil
}

// cutLast cuts text at the last separator; without one, all of it is the second part.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(sep):], true
}

// ParseIssue reads the URL of an issue: https://HOST/OWNER/NAME/issues/NUMBER.
func ParseIssue(text string) (Repo, int, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return Repo{}, 0, fmt.Errorf("invalid URL of an issue %q: want https://HOST/OWNER/NAME/issues/NUMBER", text)
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) == 4 && (parts[2] == "pull" || parts[2] == "pulls") {
		return Repo{}, 0, fmt.Errorf("%s is a pull request: name the issue", text)
	}
	if len(parts) != 4 || parts[2] != "issues" || !segment.MatchString(parts[0]) || !segment.MatchString(parts[1]) {
		return Repo{}, 0, fmt.Errorf("invalid URL of an issue %q: want https://HOST/OWNER/NAME/issues/NUMBER", text)
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil || n < 1 {
		return Repo{}, 0, fmt.Errorf("invalid issue number %q", parts[3])
	}
	return Repo{Host: strings.ToLower(u.Host), Owner: parts[0], Name: parts[1]}, n, nil
}
