// Package iterator stands in for the end of the lists of Google's clients.
package iterator

import "errors"

var Done = errors.New("no more items")
