// Package option stands in for the options of Google's clients.
package option

import "golang.org/x/oauth2"

type ClientOption interface{}

func WithTokenSource(oauth2.TokenSource) ClientOption { return nil }
