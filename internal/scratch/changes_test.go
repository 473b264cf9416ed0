package scratch_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/scratch"
)

func fifo(t testing.TB, name string) {
	t.Helper()
	must(t, syscall.Mkfifo(name, 0o644))
}

// sh is what an agent does by the shell.
func sh(script string) func(*testing.T, *scratch.Scratch) {
	return func(t *testing.T, s *scratch.Scratch) { agent(t, s, script) }
}

// edits are what an agent does and a patch can carry.
var edits = []struct {
	name string
	do   func(t *testing.T, s *scratch.Scratch)
	want files
}{
	{"nothing", sh(""), sample},
	{"a file is changed", sh("echo x >>main.go"), sample.With(files{"main.go": sample["main.go"] + "x\n"})},
	{"a file is made", sh("mkdir -p new/dir; echo x >new/dir/f"), sample.With(files{"new/dir/f": "x\n"})},
	{"an empty file is made", sh("touch empty"), sample.With(files{"empty": ""})},
	{"an executable file is made", sh("echo x >tool; chmod 700 tool"), sample.With(files{"tool*": "x\n"})},
	{"a file is deleted", sh("rm lib/b/deep/x.txt"), sample.With(nil, "lib/b/deep/x.txt")},
	{"a directory is deleted", sh("rm -r lib/a"), sample.With(nil, "lib/a/one.txt", "lib/a/two.txt")},
	{"a file is emptied", sh(": >main.go"), sample.With(files{"main.go": ""})},
	{"a file is renamed", sh("mv main.go cmd.go"), sample.With(files{"cmd.go": sample["main.go"]}, "main.go")},
	{"a binary file is renamed", sh("mv blob.bin other.bin"), sample.With(files{"other.bin": sample["blob.bin"]}, "blob.bin")},
	{"a file is renamed and changed", sh("mkdir cmd; sed s/main/cmd/ main.go >cmd/main.go; rm main.go"),
		sample.With(files{"cmd/main.go": "package cmd\n\nfunc cmd() {\n}\n"}, "main.go")},
	{"a file is renamed in letter case only", sh("mv README.md x; mv x readme.md"), sample.With(files{"readme.md": sample["README.md"]}, "README.md")},
	{"two files change places", sh("mv main.go x; mv README.md main.go; mv x README.md"),
		sample.With(files{"main.go": sample["README.md"], "README.md": sample["main.go"]})},
	{"a file becomes executable", sh("chmod 755 main.go"), sample.With(files{"main.go*": sample["main.go"]}, "main.go")},
	{"a file is executable no more", sh("chmod 644 run.sh"), sample.With(files{"run.sh": sample["run.sh*"]}, "run.sh*")},
	{"a binary file becomes executable", sh("chmod 755 blob.bin"), sample.With(files{"blob.bin*": sample["blob.bin"]}, "blob.bin")},
	{"permissions that git does not have", sh("chmod 600 main.go; chmod 777 run.sh; chmod 700 lib"), sample},
	{"a last line without line feed", sh("printf x >>main.go"), sample.With(files{"main.go": sample["main.go"] + "x"})},
	{"carriage returns", sh(`printf 'a\r\nb\r\n' >lib/a/one.txt`), sample.With(files{"lib/a/one.txt": "a\r\nb\r\n"})},
	{"bytes that are no text", sh(`printf '\377\376\n' >lib/a/one.txt`), sample.With(files{"lib/a/one.txt": "\xff\xfe\n"})},
	{"odd names", sh(`echo x >"a'b c [d]*?.txt"; echo y >-n; echo z >'#x'; echo ü >ü.txt`),
		sample.With(files{"a'b c [d]*?.txt": "x\n", "-n": "y\n", "#x": "z\n", "ü.txt": "ü\n"})},
	{"lines that look like a diff or an answer", sh(`printf '%s\n' '--- a/main.go' '+++ b/main.go' '@@ -1 +1 @@' 'diff --git a/x b/x' '[PATCH_END]' '<<<AIO_RESULT_START>>>' '\ No newline at end of file' >>main.go`),
		sample.With(files{"main.go": sample["main.go"] + "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\ndiff --git a/x b/x\n[PATCH_END]\n<<<AIO_RESULT_START>>>\n\\ No newline at end of file\n"})},
	{"ignored files", sh("mkdir -p cache/deep lib/cache; touch cache/x cache/deep/y lib/cache/z main.o local; mkfifo cache/fifo; ln -s /etc cache/out; git init -q cache/repo"), sample},
	{"a file that would be ignored is not at the top", sh("echo x >lib/local"), sample.With(files{"lib/local": "x\n"})},
	{"files that a new .gitignore covers", sh("echo '/out/' >lib/.gitignore; mkdir lib/out; touch lib/out/x"), sample.With(files{"lib/.gitignore": "/out/\n"})},
	{"files that the .gitignore of before covered", sh("echo >.gitignore; echo x >main.o"), sample.With(files{".gitignore": "\n", "main.o": "x\n"})},
	{"a .gitignore that is gone", sh("rm .gitignore; echo x >main.o"), sample.With(files{"main.o": "x\n"}, ".gitignore")},
	{"a pattern that takes back", sh("printf '*.log\\n!keep.log\\n' >.gitignore; echo x >a.log; echo y >keep.log"),
		sample.With(files{".gitignore": "*.log\n!keep.log\n", "keep.log": "y\n"})},
	{"everything is ignored", sh("echo '*' >>.gitignore; echo x >new; echo x >>main.go; rm README.md"),
		sample.With(files{".gitignore": sample[".gitignore"] + "*\n", "main.go": sample["main.go"] + "x\n"}, "README.md")},
	{"what an account ignores", sh("git config --global core.excludesFile ~/x; echo '*' >~/x; echo x >new"), sample.With(files{"new": "x\n"})},
	{"what the checkout's repository ignores", sh("mkdir -p .git/info; echo '*' >.git/info/exclude; echo x >new"), sample.With(files{"new": "x\n"})},
	{"a file gives way to an ignored directory", sh("rm main.go; mkdir main.go; echo main.go/ >>.gitignore; touch main.go/x"),
		sample.With(files{".gitignore": sample[".gitignore"] + "main.go/\n"}, "main.go")},
	{"a directory moves out behind a link that is ignored", sh("mv lib ../lib; ln -s ../lib lib; echo /lib >>.gitignore"),
		sample.With(files{".gitignore": sample[".gitignore"] + "/lib\n"}, "lib/a/one.txt", "lib/a/two.txt", "lib/b/deep/x.txt")},
	{"an empty directory", sh("mkdir -p empty/deep"), sample},
	{"a hard link to a file outside", sh("echo out >../outside; ln ../outside linked"), sample.With(files{"linked": "out\n"})},
	{"files are rewritten as they were", sh("for f in main.go run.sh lib/a/*; do cp -p $f x; cat x >$f; rm x; done; ln -sfn lib/a link"), sample},
	{"a change that keeps size and time", sh("touch -r main.go t; sed -i 1s/main/maim/ main.go; touch -r t main.go; rm t"),
		sample.With(files{"main.go": "package maim\n\nfunc main() {\n}\n"})},
	{"commits", sh("echo x >>main.go; git commit -q -am one; rm README.md; git commit -q -am two; git checkout -q -b b; echo y >new; git add new"),
		sample.With(files{"main.go": sample["main.go"] + "x\n", "new": "y\n"}, "README.md")},
	{"commits that are taken back", sh("echo x >>main.go; git commit -q -am one; git reset -q --hard HEAD~1"), sample},
	{"changes are hidden from git", sh("git update-index --assume-unchanged main.go; git update-index --skip-worktree README.md; echo x >>main.go; echo x >README.md; git rm -q --cached run.sh"),
		sample.With(files{"main.go": sample["main.go"] + "x\n", "README.md": "x\n"})},
	{"the checkout's repository is gone", sh("rm -rf .git; echo x >new"), sample.With(files{"new": "x\n"})},
	{"the checkout's repository is a FIFO", sh("rm -rf .git; mkfifo .git; echo x >new"), sample.With(files{"new": "x\n"})},
	{"the checkout's repository is another", sh("rm -rf .git; git init -q; git -c user.name=x -c user.email=x commit -q --allow-empty -m x; echo x >new"), sample.With(files{"new": "x\n"})},
	{"a directory becomes read-only", sh("echo x >>lib/a/one.txt; chmod 500 lib/a"), sample.With(files{"lib/a/one.txt": "one\nx\n"})},
}

func TestChanges(t *testing.T) {
	r := userRepo(t, sample)
	before := state(t, r.Dir)
	for _, tt := range edits {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := apart(t, r)
			s := makeAt(t, spec)
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(s.WorkDir(), "lib/a"), 0o755) }) // else it cannot be removed
			tt.do(t, s)
			for range 2 {
				wantApplied(t, s, spec, tt.want)
			}
			if state(t, r.Dir) != before {
				t.Error("the user's repository has changed")
			}
			if left, _ := os.ReadDir(filepath.Join(spec.Dir, "stage")); len(left) != 0 {
				t.Errorf("left on the stage: %v", left)
			}
		})
	}
}

// The form of a diff is that of package patch.
func TestChangesAreCanonical(t *testing.T) {
	_, s := made(t)
	agent(t, s, "mv run.sh go.sh; echo two >>lib/a/one.txt")
	const want = `diff --git a/run.sh b/go.sh
rename from run.sh
rename to go.sh
diff --git a/lib/a/one.txt b/lib/a/one.txt
index 5626abf0f72e58d7a153368ba57db4c673c0e171..814f4a422927b82f5f8a43f8fab6d3839e3983f2 100644
--- a/lib/a/one.txt
+++ b/lib/a/one.txt
@@ -1 +1,2 @@
 one
+two
`
	if got := changes(t, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What git converts at a checkout it converts back; a file without a need of it
// is taken as it is.
func TestChangesConvertBack(t *testing.T) {
	r := withAttributes(t)
	stored := attributed.With(files{"crlf.txt": "a\r\nb\r\n"})
	for _, tt := range []struct {
		name, script string
		want         files
	}{
		{"a line more in each", `printf 'c\r\n' >>win.bat; printf 'c\r\n' >>crlf.auto; printf 'c\n' >>a.txt; printf 'y\n' >>x.id; printf 'y\000\n\000' >>x.u16`,
			files{"win.bat": "a\nb\nc\n", "crlf.auto": "a\r\nb\r\nc\r\n", "a.txt": "a\nc\n", "x.id": "$Id$\nx\ny\n", "x.u16": "wide\ny\n"}},
		{"new files", `printf 'a\r\n' >new.bat; printf 'a\r\n' >new.auto; printf 'a\r\n' >other`,
			files{"new.bat": "a\n", "new.auto": "a\n", "other": "a\r\n"}},
		{"the line ends that the attributes ask for are gone", `printf 'a\nb\n' >win.bat`, nil},
		{"new attributes", `echo '*.sh text eol=crlf' >.gitattributes; printf 'a\r\n' >new.sh; printf 'a\r\n' >new.bat`,
			files{".gitattributes": "*.sh text eol=crlf\n", "new.sh": "a\n", "new.bat": "a\r\n"}},
		{"attributes that are gone", `rm .gitattributes; printf 'a\r\n' >new.bat`, files{".gitattributes": "", "new.bat": "a\r\n"}},
		{"a file that never fitted its attributes", `printf 'c\r\n' >>crlf.txt`, files{"crlf.txt": "a\nb\nc\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := apart(t, r)
			s := makeAt(t, spec)
			agent(t, s, tt.script)
			want := stored.With(tt.want)
			if want[".gitattributes"] == "" {
				delete(want, ".gitattributes")
			}
			wantApplied(t, s, spec, want)
		})
	}
}

func TestChangesOfAFileInTheWrongEncoding(t *testing.T) {
	r := withAttributes(t)
	s := makeAt(t, beside(r))
	write(t, s.WorkDir(), files{"x.u16": "odd"})
	wantUnfit(t, s, patch.Limits{}, scratch.Unfit{Path: "x.u16", Reason: "the file is not in the encoding that .gitattributes states for it"})
}

// What the user's own checkout ignores by itself is ignored here.
func TestChangesIgnoreWhatTheUserIgnores(t *testing.T) {
	r := userRepo(t, sample)
	write(t, r.Dir, files{".git/info/exclude": "private\n"})
	s := makeAt(t, beside(r))
	write(t, s.WorkDir(), files{"private/f": "x", "new": "x\n"})
	if got := agent(t, s, "git status --porcelain"); got != "?? new\n" {
		t.Errorf("status: %q", got)
	}
	wantApplied(t, s, beside(r), sample.With(files{"new": "x\n"}))
}

// A file that was changed within the tick of the clock in which it was made has
// to be read to be known: by size and times it is as it was.
func TestChangesInTheSameTick(t *testing.T) {
	r, s := made(t)
	name := filepath.Join(s.WorkDir(), "README.md")
	must(t, os.WriteFile(name, []byte("# SAMPLE\n"), 0o644))
	var st unix.Stat_t
	must(t, unix.Lstat(name, &st))
	reindex(t, beside(r), "README.md", func(e []byte) {
		for i, v := range []int64{st.Ctim.Sec, st.Ctim.Nsec, st.Mtim.Sec, st.Mtim.Nsec} {
			binary.BigEndian.PutUint32(e[4*i:], uint32(v))
		}
	})
	at := time.Unix(st.Ctim.Unix())
	for _, tt := range []struct {
		name string
		made time.Time
		want bool
	}{{"made in that tick", at, true}, {"made before", at.Add(-1), true}, {"made later", at.Add(1), false}} {
		must(t, os.Chtimes(filepath.Join(beside(r).Dir, "made"), tt.made, tt.made))
		if got := changes(t, s) != ""; got != tt.want {
			t.Errorf("%s: changed: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// What takes the place of a file or a directory while the tree is looked at is
// neither waited for nor followed out.
func TestReadingWhatHasChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	fifo(t, filepath.Join(dir, "fifo"))
	write(t, dir, files{"file": "x", "dir/f": "x", "out": "-> /etc/passwd", "outdir": "-> /etc"})
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, name := range []string{"fifo", "dir", "out", "outdir", "gone"} {
		if scratch.OpenFile(root, name) == nil {
			t.Errorf("%s was opened for a file", name)
		}
	}
	for _, name := range []string{"fifo", "file", "out", "outdir", "gone"} {
		if scratch.ListDir(root, name) == nil {
			t.Errorf("%s was listed", name)
		}
	}
}
