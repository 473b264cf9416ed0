package review

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os/user"
	"strconv"
	"strings"
	"unicode"
)

// Proxy is a program before the page that has authenticated the user of each request and names him in a header.
type Proxy struct {
	Header string
	From   netip.Addr // its address, if it is on another machine
	User   int        // id of its user, if it is on this machine; unknownUser: it is not
}

// ParseProxy reads HEADER@uid:USER, of a proxy that runs on this machine as USER, a name or a number, or
// HEADER@ADDRESS, of one on another machine. A user cannot be told apart by an address of this machine, which every
// program here has.
func ParseProxy(text string) (*Proxy, error) {
	header, from, ok := strings.Cut(text, "@")
	if !ok || header == "" || strings.ContainsFunc(header, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && r != '-' }) {
		return nil, errors.New("want HEADER@uid:USER or HEADER@ADDRESS, such as X-Forwarded-User@uid:www-data")
	}
	p := &Proxy{Header: http.CanonicalHeaderKey(header), User: unknownUser}
	if name, local := strings.CutPrefix(from, "uid:"); local {
		if !tellsUsers {
			return nil, errors.New("this system does not report the user of a connection: run the proxy on another machine, and name it as HEADER@ADDRESS")
		}
		return p, p.setUser(name)
	}
	addr, err := netip.ParseAddr(from)
	if err != nil {
		return nil, fmt.Errorf("invalid address %q", from)
	}
	if p.From = addr.Unmap(); p.From.IsLoopback() || p.From.IsUnspecified() {
		return nil, errors.New("every program on this machine has that address: name the user of the proxy, as HEADER@uid:USER")
	}
	return p, nil
}

func (p *Proxy) setUser(name string) error {
	if id, err := strconv.ParseUint(name, 10, 31); err == nil {
		p.User = int(id)
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return fmt.Errorf("user of the proxy: %w", err)
	}
	p.User, err = strconv.Atoi(u.Uid)
	return err
}

// hasSent reports whether a request is one of the proxy: it has its user or address, and it has the header. A person at
// this machine whose user runs the proxy, too, has no header and logs in by a link.
func (p *Proxy) hasSent(r *http.Request) bool {
	if len(r.Header.Values(p.Header)) == 0 {
		return false
	}
	if p.User != unknownUser {
		return isLocal(r) && peerOf(r) == p.User
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	addr, err2 := netip.ParseAddr(host)
	return errors.Join(err, err2) == nil && addr.Unmap() == p.From
}

// nameIn returns the name in the header. It refuses two headers, and a name that cannot be shown in a line.
func (p *Proxy) nameIn(r *http.Request) (string, bool) {
	values := r.Header.Values(p.Header)
	if len(values) != 1 {
		return "", false
	}
	name := strings.TrimSpace(values[0])
	return name, CheckName(name) == nil
}

// CheckName returns an error for a name that the record cannot keep as the name of a person.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("invalid name: want 1 to %d bytes without control characters", MaxName)
	}
	return nil
}
