// Package udiff reads unified diffs as models write them and writes them as git does. Reading is lenient
// about form: counts and line numbers are hints, headers may be missing or odd, prose may surround the
// diff. It decides nothing about a file. If the text alone leaves a doubt, it returns the possible
// readings.
package udiff

// Op is the operation of a hunk line.
type Op byte

// The three operations; their values are the characters of the format.
const (
	Context Op = ' '
	Delete  Op = '-'
	Insert  Op = '+'
)

// Line is one line of a hunk.
type Line struct {
	Op    Op
	Text  []byte // without the operation and the line feed; a carriage return stays
	NoEOL bool   // "\ No newline at end of file" follows it
	Bare  bool   // it had no operation: an empty line, or a line that begins with another character
}

// Unstated is the value of a number that a hunk header does not give, or gives in an
// unusable form.
const Unstated = -1

// Range is one side of a hunk header. Start counts from 1.
type Range struct {
	Start int // Unstated when there is no usable number
	Lines int // Unstated when there is no usable number; 1 when only the start is given
}

// Hunk is the text between one @@ line and the next header.
type Hunk struct {
	Old, New Range
	Heading  []byte // the text behind the numbers of the @@ line: a line of the file above the hunk
	Lines    []Line
	Fit      int // how many Lines fulfil the counts of the header exactly; -1 when none do
}

// Section holds everything that a diff says about one file. Names are unquoted and still have their
// prefixes.
type Section struct {
	At  int  // its first line in the text, from 1
	Git bool // begins with a diff --git line

	GitOld, GitNew string // names on the diff --git line; empty when they cannot be told apart
	Old, New       string // names on the --- and +++ lines; empty when absent
	From, To       string // names of a rename or copy

	Rename, Copy     bool
	Created, Removed bool   // new file mode, deleted file mode
	Gone             bool   // the time on the +++ line is that of a file that is not there
	OldMode, NewMode string // octal digits as written; empty when absent
	OldID            string // blob id of the index line
	IndexMode        string // mode of the index line
	Binary           bool

	Broken string // a header line whose quoted name has no end, or continues after it
	Empty  string // the key of a header line that has no value

	Hunks []Hunk
}

// Null is the name of no file.
const Null = "/dev/null"

// Diff is a parsed text.
type Diff struct {
	Sections []Section
	Unsure   bool     // a header inside a hunk was recognized because of Known alone
	Passed   []Passed // the lines that belong to no section and no hunk, and say nothing that is known
	CRLF     bool     // the @@ line of a hunk ended in CR LF: its carriage returns are not the file's and have been taken off
}

// Passed is a line that was passed over.
type Passed struct {
	At   int // in the text, from 1
	Text []byte
}

// Bounds of one text.
const (
	MaxSections = 10_000
	MaxHunks    = 100_000
)

// SyntaxError says why a text is not a unified diff.
type SyntaxError struct {
	Line   int // from 1; 0 when it concerns the whole text
	Msg    string
	TooBig bool // it may be one, but is over MaxSections or MaxHunks
}

func (e *SyntaxError) Error() string { return e.Msg }
