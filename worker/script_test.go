package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// script is a run whose answers are known, and with them what must come of it.
type script struct {
	policy  run.Policy
	check   string
	answers map[string]string   // by the name that the provider asks for: fix-2, execute-1.2
	files   map[string][]string // lines of the branch at the end
	patches int                 // that are applied
	refused []int               // iterations whose patch the approver rejects
	parts   map[int][]string    // by iteration: the files of its patch that the approver accepts; the rest goes back
}

// edit adds a line to the end of a file, or takes the file away.
type edit struct {
	file   string
	line   string
	remove bool
}

// newScript is a script of a repository as newFixture makes it.
func newScript(policy run.Policy, check string) *script {
	return &script{
		policy: policy, check: check,
		answers: map[string]string{"plan-1": planText},
		files:   map[string][]string{"log.txt": nil},
	}
}

// patch answers with a patch that will be applied.
func (s *script) patch(name string, edits ...edit) *script {
	s.propose(name, edits)
	s.patches++
	for _, e := range edits {
		s.files[e.file] = append(s.files[e.file], e.line)
		if e.remove {
			delete(s.files, e.file)
		}
	}
	return s
}

// rejected answers with a patch that the approver will not have.
func (s *script) rejected(name string, iteration int, edits ...edit) *script {
	s.propose(name, edits)
	s.refused = append(s.refused, iteration)
	return s
}

// accepted answers with a patch of which the approver accepts the first edits, and sends the last one back.
func (s *script) accepted(name string, iteration int, edits ...edit) *script {
	s.propose(name, edits)
	s.patches++
	s.parts = map[int][]string{}
	for _, e := range edits[:len(edits)-1] {
		s.parts[iteration] = append(s.parts[iteration], e.file)
		s.files[e.file] = append(s.files[e.file], e.line)
	}
	return s
}

func (s *script) ask(name string) *script {
	s.answers[name] = "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Which line?\nreason: The goal leaves it open.\nneeded_input:\n- the line\n<<<AIO_RESULT_END>>>\n"
	return s
}

func (s *script) propose(name string, edits []edit) {
	var diff strings.Builder
	for _, e := range edits {
		diff.WriteString(s.diff(e))
	}
	s.answers[name] = fmt.Sprintf("<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: %s\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n%s[PATCH_END]\n", name, diff.String())
}

// diff is a section of a patch on the files as they stand; a patch has one a
// file.
func (s *script) diff(e edit) string {
	lines, there := s.files[e.file]
	head := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n", e.file)
	switch {
	case e.remove:
		return fmt.Sprintf("%sdeleted file mode 100644\n--- a/%s\n+++ /dev/null\n@@ -1,%d +0,0 @@\n-%s\n", head, e.file, len(lines), strings.Join(lines, "\n-"))
	case !there:
		return fmt.Sprintf("%snew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+%s\n", head, e.file, e.line)
	case len(lines) == 0:
		return fmt.Sprintf("%[1]s--- a/%[2]s\n+++ b/%[2]s\n@@ -0,0 +1 @@\n+%[3]s\n", head, e.file, e.line)
	default:
		n := len(lines)
		return fmt.Sprintf("%[1]s--- a/%[2]s\n+++ b/%[2]s\n@@ -%[3]d,1 +%[3]d,2 @@\n %[4]s\n+%[5]s\n", head, e.file, n, lines[n-1], e.line)
	}
}

// variants are the runs that the kill suites take in turn.
var variants = []func() *script{
	// no approvals, one fix
	func() *script {
		return newScript(run.Never, "grep -q two log.txt").
			patch("execute-1", edit{file: "log.txt", line: "one"}).
			patch("fix-2", edit{file: "log.txt", line: "two"})
	},
	// several files, every patch approved
	func() *script {
		return newScript(run.Always, "test -e d/new.txt && grep -q two log.txt").
			patch("execute-1", edit{file: "log.txt", line: "one"}, edit{file: "a/x.txt", line: "x"}, edit{file: "b.txt", line: "b"}).
			patch("fix-2", edit{file: "log.txt", line: "two"}, edit{file: "a/x.txt", line: "xx"}, edit{file: "d/new.txt", line: "d"})
	},
	// a question first, two fixes
	func() *script {
		return newScript(run.Never, "grep -q three log.txt").ask("execute-1").
			patch("execute-1.2", edit{file: "log.txt", line: "one"}).
			patch("fix-2", edit{file: "log.txt", line: "two"}, edit{file: "c.txt", line: "c"}).
			patch("fix-3", edit{file: "log.txt", line: "three"})
	},
	// a rejection, then approvals
	func() *script {
		return newScript(run.Always, "grep -q two log.txt").
			rejected("execute-1", 1, edit{file: "log.txt", line: "wrong"}).
			patch("fix-2", edit{file: "log.txt", line: "one"}).
			patch("fix-3", edit{file: "log.txt", line: "two"})
	},
	// only the deletion waits for a person
	func() *script {
		return newScript(run.Risky, "test ! -e old.txt && grep -q two log.txt").
			patch("execute-1", edit{file: "log.txt", line: "one"}, edit{file: "old.txt", line: "old"}).
			patch("fix-2", edit{file: "log.txt", line: "two"}, edit{file: "old.txt", remove: true})
	},
	partial,
}

// partial is a script of which the approver accepts a part of the first patch.
func partial() *script {
	return newScript(run.Always, "grep -q two log.txt").
		accepted("execute-1", 1, edit{file: "log.txt", line: "one"}, edit{file: "a.txt", line: "a"}, edit{file: "wrong.txt", line: "wrong"}).
		patch("fix-2", edit{file: "log.txt", line: "two"})
}

// providerProgram gives the answers and keeps a ledger: one line a call, with
// the word stored when the answer lay on disk already and need not be paid. An
// answer whose name is held back by a file does not come.
// Its arguments: answers, runs directory, seconds that an answer takes.
const providerProgram = `name=$RATCHET_PHASE-$RATCHET_ITERATION
file=$(printf '%s/iter-%04d' "$RATCHET_PHASE" "$RATCHET_ITERATION")
if grep -q '"call":2,'; then name=$name.2 file=$file.2; fi
test -e "$2/workflows/$RATCHET_RUN_ID/artifacts/$file.raw.txt" && stored=stored
echo "$name $stored" >>"$1/ledger"
while test -e "$1/hold.$name"; do sleep 0.05; done
sleep "$3"
exec cat "$1/$name.md"
`

// scripted is a run that follows a script.
type scripted struct {
	*script
	in      run.Input
	answers string                      // directory of the answers and the ledger
	mend    func(question string) error // what the person does before an answer; nil: nothing
}

// follow makes a run of the script whose answers take so many seconds each.
func (s *fixture) follow(sc *script, seconds float64) *scripted {
	s.t.Helper()
	dir := s.t.TempDir()
	program := filepath.Join(dir, "provider.sh")
	for name, text := range map[string]string{"provider.sh": providerProgram, "ledger": ""} {
		s.put(filepath.Join(dir, name), text)
	}
	for name, text := range sc.answers {
		s.put(filepath.Join(dir, name+".md"), text)
	}
	in := s.input(fmt.Sprintf("command:/bin/sh %s %s %s %.3f", program, dir, s.runsDir, seconds))
	in.Policy, in.Checks = sc.policy, []string{sc.check}
	return &scripted{script: sc, in: in, answers: dir}
}

// calls counts the calls by name; repaid are those whose answer was stored.
func (r *scripted) calls() (count map[string]int, repaid []string, err error) {
	b, err := os.ReadFile(filepath.Join(r.answers, "ledger"))
	count = map[string]int{}
	for line := range strings.Lines(string(b)) {
		name, stored, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		count[name]++
		if stored != "" {
			repaid = append(repaid, name)
		}
	}
	return count, repaid, err
}

// content is what every file of the branch holds, one line a line.
func (s *script) content() string {
	var b strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(s.files), cmp.Compare[string]) {
		fmt.Fprintf(&b, "%s: %q\n", name, strings.Join(s.files[name], "\n"))
	}
	return b.String()
}
