package main

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// unknownUser is the user of a connection where the system does not tell.
const unknownUser = -1

type peerKey struct{}

// withPeer makes the user at the other end of a connection known to its requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	client, _ := c.RemoteAddr().(*net.TCPAddr)
	server, _ := c.LocalAddr().(*net.TCPAddr)
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() int {
		if client == nil || server == nil {
			return unknownUser
		}
		return ownerOf(client, server)
	}))
}

// peerOf returns the id of the user at the other end of the connection of a request.
func peerOf(r *http.Request) int {
	user, ok := r.Context().Value(peerKey{}).(func() int)
	if !ok {
		return unknownUser
	}
	return user()
}
