// Package pgx stands in for the driver of PostgreSQL. The engine's database is SQLite. Every call fails.
package pgx

import "errors"

type (
	ConnConfig struct{}
	Conn       struct{}
	TypeMap    struct{}
)

func ParseConfig(string) (*ConnConfig, error) {
	return nil, errors.New("Ratchet's engine is built without PostgreSQL")
}

func (*Conn) TypeMap() *TypeMap { return nil }

func (*TypeMap) RegisterDefaultPgType(any, string) {}
