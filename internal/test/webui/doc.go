// Package webui holds the tests that work a run from Temporal's Web UI in a real browser; it has no code of its own.
package webui
