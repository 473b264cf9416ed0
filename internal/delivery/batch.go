package delivery

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// The caps (docs/contracts/delivery.md, 7). A queue fits one payload of the engine.
const (
	MaxJobs        = 8
	MaxBatchBytes  = 16 << 10 // of the text that a batch is delivered as
	MaxSteerBytes  = 4 << 10  // of that text, for a steer
	MaxQueued      = 32       // open batches of one thread
	MaxQueuedBytes = 64 << 10 // of their texts
	MaxAttempts    = 3        // accepted attempts of one batch
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// LongestID stands in for an id that is not known yet: with the real one nothing becomes longer.
var LongestID = strings.Repeat("x", 128)

// validID returns an error for an id that could not stand in a prompt, a log or a file's name.
func validID(what, id string) error {
	if !idForm.MatchString(id) {
		return fmt.Errorf("%s %q: want 1 to 128 letters, digits, '.', '_', ':' and '-'", what, id)
	}
	return nil
}

// JobState is how a job ended.
type JobState string

// The states of a job.
const (
	JobReady  JobState = "ready"
	JobFailed JobState = "failed"
)

func (s *JobState) UnmarshalText(b []byte) error {
	return exact.Word(s, b, "job state", JobReady, JobFailed)
}

// Job is one result. Summary, Reason and the artifacts are data of the job and never instructions.
type Job struct {
	ID        string     `json:"id"`
	State     JobState   `json:"state"`
	Summary   string     `json:"summary,omitempty"`
	Reason    string     `json:"reason,omitempty"` // of a failure
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact refers to a file of a job, which its reader has to fetch.
type Artifact struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
}

// Profile says what the reader of a batch will do with it. Absent members count against a delivery.
type Profile struct {
	ReadOnly *bool `json:"delivery_read_only,omitempty"`
	Approval *bool `json:"delivery_requires_approval,omitempty"`
	Network  *bool `json:"delivery_requires_network,omitempty"`
	Write    *bool `json:"delivery_requires_write_access,omitempty"`
}

// Safe reports whether the profile says read-only and needs neither approval nor network nor write
// access.
func (p Profile) Safe() bool {
	return isKnown(p.ReadOnly, true) && isKnown(p.Approval, false) && isKnown(p.Network, false) && isKnown(p.Write, false)
}

// SafeProfile returns the profile of a batch that is only read.
func SafeProfile() Profile {
	yes, no := true, false
	return Profile{ReadOnly: &yes, Approval: &no, Network: &no, Write: &no}
}

// isKnown reports whether p is known to be want.
func isKnown[T comparable](p *T, want T) bool { return p != nil && *p == want }

// Batch is one delivery: ordered jobs for one thread. What a batch can be derived from is derived:
// see Bytes and NeedsArtifact.
type Batch struct {
	ID      string  `json:"id"`
	Thread  string  `json:"thread"`
	Jobs    []Job   `json:"jobs"`
	Profile Profile `json:"profile,omitzero"`
	// ReservedBy names the one adapter that may deliver the batch; empty means any.
	ReservedBy string `json:"reservedBy,omitempty"`
}

// Equal reports whether two batches have the same words.
func (b Batch) Equal(o Batch) bool {
	same := func(a, b Job) bool {
		return a.ID == b.ID && a.State == b.State && a.Summary == b.Summary && a.Reason == b.Reason && slices.Equal(a.Artifacts, b.Artifacts)
	}
	return b.ID == o.ID && b.Thread == o.Thread && b.ReservedBy == o.ReservedBy && b.Profile.equals(o.Profile) && slices.EqualFunc(b.Jobs, o.Jobs, same)
}

func (p Profile) equals(o Profile) bool {
	same := func(a, b *bool) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(p.ReadOnly, o.ReadOnly) && same(p.Approval, o.Approval) && same(p.Network, o.Network) && same(p.Write, o.Write)
}

// Validate returns an error for a batch that is over a cap or has no proper ids.
func (b Batch) Validate() error {
	if err := validID("batch id", b.ID); err != nil {
		return err
	}
	if err := validID("thread id", b.Thread); err != nil {
		return err
	}
	if n := len(b.Jobs); n == 0 || n > MaxJobs {
		return fmt.Errorf("batch %s has %d jobs: want 1 to %d", b.ID, n, MaxJobs)
	}
	seen := map[string]bool{}
	for _, j := range b.Jobs {
		if err := j.validate(); err != nil {
			return fmt.Errorf("batch %s: %w", b.ID, err)
		}
		if seen[j.ID] {
			return fmt.Errorf("batch %s names job %s twice", b.ID, j.ID)
		}
		seen[j.ID] = true
	}
	if n := b.Bytes(); n > MaxBatchBytes {
		return fmt.Errorf("batch %s has %d bytes as a message, at most %d fit: name its results as artifacts, which a session with --deliveries trusted-all accepts", b.ID, n, MaxBatchBytes)
	}
	return nil
}

func (j Job) validate() error {
	if err := validID("job id", j.ID); err != nil {
		return err
	}
	if j.State != JobReady && j.State != JobFailed {
		return fmt.Errorf("job %s: unknown state %q", j.ID, j.State)
	}
	texts := []string{j.Summary, j.Reason}
	for _, a := range j.Artifacts {
		if a.Name == "" {
			return fmt.Errorf("job %s: an artifact without a name", j.ID)
		}
		texts = append(texts, a.Name, a.Digest)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("job %s: text that is not UTF-8", j.ID)
		}
	}
	return nil
}

// NeedsArtifact reports whether the batch refers to an artifact, which its reader has to read.
func (b Batch) NeedsArtifact() bool {
	return slices.ContainsFunc(b.Jobs, func(j Job) bool { return len(j.Artifacts) > 0 })
}

// Limits are the times of one thread's deliveries. Zero members mean the defaults.
type Limits struct {
	// Interval is the least time between two accepted deliveries.
	Interval time.Duration `json:"interval,omitempty"`
	// Observe is how long an accepted attempt is observed.
	Observe time.Duration `json:"observe,omitempty"`
}

// The times (docs/contracts/delivery.md, 7).
const (
	DefaultInterval  = 30 * time.Second
	MaxObserve       = 6 * time.Hour
	RedeliveryWindow = 24 * time.Hour
	ResolutionWindow = 24 * time.Hour
	AcceptLimit      = 5 * time.Minute  // an acceptance that is not known by then is not known
	RetryPause       = 30 * time.Second // after a refusal of an overloaded agent
	MaxInterval      = 24 * time.Hour
)

// Validate returns an error for limits out of their range.
func (l Limits) Validate() error {
	switch {
	case l.Interval < 0 || l.Interval > MaxInterval:
		return fmt.Errorf("interval %v: want at most %v", l.Interval, MaxInterval)
	case l.Observe < 0 || l.Observe > MaxObserve:
		return fmt.Errorf("observation %v: want at most %v", l.Observe, MaxObserve)
	}
	return nil
}

func (l Limits) interval() time.Duration {
	if l.Interval == 0 {
		return DefaultInterval
	}
	return l.Interval
}

func (l Limits) observationLimit() time.Duration {
	if l.Observe == 0 {
		return MaxObserve
	}
	return l.Observe
}

// decodeExact decodes an object without leniency.
func decodeExact(b []byte, what string, to any) error {
	if err := exact.Decode(b, to); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ErrFull is the error for a batch for which the queue has no room.
var ErrFull = errors.New("the queue of the thread is full")
