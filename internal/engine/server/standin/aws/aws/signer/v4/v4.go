// Package v4 stands in for the signatures of AWS. Temporal's server signs calls to an Elasticsearch of
// AWS only.
package v4

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type Signer struct{}

func NewSigner() *Signer { return &Signer{} }

func (*Signer) SignHTTP(context.Context, aws.Credentials, *http.Request, string, string, string, time.Time) error {
	return errors.New("Ratchet's engine is built without AWS")
}
