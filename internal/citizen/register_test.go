package citizen_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func TestRegister(t *testing.T) {
	s := newStore(t)
	s.Now = func() time.Time { return noon }
	s.Random = bytes.NewReader([]byte{0xab, 0xcd, 0xef})
	r, err := s.Register(t.Context(), citizen.Birth{Backend: dispatch.Codex, NativeSessionID: "n-1", CWD: "/w", Model: "m"})
	must(t, err)
	if r.GardenID != "20260612T120000-abcdef" {
		t.Errorf("garden id %s", r.GardenID)
	}
	stamp := noon.UTC().Format("2006-01-02T15:04:05.000Z")
	want := `{
  "schemaVersion": 2,
  "gardenId": "20260612T120000-abcdef",
  "backend": "codex",
  "nativeSessionId": "n-1",
  "cwd": "/w",
  "model": "m",
  "transcriptPath": null,
  "parentGardenId": null,
  "isEntwurf": false,
  "createdAt": "` + stamp + `",
  "recordUpdatedAt": "` + stamp + `"
}
`
	b, err := os.ReadFile(s.Path(r.GardenID))
	if err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
	if info, _ := os.Stat(s.Path(r.GardenID)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if found, err := s.Find(r.GardenID); err != nil || found != r {
		t.Errorf("%+v, %v; want %+v", found, err, r)
	}
	if _, err := s.Register(t.Context(), session("n-1")); !errors.Is(err, citizen.ErrOtherBackend) {
		t.Errorf("its native id for another backend: %v", err)
	}
}

func TestAnIDThatIsTakenIsMadeAnew(t *testing.T) {
	s := newStore(t)
	s.Now = func() time.Time { return noon }
	put(t, s, "20260612T120000-000000.meta.json", "anything")
	must(t, os.Mkdir(s.Path("20260612T120000-010101"), 0o700))
	must(t, os.Symlink("nowhere", s.Path("20260612T120000-020202")))
	s.Random = bytes.NewReader([]byte{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3})
	r, err := s.Register(t.Context(), session("n-1"))
	if err != nil || r.GardenID != "20260612T120000-030303" {
		t.Errorf("%+v, %v", r, err)
	}
	if b, _ := os.ReadFile(s.Path("20260612T120000-000000")); string(b) != "anything" {
		t.Errorf("the other entry is %q", b)
	}
	s.Random = bytes.NewReader(make([]byte, 300))
	if r, err := s.Register(t.Context(), session("n-2")); err == nil {
		t.Errorf("made under an id that is taken: %+v", r)
	}
	s.Random = bytes.NewReader(nil)
	if _, err := s.Register(t.Context(), session("n-2")); !errors.Is(err, io.EOF) {
		t.Errorf("without randomness: %v", err)
	}
}

func TestAnIDThatWasAskedFor(t *testing.T) {
	s := newStore(t)
	birth := citizen.Birth{GardenID: gid, Backend: dispatch.Pi, CWD: "/w"}
	r, err := s.Register(t.Context(), birth)
	if err != nil || r.GardenID != gid || r.NativeSessionID != gid {
		t.Errorf("%+v, %v", r, err)
	}
	if again, err := s.Register(t.Context(), birth); err != nil || again.CreatedAt != r.CreatedAt {
		t.Errorf("registered again: %+v, %v", again, err)
	}
	put(t, s, gid2+".meta.json", "{")
	if _, err := s.Register(t.Context(), citizen.Birth{GardenID: gid2, Backend: dispatch.Pi, CWD: "/w"}); !errors.Is(err, citizen.ErrTaken) {
		t.Errorf("over a bad entry: %v", err)
	}
	moved := citizen.Birth{GardenID: gid2, Backend: dispatch.Pi, NativeSessionID: gid, CWD: "/w"}
	if _, err := s.Register(t.Context(), moved); !errors.Is(err, citizen.ErrTaken) {
		t.Errorf("a native session that has another address: %v", err)
	}
	if _, err := s.Register(t.Context(), citizen.Birth{GardenID: "../x", Backend: dispatch.Pi, CWD: "/w"}); err == nil {
		t.Error("made under a path")
	}
}

func TestRegisterAgain(t *testing.T) {
	full := citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1", CWD: "/w", Model: "m", TranscriptPath: "/t"}
	rows := []struct {
		name  string
		again citizen.Birth
		want  func(*citizen.Record)
	}{
		{"what is not known is kept", citizen.Birth{CWD: "/w"}, func(r *citizen.Record) {}},
		{"the directory is always known", citizen.Birth{CWD: "/w2"}, func(r *citizen.Record) { r.CWD = "/w2" }},
		{"known", citizen.Birth{CWD: "/w", Model: "m2", TranscriptPath: "/t2", IsEntwurf: true},
			func(r *citizen.Record) { r.Model, r.TranscriptPath, r.IsEntwurf = "m2", "/t2", true }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(t)
			s.Now = func() time.Time { return noon }
			want, err := s.Register(t.Context(), full)
			must(t, err)
			s.Now = func() time.Time { return noon.Add(time.Minute) }
			row.want(&want)
			want.UpdatedAt = noon.Add(time.Minute).UTC().Format("2006-01-02T15:04:05.000Z")
			row.again.Backend, row.again.NativeSessionID = full.Backend, full.NativeSessionID
			got, err := s.Register(t.Context(), row.again)
			if err != nil || got != want {
				t.Errorf("%+v, %v\nwant %+v", got, err, want)
			}
			if onDisk, err := s.Find(want.GardenID); err != nil || onDisk != want {
				t.Errorf("on disk %+v, %v", onDisk, err)
			}
		})
	}
}

func TestRegisterRefuses(t *testing.T) {
	s := newStore(t)
	put(t, s, gid+".meta.json", wantV2)
	if _, err := s.Register(t.Context(), citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"}); err == nil {
		t.Error("no directory")
	}
	if b, _ := os.ReadFile(s.Path(gid)); string(b) != wantV2 {
		t.Errorf("the record is %s", b)
	}
}

func TestVersionsOnDisk(t *testing.T) {
	for text, want := range map[string]string{wantV1: `"schemaVersion": 2`, wantV2: `"schemaVersion": 2`, wantV3: `"schemaVersion": 3`} {
		s := newStore(t)
		put(t, s, gid+".meta.json", text)
		old, err := s.Register(t.Context(), session("n-1"))
		if err != nil || old.GardenID != gid || old.CreatedAt != "2026-06-12T00:30:00.000Z" || old.TranscriptPath != "/t.jsonl" {
			t.Errorf("%+v, %v", old, err)
		}
		fresh, err := s.Register(t.Context(), session("n-2"))
		must(t, err)
		for _, id := range []dispatch.GardenID{gid, fresh.GardenID} {
			if b, _ := os.ReadFile(s.Path(id)); !strings.Contains(string(b), want) {
				t.Errorf("want %s: %s", want, b)
			}
		}
	}
}

func TestRemove(t *testing.T) {
	s := newStore(t)
	put(t, s, gid+".meta.json", wantV2)
	put(t, s, gid2+".meta.json", wantV2)
	must(t, s.Remove(t.Context(), gid))
	must(t, s.Remove(t.Context(), gid))
	if _, err := s.Find(gid); !errors.Is(err, citizen.ErrUnknown) {
		t.Error(err)
	}
	if err := s.Remove(t.Context(), gid2); !errors.Is(err, citizen.ErrDrift) {
		t.Errorf("a bad entry: %v", err)
	}
	if _, err := os.Stat(s.Path(gid2)); err != nil {
		t.Error(err)
	}
}

// Fifty register at the same moment, in which ids collide all the time: half of
// them one session.
func TestManyRegisterAtOnce(t *testing.T) {
	s := newStore(t)
	s.Now = func() time.Time { return noon }
	var wg sync.WaitGroup
	ids := make([]dispatch.GardenID, 50)
	for i := range ids {
		wg.Go(func() {
			own := *s
			own.Random = bytes.NewReader(append(bytes.Repeat([]byte{7}, 3), byte(i), 1, 1))
			birth := session("shared")
			if i%2 == 0 {
				birth = citizen.Birth{Backend: dispatch.Pi, CWD: "/w"}
			}
			r, err := own.Register(t.Context(), birth)
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.GardenID
		})
	}
	wg.Wait()
	seen := map[dispatch.GardenID]bool{}
	for i, id := range ids {
		switch {
		case i%2 == 1 && id != ids[1]:
			t.Errorf("one session has the ids %s and %s", id, ids[1])
		case i%2 == 0 && seen[id]:
			t.Errorf("two sessions have the id %s", id)
		}
		seen[id] = true
	}
	if good, bad, err := s.List(); err != nil || len(good) != 26 || len(bad) != 0 {
		t.Errorf("%d records, %v, %v", len(good), bad, err)
	}
}

func TestARegistrationThatIsKilled(t *testing.T) {
	for _, point := range []string{"citizen.before-create", "citizen.before-name", "citizen.after-create", "citizen.before-attach"} {
		t.Run(point, func(t *testing.T) {
			s := newStore(t)
			if point == "citizen.before-attach" && registrar(t, s.Dir, "") {
				t.Fatal("killed without cause")
			}
			if !registrar(t, s.Dir, point+"=kill") {
				t.Fatal("not killed")
			}
			if registrar(t, s.Dir, "") {
				t.Fatal("killed without cause")
			}
			good, bad, err := s.List()
			if err != nil || len(bad) != 0 || len(good) != 1 || good[0].NativeSessionID != "n-1" {
				t.Errorf("%+v, %v, %v", good, bad, err)
			}
		})
	}
}

func TestWhatAKilledRegistrationLeftIsRemoved(t *testing.T) {
	s := newStore(t)
	if !registrar(t, s.Dir, "citizen.before-name=kill") {
		t.Fatal("not killed")
	}
	left, err := filepath.Glob(filepath.Join(s.Dir, "*.tmp-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("%q, %v", left, err)
	}
	must(t, os.Chtimes(left[0], time.Time{}, time.Now().Add(-2*time.Hour)))
	if registrar(t, s.Dir, "") {
		t.Fatal("killed without cause")
	}
	if left, err := filepath.Glob(filepath.Join(s.Dir, "*.tmp-*")); err != nil || len(left) != 0 {
		t.Errorf("%q, %v", left, err)
	}
}
