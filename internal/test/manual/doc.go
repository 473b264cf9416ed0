// Package manual holds the tests that keep the examples of docs/ true; it has no code of its own.
package manual
