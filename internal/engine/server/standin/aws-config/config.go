// Package config stands in for the configuration of the AWS SDK. Temporal's server reads it only where
// archival to an s3:// address or an Elasticsearch of AWS is configured. Every call fails.
package config

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var errLeftOut = errors.New("Ratchet's engine is built without AWS")

type LoadOptions struct{}

type EnvConfig struct{ Credentials aws.Credentials }

func LoadDefaultConfig(context.Context, ...func(*LoadOptions) error) (aws.Config, error) {
	return aws.Config{}, errLeftOut
}

func NewEnvConfig() (EnvConfig, error) { return EnvConfig{}, errLeftOut }

func WithRegion(string) func(*LoadOptions) error { return nil }

func WithClientLogMode(aws.ClientLogMode) func(*LoadOptions) error { return nil }
