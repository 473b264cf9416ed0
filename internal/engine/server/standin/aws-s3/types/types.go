// Package types stands in for the answers of Amazon S3.
package types

type NoSuchBucket struct{}

func (*NoSuchBucket) Error() string { return "no such bucket" }

type NoSuchKey struct{}

func (*NoSuchKey) Error() string { return "no such key" }

type CommonPrefix struct{ Prefix *string }

type Object struct{ Key *string }
