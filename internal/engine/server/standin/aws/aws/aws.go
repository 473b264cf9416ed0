// Package aws stands in for the types of the AWS SDK that its other stand-ins share.
package aws

import "context"

type Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }

type CredentialsProvider interface {
	Retrieve(context.Context) (Credentials, error)
}

type Config struct{ Credentials CredentialsProvider }

type ClientLogMode uint64

type Retryer interface{ IsErrorRetryable(error) bool }

func String(v string) *string { return &v }

func Int32(v int32) *int32 { return &v }
