package scratch_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

func wantUnfit(t *testing.T, s *scratch.Scratch, limits patch.Limits, want ...scratch.Unfit) {
	t.Helper()
	diff, err := s.Changes(t.Context(), limits)
	unfit, ok := errors.AsType[*scratch.UnfitError](err)
	if !ok {
		t.Fatalf("%v, want an UnfitError\n%s", err, diff)
	}
	if !slices.Equal(unfit.Files, want) {
		t.Errorf("unfit:\n%q\nwant\n%q", unfit.Files, want)
	}
}

const (
	noLink   = "symbolic links cannot be created"
	nulByte  = "the diff holds a NUL byte; binary content cannot be patched"
	nested   = "it is a repository of its own"
	inGit    = "the name is in git's own directory, or could be mistaken for it"
	fileHere = "a file has replaced a directory; rename one of them"
	dirHere  = "a directory has replaced a file; rename one of them"
)

// unfitting are what an agent does and a patch cannot carry.
var unfitting = []struct {
	name string
	do   func(t *testing.T, s *scratch.Scratch)
	want []scratch.Unfit
}{
	{"a link is made", sh("ln -s main.go new"), []scratch.Unfit{{"new", noLink}}},
	{"a link that leads out is made", sh("ln -s /etc/passwd lib/new"), []scratch.Unfit{{"lib/new", noLink}}},
	{"a link is changed", sh("ln -sfn /etc link"), []scratch.Unfit{{"link", "symbolic links cannot be changed"}}},
	{"a link is deleted", sh("rm link"), []scratch.Unfit{{"link", "symbolic links cannot be deleted"}}},
	{"a link becomes a file", sh("rm link; echo x >link"), []scratch.Unfit{{"link", "a file has replaced a symbolic link or submodule"}}},
	{"a link becomes a directory", sh("rm link; mkdir link; echo x >link/f"), []scratch.Unfit{{"link", dirHere}}},
	{"a file becomes a link", sh("ln -sf README.md main.go"), []scratch.Unfit{{"main.go", "a symbolic link has replaced a file"}}},
	{"a file becomes a link though its name is ignored now", sh("ln -sf README.md main.go; echo main.go >.gitignore"),
		[]scratch.Unfit{{"main.go", "a symbolic link has replaced a file"}}},
	{"a directory becomes a link", sh("mv lib ../lib; ln -s ../lib lib"), []scratch.Unfit{{"lib", noLink}}},
	{"a directory becomes a FIFO", sh("rm -r lib; mkfifo lib"), []scratch.Unfit{{"lib", "a FIFO cannot be part of a patch"}}},
	{"a file becomes a directory", sh("rm main.go; mkdir main.go; echo x >main.go/f"), []scratch.Unfit{{"main.go", dirHere}}},
	{"a directory becomes a file", sh("rm -r lib; echo x >lib"), []scratch.Unfit{{"lib", fileHere}}},
	{"a FIFO is made", sh("mkfifo lib/pipe"), []scratch.Unfit{{"lib/pipe", "a FIFO cannot be part of a patch"}}},
	{"a file becomes a FIFO", sh("rm main.go; mkfifo main.go"), []scratch.Unfit{{"main.go", "a FIFO has replaced a file"}}},
	{"what git reads are FIFOs", sh("rm .gitignore; mkfifo .gitignore; mkfifo lib/.gitignore lib/.gitattributes .gitattributes; echo x >lib/new"), []scratch.Unfit{
		{".gitattributes", "a FIFO cannot be part of a patch"}, {".gitignore", "a FIFO has replaced a file"},
		{"lib/.gitattributes", "a FIFO cannot be part of a patch"}, {"lib/.gitignore", "a FIFO cannot be part of a patch"}}},
	{"what git reads are links", sh("ln -sf /dev/zero .gitignore; ln -s /dev/zero .gitattributes; echo x >new.o"), []scratch.Unfit{
		{".gitattributes", noLink}, {".gitignore", "a symbolic link has replaced a file"}}},
	{"what git reads is huge", sh("truncate -s 1T lib/.gitignore"), []scratch.Unfit{{"lib/.gitignore", "the file has 1099511627776 bytes; at most 16777216 are allowed"}}},
	{"a repository is made", sh("git init -q new; touch new/f"), []scratch.Unfit{{"new", nested}}},
	{"a repository is made around files of the commit", sh("git init -q lib; rm lib/a/one.txt"), []scratch.Unfit{{"lib", nested}}},
	{"a repository with FIFOs is made", sh("mkdir -p new/.git; mkfifo new/.git/HEAD new/.git/config"), []scratch.Unfit{{"new", nested}}},
	{"a link to a repository is made", sh("mkdir new; echo 'gitdir: /tmp' >new/.git"), []scratch.Unfit{{"new", nested}}},
	{"a FIFO is where a repository would be", sh("mkdir new; mkfifo new/.git"), []scratch.Unfit{{"new", nested}}},
	{"a submodule is added", sh("git init -q ../sub; git -C ../sub -c user.name=x -c user.email=x commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ../../sub sub 2>/dev/null || git -c protocol.file.allow=always submodule --quiet add $PWD/../sub sub"),
		[]scratch.Unfit{{"sub", nested}}},
	{"names that git or others take for something else", sh(`touch ':(exclude)x' '.GIT' 'git~1' 'a\b' 'a:b' con 'x.' '.ratchet-x'`), []scratch.Unfit{
		{".GIT", inGit}, {".ratchet-x", "a part of the name is reserved while a patch is applied"},
		{":(exclude)x", "the name holds a backslash or a colon"}, {"a:b", "the name holds a backslash or a colon"},
		{`a\b`, "the name holds a backslash or a colon"},
		{"con", "a part of the name is a device on some systems"}, {"git~1", inGit}, {"x.", "a part of the name ends in a blank or a dot"}}},
	{"names that are no text", sh(`touch "$(printf 'a\377')" "$(printf 'new\nline')"`), []scratch.Unfit{
		{"a\xff", "the name is not UTF-8"}, {"new\nline", "the name holds the invisible character U+000A"}}},
	{"a name that is too long", func(t *testing.T, s *scratch.Scratch) { deep(t, s.WorkDir(), 300) }, []scratch.Unfit{
		{strings.Repeat("d", 100) + strings.Repeat("/"+strings.Repeat("d", 100), 10), "the name has more than 1024 bytes"}}},
	{"names that differ in letter case only", sh("echo x >MAIN.GO"), []scratch.Unfit{
		{"MAIN.GO", "the name collides with main.go: on some systems they are the same name, or a file and a directory"}}},
	{"two new names that differ in letter case only", sh("echo x >new; echo y >NEW"), []scratch.Unfit{
		{"new", "the name collides with NEW: on some systems they are the same name, or a file and a directory"}}},
	{"a binary file is made", sh(`printf 'a\000b' >new.bin`), []scratch.Unfit{{"new.bin", nulByte}}},
	{"a binary file is changed", sh("echo text >blob.bin"), []scratch.Unfit{{"blob.bin", nulByte}}},
	{"a binary file is deleted", sh("rm blob.bin"), []scratch.Unfit{{"blob.bin", nulByte}}},
	{"a text becomes binary", sh(`printf 'a\000b' >>main.go`), []scratch.Unfit{{"main.go", nulByte}}},
	{"a line that is too long", sh("head -c 2000000 /dev/zero | tr '\\0' x >new"), []scratch.Unfit{{"new", "line 7 of the diff has 2000001 bytes; at most 1048576 are allowed"}}},
	{"a file that is huge", sh("truncate -s 1T new"), []scratch.Unfit{{"new", "the file has 1099511627776 bytes; at most 67108864 are allowed"}}},
	{"a file of the commit becomes huge", sh("truncate -s 8E main.go 2>/dev/null || truncate -s 1T main.go"), nil},
	{"all of them are named", sh(`ln -s x new; mkfifo pipe; printf '\000' >new.bin; echo x >CON; echo fine >fine; rm blob.bin`), []scratch.Unfit{
		{"CON", "a part of the name is a device on some systems"}, {"blob.bin", nulByte}, {"new", noLink}, {"new.bin", nulByte},
		{"pipe", "a FIFO cannot be part of a patch"}}},
}

func TestUnfit(t *testing.T) {
	r := userRepo(t, sample)
	before := state(t, r.Dir)
	for _, tt := range unfitting {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := makeAt(t, apart(t, r))
			tt.do(t, s)
			if tt.want == nil {
				fi, err := os.Stat(s.WorkDir() + "/main.go")
				must(t, err)
				tt.want = []scratch.Unfit{{"main.go", fmt.Sprintf("the file has %d bytes; at most 67108864 are allowed", fi.Size())}}
			}
			wantUnfit(t, s, patch.Limits{}, tt.want...)
			if state(t, r.Dir) != before {
				t.Error("the user's repository has changed")
			}
			must(t, s.Make(t.Context(), head(t, r)))
			gittest.WantTree(t, s.WorkDir(), sample)
		})
	}
}

// The author of patterns that keep git busy is told: no later attempt ends, either.
func TestPatternsWithoutAnEnd(t *testing.T) {
	s := makeAt(t, beside(userRepo(t, sample)))
	agent(t, s, "echo x >new; echo '**/a/**/a/**/b' >.gitignore")
	scratch.ShortenIgnore(t, time.Nanosecond)
	wantUnfit(t, s, patch.Limits{}, scratch.Unfit{Reason: "git does not finish reading the patterns of a .gitignore"})
}

func TestUnfitOutsideThePrefix(t *testing.T) {
	r := userRepo(t, sample)
	spec := beside(r)
	spec.Prefix = "lib/a"
	s := makeAt(t, spec)
	agent(t, s, "echo x >one.txt; echo y >../b/deep/x.txt; rm ../../README.md; echo x >../../new; touch ../../main.o; chmod 755 ../../main.go")
	const why = "it is outside of lib/a, the only directory that can be changed"
	wantUnfit(t, s, patch.Limits{}, scratch.Unfit{Path: "../../README.md", Reason: why}, scratch.Unfit{Path: "../../main.go", Reason: why},
		scratch.Unfit{Path: "../../new", Reason: why}, scratch.Unfit{Path: "../b/deep/x.txt", Reason: why})
}

// withSubmodule is a repository whose commit has a submodule at sub.
func withSubmodule(t *testing.T) git.Repo {
	t.Helper()
	r := userRepo(t, sample)
	runGit(t, r, "update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,sub")
	runGit(t, r, "commit", "-q", "-m", "submodule")
	return r
}

func TestSubmodules(t *testing.T) {
	r := withSubmodule(t)
	const filled = "it is a submodule, which cannot be changed"
	for _, tt := range []struct {
		name, script string
		want         []scratch.Unfit
	}{
		{"left alone", "", nil},
		{"filled", "touch sub/f", []scratch.Unfit{{"sub", filled}}},
		{"cloned", "git init -q sub", []scratch.Unfit{{"sub", filled}}},
		{"with a FIFO for its HEAD", "mkdir sub/.git; mkfifo sub/.git/HEAD sub/.git/config", []scratch.Unfit{{"sub", filled}}},
		{"deleted", "rmdir sub", []scratch.Unfit{{"sub", "submodules cannot be deleted; an empty directory was here"}}},
		{"made a file", "rmdir sub; echo x >sub", []scratch.Unfit{{"sub", "a file has replaced a symbolic link or submodule"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := makeAt(t, apart(t, r))
			agent(t, s, tt.script)
			if tt.want != nil {
				wantUnfit(t, s, patch.Limits{}, tt.want...)
			} else if diff := changes(t, s); diff != "" {
				t.Errorf("changes:\n%s", diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	r, s := made(t)
	agent(t, s, "for i in 1 2 3 4; do echo content $i >>new$i; done; echo y >>main.go")
	for _, tt := range []struct {
		name   string
		limits patch.Limits
		want   scratch.Unfit
	}{
		{"new files", patch.Limits{Files: 3}, scratch.Unfit{Reason: "more than 3 files are new"}},
		{"changed files", patch.Limits{Files: 4}, scratch.Unfit{Reason: "5 files were changed; at most 4 are allowed"}},
		{"bytes of the diff", patch.Limits{Bytes: 400}, scratch.Unfit{Reason: "the diff has 934 bytes; at most 400 are allowed"}},
		{"bytes of a file", patch.Limits{File: 30}, scratch.Unfit{Path: "main.go", Reason: "the file has 32 bytes; at most 30 are allowed"}},
		{"bytes of all files", patch.Limits{Total: 60}, scratch.Unfit{Reason: "the changed files have more than 60 bytes"}},
		{"bytes of all files before and after", patch.Limits{Total: 100}, scratch.Unfit{Reason: "the changed files have more than 100 bytes, before and after"}},
		{"hunks", patch.Limits{Hunks: 3}, scratch.Unfit{Reason: "the diff has more than 3 hunks"}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantUnfit(t, s, tt.limits, tt.want) })
	}
	must(t, s.Make(t.Context(), head(t, r)))
	agent(t, s, "seq 3000 >big; chmod 600 main.go") // touched, not changed: over a limit all the same
	wantUnfit(t, s, patch.Limits{File: 20}, scratch.Unfit{Path: "big", Reason: "the file has 13893 bytes; at most 20 are allowed"})
}

// The text is for a model: one line for each file, nothing that a terminal obeys,
// and an end.
func TestUnfitErrorText(t *testing.T) {
	_, s := made(t)
	agent(t, s, `for i in $(seq 60); do ln -s x "l$i"; done; ln -s x "$(printf 'a\033[31m')"`)
	_, err := s.Changes(t.Context(), patch.Limits{})
	unfit, _ := errors.AsType[*scratch.UnfitError](err)
	if unfit == nil || len(unfit.Files) != 61 {
		t.Fatalf("%v", err)
	}
	text := unfit.Error()
	if strings.Count(text, "\n") != 51 || !strings.Contains(text, "\n- a<U+001B>[31m: symbolic") || !strings.HasSuffix(text, "\n- and 11 more") {
		t.Errorf("text: %s", text)
	}
}
