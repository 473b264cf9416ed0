// Package pgconn stands in for the errors of PostgreSQL.
package pgconn

type PgError struct{ Code, Message string }

func (e *PgError) Error() string { return e.Message }
