package rundir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/store"
)

// The record of a run is in a bucket, too, if the operator names one and the run has a repository on a server. It consists
// of segments there: numbered objects, each with the changes of files since the one before. None is replaced. What is on
// a host's disk is a copy. It holds the segments that it has taken over in segmentsDir.

// segmentsDir is the directory of a record with the segments; notesDir, in segments, holds the notes of the run's slots.
const (
	segmentsDir = "segments"
	notesDir    = "notes"
)

// buckets holds the bucket of each runs directory that has one.
var buckets sync.Map // absolute path → *store.Bucket

// Share gives a runs directory the bucket that keeps the records of its runs, for this process.
func Share(dir string, b *store.Bucket) error {
	abs, err := filepath.Abs(dir)
	if err == nil {
		buckets.Store(abs, b)
	}
	return err
}

// Bucket returns the bucket of a runs directory; nil: it has none.
func Bucket(dir string) *store.Bucket {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	b, _ := buckets.Load(abs)
	bucket, _ := b.(*store.Bucket)
	return bucket
}

// shared is the copy of a run's record on this disk while an activity works with it, or a command reads it.
type shared struct {
	dir    string // of the runs
	id     run.ID
	bucket *store.Bucket
	view   view
	known  map[string]bool // segments in the view, by name
	last   string
}

// attended holds the records that activities of this process work with.
var attended = struct {
	sync.Mutex
	runs map[string]*attendance // by the path of the record
}{runs: map[string]*attendance{}}

type attendance struct {
	*shared
	users int
}

// Attend brings the record of a run from the bucket to this disk. Until done is called, what is kept in the record is in
// the bucket before the call returns. Without a bucket it does nothing.
func (s *Store) Attend(ctx context.Context, id run.ID) (done func(), err error) {
	bucket := Bucket(s.dir)
	if bucket == nil {
		return func() {}, nil
	}
	own, err := pull(ctx, s.dir, id, bucket)
	if err != nil {
		return nil, err
	}
	name := s.Run(id).path
	attended.Lock()
	defer attended.Unlock()
	at := attended.runs[name]
	if at == nil {
		at = &attendance{shared: own}
		attended.runs[name] = at
	}
	at.users++
	return func() {
		attended.Lock()
		defer attended.Unlock()
		if at.users--; at.users == 0 {
			delete(attended.runs, name)
		}
	}, nil
}

// Publish puts into the bucket what the record on this disk has and the bucket has not. It does nothing without Attend.
func (d *Dir) Publish() error {
	attended.Lock()
	at := attended.runs[d.record]
	attended.Unlock()
	if at == nil {
		return nil
	}
	return at.push(context.Background())
}

// refreshed is when the records were last brought from a bucket, for readers.
var refreshed sync.Map // path of the record → time.Time

// refreshEvery is how old the copy of a record may be that is read.
const refreshEvery = time.Second

// refresh brings a record from the bucket of the runs directory, if that has one.
func refresh(runsDir string, id run.ID) error {
	bucket := Bucket(runsDir)
	if bucket == nil || id.Validate() != nil {
		return nil
	}
	dir, err := filepath.Abs(runsDir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, string(id))
	if at, ok := refreshed.Load(name); ok && time.Since(at.(time.Time)) < refreshEvery {
		return nil
	}
	if _, err := pull(context.Background(), dir, id, bucket); err != nil {
		return err
	}
	refreshed.Store(name, time.Now())
	return nil
}

// pull brings what the bucket has of a record to the disk, except where the disk has more.
func pull(ctx context.Context, dir string, id run.ID, bucket *store.Bucket) (*shared, error) {
	s := &shared{dir: dir, id: id, bucket: bucket}
	prefix := "runs/" + string(id) + "/"
	keys, err := bucket.Keys(ctx, prefix)
	if err != nil || len(keys) == 0 {
		return s, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, key := range keys {
		name := strings.TrimPrefix(key, prefix)
		if !segmentForm(name) || exists(s.segment(name)) {
			continue
		}
		b, err := bucket.Get(ctx, key)
		if err == nil && !strings.HasSuffix(name, store.Digest(b)) {
			err = fmt.Errorf("segment %s of run %s: %w", name, id, ErrAltered)
		}
		if err == nil {
			err = file.Replace(s.segment(name), b)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, s.writeOut()
}

// push puts a segment with all changes since the last one into the bucket, if there are any.
func (s *shared) push(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.read(); err != nil {
		return err
	}
	disk, err := s.stillOnDisk()
	if err != nil {
		return err
	}
	list := s.view.changesTo(disk)
	if len(list) == 0 {
		return nil
	}
	b, err := encodeSegment(list)
	if err != nil {
		return err
	}
	number, _ := strconv.Atoi(strings.SplitN(s.last, "-", 2)[0]) // of none it is 0
	name := fmt.Sprintf("%08d-%s", number+1, store.Digest(b))
	if err := s.bucket.Put(ctx, "runs/"+string(s.id)+"/"+name, b); err != nil {
		return err
	}
	if err := file.Replace(s.segment(name), b); err != nil {
		return err
	}
	return s.read()
}

func (s *shared) record() string             { return filepath.Join(s.dir, "workflows", string(s.id)) }
func (s *shared) segment(name string) string { return filepath.Join(s.record(), segmentsDir, name) }

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// segmentForm reports whether a name is that of a segment: its number, and the digest of its bytes.
func segmentForm(name string) bool {
	number, digest, _ := strings.Cut(name, "-")
	_, err := strconv.Atoi(number)
	return err == nil && len(number) == 8 && len(digest) == 32 && path.Base(name) == name
}

// lock orders the processes of this host that read or write the segments of the run.
func (s *shared) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(s.segment(""), 0o700); err != nil {
		return nil, err
	}
	return file.Lock(ctx, s.segment("lock"))
}

// read takes the segments on this disk into the view that are not there yet.
func (s *shared) read() error {
	names, err := file.Names(s.segment(""))
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !segmentForm(name) })
	slices.Sort(names)
	if s.view == nil || slices.ContainsFunc(names, func(name string) bool { return name < s.last && !s.known[name] }) {
		s.view, s.known, s.last = view{}, map[string]bool{}, ""
	}
	for _, name := range names {
		if s.known[name] {
			continue
		}
		b, err := os.ReadFile(s.segment(name))
		if err != nil {
			return err
		}
		list, err := decodeSegment(b)
		if err != nil {
			return err
		}
		for _, c := range list {
			s.view.apply(c)
		}
		s.known[name], s.last = true, name
	}
	return nil
}

// place returns the file on this disk that a path of segments stands for, below the directory of the runs.
func (s *shared) place(name string) string {
	if slot, ok := strings.CutPrefix(name, notesDir+"/"); ok {
		return path.Join("agents", string(s.id), slot, noteName)
	}
	return path.Join("workflows", string(s.id), name)
}

// still keeps other writers of this host from the record until done is called.
func (s *shared) still() (done func(), err error) {
	f, err := os.Open(s.record())
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

// onDisk returns the files that belong into segments.
func (s *shared) onDisk() (view, error) {
	disk := view{}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	top := s.place(".")
	err = fs.WalkDir(root.FS(), top, func(name string, e fs.DirEntry, err error) error {
		at := strings.TrimPrefix(name, top+"/")
		switch {
		case errors.Is(err, fs.ErrNotExist): // a temporary file
			return nil
		case err != nil:
			return err
		case e.IsDir() && at == segmentsDir:
			return fs.SkipDir
		case !e.Type().IsRegular() || tempForm.MatchString(e.Name()) || isCount(at) && !strings.HasSuffix(at, ".begun"):
			return nil
		}
		return disk.readInto(root, name, at)
	})
	slots, _ := fs.Glob(root.FS(), path.Join("agents", string(s.id), "*", noteName)) // the pattern is sound
	for _, name := range slots {
		err = errors.Join(err, disk.readInto(root, name, path.Join(notesDir, path.Base(path.Dir(name)))))
	}
	return disk, err
}

func (s *shared) stillOnDisk() (view, error) {
	done, err := s.still()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.onDisk()
}

func (v view) readInto(root *os.Root, name, as string) error {
	b, err := readPlain(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	v[as] = b
	return err
}

// writeOut brings the disk to the view. The events come first: the files beside them belong to them.
func (s *shared) writeOut() error {
	done, err := s.still()
	if err != nil {
		return err
	}
	defer done()
	disk, err := s.onDisk()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, b := range s.view {
		if !s.view.wantsOnDisk(name, disk) {
			continue
		}
		if b == nil {
			err = root.Remove(s.place(name))
		} else {
			err = replaceFile(root, s.place(name), b)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
