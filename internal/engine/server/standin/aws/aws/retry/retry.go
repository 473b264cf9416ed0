// Package retry stands in for the rules by which the AWS SDK repeats a call.
package retry

type Standard struct{}

func NewStandard() *Standard { return &Standard{} }

// IsErrorRetryable reports false: a call of a stand-in fails again.
func (*Standard) IsErrorRetryable(error) bool { return false }
