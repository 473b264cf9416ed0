package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrAltered is the error for an artifact whose bytes differ from the kept bytes.
var ErrAltered = errors.New("artifact is not what was kept")

// Lost reports whether the error says that an artifact is gone or altered. Trying
// again does not bring the artifact back.
func Lost(err error) bool {
	return errors.Is(err, ErrAltered) || errors.Is(err, fs.ErrNotExist)
}

// Artifact returns the name of the artifact of a phase and iteration. The name for
// the second and later provider calls of the same phase and iteration carries the
// number of the call.
func Artifact(p run.Phase, iteration, call int, suffix string) string {
	if call > 1 {
		return fmt.Sprintf("%s/iter-%04d.%d.%s", p, iteration, call, suffix)
	}
	return fmt.Sprintf("%s/iter-%04d.%s", p, iteration, suffix)
}

// Keep stores an artifact under a name relative to artifacts/, whole or not at
// all: its bytes are on disk before it has its name. The artifact has a second name,
// its digest. Load finds it there when other bytes take the first name: a reference
// in history stays good even if a late attempt of an activity keeps other bytes.
// Keeping the same bytes again is a no-op.
func (d *Dir) Keep(name string, b []byte) (run.Ref, error) {
	ref := run.Ref{Name: name, Digest: run.DigestOf(b), Bytes: int64(len(b))}
	file, err := artifactFile(name)
	if err != nil {
		return run.Ref{}, fmt.Errorf("keep: %w", err)
	}
	root, err := d.openRoot()
	if err != nil {
		return run.Ref{}, fmt.Errorf("keep %s: %w", name, err)
	}
	defer root.Close()
	if old, err := readPlain(root, file); err == nil && bytes.Equal(old, b) {
		return ref, keepByDigest(root, file, ref.Digest, b)
	}
	failpoint.Hit("rundir.before-keep")
	if err := replaceSynced(root, file, b); err != nil {
		return run.Ref{}, fmt.Errorf("keep %s: %w", name, err)
	}
	if err := keepByDigest(root, file, ref.Digest, b); err != nil {
		return run.Ref{}, fmt.Errorf("keep %s: %w", name, err)
	}
	failpoint.Hit("rundir.after-keep")
	return ref, nil
}

// keepByDigest gives the file its second name: a hard link, which takes no room, or
// a copy if the file system has no hard links.
func keepByDigest(root *os.Root, file string, digest run.Digest, b []byte) error {
	second := digestFile(digest)
	if old, err := readPlain(root, second); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := root.MkdirAll(path.Dir(second), 0o700); err != nil {
		return err
	}
	if err := root.Link(file, second); err == nil {
		if linked, err := readPlain(root, second); err == nil && bytes.Equal(linked, b) {
			return nil
		}
	}
	return replaceSynced(root, second, b)
}

// Load reads an artifact and compares it with its reference. If the name is gone or
// has other bytes, Load finds the artifact by its digest.
func (d *Dir) Load(ref run.Ref) ([]byte, error) {
	b, found, err := d.Find(ref.Name)
	if err == nil && found.Digest == ref.Digest {
		return b, nil
	}
	if b, ok := d.byDigest(ref.Digest); ok {
		return b, nil
	}
	if err == nil || errors.Is(err, errIrregular) {
		err = ErrAltered
	}
	return nil, fmt.Errorf("load %s: %w", ref.Name, err)
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (d *Dir) byDigest(digest run.Digest) ([]byte, bool) {
	if !digestForm.MatchString(string(digest)) {
		return nil, false
	}
	b, err := d.readFile(digestFile(digest))
	return b, err == nil && run.DigestOf(b) == digest
}

func digestFile(d run.Digest) string { return path.Join("artifacts", "by-digest", string(d)) }

// Find reads an artifact by its name alone. It returns fs.ErrNotExist if there is none.
func (d *Dir) Find(name string) ([]byte, run.Ref, error) {
	file, err := artifactFile(name)
	if err != nil {
		return nil, run.Ref{}, err
	}
	b, err := d.readFile(file)
	if err != nil {
		return nil, run.Ref{}, err
	}
	return b, run.Ref{Name: name, Digest: run.DigestOf(b), Bytes: int64(len(b))}, nil
}

// artifactFile refuses a name that would lead out of the artifacts directory:
// the log of events lies beside it.
func artifactFile(name string) (string, error) {
	if name == "." || !fs.ValidPath(name) {
		return "", fmt.Errorf("%q is not the name of an artifact", name)
	}
	return path.Join("artifacts", name), nil
}
