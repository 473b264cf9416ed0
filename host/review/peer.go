package review

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// unknownUser is the user of a connection where the system does not report it.
const unknownUser = -1

type peerKey struct{}

// withPeer makes the user at the other end of a connection known to its requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	client, _ := c.RemoteAddr().(*net.TCPAddr)
	server, _ := c.LocalAddr().(*net.TCPAddr)
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() int {
		if client == nil || server == nil || !client.IP.IsLoopback() {
			return unknownUser
		}
		return ownerOf(client, server)
	}))
}

// peerOf returns the id of the user at the other end of the connection of a request. It is unknownUser for a connection
// from another machine.
func peerOf(r *http.Request) int {
	user, ok := r.Context().Value(peerKey{}).(func() int)
	if !ok {
		return unknownUser
	}
	return user()
}

// isLost reports whether the user of a connection from this machine is unknown, because its process has closed it
// already.
func isLost(r *http.Request) bool {
	return tellsUsers && isLocal(r) && peerOf(r) == unknownUser
}

// isLocal reports whether a request comes from this machine, by the loopback interface.
func isLocal(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}
