// Package store keeps bytes in a bucket that several hosts share. Nothing there is replaced by other bytes, so it needs no
// conditional writes. It knows nothing of runs.
package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file:///DIRECTORY
	_ "gocloud.dev/blob/s3blob"   // s3://BUCKET
	"gocloud.dev/gcerrors"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// Variable names the environment variable with the URL of the bucket.
const Variable = "RATCHET_STORE"

// Bucket is a bucket, or the part of one that its URL names.
type Bucket struct {
	blobs    *blob.Bucket
	patience time.Duration
}

// Open opens the bucket of a URL of gocloud.dev/blob. An operation that fails is tried again for so long.
func Open(ctx context.Context, text string, patience time.Duration) (*Bucket, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "file" && u.Scheme != "s3" {
		return nil, fmt.Errorf("%s: want s3://BUCKET or file:///DIRECTORY", Variable)
	}
	if u.Scheme == "file" { // a file is renamed to its name, in its own file system, and has no second file beside it
		q := u.Query()
		q.Set("no_tmp_dir", "true")
		q.Set("metadata", "skip")
		u.RawQuery = q.Encode()
	}
	blobs, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	return &Bucket{blobs, patience}, nil
}

// Check refuses a bucket in which this process cannot write and remove. The error is for the operator's eyes alone.
func (b *Bucket) Check(ctx context.Context) error {
	key := "check/" + uuid.NewString()
	err := b.blobs.WriteAll(ctx, key, []byte("ratchet\n"), nil)
	if err == nil {
		err = b.blobs.Delete(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("%s: the bucket cannot be written: %w", Variable, err)
	}
	return nil
}

// Digest returns the part of a key that tells its bytes.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// Put stores the bytes under a key, which has other bytes in no host. It returns when the bucket has them.
func (b *Bucket) Put(ctx context.Context, key string, body []byte) error {
	failpoint.Hit("store.before-put")
	err := b.try(ctx, "take what the step has done", func(ctx context.Context) error { return b.blobs.WriteAll(ctx, key, body, nil) })
	if err == nil {
		failpoint.Hit("store.put")
	}
	return err
}

// Get returns the bytes of a key. The error is fs.ErrNotExist if it has none.
func (b *Bucket) Get(ctx context.Context, key string) (body []byte, err error) {
	missing := false
	err = b.try(ctx, "give the record", func(ctx context.Context) (err error) {
		body, err = b.blobs.ReadAll(ctx, key)
		if missing = gcerrors.Code(err) == gcerrors.NotFound; missing {
			return nil
		}
		return err
	})
	if missing && err == nil {
		err = fs.ErrNotExist
	}
	return body, err
}

// Keys returns the keys with the prefix, in their order.
func (b *Bucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	return b.list(ctx, prefix, "")
}

// Names returns the first parts, up to a slash, of the keys behind the prefix.
func (b *Bucket) Names(ctx context.Context, prefix string) ([]string, error) {
	keys, err := b.list(ctx, prefix, "/")
	for i, key := range keys {
		keys[i] = strings.TrimSuffix(strings.TrimPrefix(key, prefix), "/")
	}
	return keys, err
}

func (b *Bucket) list(ctx context.Context, prefix, delimiter string) (keys []string, err error) {
	err = b.try(ctx, "list its keys", func(ctx context.Context) error {
		keys = nil
		for all := b.blobs.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter}); ; {
			o, err := all.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if !strings.HasSuffix(o.Key, ".tmp") { // a file that is being written
				keys = append(keys, o.Key)
			}
		}
	})
	return keys, err
}

// Delete removes a key. One that is gone is as good.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	return b.try(ctx, "remove a key", func(ctx context.Context) error {
		err := b.blobs.Delete(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound {
			return nil
		}
		return err
	})
}

const (
	callLimit = 30 * time.Second // of one request
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
)

// try makes a request until the bucket answers, or patience or ctx ends. Its error names no address: history and records
// keep it.
func (b *Bucket) try(ctx context.Context, what string, request func(context.Context) error) error {
	end := time.Now().Add(b.patience)
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		limited, cancel := context.WithTimeout(ctx, callLimit)
		err := request(limited)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().Add(wait).After(end):
			return fmt.Errorf("the store of this worker did not %s within %v (%s)", what, b.patience, cmp.Or(gcerrors.Code(err).String(), "no reason"))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
