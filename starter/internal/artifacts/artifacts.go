// Package artifacts reads what a run keeps in its directory: patches, inputs of tools and reports of checks.
package artifacts

import (
	"bytes"
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// Readable returns the input of a tool with a line for each member. It returns a patch
// unchanged.
func Readable(a run.PendingApproval, raw []byte) []byte {
	var lines bytes.Buffer
	if a.Permission == nil || json.Indent(&lines, raw, "", "  ") != nil {
		return raw
	}
	return lines.Bytes()
}

// Pending returns the subject of an approval, which is a patch or the input of a tool. It
// reads the artifact and returns the bytes of its digest or an error.
func Pending(c *factory.Factory, id run.ID, a run.PendingApproval) ([]byte, error) {
	dir, err := c.OpenRecord(id)
	if err != nil {
		return nil, err
	}
	if a.Permission != nil {
		return dir.Load(a.Permission.Input)
	}
	return dir.Load(a.Patch)
}

// Reports returns a function that reads the report of an evaluation from the run's directory.
func Reports(c *factory.Factory, id run.ID) func(run.Ref) (check.Report, bool) {
	return func(ref run.Ref) (check.Report, bool) {
		var r check.Report
		dir, err := c.OpenRecord(id)
		if err != nil {
			return r, false
		}
		b, err := dir.Load(ref)
		if err != nil {
			return r, false
		}
		return r, json.Unmarshal(b, &r) == nil
	}
}
