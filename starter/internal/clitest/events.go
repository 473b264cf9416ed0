package clitest

import (
	"go.temporal.io/sdk/client"
)

type NoEvents struct{ client.HistoryEventIterator }

func (NoEvents) HasNext() bool { return false }
