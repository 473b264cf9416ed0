package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// maxConfig bounds the configuration of a repository that is looked through here.
const maxConfig = 1 << 20

// special are the settings, in small letters, under which git writes objects and references in another way. A
// configuration that includes others may have them there.
var special = [][]byte{[]byte("sharedrepository"), []byte("compatobjectformat"), []byte("[include")}

// plainConfig returns the texts of a repository's own configuration, in small letters. It returns false where a
// setting is special, or a file is not as git writes it.
func plainConfig(root *os.Root) (texts []string, ok bool) {
	for _, name := range []string{"config", "config.worktree"} {
		text, err := readPlain(root, name, maxConfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false
		}
		text = bytes.ToLower(text)
		if slices.ContainsFunc(special, func(setting []byte) bool { return bytes.Contains(text, setting) }) {
			return nil, false
		}
		texts = append(texts, string(text))
	}
	return texts, true
}

// storesPlainly reports whether objects of the repository are plain files with the permissions of every file.
func (r Repo) storesPlainly() bool {
	root, err := os.OpenRoot(r.GitDir)
	if err != nil {
		return false
	}
	defer root.Close()
	_, ok := plainConfig(root)
	return ok
}

// telling are the words of settings that decide where references are, or which of their moves git logs.
var telling = []string{"bare", "logallrefupdates", "repositoryformatversion"}

// The section in which each line counts, and the line that every repository with a work tree has.
const (
	extensions = "[extensions]"
	notBare    = "[core] bare = false"
)

// usual are the lines that may tell, each after its section: with them git keeps branches as files, and logs their
// moves.
var usual = []string{
	notBare, "[core] logallrefupdates = true", "[core] repositoryformatversion = 0", "[core] repositoryformatversion = 1",
	extensions + " objectformat = sha1", extensions + " objectformat = sha256", extensions + " worktreeconfig = true",
}

// logsBranches reports whether git surely keeps the repository's branches as files and logs their moves.
func logsBranches(root *os.Root) bool {
	texts, ok := plainConfig(root)
	if !ok {
		return false
	}
	worked := false // it has a work tree
	for _, text := range texts {
		if strings.Contains(text, "\\\n") || strings.Contains(text, "\\\r") { // a line that the next one continues
			return false
		}
		section := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			tells := slices.ContainsFunc(telling, func(word string) bool { return strings.Contains(line, word) })
			if strings.HasPrefix(line, "[") {
				section = line
				if tells || section != extensions && strings.HasPrefix(section, "[extensions") {
					return false
				}
				continue
			}
			tells = tells || section == extensions && line != ""
			if tells && !slices.Contains(usual, section+" "+line) {
				return false
			}
			worked = worked || section+" "+line == notBare
		}
	}
	return worked
}
