package run

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// MaxURL bounds the bytes of a repository's URL.
const MaxURL = 500

var (
	// urlText holds the characters of a URL that mean nothing to a shell or a terminal.
	urlText = regexp.MustCompile(`^[A-Za-z0-9._~:/@%+,=\[\]-]+$`)
	// scpForm is ssh's own form, user@host:path.
	scpForm = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):([^:-][^:]*)$`)
	sshUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	// helperForm names a program of git's that reaches a repository, as in ext::sh.
	helperForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+.-]*::`)
)

// wantURL lists the kinds of URLs that are accepted.
const wantURL = "want https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH"

// IsURL reports whether a word for a repository is meant as a URL, and not as a path. ParseURL may refuse it.
func IsURL(text string) bool {
	return strings.Contains(text, "://") || helperForm.MatchString(text) || scpForm.MatchString(text)
}

// ParseURL returns the URL of a repository as runs hold it. It refuses all but https, ssh and file, and what holds a
// password or could be read as anything but a place. Errors do not quote the text, which may hold a secret.
func ParseURL(text string) (string, error) {
	if len(text) > MaxURL {
		return "", fmt.Errorf("the URL has %d bytes, at most %d fit", len(text), MaxURL)
	}
	if helperForm.MatchString(text) {
		return "", errors.New("a run starts no remote helper of git: " + wantURL)
	}
	if strings.ContainsAny(text, "?#") {
		return "", errors.New("the URL of a repository has no ? and no #")
	}
	if !urlText.MatchString(text) {
		return "", errors.New("the URL has a character that a URL of a repository cannot have: write it as %XX")
	}
	if scpForm.MatchString(text) && !strings.Contains(text, "://") {
		return strings.TrimRight(text, "/"), nil
	}
	u, err := url.Parse(text) //workflowcheck:ignore // pure; an address with a zone is interned
	if err != nil || !strings.Contains(text, "://") {
		return "", errors.New("not a URL of a repository: " + wantURL)
	}
	if err := checkParts(u); err != nil {
		return "", err
	}
	u.Host = strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/"), nil
}

func checkParts(u *url.URL) error {
	_, secret := u.User.Password()
	switch u.Scheme {
	case "https":
		if u.User != nil {
			return errors.New("the URL holds a user or a password, which the record of the run would keep: remove them and give them to git's credential helper (docs/remotes.md)")
		}
	case "ssh":
		if secret {
			return errors.New("the URL holds a password, which the record of the run would keep: remove it and use a key of the worker's user (docs/remotes.md)")
		}
		if u.User != nil && !sshUser.MatchString(u.User.Username()) {
			return errors.New("the user in the URL is malformed")
		}
	case "file":
		if u.Host != "" || u.User != nil {
			return errors.New("a file URL names no host: want file:///PATH")
		}
	default:
		return fmt.Errorf("a run does not reach a repository by %.20s: %s", u.Scheme, wantURL)
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "file" && (host == "" || strings.HasPrefix(host, "-")):
		return errors.New("the URL names no host")
	case strings.Trim(u.Path, "/") == "":
		return errors.New("the URL names no repository on its host")
	case strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("the path in the URL has a control character")
	}
	return nil
}

// Shown returns the repository as people know it: its URL, or else its path.
func (r Repository) Shown() string { return cmp.Or(r.URL, r.Path) }
