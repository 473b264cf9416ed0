package run

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Naming names the results of a run. It is fixed at the start. The zero Naming means the branch of
// ID.Branch, and DefaultMessage.
type Naming struct {
	// Branch is the name of the run's branch, without a placeholder. See CheckBranch.
	Branch string `json:"branch,omitempty"`
	// Message is the template of the commits' messages, which CheckMessage accepts. The trailers that
	// identify a commit are not part of it.
	Message string `json:"message,omitempty"`
}

// BranchName returns the name of the branch that receives the run's commits.
func (in Input) BranchName() string {
	if in.Naming.Branch != "" {
		return in.Naming.Branch
	}
	return in.RunID.Branch()
}

// shortID is the number of characters of Short.
const shortID = 8

// Short returns the end of the id. The ids that are made within a minute have the same beginning.
func (id ID) Short() string { return string(id[max(0, len(id)-shortID):]) }

// The bounds of templates and of what they become.
const (
	maxBranch  = 120     // bytes of a branch's name
	maxMessage = 2 << 10 // bytes of the template of a message
	maxSlug    = 40      // bytes of a slug
	maxLine    = 100     // characters of a goal or a summary in a message
)

// The placeholders of a branch's name and of a commit's message.
var (
	branchWords  = []string{"run", "short", "slug", "number"}
	messageWords = []string{"summary", "goal", "slug", "run", "short", "iteration", "name", "number"}
)

var placeholder = regexp.MustCompile(`\{[^{}]*\}?`)

// expand replaces the placeholders of a template by the words of the same places; without words they
// stay. The error names a placeholder that is none of the names.
func expand(template string, names, words []string) (string, error) {
	var unknown error
	text := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		i := slices.Index(names, strings.TrimPrefix(strings.TrimSuffix(found, "}"), "{"))
		switch {
		case i < 0 || !strings.HasSuffix(found, "}"):
			unknown = fmt.Errorf("unknown placeholder %+q: use {%s}", found, strings.Join(names, "}, {"))
		case words != nil:
			return words[i]
		}
		return found
	})
	return text, unknown
}

// DefaultBranch is the template of the branch of a run that has a name.
const DefaultBranch = "ratchet/{number}-{slug}"

// DefaultMessage is the template of the messages of commits.
const DefaultMessage = "{summary}"

// ExpandBranch returns the name of a run's branch by a template. It refuses a template without {run},
// {short} or {number}: two runs would have one branch, and a branch of the user's could be taken for the
// run's. For a run without a name {number} becomes the end of its id.
func ExpandBranch(template string, id ID, name Name, goal string) (string, error) {
	branch, err := expand(template, branchWords, []string{string(id), id.Short(), Slug(goal), numberWord(id, name)})
	if err != nil {
		return "", err
	}
	if !strings.Contains(template, "{run}") && !strings.Contains(template, "{short}") && !strings.Contains(template, "{number}") {
		return "", fmt.Errorf("%+q gives all runs the same branch: add {number}, {run} or {short}", template)
	}
	return branch, CheckBranch(branch, id, name)
}

// numberWord returns the text of {number}.
func numberWord(id ID, name Name) string {
	if name == "" {
		return id.Short()
	}
	return strconv.Itoa(name.Number())
}

// branchForm is a directory and a name in it. Git accepts more: this is what no program, terminal or
// shell reads otherwise.
var branchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+-]*/[A-Za-z0-9_+-](?:\.?[A-Za-z0-9_+-])*$`)

// gitsOwn are directories whose names mean something else to git.
var gitsOwn = []string{"refs", "heads", "tags", "remotes", "notes", "replace", "stash", "head"}

// CheckBranch returns an error unless the name can be the branch of the run: two parts of letters, digits,
// '-', '_', '+' and '.', whose second part contains the end of the run's id, or the number of its name as a word.
func CheckBranch(branch string, id ID, name Name) error {
	if err := checkBranchForm(branch); err != nil {
		return err
	}
	_, rest, _ := strings.Cut(branch, "/")
	if !strings.Contains(rest, id.Short()) && (name == "" || !slices.Contains(branchNumbers(rest), name.Number())) {
		return fmt.Errorf("branch %+q does not name the run: put {number}, {run} or {short} into its second part", branch)
	}
	return nil
}

var digits = regexp.MustCompile(`[0-9]+`)

// branchNumbers returns the numbers in the second part of a branch's name.
func branchNumbers(rest string) (numbers []int) {
	for _, word := range digits.FindAllString(rest, -1) {
		if n, ok := ParseNumber(word); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// BranchNumber returns the number with which a branch of DefaultBranch begins; zero for any other.
func BranchNumber(branch string) int {
	rest, ok := strings.CutPrefix(branch, "ratchet/")
	word, _, named := strings.Cut(rest, "-")
	n, isNumber := ParseNumber(word)
	if !ok || !named || !isNumber {
		return 0
	}
	return n
}

// checkBranchForm returns an error unless the name has the form of a run's branch: two parts of letters,
// digits, '-', '_', '+' and '.'.
func checkBranchForm(name string) error {
	directory, _, _ := strings.Cut(name, "/")
	switch {
	case len(name) > maxBranch:
		return fmt.Errorf("branch %+.40q... has %d bytes, at most %d fit", name, len(name), maxBranch)
	case !branchForm.MatchString(name) || strings.HasSuffix(strings.ToLower(name), ".lock"):
		return fmt.Errorf("branch %+q: want two parts of letters, digits, '-', '_', '+' and '.', such as agents/{slug}-{short}", name)
	case slices.Contains(gitsOwn, strings.ToLower(directory)):
		return fmt.Errorf("branch %+q: git reserves %s/: choose another first part", name, directory)
	}
	return nil
}

// CheckMessage returns an error unless the template can be the template of commit messages.
func CheckMessage(template string) error {
	if len(template) > maxMessage {
		return fmt.Errorf("the message has %d bytes, at most %d fit", len(template), maxMessage)
	}
	if !utf8.ValidString(template) {
		return errors.New("the message is not UTF-8")
	}
	for _, r := range template {
		if r != '\n' && !unicode.IsPrint(r) {
			return fmt.Errorf("the message holds the character %+q, which is not printable", r)
		}
	}
	if _, err := expand(template, messageWords, nil); err != nil {
		return err
	}
	first, _, _ := strings.Cut(template, "\n")
	if strings.TrimSpace(first) == "" {
		return errors.New("the message begins with an empty line: its first line is the commit's subject")
	}
	for line := range strings.Lines(template) {
		if isOwnTrailer(line) {
			return fmt.Errorf("the message has the line %+q: only Ratchet writes lines that begin with Ratchet-", strings.TrimSpace(line))
		}
	}
	return nil
}

// isOwnTrailer reports whether a line looks like one of the trailers by which a commit is known.
func isOwnTrailer(line string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "ratchet-")
}

// CommitMessage returns the message of a commit without its trailers. Iteration and summary belong to the
// patch. A patch without a summary has the first line of the goal as its subject. The words that others have
// chosen fill one line each, and no line of the result looks like a trailer of Ratchet's.
func (in Input) CommitMessage(iteration int, summary string) string {
	goal := OneLine(in.Goal, "No goal")
	text, err := expand(cmp.Or(in.Naming.Message, DefaultMessage), messageWords, []string{
		OneLine(summary, goal), goal, Slug(in.Goal),
		string(in.RunID), in.RunID.Short(), strconv.Itoa(iteration), in.Name.Shown(in.RunID), numberWord(in.RunID, in.Name),
	})
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if lines[i] = strings.TrimRight(line, " "); isOwnTrailer(line) {
			lines[i] = "> " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// OneLine returns the first line of a text, without more than maxLine characters and without those that
// are not printable.
func OneLine(text, otherwise string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, line)
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > maxLine {
		line = string(r[:maxLine-1]) + "…"
	}
	if line == "" {
		return otherwise
	}
	return line
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// Slug returns the first line of a goal as a part of a branch's name: lower-case letters and digits of
// ASCII, with '-' for everything between them.
func Slug(goal string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(goal), "\n")
	slug := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(line), "-"), "-")
	if len(slug) > maxSlug {
		slug = slug[:maxSlug]
		if i := strings.LastIndexByte(slug, '-'); i > maxSlug/2 {
			slug = slug[:i]
		}
	}
	if slug == "" {
		return "run"
	}
	return slug
}

// Origin says who chose a value of a run's input.
type Origin string

// The origins, from the one that has the last word.
const (
	FromFlag       Origin = "flag"       // of starter run
	FromUser       Origin = "user"       // the user's own file
	FromRepository Origin = "repository" // .ratchet.toml in the repository's last commit
	FromDetection  Origin = "detected"   // found in the repository's files
	FromDefault    Origin = "default"
)

// UnmarshalText refuses words that are no origin.
func (o *Origin) UnmarshalText(text []byte) error {
	return exact.Word(o, text, "origin", FromFlag, FromUser, FromRepository, FromDetection, FromDefault)
}

// check returns the errors of the names.
func (n Naming) check(id ID, name Name) error {
	var errs []error
	if name != "" {
		errs = append(errs, name.Validate())
	}
	if n.Branch != "" {
		errs = append(errs, CheckBranch(n.Branch, id, name))
	}
	if n.Message != "" {
		errs = append(errs, CheckMessage(n.Message))
	}
	return errors.Join(errs...)
}
