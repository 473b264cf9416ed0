// Package stdlib stands in for the driver of PostgreSQL behind package database/sql. Every call fails.
package stdlib

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
)

var errLeftOut = errors.New("Ratchet's engine is built without PostgreSQL")

type OptionOpenDB func()

type noDriver struct{}

func (noDriver) Open(string) (driver.Conn, error)             { return nil, errLeftOut }
func (noDriver) Connect(context.Context) (driver.Conn, error) { return nil, errLeftOut }
func (noDriver) Driver() driver.Driver                        { return noDriver{} }

func GetDefaultDriver() driver.Driver { return noDriver{} }

func GetConnector(pgx.ConnConfig, ...OptionOpenDB) driver.Connector { return noDriver{} }

func OptionAfterConnect(func(context.Context, *pgx.Conn) error) OptionOpenDB { return nil }
