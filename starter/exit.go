package main

import (
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// withDisk adds to the error of a lost engine that the engine's disk is full, when it is. With
// a full disk the engine answers nothing in time.
func withDisk(c *factory.Factory, err error) error {
	if exit.Code(err) != exit.Unreachable {
		return err
	}
	f, unread := engine.ReadFile(c.RunsDir)
	if unread != nil {
		return err
	}
	return engine.FullDisk(f.DB, err)
}
