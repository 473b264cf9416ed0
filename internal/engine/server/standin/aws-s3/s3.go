// Package s3 stands in for the client of Amazon S3. Temporal's server makes one only where archival to
// an s3:// address is configured. Every call fails.
package s3

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

var errLeftOut = errors.New("Ratchet's engine is built without Amazon S3")

type Options struct {
	BaseEndpoint *string
	UsePathStyle bool
}

type (
	HeadBucketInput struct{ Bucket *string }
	HeadObjectInput struct{ Bucket, Key *string }
	GetObjectInput  struct{ Bucket, Key *string }
	PutObjectInput  struct {
		Bucket, Key *string
		Body        io.Reader
	}
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, ContinuationToken *string
		MaxKeys                                      *int32
	}
)

type (
	HeadBucketOutput    struct{}
	HeadObjectOutput    struct{}
	PutObjectOutput     struct{}
	GetObjectOutput     struct{ Body io.ReadCloser }
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
)

type Client struct{}

func NewFromConfig(aws.Config, ...func(*Options)) *Client { return &Client{} }

func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...func(*Options)) (*HeadBucketOutput, error) {
	return nil, errLeftOut
}

func (*Client) HeadObject(context.Context, *HeadObjectInput, ...func(*Options)) (*HeadObjectOutput, error) {
	return nil, errLeftOut
}

func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, errLeftOut
}

func (*Client) GetObject(context.Context, *GetObjectInput, ...func(*Options)) (*GetObjectOutput, error) {
	return nil, errLeftOut
}

func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...func(*Options)) (*ListObjectsV2Output, error) {
	return nil, errLeftOut
}
