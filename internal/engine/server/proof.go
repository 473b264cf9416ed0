package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"go.temporal.io/server/common/authorization"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// These names and limits are the contract with the clients. Package engine has the same on their
// side.
const (
	tokenVariable = "RATCHET_ENGINE_TOKEN"
	nonceHeader   = "ratchet-nonce"
	proofHeader   = "ratchet-proof"

	maxNonce = 128
)

// prover answers each call that has a nonce with a header that only a holder of the token can make,
// for this address and this method. It is an authorizer because the server asks the authorizer
// before any of its own checks refuses a call. It forbids nothing.
type prover struct {
	token   string
	address string
}

func (p prover) Authorize(ctx context.Context, _ *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	allow := authorization.Result{Decision: authorization.DecisionAllow}
	nonce := metadata.ValueFromIncomingContext(ctx, nonceHeader)
	if p.token == "" || len(nonce) != 1 || len(nonce[0]) > maxNonce {
		return allow, nil
	}
	// The client refuses an answer without the header. The error needs no other handling.
	_ = grpc.SetHeader(ctx, metadata.Pairs(proofHeader, p.proof(nonce[0], target.APIName)))
	return allow, nil
}

func (p prover) proof(nonce, method string) string {
	mac := hmac.New(sha256.New, []byte(p.token))
	for _, part := range []string{nonce, p.address, method} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return hex.EncodeToString(mac.Sum(nil))
}
