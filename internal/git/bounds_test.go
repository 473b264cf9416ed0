package git_test

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// packed is an entry of a pack that a test writes byte by byte.
type packed struct {
	id    git.ID
	entry []byte
}

// entry returns the entry of an object of less than 2^32 bytes: its head, the base of a delta, and its content.
func entry(t *testing.T, kind byte, size int, base, content string) []byte {
	t.Helper()
	b := []byte{kind<<4 | byte(size&15) | 0x80}
	for size >>= 4; size > 0x7f; size >>= 7 {
		b = append(b, byte(size&0x7f)|0x80)
	}
	b = append(append(b, byte(size)), base...)
	return append(b, deflate(t, content)...)
}

// writePack writes a pack of a SHA-1 repository and its index.
func writePack(t *testing.T, r git.Repo, objects ...packed) {
	t.Helper()
	slices.SortFunc(objects, func(a, b packed) int { return cmp.Compare(a.id, b.id) })
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	var names, sums, offsets []byte
	var fanout [256]uint32
	for _, o := range objects {
		name, err := hex.DecodeString(string(o.id))
		if err != nil {
			t.Fatal(err)
		}
		for i := int(name[0]); i < len(fanout); i++ {
			fanout[i]++
		}
		names, sums = append(names, name...), append(sums, 0, 0, 0, 0)
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(len(pack)))
		pack = append(pack, o.entry...)
	}
	index := []byte("\xfftOc\x00\x00\x00\x02")
	for _, n := range fanout {
		index = binary.BigEndian.AppendUint32(index, n)
	}
	index = slices.Concat(index, names, sums, offsets)
	name := filepath.Join(r.GitDir, "objects", "pack", fmt.Sprintf("pack-%x", sha1.Sum(pack)))
	if err := errors.Join(os.WriteFile(name+".pack", pack, 0o600), os.WriteFile(name+".idx", index, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// What is in no bound is read by git, or not at all.
func TestPacksAreReadInBounds(t *testing.T) {
	need.Suite(t, need.CI)
	zero := git.ID(strings.Repeat("0", 40))
	name := func(id git.ID) string {
		b, _ := hex.DecodeString(string(id))
		return string(b)
	}
	huge := strings.Repeat("x", 33<<20)
	hugeID, one, two := git.Identify(zero, git.Blob, []byte(huge)), git.Identify(zero, git.Blob, []byte("one")), git.Identify(zero, git.Blob, []byte("onetwo"))
	const toTwo = "\x03\x06\x90\x03\x03two" // a delta: three bytes of the base, and three new ones
	whole := packed{one, entry(t, 3, 3, "", "one")}
	for title, c := range map[string]struct {
		id      git.ID
		objects []packed
		read    bool
	}{
		"a delta by name":                  {two, []packed{whole, {two, entry(t, 7, len(toTwo), name(one), toTwo)}}, true},
		"a delta on itself":                {two, []packed{whole, {two, entry(t, 7, len(toTwo), name(two), toTwo)}}, false},
		"a delta on a delta on it":         {two, []packed{{one, entry(t, 7, 3, name(two), "abc")}, {two, entry(t, 7, 3, name(one), "abc")}}, false},
		"a delta on nothing":               {two, []packed{{two, entry(t, 7, len(toTwo), name(one), toTwo)}}, false},
		"a delta on what is before a pack": {two, []packed{whole, {two, entry(t, 6, len(toTwo), "\x81\x7f", toTwo)}}, false},
		"an unknown kind":                  {one, []packed{{one, entry(t, 5, 3, "", "one")}}, false},
		"content of another id":            {two, []packed{{two, entry(t, 3, 3, "", "one")}}, false},
		"a huge object":                    {hugeID, []packed{{hugeID, entry(t, 3, len(huge), "", huge)}}, false},
		"a size of too many bytes":         {one, []packed{{one, append(bytes.Repeat([]byte{0xbf}, 20), deflate(t, "one")...)}}, false},
		"less content than its size":       {one, []packed{{one, entry(t, 3, 4, "", "one")}}, false},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRepo(t)
			writePack(t, r, c.objects...)
			objects := git.NewObjects(r)
			defer objects.Close()
			if o, err := objects.ReadFiles(c.id); (err == nil) != c.read {
				t.Errorf("%s of %d bytes, %v", o.Kind, o.Size, err)
			}
		})
	}
}

// The time in which packs are looked through is bounded: git reads many packs.
func TestManyPacksAreLeftToGit(t *testing.T) {
	need.Suite(t, need.CI)
	const bound = 32
	r := newRepo(t)
	history(t, r, git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
	tip := git.ID(run(t, r, "rev-parse", "refs/heads/x"))
	run(t, r, "repack", "-q", "-a", "-d")
	index := strings.TrimSuffix(lastPack(t, r), ".idx")
	for n := 2; n <= bound+1; n++ {
		for _, suffix := range []string{".pack", ".idx"} {
			if err := os.Link(index+suffix, fmt.Sprintf("%s-%d%s", index, n, suffix)); err != nil {
				t.Fatal(err)
			}
		}
		objects := git.NewObjects(r)
		if _, err := objects.ReadFiles(tip); (err == nil) != (n <= bound) {
			t.Fatalf("%d packs: %v", n, err)
		}
		if err := objects.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeltasAreApplied(t *testing.T) {
	const all = "\x80" // a copy of 64 KiB from the beginning
	big := string(binary.AppendUvarint([]byte("\x80\x80\x04"), 33<<20)) + strings.Repeat(all, 33<<20>>16)
	for title, c := range map[string]struct {
		base, delta, want string
		refused           bool
	}{
		"a copy and new bytes":           {"base", "\x04\x05\x90\x04\x01!", "base!", false},
		"a copy from the middle":         {"base", "\x04\x02\x91\x02\x02", "se", false},
		"nothing":                        {"", "\x00\x00", "", false},
		"another base":                   {"bases", "\x04\x05\x90\x04\x01!", "", true},
		"the command that git reserves":  {"base", "\x04\x01\x00!", "", true},
		"new bytes that are cut":         {"base", "\x04\x05\x05!", "", true},
		"a copy beyond the base":         {"base", "\x04\x05\x90\x05", "", true},
		"a copy whose place is cut":      {"base", "\x04\x04\x91", "", true},
		"a size that is cut":             {"base", "\x04\x80", "", true},
		"more than it says":              {"base", "\x04\x03\x90\x04", "", true},
		"less than it says":              {"base", "\x04\x05\x90\x04", "", true},
		"more than fits here in a whole": {strings.Repeat("x", 1<<16), big, "", true},
	} {
		if got, err := git.ApplyDelta([]byte(c.base), []byte(c.delta)); (err != nil) != c.refused || string(got) != c.want {
			t.Errorf("%s: %d bytes, %v", title, len(got), err)
		}
	}
}

// Files that stand for an object in another way than git's are not read, though their content is the object's.
func TestLooseObjectsAreReadAsGitWritesThem(t *testing.T) {
	r := newRepo(t)
	pack := git.NewPack(git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
	id := pack.Add(git.Blob, []byte("one"))
	file := filepath.Join(r.GitDir, "objects", string(id[:2]), string(id[2:]))
	for name, put := range map[string]func() error{
		"a header without an end": func() error {
			return os.WriteFile(file, deflate(t, "blob "+strings.Repeat("0", 1<<20)+"3\x00one"), 0o600)
		},
		"a link":      func() error { return errors.Join(os.Rename(file, file+"0"), os.Symlink(filepath.Base(file)+"0", file)) },
		"a pipe":      func() error { return syscall.Mkfifo(file, 0o600) },
		"a directory": func() error { return os.Mkdir(file, 0o700) },
	} {
		if err := r.StoreFiles(pack); err != nil {
			t.Fatal(err)
		}
		objects := git.NewObjects(r)
		defer objects.Close()
		if o, err := objects.ReadFiles(id); err != nil || string(o.Content) != "one" {
			t.Fatalf("%q, %v", o.Content, err)
		}
		if name != "a link" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if o, err := objects.ReadFiles(id); err == nil {
			t.Errorf("%s: %q", name, o.Content)
		}
		if err := r.StoreFiles(pack); name != "a header without an end" && err == nil {
			t.Errorf("%s: stored", name)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// An object that is there is as young as a new one: git-prune, which removes old ones that nothing refers to, leaves it.
func TestStoredObjectsAreYoung(t *testing.T) {
	r := newRepo(t)
	pack := git.NewPack(git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
	id := pack.Add(git.Blob, []byte("one"))
	long := time.Now().Add(-30 * 24 * time.Hour)
	file := filepath.Join(r.GitDir, "objects", string(id[:2]), string(id[2:]))
	for range 2 {
		if err := r.StoreFiles(pack); err != nil {
			t.Fatal(err)
		}
		run(t, r, "prune", "--expire=2.weeks.ago")
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	run(t, r, "prune", "--expire=2.weeks.ago")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old object: %v", err)
	}
}
