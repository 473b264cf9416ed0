// Package storage stands in for the client of Google Cloud Storage. Temporal's server makes one only
// where archival to a gs:// address is configured. Every call fails.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

var errLeftOut = errors.New("Ratchet's engine is built without Google Cloud Storage")

const ScopeFullControl = "https://www.googleapis.com/auth/devstorage.full_control"

type (
	Client         struct{}
	BucketHandle   struct{}
	BucketAttrs    struct{}
	ObjectHandle   struct{}
	ObjectIterator struct{}
	Reader         struct{}
	Writer         struct{}
	Query          struct{ Prefix string }
	ObjectAttrs    struct{ Name string }
)

func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errLeftOut }

func (*Client) Bucket(string) *BucketHandle { return nil }

func (*BucketHandle) Object(string) *ObjectHandle                     { return nil }
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return nil }
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error)     { return nil, errLeftOut }
func (*ObjectHandle) NewWriter(context.Context) *Writer               { return nil }
func (*ObjectHandle) NewReader(context.Context) (*Reader, error)      { return nil, errLeftOut }
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error)     { return nil, errLeftOut }
func (*ObjectIterator) Next() (*ObjectAttrs, error)                   { return nil, errLeftOut }
func (*Reader) Read([]byte) (int, error)                              { return 0, errLeftOut }
func (*Reader) Close() error                                          { return errLeftOut }
func (*Writer) Write([]byte) (int, error)                             { return 0, errLeftOut }
func (*Writer) Close() error                                          { return errLeftOut }
func (*Writer) CloseWithError(error) error                            { return errLeftOut }
