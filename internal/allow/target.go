// Package allow holds the names of network targets that a box may reach: exact pairs of a host and a
// port, and presets that stand for the registries of a language. It decides; package egress acts.
package allow

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const (
	maxText  = 300 // longer than any target
	maxName  = 253 // bytes of a DNS name without its last dot
	maxLabel = 63
	// lowestInside is the lowest port that a program without privileges may listen on. A target on
	// the host's loopback is listened for inside of the box, and needs one.
	lowestInside = 1024
)

// Target is one host and one port. Two targets are equal exactly when their texts are.
type Target struct {
	// Host is a DNS name in lower case without a last dot, or an IP address in its shortest form
	// without brackets.
	Host string
	Port uint16 // never zero
}

// String returns host:port, with an IPv6 address in brackets.
func (t Target) String() string {
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(t.Port))
}

// Addr returns the address of a target that is named by one; ok is false for a DNS name.
func (t Target) Addr() (addr netip.Addr, ok bool) {
	addr, err := netip.ParseAddr(t.Host)
	return addr, err == nil
}

// Loopback reports whether the target is an address of the host's loopback.
func (t Target) Loopback() bool {
	addr, ok := t.Addr()
	return ok && addr.IsLoopback()
}

// Parse returns the target that text names as host:port. It accepts upper case, and refuses with an
// error of one line everything that could name two hosts: wildcards, user names, schemes, paths,
// IPv6 addresses without brackets, numbers that some programs read as addresses, names that are not
// in ASCII, the name localhost, and ports that are not plain numbers from 1 to 65535.
func Parse(text string) (Target, error) {
	target, err := parse(text)
	if err != nil {
		return Target{}, fmt.Errorf("network target %.80q: %w", text, err)
	}
	return target, nil
}

func parse(text string) (Target, error) {
	if len(text) > maxText {
		return Target{}, errors.New("too long")
	}
	host, port, err := splitLastColon(text)
	if err != nil {
		return Target{}, err
	}
	number, err := parsePort(port)
	if err != nil {
		return Target{}, err
	}
	if host, err = parseHost(host); err != nil {
		return Target{}, err
	}
	t := Target{Host: host, Port: number}
	if t.Loopback() && number < lowestInside {
		return Target{}, fmt.Errorf("a loopback port below %d cannot be used in the sandbox", lowestInside)
	}
	return t, nil
}

// splitLastColon cuts text before its last colon. An IPv6 address keeps its brackets.
func splitLastColon(text string) (host, port string, err error) {
	cut := strings.LastIndexByte(text, ':')
	switch {
	case strings.ContainsAny(text, "/?#"):
		return "", "", errors.New("write host:port, without a scheme and a path")
	case strings.Contains(text, "@"):
		return "", "", errors.New("leave out the user name")
	case strings.Contains(text, "*"):
		return "", "", errors.New("name each host: wildcards are not supported")
	case cut < 0 || strings.HasSuffix(text, "]"):
		return "", "", errors.New("the port is missing: write host:port")
	}
	return text[:cut], text[cut+1:], nil
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || text[0] == '+' {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return uint16(n), nil
}

func parseHost(text string) (string, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed {
			return "", errors.New("the closing bracket is missing")
		}
		return parseAddress(inner, true)
	}
	if strings.Contains(text, ":") {
		return "", errors.New("write an IPv6 address in brackets")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) { // the lower case of some is ASCII
		return "", errors.New("write a non-ASCII name in its form xn--")
	}
	name := strings.ToLower(text)
	if endsInNumber(name) {
		return parseAddress(name, false)
	}
	return name, checkName(name)
}

// parseAddress accepts the addresses that one host can have.
func parseAddress(text string, six bool) (string, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil || addr.Is6() != six:
		return "", errors.New("not an IP address: write four decimal numbers, or an IPv6 address in brackets")
	case addr.Zone() != "":
		return "", errors.New("an address with a zone is not supported")
	case addr.Is4In6():
		return "", errors.New("write the IPv4 address instead")
	case addr.IsUnspecified(), addr.IsMulticast(), addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "", errors.New("the address names no host")
	}
	return addr.String(), nil
}

// endsInNumber reports whether the last label of a name is a number. Many programs read such a name
// as an IPv4 address, 127.1 and 0x7f000001 among them.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the host is missing")
	case len(name) > maxName:
		return errors.New("the name is too long")
	case name == "localhost", strings.HasSuffix(name, ".localhost"):
		return errors.New("write the loopback address, 127.0.0.1 or [::1]")
	case strings.HasSuffix(name, "."):
		return errors.New("write the name without its last dot")
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return fmt.Errorf("%.70q cannot be a part of a host's name", label)
		}
	}
	return nil
}

func isLabel(s string) bool {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"
	return s != "" && len(s) <= maxLabel && s[0] != '-' && s[len(s)-1] != '-' && strings.Trim(s, alphabet) == ""
}
