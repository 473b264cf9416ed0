// Package attribute holds the custom search attributes by which runs are found. It imports only the
// SDK's typed keys: workflow code may therefore import it.
package attribute

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// The names of the search attributes as an operator and the Web UI see them.
const (
	TitleName      = "RatchetTitle"
	NameName       = "RatchetName"
	StatusName     = "RatchetStatus"
	PhaseName      = "RatchetPhase"
	RepositoryName = "RatchetRepository"
	IterationName  = "RatchetIteration"
)

// Title is the line by which people know a run or a session: its name, and the first line of its goal.
func Title() temporal.SearchAttributeKeyKeyword {
	return temporal.NewSearchAttributeKeyKeyword(TitleName)
}

// Name is the short name of a run, as slug#14. A run without one has no such attribute.
func Name() temporal.SearchAttributeKeyKeyword {
	return temporal.NewSearchAttributeKeyKeyword(NameName)
}

// Status is the status of a run, one of the seven words of the run contract, or the state of a session.
func Status() temporal.SearchAttributeKeyKeyword {
	return temporal.NewSearchAttributeKeyKeyword(StatusName)
}

// Phase is the phase the run is in: plan, execute, evaluate, fix or ask.
func Phase() temporal.SearchAttributeKeyKeyword {
	return temporal.NewSearchAttributeKeyKeyword(PhaseName)
}

// Repository is the path of the repository that the run works on.
func Repository() temporal.SearchAttributeKeyKeyword {
	return temporal.NewSearchAttributeKeyKeyword(RepositoryName)
}

// Iteration counts from 1, the first execute, and grows by one with each fix.
func Iteration() temporal.SearchAttributeKeyInt64 {
	return temporal.NewSearchAttributeKeyInt64(IterationName)
}

// Types returns the type under which a server must have registered each name.
func Types() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		TitleName:      enums.INDEXED_VALUE_TYPE_KEYWORD,
		NameName:       enums.INDEXED_VALUE_TYPE_KEYWORD,
		StatusName:     enums.INDEXED_VALUE_TYPE_KEYWORD,
		PhaseName:      enums.INDEXED_VALUE_TYPE_KEYWORD,
		RepositoryName: enums.INDEXED_VALUE_TYPE_KEYWORD,
		IterationName:  enums.INDEXED_VALUE_TYPE_INT,
	}
}
