package udiff

// Tracker counts down the lines of hunks line by line, to tell lines of a hunk from lines that end it. It
// believes the counts; in a text with wrong ones a hunk ends earlier or later.
type Tracker struct{ left counter }

// Add reads the next line, with or without its line end.
func (t *Tracker) Add(line []byte) {
	switch {
	case IsGitHeader(line):
		t.left = counter{}
	case IsHunkHeader(line):
		old, new := parseRanges(line)
		t.left = counter{max(old.Lines, 0), max(new.Lines, 0)}
	case !t.IsOpen():
	case len(line) == 0 || line[0] != '+' && line[0] != '-' && line[0] != '\\':
		t.left.old--
		t.left.new--
	case line[0] == '-':
		t.left.old--
	case line[0] == '+':
		t.left.new--
	}
}

// IsOpen reports whether a hunk still lacks lines.
func (t *Tracker) IsOpen() bool { return t.left.old > 0 || t.left.new > 0 }
