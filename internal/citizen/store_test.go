package citizen_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
)

func newStore(t testing.TB) *citizen.Store {
	t.Helper()
	return &citizen.Store{Dir: filepath.Join(t.TempDir(), "meta-sessions")}
}

// put writes an entry of the store as another program does.
func put(t testing.TB, s *citizen.Store, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(s.Dir, 0o755))
	must(t, os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o644))
}

// record is the text of a record with these ids.
func record(id, native string, backend dispatch.Backend) string {
	return strings.NewReplacer(gid, id, "n-1", native, "claude-code", string(backend)).Replace(wantV2)
}

func TestFind(t *testing.T) {
	rows := []struct {
		name  string
		setUp func(t *testing.T, s *citizen.Store, path string)
		want  error // nil: found; errBad: any *BadRecord
	}{
		{"a record", func(t *testing.T, s *citizen.Store, path string) { put(t, s, gid+".meta.json", wantV2) }, nil},
		{"a record of version 1", func(t *testing.T, s *citizen.Store, path string) { put(t, s, gid+".meta.json", wantV1) }, nil},
		{"a record of version 3", func(t *testing.T, s *citizen.Store, path string) { put(t, s, gid+".meta.json", wantV3) }, nil},
		{"no record", func(t *testing.T, s *citizen.Store, path string) { must(t, os.MkdirAll(s.Dir, 0o700)) }, citizen.ErrUnknown},
		{"no store", func(t *testing.T, s *citizen.Store, path string) {}, citizen.ErrUnknown},
		{"the store is a file", func(t *testing.T, s *citizen.Store, path string) { must(t, os.WriteFile(s.Dir, nil, 0o600)) }, unix.ENOTDIR},
		{"the name of another", func(t *testing.T, s *citizen.Store, path string) {
			put(t, s, gid+".meta.json", record(gid2, "n", dispatch.Pi))
		}, citizen.ErrDrift},
		{"a broken record", func(t *testing.T, s *citizen.Store, path string) { put(t, s, gid+".meta.json", "{") }, errBad},
		{"an empty file", func(t *testing.T, s *citizen.Store, path string) { put(t, s, gid+".meta.json", "") }, errBad},
		{"a symlink to a good record", func(t *testing.T, s *citizen.Store, path string) {
			put(t, s, "elsewhere", wantV2)
			must(t, os.Symlink(filepath.Join(s.Dir, "elsewhere"), path))
		}, file.ErrIrregular},
		{"a dangling symlink", func(t *testing.T, s *citizen.Store, path string) {
			must(t, os.MkdirAll(s.Dir, 0o700))
			must(t, os.Symlink("nowhere", path))
		}, file.ErrIrregular},
		{"a fifo", func(t *testing.T, s *citizen.Store, path string) {
			must(t, os.MkdirAll(s.Dir, 0o700))
			must(t, unix.Mkfifo(path, 0o600))
		}, file.ErrIrregular},
		{"a directory", func(t *testing.T, s *citizen.Store, path string) { must(t, os.MkdirAll(path, 0o700)) }, file.ErrIrregular},
		{"a huge file", func(t *testing.T, s *citizen.Store, path string) {
			put(t, s, gid+".meta.json", "")
			must(t, os.Truncate(path, 1<<40))
		}, file.ErrTooLarge},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(t)
			row.setUp(t, s, s.Path(gid))
			r, err := s.Find(gid)
			bad, isBad := errors.AsType[*citizen.BadRecord](err)
			switch {
			case row.want == nil:
				if err != nil || r.GardenID != gid || r.NativeSessionID != "n-1" {
					t.Errorf("%+v, %v", r, err)
				}
			case row.want == errBad:
				if !isBad || bad.Name != gid+".meta.json" {
					t.Errorf("%+v, %v", r, err)
				}
			case !errors.Is(err, row.want):
				t.Errorf("%+v, %v; want %v", r, err, row.want)
			case isBad == (row.want == citizen.ErrUnknown):
				t.Errorf("a bad record: %v", err)
			}
		})
	}
}

var errBad = errors.New("a bad record")

func TestFindTouchesNoPathThatIsNoGardenID(t *testing.T) {
	s := newStore(t)
	put(t, s, "x.meta.json", wantV2)
	for _, id := range []dispatch.GardenID{"", "x", "../" + gid, gid + "/..", "20260612T093000-0A1B2C", "20260612T093000-0a1b2"} {
		if r, err := s.Find(id); err == nil || errors.Is(err, citizen.ErrUnknown) {
			t.Errorf("%q: %+v, %v", id, r, err)
		}
	}
}

func TestListHidesNothing(t *testing.T) {
	s := newStore(t)
	if good, bad, err := s.List(); err != nil || len(good)+len(bad) != 0 {
		t.Errorf("a store that is not there: %v, %v, %v", good, bad, err)
	}
	put(t, s, gid2+".meta.json", record(gid2, "n-2", dispatch.Pi))
	put(t, s, gid+".meta.json", wantV1)
	put(t, s, "20260612T000000-000001.meta.json", "{")
	put(t, s, "20260612T000000-000002.meta.json", wantV2)
	put(t, s, "note.meta.json", wantV2)
	put(t, s, gid+".meta.json.tmp-1-2", "half")
	put(t, s, "README", "x")
	must(t, os.Symlink(s.Path(gid), s.Path("20260612T000000-000003")))
	must(t, unix.Mkfifo(s.Path("20260612T000000-000004"), 0o600))
	put(t, s, "20260612T000000-000005.meta.json", record("20260612T000000-000005", "twice", dispatch.Pi))
	put(t, s, "20260612T000000-000006.meta.json", record("20260612T000000-000006", "twice", dispatch.Codex))
	good, bad, err := s.List()
	if err != nil || len(good) != 2 || good[0].GardenID != gid || good[1].GardenID != gid2 {
		t.Errorf("%+v, %v", good, err)
	}
	wantBad := map[string]error{
		"20260612T000000-000001.meta.json": nil, "20260612T000000-000002.meta.json": citizen.ErrDrift, "note.meta.json": citizen.ErrDrift,
		"20260612T000000-000003.meta.json": file.ErrIrregular, "20260612T000000-000004.meta.json": file.ErrIrregular,
		"20260612T000000-000005.meta.json": citizen.ErrDuplicate, "20260612T000000-000006.meta.json": citizen.ErrDuplicate,
	}
	if len(bad) != len(wantBad) {
		t.Errorf("%d bad entries: %v", len(bad), bad)
	}
	for _, b := range bad {
		if want, ok := wantBad[b.Name]; !ok || want != nil && !errors.Is(b, want) {
			t.Errorf("%v; want %v", b, want)
		}
	}
}

func TestAStoreThatCannotBeReadIsNotEmpty(t *testing.T) {
	s := newStore(t)
	must(t, os.WriteFile(s.Dir, nil, 0o600))
	if good, bad, err := s.List(); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("%v, %v, %v", good, bad, err)
	}
	if r, err := s.FindNative(dispatch.Pi, "n"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("%v, %v", r, err)
	}
}

func TestFindNative(t *testing.T) {
	s := newStore(t)
	put(t, s, gid+".meta.json", wantV1)
	for i, native := range []string{"twice", "twice", "both", "both"} {
		id := fmt.Sprintf("20260612T000000-00000%d", i)
		put(t, s, id+".meta.json", record(id, native, dispatch.Backends[i]))
	}
	put(t, s, "20260612T000000-00000a.meta.json", "{")
	rows := []struct {
		name    string
		backend dispatch.Backend
		native  string
		want    error
	}{
		{"one record has it", dispatch.ClaudeCode, "n-1", nil},
		{"nobody has it", dispatch.ClaudeCode, "n-2", citizen.ErrUnknown},
		{"two have it", dispatch.ClaudeCode, "twice", citizen.ErrDuplicate},
		{"two of other backends have it", dispatch.Antigravity, "both", citizen.ErrDuplicate},
		{"another backend has it", dispatch.Pi, "n-1", citizen.ErrOtherBackend},
	}
	for _, row := range rows {
		if r, err := s.FindNative(row.backend, row.native); !errors.Is(err, row.want) || err == nil && r.GardenID != gid {
			t.Errorf("%s: %+v, %v; want %v", row.name, r, err, row.want)
		}
	}
	if r, err := s.FindNative(dispatch.Pi, ""); err == nil || errors.Is(err, citizen.ErrUnknown) {
		t.Errorf("an empty id: %+v, %v", r, err)
	}
}

func TestAddress(t *testing.T) {
	s := newStore(t)
	put(t, s, gid+".meta.json", wantV2)
	if r, err := s.Address(gid); err != nil || r.GardenID != gid {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Address(gid2); !errors.Is(err, citizen.ErrUnknown) {
		t.Errorf("nobody: %v", err)
	}
	put(t, s, gid2+".meta.json", record(gid2, "n-1", dispatch.ClaudeCode))
	if r, err := s.Address(gid); !errors.Is(err, citizen.ErrDuplicate) {
		t.Errorf("with a rival: %+v, %v", r, err)
	}
	if _, err := s.Find(gid); err != nil {
		t.Errorf("found by its address alone: %v", err)
	}
}

func TestUnreadableRecord(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	s := newStore(t)
	put(t, s, gid+".meta.json", wantV2)
	must(t, os.Chmod(s.Path(gid), 0))
	if _, err := s.Find(gid); !errors.Is(err, fs.ErrPermission) || errors.Is(err, citizen.ErrUnknown) {
		t.Error(err)
	}
}
