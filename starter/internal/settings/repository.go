package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
)

// RepositoryFile is the name of the file of a repository.
const RepositoryFile = ".ratchet.toml"

// Committed is a repository's file as a commit has it.
type Committed struct {
	Values Values
	// There reports that the commit has the file.
	There bool
	// Note says in one line that the file of the work tree is another, and does not count; empty: it is
	// the same.
	Note string
}

// ReadCommitted returns the settings of the file in a directory of a commit. Root is the top of the
// repository's work tree, and prefix the directory, relative to it. The work tree only makes the note.
// User is the path of the user's file, for the remedy of a value that counts nowhere else.
func ReadCommitted(ctx context.Context, root, prefix, commit, user string) (Committed, error) {
	name := path.Join(prefix, RepositoryFile)
	b, there, err := readBlob(ctx, git.Repo{Dir: root}, commit, name)
	if err != nil {
		return Committed{}, err
	}
	c := Committed{There: there, Note: compareTree(filepath.Join(root, filepath.FromSlash(name)), name, b, there)}
	if !there {
		return c, nil
	}
	f, err := decode(name, b, false)
	if err != nil {
		return Committed{}, err
	}
	c.Values = f.Values
	return c, c.Values.refuseLoose(user)
}

// readBlob returns the content of a file of a commit. No filter of the repository sees it.
func readBlob(ctx context.Context, repo git.Repo, commit, name string) (_ []byte, there bool, err error) {
	out, err := repo.Run(ctx, "ls-tree", "-z", "-l", "--full-tree", commit, "--", name)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	if len(out) == 0 {
		return nil, false, nil
	}
	meta, _, _ := strings.Cut(string(out), "\t")
	fields := strings.Fields(meta) // mode, kind, id, size
	if len(fields) != 4 || fields[1] != "blob" || !strings.HasPrefix(fields[0], "100") {
		return nil, false, &lineError{path: name, text: "it is not a regular file in the last commit: commit the file itself, not a link"}
	}
	var size int64
	if _, err := fmt.Sscan(fields[3], &size); err != nil || size > maxFile {
		return nil, false, checkBytes(name, make([]byte, maxFile+1))
	}
	b, err := repo.Run(ctx, "cat-file", "blob", fields[2])
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	return b, true, nil
}

// compareTree says how the file of the work tree differs from the committed one.
func compareTree(at, name string, committed []byte, there bool) string {
	b, err := file.Read(at, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil || there && !bytes.Equal(unixLines(b), unixLines(committed)):
		return name + " differs from the last commit: the committed file is used"
	case !there:
		return fmt.Sprintf("%s is not committed yet and is ignored: git add %s && git commit", name, name)
	}
	return ""
}

// unixLines removes the carriage returns that git adds to line ends in some configurations.
func unixLines(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }

// refuseLoose refuses values that count only where the user himself has said them.
func (v Values) refuseLoose(user string) error {
	for _, name := range Names() {
		value, ok := v[name]
		if !ok {
			continue
		}
		for _, text := range value.Texts {
			if why := Loosens(name, text); why != "" {
				return &lineError{value.Path, value.Line, fmt.Sprintf("%s = %s %s: remove it here; it is allowed only in your own %s, or as --%s",
					name, quoteValue(text), why, user, name)}
			}
		}
	}
	if d := v["developer"]; len(d.Texts) > 1 {
		return &lineError{d.Path, d.Line, fmt.Sprintf("%d developers pay for several answers at once: name one here; more are allowed only in your own %s, or as --developer", len(d.Texts), user)}
	}
	return nil
}

// quoteValue shortens and quotes a value for a message.
func quoteValue(text string) string {
	if r := []rune(text); len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
