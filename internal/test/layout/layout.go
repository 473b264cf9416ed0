// Package layout holds the test that keeps the imports of this module going
// one way; it has no code of its own.
package layout
