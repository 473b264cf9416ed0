package patch

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Diff returns the change as a git-style unified diff with full blob ids in its index lines. The result
// depends on nothing but the files of c. Plan of it on the same tree gives the same files again.
func (c *Change) Diff() []byte {
	var out []byte
	for _, f := range c.Files {
		out = f.appendDiff(out)
	}
	return out
}

func (f FileChange) appendDiff(out []byte) []byte {
	h := udiff.Header{Old: f.Path, New: f.Path, Rename: f.Kind == Renamed, Copy: f.Kind == Copied}
	if h.Rename || h.Copy {
		h.Old = f.OldPath
	}
	var before, after []byte
	if f.Before != nil {
		before = f.Before.Content
		h.OldMode, h.OldID = f.Before.Mode.String(), blobID(before)
	}
	if f.After != nil {
		after = f.After.Content
		h.NewMode, h.NewID = f.After.Mode.String(), blobID(after)
	}
	a, b := udiff.NewText(before), udiff.NewText(after)
	edits := udiff.Edits(a.Lines, b.Lines)
	out = h.Append(out, len(edits) > 0)
	return udiff.AppendHunks(out, a, b, edits)
}

// blobID returns the name that git gives to a blob with this content.
func blobID(content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
