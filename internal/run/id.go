package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// ID identifies a run; new ones are UUIDs of version 7.
type ID string

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Validate returns an error if the id cannot serve as the name of a directory, of
// a branch and of a workflow.
func (id ID) Validate() error {
	if !idForm.MatchString(string(id)) {
		return fmt.Errorf("run id %q: want 1 to 64 letters, digits, '-' and '_'", string(id))
	}
	return nil
}

const workflowPrefix = "run-"

// WorkflowID returns the id of the run's workflow.
func (id ID) WorkflowID() string { return workflowPrefix + string(id) }

// Branch returns the name of the branch that receives the run's commits.
func (id ID) Branch() string { return "ratchet/" + string(id) }

// IDOf returns the run id in a workflow id; ok is false if the workflow is not a run.
func IDOf(workflowID string) (id ID, ok bool) {
	s, ok := strings.CutPrefix(workflowID, workflowPrefix)
	return ID(s), ok && ID(s).Validate() == nil
}

// Digest is a SHA-256 in lower-case hexadecimal.
type Digest string

// DigestOf returns the digest of the bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// Commit is a full git object id.
type Commit string

// Ref refers to an artifact of the run directory. Name is relative to its
// artifacts directory. Readers compare the bytes with Digest.
type Ref struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

const eventForm = "evt-%06d"

// EventID returns the id of a run's event number seq. Numbers begin at 1.
func EventID(seq int) string { return fmt.Sprintf(eventForm, seq) }

// Seq returns the number in the event's id; zero if the id has none.
func (e Event) Seq() int {
	var n int
	if _, err := fmt.Sscanf(e.ID, eventForm, &n); err != nil {
		return 0
	}
	return n
}

// ApprovalDigest returns the digest that an approval of a patch binds: these bytes
// on this commit, at this gate of this run. It fits nothing else.
func ApprovalDigest(id ID, patch Digest, base Commit, gate int) Digest {
	return DigestOf(fmt.Appendf(nil, "ratchet approval\nrun %s\ngate %d\nbase %s\npatch %s\n", id, gate, base, patch))
}

func approvalID(iteration int, d Digest) string { return fmt.Sprintf("apr-%d-%.12s", iteration, d) }

// QuestionForm is the format of a question's id: the iteration and the number in it.
const QuestionForm = "qst-%d-%d"
