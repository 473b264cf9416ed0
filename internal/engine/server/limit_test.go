package main

import (
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/service/history/consts"
)

// Package host/runs knows a workflow that takes no more signals by these words, which no type tells.
func TestTheServerRefusesOneSignalTooManyInKnownWords(t *testing.T) {
	refused, ok := errors.AsType[*serviceerror.InvalidArgument](consts.ErrSignalsLimitExceeded)
	if !ok || !strings.Contains(refused.Message, "signal") {
		t.Errorf("%T: %v", consts.ErrSignalsLimitExceeded, consts.ErrSignalsLimitExceeded)
	}
}
