// Package forwarder brings the proxy of package egress to the programs of a box that has no network.
// It is our own executable, run again as [Name] or as a file of that name, first program of the box. It
// listens on loopback, copies each connection to the proxy's Unix socket, runs the program with the
// variables of a proxy, and ends as the program ends.
//
// It decides nothing and holds no secret. A program that ends or replaces it has lost its network
// and, with the first program of the box, its box. Like package supervisor this package takes over
// in its own init and imports little. It runs on Linux only; elsewhere it is empty.
package forwarder

import (
	"slices"
	"strings"
)

// Name is argument zero of a forwarder, or the last part of its path. Its further arguments come from
// [Options.Args].
const Name = "ratchet-forwarder"

// DefaultPort is the port of the proxy inside of the box, unless a target needs it.
const DefaultPort = 3128

// The paths of the requests by which the forwarder reports its state to the proxy: that it listens and
// is about to start the program, and, with the reason as the body, that there was no start.
const (
	ReadyPath  = "/ratchet/ready"
	FailedPath = "/ratchet/failed"
)

// CodeFailed is the exit code of a forwarder that did not start the program. A program may have it
// too: the proxy's own rules decide.
const CodeFailed = 125

// Options are what a forwarder needs to know. No text of them holds a comma or NUL.
type Options struct {
	Socket string // the proxy's socket, as the box sees it
	Proxy  string // host:port of loopback to listen on for the proxy
	// Tunnels are targets on the host's loopback, as host:port. The forwarder listens at the same
	// address inside.
	Tunnels []string
}

// Args returns the arguments of a forwarder. After them come "--" and the program with its arguments. A
// program without a slash is looked up in the PATH of the box.
func (o Options) Args() []string {
	return []string{o.Socket, o.Proxy, strings.Join(o.Tunnels, ",")}
}

// noProxy are the hosts that a program reaches without the proxy: the box's own loopback.
const noProxy = "localhost,127.0.0.1,::1"

// Environ returns the environment, entries NAME=value, with the variables that lead programs to the
// proxy at host:port in the place of those that it had. Node.js reads them where NODE_USE_ENV_PROXY
// is set.
func Environ(environ []string, proxy string) []string {
	entries := []string{"NODE_USE_ENV_PROXY=1", "NO_PROXY=" + noProxy, "no_proxy=" + noProxy}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		entries = append(entries, name+"=http://"+proxy, strings.ToLower(name)+"=http://"+proxy)
	}
	isOurs := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(entries, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	}
	return append(slices.DeleteFunc(slices.Clone(environ), isOurs), entries...)
}
