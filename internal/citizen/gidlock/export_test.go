package gidlock

import (
	"errors"
	"io/fs"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// At returns l with a function that is told of every step.
func (l Locks) At(f func(step string)) Locks {
	l.at = f
	return l
}

// Holds reports whether the lock on disk is the claim's.
func (l Locks) Holds(id dispatch.GardenID, claim string) (bool, error) {
	path, err := l.Path(id)
	if err != nil {
		return false, err
	}
	there, err := readHolder(path, id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return there != nil && claim != "" && there.Claim == claim, err
}
