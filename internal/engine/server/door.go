package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// These names and limits are the contract with the clients. Package engine has the same on their
// side.
const (
	tokenVariable = "RATCHET_ENGINE_TOKEN"
	nonceHeader   = "ratchet-nonce"
	proofHeader   = "ratchet-proof"
	startHeader   = "ratchet-start"

	bearerLabel = "bearer"
	loginLabel  = "login"

	maxNonce = 128
)

// door proves the engine to its callers and asks each caller for the bearer token.
//
// The token itself never leaves the engine and its clients. What a caller sends is derived from it,
// for one address and one start of the engine: a program that takes the port of a dead engine
// learns nothing that another engine accepts.
type door struct {
	token   string
	address string // of the frontend
	start   string // names this start of the engine
	open    bool   // everyone is admitted
}

func newDoor(token, address string, open bool) door {
	return door{token: token, address: address, start: rand.Text(), open: open}
}

// mac authenticates the parts by the token. The last part tells apart what a mac is for: the name
// of a method begins with a slash and a label does not.
func (d door) mac(parts ...string) string {
	mac := hmac.New(sha256.New, []byte(d.token))
	for _, part := range parts {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// bearer returns the value of the authorization header that opens the door.
func (d door) bearer() string { return "Bearer " + d.mac(d.start, d.address, bearerLabel) }

func (d door) admits(authorization string) bool {
	return d.open || d.token != "" && hmac.Equal([]byte(authorization), []byte(d.bearer()))
}

// GetClaims makes the holder of the bearer token an administrator and everyone else a stranger. The
// frontend for the server's own services has claims of its own.
func (d door) GetClaims(caller *authorization.AuthInfo) (*authorization.Claims, error) {
	if !d.admits(caller.AuthToken) {
		return nil, nil
	}
	return &authorization.Claims{System: authorization.RoleAdmin}, nil
}

// AuthInfoRequired makes the server ask for claims even where a caller brings no header.
func (d door) AuthInfoRequired() bool { return false }

const locked = `the engine is locked: run eval "$(starter env)" first; a starter or worker must not be older than the engine`

// The answers to a caller without the bearer token. One that asks for a proof and sends no key is a
// client of ours before it has one. Of an older version it passes on only what seems to be an
// engine that cannot be reached.
var (
	errLocked      = status.Error(codes.PermissionDenied, locked)
	errUnreachable = status.Error(codes.Unavailable, locked)
)

// Authorize proves the engine to a caller who asks for it, and refuses one without claims. The
// server asks it before all calls of its frontends, streams included, and before its own checks can
// refuse a call.
func (d door) Authorize(ctx context.Context, caller *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	proven := d.prove(ctx, target.APIName)
	switch {
	case caller != nil && caller.System == authorization.RoleAdmin:
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	case proven && len(metadata.ValueFromIncomingContext(ctx, "authorization")) == 0:
		return authorization.Result{Decision: authorization.DecisionDeny}, errUnreachable
	}
	return authorization.Result{Decision: authorization.DecisionDeny}, errLocked
}

// prove answers a call that has a nonce with a header that only a holder of the token can make, for
// this address and this method, and with the start that the bearer token is derived from. It
// reports whether it did.
func (d door) prove(ctx context.Context, method string) bool {
	nonce := metadata.ValueFromIncomingContext(ctx, nonceHeader)
	if d.token == "" || len(nonce) != 1 || len(nonce[0]) > maxNonce {
		return false
	}
	header := metadata.Pairs(proofHeader, d.mac(nonce[0], d.address, method))
	if !d.open {
		header.Set(startHeader, d.start)
	}
	// The client refuses an answer without the header. The error needs no other handling.
	_ = grpc.SetHeader(ctx, header)
	return true
}

// locks returns the server's options that put the door before every port of the server.
func (d door) locks() ([]temporal.ServerOption, error) {
	locks := []temporal.ServerOption{
		temporal.WithAuthorizer(d),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return d }),
	}
	if d.open {
		return locks, nil
	}
	internode, err := internodeTLS()
	return append(locks, temporal.WithTLSConfigFactory(internode)), err
}

// calmLog is a log without a line for each refused call. A stranger could fill the disk by them.
type calmLog struct{ log.Logger }

func (l calmLog) Error(msg string, tags ...tag.Tag) {
	const ofAuthorizer = "Authorization error"
	if msg != ofAuthorizer {
		l.Logger.Error(msg, tags...)
	}
}
