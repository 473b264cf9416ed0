// Package credentials stands in for fixed credentials of the AWS SDK. Nothing is signed with them.
package credentials

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type StaticCredentialsProvider struct{}

func NewStaticCredentialsProvider(key, secret, session string) StaticCredentialsProvider {
	return StaticCredentialsProvider{}
}

func (StaticCredentialsProvider) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, errors.New("Ratchet's engine is built without AWS")
}
