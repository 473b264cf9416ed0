// Package patch turns the diff that a model wrote into the exact bytes of every file it changes, or says
// why it does not. It reads leniently and places strictly: wrong counts, wrong line numbers, lost spaces
// and foreign line ends are repaired and reported. It refuses everything whose meaning is not certain, and
// everything hostile. Plan decides and writes nothing; WriteChange puts a decided change into a directory,
// file by file.
package patch

// Change is the effect of a diff on a tree: the decided bytes, not the model's text.
type Change struct {
	Files     []FileChange `json:"files"`               // sorted by path, never empty
	Repairs   []Repair     `json:"repairs,omitempty"`   // defects of the model's text that were repaired
	Sensitive []Reason     `json:"sensitive,omitempty"` // reasons to ask a person, under every policy but never
}

// FileChange is the change of one file. Before is nil for an added file, After
// for a deleted one; both are set otherwise.
type FileChange struct {
	Path    string `json:"path"`              // slash-separated, relative, checked
	OldPath string `json:"oldPath,omitempty"` // renamed and copied only: the source of the bytes
	Kind    Kind   `json:"change"`
	Before  *File  `json:"-"`
	After   *File  `json:"-"`
	Added   int    `json:"added"`   // lines
	Deleted int    `json:"deleted"` // lines
}

// Kind names the effect of a change on a file.
type Kind string

// The kinds of a file change; the set is closed.
const (
	Added    Kind = "added"
	Modified Kind = "modified" // the content, perhaps the mode too
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // OldPath is gone afterwards
	Copied   Kind = "copied"  // OldPath stays
	ModeOnly Kind = "mode"    // the mode alone
)

// Stat holds the size of a change.
type Stat struct {
	Files   int `json:"files"`
	Added   int `json:"added"`   // lines
	Deleted int `json:"deleted"` // lines
}

// Stat returns the number of files and lines that c changes.
func (c *Change) Stat() Stat {
	s := Stat{Files: len(c.Files)}
	for _, f := range c.Files {
		s.Added += f.Added
		s.Deleted += f.Deleted
	}
	return s
}

// Repair is one defect of the model's text that was repaired.
type Repair struct {
	Path   string     `json:"path,omitempty"`
	Hunk   int        `json:"hunk,omitempty"` // from 1 within the file, in the order of the diff; 0 when it concerns the file as a whole
	Kind   RepairKind `json:"kind"`
	Detail string     `json:"detail,omitempty"`
}

// RepairKind names the defect that was repaired.
type RepairKind string

// The kinds of a repair; the set is closed.
const (
	RepairLineEnds     RepairKind = "line_ends"       // carriage returns follow the file
	RepairNames        RepairKind = "names"           // an odd or missing prefix of a file's name
	RepairHeader       RepairKind = "header"          // a line of a file's header is missing or has no value
	RepairMerged       RepairKind = "merged"          // several sections of one file, or hunks that show the same lines
	RepairCounts       RepairKind = "counts"          // wrong or missing counts in a hunk's header
	RepairLines        RepairKind = "lines"           // wrong or missing line numbers
	RepairBlanks       RepairKind = "blanks"          // blanks that differ from the file's
	RepairIndentation  RepairKind = "indentation"     // added lines were indented as the file is
	RepairPunctuation  RepairKind = "punctuation"     // typographic punctuation in context lines
	RepairContextSpace RepairKind = "context_space"   // context lines without their leading space
	RepairTail         RepairKind = "tail"            // text after a hunk passed over
	RepairWrapped      RepairKind = "wrapped"         // a wrapped line joined
	RepairAddedBlank   RepairKind = "added_blank"     // an added blank line without its +
	RepairFinalNewline RepairKind = "final_newline"   // a missing or wrong marker of the final newline
	RepairAltered      RepairKind = "altered_context" // one context line differs; a person has to look
)

// Reason says why a change needs a person's approval.
type Reason struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
