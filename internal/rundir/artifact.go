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
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrAltered is the error for an artifact whose bytes differ from the kept bytes.
var ErrAltered = errors.New("the artifact has changed since it was saved")

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
	refs, err := d.KeepInOrder(Content{name, b})
	if err != nil {
		return run.Ref{}, err
	}
	return refs[0], nil
}

// Content is an artifact to be kept: its name, relative to artifacts/, and its bytes.
type Content struct {
	Name  string
	Bytes []byte
}

// Ref returns the reference that the artifact has once it is kept.
func (c Content) Ref() run.Ref {
	return run.Ref{Name: c.Name, Digest: run.DigestOf(c.Bytes), Bytes: int64(len(c.Bytes))}
}

// KeepInOrder keeps artifacts as Keep does, and waits for the disk once. They get their names in the given order, after
// the bytes of all are on disk: a reader that finds one by its name also finds the earlier ones. A bucket takes all at
// once.
func (d *Dir) KeepInOrder(all ...Content) ([]run.Ref, error) {
	refs, err := d.keepOnDisk(all...)
	if err == nil {
		err = d.Publish()
	}
	return refs, err
}

// keepOnDisk is KeepInOrder without a bucket.
func (d *Dir) keepOnDisk(all ...Content) ([]run.Ref, error) {
	root, err := d.openArtifacts()
	if err != nil {
		return nil, fmt.Errorf("keep: %w", err)
	}
	defer root.Close()
	var drafts []*draft // nil: the artifact is there
	for _, c := range all {
		draft, err := draftArtifact(root, c)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("keep %s: %w", c.Name, err), discardAll(drafts))
		}
		drafts = append(drafts, draft)
	}
	if err := syncAll(drafts); err != nil {
		return nil, errors.Join(fmt.Errorf("keep: %w", err), discardAll(drafts))
	}
	var refs []run.Ref
	for i, c := range all {
		ref := c.Ref()
		if err := publishArtifact(root, c, ref.Digest, drafts[i]); err != nil {
			return nil, errors.Join(fmt.Errorf("keep %s: %w", c.Name, err), discardAll(drafts[i:]))
		}
		refs = append(refs, ref)
	}
	failpoint.Hit("rundir.after-keep")
	return refs, nil
}

// draftArtifact writes the bytes to a temporary file. It returns nil if the artifact is there.
func draftArtifact(root *os.Root, c Content) (*draft, error) {
	if err := checkName(c.Name); err != nil {
		return nil, err
	}
	if old, err := readPlain(root, c.Name); err == nil && bytes.Equal(old, c.Bytes) {
		return nil, nil
	}
	failpoint.Hit("rundir.before-keep")
	return writeDraft(root, c.Name, c.Bytes)
}

// publishArtifact gives an artifact its two names. The digest comes first, so that a reader that finds the other name can
// keep the reference.
func publishArtifact(root *os.Root, c Content, digest run.Digest, d *draft) error {
	if d == nil {
		return keepByDigest(root, c.Name, digest, c.Bytes)
	}
	if err := keepByDigest(root, d.temp, digest, c.Bytes); err != nil {
		return err
	}
	return d.publish()
}

// keepByDigest gives the file its second name: a hard link, which takes no room, or
// a copy if the file system has no hard links.
func keepByDigest(root *os.Root, file string, digest run.Digest, b []byte) error {
	second := path.Join(digestDir, string(digest))
	_ = inDir(root, digestDir, func() error { return root.Link(file, second) })
	if linked, err := readPlain(root, second); err == nil && bytes.Equal(linked, b) {
		return nil
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
	if err == nil || errors.Is(err, file.ErrIrregular) {
		err = ErrAltered
	}
	return nil, fmt.Errorf("load %s: %w", ref.Name, err)
}

// The directory of the artifacts, and in it the directory of their second names.
const (
	artifactsDir = "artifacts"
	digestDir    = "by-digest"
)

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (d *Dir) byDigest(digest run.Digest) ([]byte, bool) {
	if !digestForm.MatchString(string(digest)) {
		return nil, false
	}
	b, err := d.readFile(path.Join(artifactsDir, digestDir, string(digest)))
	return b, err == nil && run.DigestOf(b) == digest
}

// Find reads an artifact by its name alone. It returns fs.ErrNotExist if there is none.
func (d *Dir) Find(name string) ([]byte, run.Ref, error) {
	if err := checkName(name); err != nil {
		return nil, run.Ref{}, err
	}
	b, err := d.readFile(path.Join(artifactsDir, name))
	if err != nil {
		return nil, run.Ref{}, err
	}
	return b, Content{name, b}.Ref(), nil
}

// checkName refuses a name that would lead out of the artifacts directory:
// the log of events lies beside it.
func checkName(name string) error {
	if name == "." || !fs.ValidPath(name) {
		return fmt.Errorf("%q is not the name of an artifact", name)
	}
	return nil
}

// openArtifacts makes the directory of the artifacts if it does not exist and returns it as a root.
func (d *Dir) openArtifacts() (artifacts *os.Root, err error) {
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = inDir(root, artifactsDir, func() (err error) {
		artifacts, err = root.OpenRoot(artifactsDir)
		return err
	})
	return artifacts, err
}
