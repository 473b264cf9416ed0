package udiff

// Tracker follows the counts of hunks line by line, to tell lines of a hunk from
// lines that end it. It believes the counts; a text with wrong ones ends earlier or later.
type Tracker struct{ left counter }

// Add takes the next line, with or without its line end.
func (t *Tracker) Add(line []byte) {
	switch {
	case IsGitHeader(line):
		t.left = counter{}
	case IsHunkHeader(line):
		old, new := parseRanges(line)
		t.left = counter{max(old.Lines, 0), max(new.Lines, 0)}
	case !t.Open():
	case len(line) == 0 || line[0] != '+' && line[0] != '-' && line[0] != '\\':
		t.left.old--
		t.left.new--
	case line[0] == '-':
		t.left.old--
	case line[0] == '+':
		t.left.new--
	}
}

// Open reports whether a hunk is still owed lines.
func (t *Tracker) Open() bool { return t.left.old > 0 || t.left.new > 0 }
