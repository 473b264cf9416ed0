package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Shadow makes dir a git directory that borrows the objects of the repository whose shared git
// directory is common. It takes nothing else from that repository: no hooks, no references, and no
// configuration, and therefore no filter that a checkout would run. Its HEAD is commit. Use it to
// run the commands that compare or write the files of workTree. An existing index stays. Everything
// else is written again: a second call changes nothing. The lines of extra join its configuration,
// one "name=value" each.
func Shadow(dir, common, workTree string, commit ID, extra ...string) (Repo, error) {
	if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o700); err != nil {
		return Repo{}, fmt.Errorf("make shadow: %w", err)
	}
	for name, text := range map[string]string{"HEAD": string(commit) + "\n", "config": ConfigText(commit, extra...)} {
		if err := replace(filepath.Join(dir, name), text); err != nil {
			return Repo{}, fmt.Errorf("make shadow: %w", err)
		}
	}
	return Repo{
		Dir:      workTree,
		GitDir:   dir,
		WorkTree: workTree,
		Index:    filepath.Join(dir, "index"),
		Objects:  filepath.Join(common, "objects"),
	}, nil
}

// quoted escapes the characters that a quoted value of a configuration cannot hold.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// ConfigText returns the content of the configuration of a repository that [Shadow] makes, with the format of
// the id like. Each of extra is a setting "section.name=value".
func ConfigText(like ID, extra ...string) string {
	lines := []string{"core.bare=false", "core.logAllRefUpdates=false", "diff.ignoreSubmodules=all"}
	if runtime.GOOS == "darwin" { // the effects of its file system on names
		lines = append(lines, "core.ignoreCase=true", "core.precomposeUnicode=true")
	}
	version := "core.repositoryFormatVersion=0"
	if len(like) == 64 {
		version = "core.repositoryFormatVersion=1"
		lines = append(lines, "extensions.objectFormat=sha256")
	}
	var b strings.Builder
	for _, line := range slices.Concat([]string{version}, lines, extra) {
		name, value, _ := strings.Cut(line, "=")
		section, key, _ := strings.Cut(name, ".")
		fmt.Fprintf(&b, "[%s]\n\t%s = \"%s\"\n", section, key, quoted.Replace(value))
	}
	return b.String()
}

// replace writes a small file unless it holds the text already. It uses a rename, and does not
// write through anything else that has taken the name.
func replace(name, text string) error {
	if fi, err := os.Lstat(name); err == nil && fi.Mode().IsRegular() && fi.Size() == int64(len(text)) {
		if old, err := os.ReadFile(name); err == nil && string(old) == text {
			return nil
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), name)
}

// CopyIndex copies an index with its time, by which git tells which of its
// entries to trust.
func CopyIndex(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	fi, err := os.Stat(from)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, text, 0o600), os.Chtimes(to, fi.ModTime(), fi.ModTime()))
}
