// Package udifftest makes patches for tests.
package udifftest

import "github.com/ratchet-dev/ratchet/internal/udiff"

// Patch returns the patch of one file, as package patch renders it. Without a text before the file is new, and without
// one after it is gone.
func Patch(path, before, after string) string {
	h := udiff.Header{Old: path, New: path, OldMode: "100644", NewMode: "100644", OldID: "1", NewID: "2"}
	if before == "" {
		h.OldMode, h.OldID = "", ""
	}
	if after == "" {
		h.NewMode, h.NewID = "", ""
	}
	a, b := udiff.NewText([]byte(before)), udiff.NewText([]byte(after))
	edits := udiff.Edits(a.Lines, b.Lines)
	return string(udiff.AppendHunks(h.Append(nil, len(edits) > 0), a, b, edits))
}
