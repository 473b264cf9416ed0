// Package smithy stands in for the errors of the AWS SDK. Its stand-ins return none of them.
package smithy

type APIError interface {
	error
	ErrorCode() string
}
