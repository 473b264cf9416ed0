// Package byflag is the flag --by, which names who acts.
package byflag

import (
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// Add adds the flag --by, which names who acts. The default is the user of this process. Another name is recorded with
// that user beside it, because anyone can give any name.
func Add(c *factory.Factory, flags *pflag.FlagSet, by *string, usage string) {
	*by = c.UserName()
	flags.Var(&Name{by, *by}, "by", usage)
}

// Name is the value of the flag --by.
type Name struct {
	Name *string
	User string
}

func (b *Name) String() string { return *b.Name }

func (*Name) Type() string { return "name" }

// Set implements pflag.Value.
func (b *Name) Set(name string) error {
	*b.Name = b.User
	if name != "" && name != b.User {
		*b.Name = name + " (user " + b.User + ")"
	}
	return nil
}
